/* SPDX-License-Identifier: MIT
 *
 * live/trigger/loop.c - follow the iterations of one thread's main loop
 *
 * Runs in:  the watcher of `duet record --trigger`
 * Gets:     the thread's launches, or its ranges
 * Gives:    iterations, as soon as the next one begins
 * Owns:     the newest LOOP_HISTORY launches
 * Fails:    -ENOMEM
 * Why an anchor: analyze/iterations takes 20 ms to find the loop in 32768 launches, and its borders
 *           may move when more launches are known. So it is asked at 1024 launches, 2048, 4096, … A
 *           key that occurs once in each of its iterations is the anchor. From then on an iteration
 *           lasts from anchor to anchor, which costs one comparison for each launch
 */
#include "live/trigger/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	FIRST_SEARCH = 1024, /* fewer launches may show an inner loop only */
	FEWEST = 16,         /* launches of a loop */
	FEWEST_ITERATIONS = 4,
	SEARCHED = 2048 /* LOOP_BY_SEARCH: newest launches that are searched */
};
#define FIRST_SEARCH_NS UINT64_C(10000000000)

static const double nearly_all = 0.98;

void loop_fini(struct loop *loop)
{
	free(loop->history);
	free(loop->range);
	baseline_fini(&loop->baseline);
	*loop = (struct loop){0};
}

int loop_add(struct loop *loop, const struct iterations_launch *launch)
{
	if (loop->history_count == LOOP_HISTORY) {
		size_t kept = LOOP_HISTORY / 2;

		memmove(loop->history, loop->history + kept, kept * sizeof(*loop->history));
		loop->history_count = kept;
		loop->fresh = loop->fresh < kept ? loop->fresh : kept;
	}
	if (array_append(loop->history, loop->history_capacity, loop->history_count, *launch))
		return -ENOMEM;
	if (!loop->launches++)
		loop->first_ns = launch->enter;
	loop->fresh++;
	return 0;
}

static int compare_launches(const void *left, const void *right)
{
	const struct iterations_launch *a = left, *b = right;

	return (a->enter > b->enter) - (a->enter < b->enter);
}

/* The chunks of two guests of one thread may overlap. */
void loop_sort(struct loop *loop)
{
	struct iterations_launch *fresh = loop->history + loop->history_count - loop->fresh;

	for (size_t i = 1; i < loop->fresh; i++)
		if (fresh[i].enter < fresh[i - 1].enter) {
			qsort(fresh, loop->fresh, sizeof(*fresh), compare_launches);
			return;
		}
}

bool loop_is_due(const struct loop *loop, bool is_last)
{
	const struct iterations_launch *last = loop->history + loop->history_count - 1;

	if (loop->method == LOOP_BY_RANGES || loop->launches < FEWEST || !loop->fresh)
		return false;
	if (loop->method == LOOP_UNKNOWN && is_last)
		return true;
	if (loop->launches >= (loop->next_search ? loop->next_search : FIRST_SEARCH))
		return true;
	return !loop->next_search && last->enter - loop->first_ns >= FIRST_SEARCH_NS;
}

/* ---- search ---------------------------------------------------------------------------------- */

/* Launches of one key. */
struct key_count {
	uint32_t key;
	size_t launches, iterations, last; /* last: the last iteration with it, from 1 */
	size_t first;                      /* its first launch */
};

struct key_counts {
	struct key_count *all; /* owned */
	size_t count, capacity;
	struct hash_map places;
};

static int count_key(struct key_counts *counts, uint32_t key, size_t launch, size_t iteration)
{
	size_t place = (size_t)hash_map_get(&counts->places, key, counts->count);
	struct key_count *row;

	if (place == counts->count) {
		if (array_append(counts->all, counts->capacity, counts->count,
				 (struct key_count){.key = key, .first = launch}) ||
		    hash_map_put(&counts->places, key, place))
			return -ENOMEM;
	}
	row = &counts->all[place];
	row->launches++;
	row->iterations += row->last != iteration;
	row->last = iteration;
	return 0;
}

static int count_keys(const struct loop *loop, const struct iterations *found,
		      struct key_counts *counts)
{
	int error = 0;

	for (size_t i = 0; i < found->count; i++) {
		const struct iteration *iteration = &found->list[i];
		size_t end = (size_t)(iteration->first + iteration->launches);

		for (size_t j = (size_t)iteration->first; j < end && !error; j++)
			error = count_key(counts, loop->history[j].key, j, i + 1);
	}
	return error;
}

static bool is_once(const struct key_count *row, size_t iterations)
{
	return (double)row->iterations >= nearly_all * (double)iterations &&
	       nearly_all * (double)row->launches <= (double)row->iterations;
}

/* A key that occurs once in nearly all iterations: the present anchor, otherwise the first one. A
 * later search may find other heads of the same loop. NULL: there is none. */
static const struct key_count *choose_key(const struct loop *loop, const struct key_counts *counts,
					  size_t iterations)
{
	const struct key_count *best = NULL;

	for (size_t i = 0; i < counts->count; i++) {
		const struct key_count *row = &counts->all[i];

		if (!is_once(row, iterations))
			continue;
		if (loop->method == LOOP_BY_ANCHOR && row->key == loop->anchor)
			return row;
		if (!best || row->first < best->first)
			best = row;
	}
	return best;
}

static void begin_again(struct loop *loop)
{
	loop->begin_ns = 0;
	loop->iterations = 0;
	loop->done_ns = 0;
	loop->fresh = loop->history_count;
	baseline_clear(&loop->baseline);
}

static int use_iterations(struct loop *loop, const struct iterations *found)
{
	const enum loop_method method = loop->method;
	struct key_counts counts = {0};
	const struct key_count *key;
	int error = count_keys(loop, found, &counts);

	key = error ? NULL : choose_key(loop, &counts, found->count);
	loop->period = found->period;
	loop->method = key ? LOOP_BY_ANCHOR : LOOP_BY_SEARCH;
	if (loop->method != method || (key && key->key != loop->anchor)) {
		loop->anchor = key ? key->key : 0;
		begin_again(loop);
	}
	free(counts.all);
	hash_map_fini(&counts.places);
	return error;
}

int loop_search(struct loop *loop)
{
	const struct iterations_input input = {loop->history, loop->history_count};
	struct iterations found = {0};
	int error = iterations_find_sequence(&input, &found);

	loop->next_search = loop->launches +
			    (loop->launches < LOOP_HISTORY ? loop->launches : 4 * LOOP_HISTORY);
	/* Without a result a loop that is known goes on: the program may do other work now. */
	if (!error && found.count >= FEWEST_ITERATIONS)
		error = use_iterations(loop, &found);
	iterations_fini(&found);
	return error;
}

int loop_use_ranges(struct loop *loop, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	free(loop->range);
	loop->range = copy;
	loop->method = LOOP_BY_RANGES;
	begin_again(loop);
	return 0;
}

/* ---- iterations ------------------------------------------------------------------------------ */

static void end_iteration(struct loop *loop, uint64_t begin_ns, uint64_t end_ns,
			  loop_callback callback, void *context)
{
	const struct loop_iteration iteration = {begin_ns, end_ns, ++loop->iterations};

	loop->done_ns = end_ns;
	callback(context, loop, &iteration);
}

static void advance_anchor(struct loop *loop, loop_callback callback, void *context)
{
	for (size_t i = loop->history_count - loop->fresh; i < loop->history_count; i++) {
		const struct iterations_launch *launch = &loop->history[i];

		if (launch->key != loop->anchor)
			continue;
		if (loop->begin_ns && launch->enter > loop->begin_ns)
			end_iteration(loop, loop->begin_ns, launch->enter, callback, context);
		loop->begin_ns = launch->enter;
	}
}

/* The last iteration that was found may lack launches. One with many more or fewer launches than
 * the others is a mistake of the search. */
static bool is_usual(const struct loop *loop, const struct iteration *iteration)
{
	return iteration->launches * 4 >= loop->period * 3 &&
	       iteration->launches * 4 <= loop->period * 5;
}

static int advance_search(struct loop *loop, loop_callback callback, void *context)
{
	size_t searched = SEARCHED + loop->fresh;
	struct iterations_input input;
	struct iterations found = {0};
	int error;

	if (searched > loop->history_count)
		searched = loop->history_count;
	input.launches = loop->history + loop->history_count - searched;
	input.count = searched;
	error = iterations_find_sequence(&input, &found);
	for (size_t i = 0; !error && i + 1 < found.count; i++) {
		const struct iteration *iteration = &found.list[i];

		if (iteration->begin >= loop->done_ns && is_usual(loop, iteration))
			end_iteration(loop, iteration->begin, iteration->end, callback, context);
	}
	iterations_fini(&found);
	return error;
}

int loop_advance(struct loop *loop, loop_callback callback, void *context)
{
	int error = 0;

	if (!loop->fresh || loop->method == LOOP_UNKNOWN)
		return 0;
	if (loop->method == LOOP_BY_ANCHOR)
		advance_anchor(loop, callback, context);
	else if (loop->method == LOOP_BY_SEARCH)
		error = advance_search(loop, callback, context);
	loop->fresh = 0;
	return error;
}

void loop_add_range(struct loop *loop, uint64_t begin_ns, uint64_t end_ns, loop_callback callback,
		    void *context)
{
	if (begin_ns >= loop->done_ns && end_ns > begin_ns)
		end_iteration(loop, begin_ns, end_ns, callback, context);
}
