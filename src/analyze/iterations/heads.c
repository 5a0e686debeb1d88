/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/heads.c - the first launch of each iteration
 *
 * Runs in:  our own process
 * Gets:     the positions of an anchor, which lie anywhere in the body of the loop
 * Gives:    the launches at the head of the loop
 * Owns:     lists of one number for each segment
 * Fails:    -ENOMEM
 * Why two signs: where stacks were recorded, the lines of the loop's function rise from its head to
 *           its end, so the smallest line is the head. Otherwise the head follows the longest gap
 * of an iteration, because a program prepares an iteration before it launches. Without both, the
 * repetition itself begins at the head.
 *
 * A segment has the launches after an anchor up to the next one. The head of each iteration is in
 * one segment, except the first: it is before the first anchor.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/iterations/sequence.h"
#include "base/array.h"
#include "base/number.h"

#define NO_HEAD SIZE_MAX

/* A sign that fewer segments have is none. */
static const double majority = 0.5;

struct heads {
	const struct sequence *sequence;
	const struct anchor *anchor;
	uint32_t place; /* the smallest usual place; 0: not known */
	uint32_t pair;  /* the usual pair of a head */
	uint32_t key;   /* the usual key of a head */
	/* launches from the anchor before and to the anchor after, with the share of the segments
	 * that have this distance */
	size_t after, before;
	double after_share, before_share;
	size_t length; /* median of the segments */
	bool is_marked_by_gap;
};

/* ---- the most frequent number ---------------------------------------------------------------- */

/* Sorts numbers; returns the most frequent one. */
static uint64_t most_frequent(uint64_t *numbers, size_t count, double *ret_share)
{
	uint64_t best = 0;
	size_t best_run = 0, run = 0;

	qsort(numbers, count, sizeof(*numbers), compare_u64);
	for (size_t i = 0; i < count; i++) {
		run = i && numbers[i] == numbers[i - 1] ? run + 1 : 1;
		if (run > best_run) {
			best_run = run;
			best = numbers[i];
		}
	}
	*ret_share = count ? (double)best_run / (double)count : 0;
	return best;
}

/* ---- signs ----------------------------------------------------------------------------------- */

static uint32_t place_of(const struct heads *heads, size_t i)
{
	return heads->sequence->launches[i].place;
}

static bool is_marked(const struct heads *heads, size_t i)
{
	if (heads->place)
		return place_of(heads, i) == heads->place &&
		       (!i || place_of(heads, i - 1) != heads->place);
	return heads->sequence->pairs[i] == heads->pair;
}

/* The launch with the longest gap in a segment; only those with a key unless it is UINT32_MAX. */
static size_t longest_gap(const struct heads *heads, size_t segment, uint32_t key)
{
	const size_t *positions = heads->anchor->positions;
	uint64_t longest = 0;
	size_t best = NO_HEAD;

	for (size_t i = positions[segment] + 1; i <= positions[segment + 1]; i++) {
		uint64_t gap = sequence_gap(heads->sequence, i);

		if ((key == UINT32_MAX || heads->sequence->keys[i] == key) &&
		    (best == NO_HEAD || gap > longest)) {
			longest = gap;
			best = i;
		}
	}
	return best;
}

static uint32_t smallest_place(const struct heads *heads, size_t segment)
{
	const size_t *positions = heads->anchor->positions;
	uint32_t smallest = 0;

	for (size_t i = positions[segment] + 1; i <= positions[segment + 1]; i++)
		if (place_of(heads, i) && (!smallest || place_of(heads, i) < smallest))
			smallest = place_of(heads, i);
	return smallest;
}

/* The smallest place that most segments have, unless all launches have it. */
static void find_place(struct heads *heads, uint64_t *numbers)
{
	size_t first = heads->anchor->positions[0], others = 0;
	size_t last = heads->anchor->positions[heads->anchor->count - 1];
	uint32_t place;
	double share;

	for (size_t i = 0; i + 1 < heads->anchor->count; i++)
		numbers[i] = smallest_place(heads, i);
	place = (uint32_t)most_frequent(numbers, heads->anchor->count - 1, &share);
	for (size_t i = first; i <= last; i++)
		others += place_of(heads, i) && place_of(heads, i) != place;
	if (share >= 0.6 && others >= heads->anchor->count - 1)
		heads->place = place;
}

/* The pair at the longest gap of most segments. */
static void find_pair(struct heads *heads, uint64_t *numbers)
{
	uint64_t usual;
	double share;

	for (size_t i = 0; i + 1 < heads->anchor->count; i++) {
		size_t head = longest_gap(heads, i, UINT32_MAX);

		numbers[i] =
			(uint64_t)heads->sequence->pairs[head] << 32 | heads->sequence->keys[head];
	}
	usual = most_frequent(numbers, heads->anchor->count - 1, &share);
	heads->key = (uint32_t)usual;
	heads->pair = (uint32_t)(usual >> 32);
	heads->is_marked_by_gap = share >= majority;
}

/* Without a sign: the repetition reaches from the first anchor back to the head. */
static void find_repetition(struct heads *heads)
{
	const struct sequence *sequence = heads->sequence;
	const size_t *positions = heads->anchor->positions;
	size_t head = positions[0], period = positions[1] - positions[0];

	while (head && positions[0] - head + 1 < period &&
	       sequence->keys[head - 1] == sequence->keys[head - 1 + period])
		head--;
	heads->before = positions[0] - head;
	heads->before_share = 1;
	heads->key = sequence->keys[head + period];
	heads->pair = sequence->pairs[head + period];
}

/* ---- the head of a segment ------------------------------------------------------------------- */

/* The marked launch of a segment: after the largest place, or the longest gap. */
static size_t marked_launch(const struct heads *heads, size_t segment)
{
	const size_t *positions = heads->anchor->positions;
	uint64_t highest = 0;
	size_t best = NO_HEAD;

	for (size_t i = positions[segment] + 1; i <= positions[segment + 1]; i++) {
		uint64_t rank;

		if (!is_marked(heads, i))
			continue;
		rank = heads->place ? (i ? place_of(heads, i - 1) : 0)
				    : sequence_gap(heads->sequence, i);
		if (best == NO_HEAD || rank > highest) {
			highest = rank;
			best = i;
		}
	}
	return best;
}

static void find_distances(struct heads *heads, uint64_t *numbers)
{
	const size_t *positions = heads->anchor->positions;
	size_t count = 0;

	for (size_t i = 0; i + 1 < heads->anchor->count; i++) {
		size_t head = marked_launch(heads, i);

		if (head != NO_HEAD)
			numbers[count++] = positions[i + 1] - head;
	}
	heads->before = most_frequent(numbers, count, &heads->before_share);
	count = 0;
	for (size_t i = 0; i + 1 < heads->anchor->count; i++) {
		size_t head = marked_launch(heads, i);

		if (head != NO_HEAD)
			numbers[count++] = head - positions[i];
	}
	heads->after = most_frequent(numbers, count, &heads->after_share);
}

/* The launch at the usual distance from an anchor, if it has the usual key. */
static size_t launch_at_distance(const struct heads *heads, size_t segment)
{
	size_t from = heads->anchor->positions[segment], to = heads->anchor->positions[segment + 1],
	       head = NO_HEAD;

	if (heads->before_share >= majority)
		head = heads->before < to - from ? to - heads->before : NO_HEAD;
	else if (heads->after_share >= majority)
		head = heads->after <= to - from ? from + heads->after : NO_HEAD;
	return head != NO_HEAD && heads->sequence->keys[head] == heads->key ? head : NO_HEAD;
}

/* A launch at the usual distance is the head, unless another one follows a much longer gap: an
 * additional launch changes the distance. */
static size_t head_of(const struct heads *heads, size_t segment)
{
	size_t marked = marked_launch(heads, segment), at = launch_at_distance(heads, segment);

	if (heads->place && marked != NO_HEAD)
		return marked;
	if (at == NO_HEAD || marked == NO_HEAD)
		return at != NO_HEAD       ? at
		       : marked != NO_HEAD ? marked
					   : longest_gap(heads, segment, heads->key);
	return 3 * sequence_gap(heads->sequence, at) >= sequence_gap(heads->sequence, marked)
		       ? at
		       : marked;
}

/* ---- the ends of the loop -------------------------------------------------------------------- */

/* Whether the launches from `from` to `to` are an iteration: few uncommon keys, most common ones.
 */
static bool is_iteration(const struct heads *heads, size_t from, size_t to, uint32_t *seen,
			 uint32_t number)
{
	size_t common = 0, uncommon = 0;

	for (size_t i = from; i < to; i++) {
		uint32_t key = heads->sequence->keys[i];

		if (!heads->anchor->is_common[key])
			uncommon++;
		else if (seen[key] != number)
			common++;
		seen[key] = number;
	}
	return 5 * common >= 3 * heads->anchor->common_count && 2 * uncommon <= to - from;
}

/* The head of the first iteration, before the first anchor. */
static size_t first_head(const struct heads *heads)
{
	size_t to = heads->anchor->positions[0], best = NO_HEAD;

	if (heads->before_share >= majority && to >= heads->before &&
	    heads->sequence->keys[to - heads->before] == heads->key)
		return to - heads->before;
	for (size_t i = to + 1; i > 0 && to - i + 1 < 2 * heads->length; i--) {
		if (!is_marked(heads, i - 1))
			continue;
		if (best == NO_HEAD || (heads->is_marked_by_gap && !heads->place &&
					sequence_gap(heads->sequence, i - 1) >
						STANDS_OUT * sequence_gap(heads->sequence, best)))
			best = i - 1;
	}
	return best;
}

/* Drops what is no iteration at both ends: parts of the warm-up and of the cool-down. */
static int trim_heads(const struct heads *heads, size_t *list, size_t *count)
{
	uint32_t *seen = calloc(heads->sequence->keys_count + (size_t)1, sizeof(*seen)), number = 0;
	size_t first = 0, end;

	if (!seen)
		return -ENOMEM;
	while (*count - first > 1 &&
	       !is_iteration(heads, list[first], list[first + 1], seen, ++number))
		first++;
	while (*count > first) {
		end = smaller(heads->sequence->count, list[*count - 1] + heads->length * 5 / 4 + 1);
		if (is_iteration(heads, list[*count - 1], end, seen, ++number))
			break;
		--*count;
	}
	*count -= first;
	for (size_t i = 0; i < *count; i++)
		list[i] = list[i + first];
	free(seen);
	return 0;
}

/* Heads of segments, one for each, and the first one. */
static void list_segment_heads(struct heads *heads, size_t *ret_heads, size_t *ret_count)
{
	size_t head = first_head(heads), count = 0;

	if (head != NO_HEAD)
		ret_heads[count++] = head;
	for (size_t i = 0; i + 1 < heads->anchor->count; i++) {
		head = head_of(heads, i);
		if (head != NO_HEAD)
			ret_heads[count++] = head;
	}
	*ret_count = count;
}

/* ---- all heads ------------------------------------------------------------------------------- */

/* The key that most heads have beside them. offset -1, 1, 2. UINT32_MAX: there is no such key. */
static uint32_t usual_neighbour(const struct sequence *sequence, const size_t *list, size_t count,
				int offset)
{
	uint32_t usual = UINT32_MAX;
	size_t votes = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = list[i] + (size_t)offset;
		uint32_t key;

		if (at >= sequence->count) /* before the first one, too */
			continue;
		key = sequence->keys[at];
		if (!votes)
			usual = key;
		votes += key == usual ? 1 : (size_t)-1;
	}
	return usual;
}

/* What launches at the head of a loop have in common. */
struct head_likeness {
	uint64_t gap_ns; /* median */
	uint32_t neighbours[3];
};

static const int neighbour_offsets[] = {-1, 1, 2};

/* Whether a launch is like the heads that the segments have: a long gap, the key, and most of the
 * neighbours. */
static bool is_like_heads(const struct heads *heads, size_t i, const struct head_likeness *like)
{
	const struct sequence *sequence = heads->sequence;
	unsigned int equal = 0;

	if (heads->place)
		return is_marked(heads, i);
	if (!heads->is_marked_by_gap || sequence->keys[i] != heads->key ||
	    4 * sequence_gap(sequence, i) < like->gap_ns)
		return false;
	for (size_t k = 0; k < ARRAY_COUNT(neighbour_offsets); k++) {
		size_t at = i + (size_t)neighbour_offsets[k];

		equal += at >= sequence->count || sequence->keys[at] == like->neighbours[k];
	}
	return equal >= 2;
}

static uint64_t median_gap(const struct heads *heads, const size_t *list, size_t count,
			   uint64_t *numbers)
{
	for (size_t i = 0; i < count; i++)
		numbers[i] = sequence_gap(heads->sequence, list[i]);
	qsort(numbers, count, sizeof(*numbers), compare_u64);
	return count ? numbers[count / 2] : 0;
}

/* Adds launches that are like the heads: those of iterations without an anchor, and of the first
 * iteration. */
static int add_like_heads(const struct heads *heads, uint64_t gap_ns, size_t **list, size_t *count)
{
	struct head_likeness like = {.gap_ns = gap_ns};
	size_t *all = NULL, all_count = 0, capacity = 0, next = 0;

	for (size_t k = 0; k < ARRAY_COUNT(neighbour_offsets); k++)
		like.neighbours[k] =
			usual_neighbour(heads->sequence, *list, *count, neighbour_offsets[k]);
	for (size_t i = 0; i < heads->sequence->count; i++) {
		bool is_listed = next < *count && (*list)[next] == i;

		next += is_listed;
		if ((is_listed || is_like_heads(heads, i, &like)) &&
		    array_append(all, capacity, all_count, i)) {
			free(all);
			return -ENOMEM;
		}
	}
	free(*list);
	*list = all;
	*count = all_count;
	return 0;
}

static int heads_init(struct heads *heads, uint64_t *numbers)
{
	const struct anchor *anchor = heads->anchor;

	for (size_t i = 0; i + 1 < anchor->count; i++)
		numbers[i] = anchor->positions[i + 1] - anchor->positions[i];
	qsort(numbers, anchor->count - 1, sizeof(*numbers), compare_u64);
	heads->length = numbers[(anchor->count - 1) / 2];
	find_pair(heads, numbers);
	find_place(heads, numbers);
	if (heads->place || heads->is_marked_by_gap)
		find_distances(heads, numbers);
	else
		find_repetition(heads);
	return 0;
}

int heads_find(const struct sequence *sequence, const struct anchor *anchor, size_t **ret_heads,
	       size_t *ret_count)
{
	struct heads heads = {.sequence = sequence, .anchor = anchor};
	uint64_t *numbers = malloc((anchor->count + 1) * sizeof(*numbers));
	size_t *list = malloc((anchor->count + 1) * sizeof(*list)), count = 0;
	int error = numbers && list ? heads_init(&heads, numbers) : -ENOMEM;

	if (!error) {
		list_segment_heads(&heads, list, &count);
		error = add_like_heads(&heads, median_gap(&heads, list, count, numbers), &list,
				       &count);
	}
	free(numbers);
	if (!error)
		error = sequence_repair(sequence, anchor, list, &count);
	if (!error)
		error = trim_heads(&heads, list, &count);
	if (error) {
		free(list);
		return error;
	}
	*ret_heads = list;
	*ret_count = count;
	return 0;
}
