/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/heads.c - the first launch of each iteration
 *
 * Runs in:  our own process
 * Gets:     the positions of an anchor, which lie anywhere in the body of the loop
 * Gives:    the launches at the head of the loop
 * Owns:     lists of one number for each segment
 * Fails:    -ENOMEM
 * Why two signs: in recordings with stacks, the lines of the loop's function rise from its head to
 *           its end, so the smallest line is the head. Otherwise the head follows the longest gap,
 *           because a program prepares an iteration before it launches. Without both, the
 *           repetition itself begins at the head.
 *
 * A segment has the launches after an anchor up to the next one. The head of each iteration is in
 * one segment, except the first: it is before the first anchor.
 */
#include "analyze/iterations/heads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"

#define NO_HEAD SIZE_MAX
enum {
	PASSES = 3,
	MIN_ALIKE = 3, /* heads whose common properties are searched */
	MIN_WHOLE = 16 /* launches in an iteration; fewer may be whole by chance */
};

static const double is_certain_from = 0.99, is_whole_from = 0.95;

/* ---- signs ----------------------------------------------------------------------------------- */

static uint32_t place_of(const struct heads *heads, size_t i)
{
	return heads->sequence->launches[i].place;
}

static bool is_marked(const struct heads *heads, size_t i)
{
	if (heads->sign == HEAD_BY_PLACE)
		return place_of(heads, i) == heads->place &&
		       (!i || place_of(heads, i - 1) != heads->place);
	return heads->sequence->pairs[i] == heads->pair;
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
static bool find_place(struct heads *heads, uint64_t *numbers)
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
	if (!place || share < 0.6 || others < heads->anchor->count - 1)
		return false;
	heads->place = place;
	return true;
}

/* How many segments have each pair; only pairs after a long gap. */
static void count_long_pairs(const struct heads *heads, struct long_pair *pairs)
{
	const struct sequence *sequence = heads->sequence;
	const size_t *positions = heads->anchor->positions;

	for (size_t segment = 0; segment + 1 < heads->anchor->count; segment++)
		for (size_t i = positions[segment] + 1; i <= positions[segment + 1]; i++) {
			struct long_pair *pair = &pairs[sequence->pairs[i]];

			if (!sequence->pair_is_long[sequence->pairs[i]])
				continue;
			pair->gap_ns += sequence_gap(sequence, i) / heads->anchor->count;
			pair->count++;
			if (pair->segment == segment + 1)
				continue;
			pair->segment = (uint32_t)segment + 1;
			pair->segments++;
			pair->last = i;
		}
}

/* The pair of most segments that follows the longest gap. */
static int find_pair(struct heads *heads)
{
	size_t segments = heads->anchor->count - 1;
	struct long_pair *pairs = calloc(heads->sequence->pairs_count + (size_t)1, sizeof(*pairs));
	const struct long_pair *best = NULL;

	if (!pairs)
		return -ENOMEM;
	count_long_pairs(heads, pairs);
	for (size_t i = 0; i < heads->sequence->pairs_count; i++) {
		const struct long_pair *pair = &pairs[i];

		if ((double)pair->segments < majority * (double)segments)
			continue;
		if (!best || pair->gap_ns > best->gap_ns)
			best = pair;
	}
	if (best) {
		heads->sign = HEAD_BY_GAP;
		heads->pair = (uint32_t)(best - pairs);
		heads->key = heads->sequence->keys[best->last];
	}
	free(pairs);
	return 0;
}

/* The launch with the longest gap in a segment. */
static size_t longest_gap(const struct heads *heads, size_t segment)
{
	const size_t *positions = heads->anchor->positions;
	size_t best = positions[segment] + 1;

	for (size_t i = best + 1; i <= positions[segment + 1]; i++)
		if (sequence_gap(heads->sequence, i) > sequence_gap(heads->sequence, best))
			best = i;
	return best;
}

/* Whether the gap before a launch is much longer than the mean of its segment. */
static bool stands_out(const struct heads *heads, size_t segment, size_t head)
{
	const size_t *positions = heads->anchor->positions;
	uint64_t sum = 0, count = positions[segment + 1] - positions[segment];

	for (size_t i = positions[segment] + 1; i <= positions[segment + 1]; i++)
		sum += sequence_gap(heads->sequence, i);
	return count == 1 || 2 * count * sequence_gap(heads->sequence, head) > 3 * sum;
}

/* If gaps have no classes: the pair at the longest gap of most segments. */
static void find_pair_by_vote(struct heads *heads, uint64_t *numbers)
{
	uint64_t usual;
	double share;

	for (size_t i = 0; i + 1 < heads->anchor->count; i++) {
		size_t head = longest_gap(heads, i);

		numbers[i] =
			(uint64_t)heads->sequence->pairs[head] << 32 | heads->sequence->keys[head];
		if (!stands_out(heads, i, head))
			numbers[i] = UINT64_MAX - i;
	}
	usual = most_frequent(numbers, heads->anchor->count - 1, &share);
	if (share < majority)
		return;
	heads->sign = HEAD_BY_GAP;
	heads->key = (uint32_t)usual;
	heads->pair = (uint32_t)(usual >> 32);
}

/* Whether the launches are whole repetitions of many, from the first to the last; a recording may
 * lack the kernels' names at its end. Then the loop is all that the thread launches, and its head
 * is the first launch: a thread that waits for another one in the middle of an iteration has its
 * longest gap there. */
static bool find_whole(struct heads *heads)
{
	const uint32_t *keys = heads->sequence->keys;
	size_t period = heads->length, count = heads->sequence->count, equal = 0;

	if (period < MIN_WHOLE || count % period || heads->anchor->positions[0] >= period ||
	    memcmp(keys, keys + period, period * sizeof(*keys)) != 0)
		return false;
	for (size_t i = period; i < count; i++)
		equal += keys[i] == keys[i - period];
	if ((double)equal < is_whole_from * (double)(count - period))
		return false;
	heads->sign = HEAD_BY_REPETITION;
	heads->before = heads->anchor->positions[0];
	heads->before_share = 1;
	heads->key = keys[0];
	return true;
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
	heads->sign = HEAD_BY_REPETITION;
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
		rank = heads->sign == HEAD_BY_PLACE ? place_of(heads, i - 1)
						    : sequence_gap(heads->sequence, i);
		if (best == NO_HEAD || rank > highest) {
			highest = rank;
			best = i;
		}
	}
	return best;
}

/* Lists the marked launches, and finds their usual distances from the anchors. */
static size_t list_marked(struct heads *heads, uint64_t *numbers, size_t *ret_list)
{
	const size_t *positions = heads->anchor->positions;
	size_t count = 0, listed = 0;

	for (size_t i = 0; i + 1 < heads->anchor->count; i++) {
		size_t head = marked_launch(heads, i);

		if (head == NO_HEAD)
			continue;
		ret_list[listed++] = head;
		numbers[count++] = positions[i + 1] - head;
	}
	heads->before = most_frequent(numbers, count, &heads->before_share);
	count = 0;
	for (size_t i = 0, k = 0; i + 1 < heads->anchor->count && k < listed; i++)
		if (ret_list[k] > positions[i] && ret_list[k] <= positions[i + 1])
			numbers[count++] = ret_list[k++] - positions[i];
	heads->after = most_frequent(numbers, count, &heads->after_share);
	return listed;
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

/* ---- all heads ------------------------------------------------------------------------------- */

/* Heads by the repetition alone: one in each segment, the first one and the last one. */
static size_t list_repeated(const struct heads *heads, size_t *ret_list)
{
	size_t first = heads->anchor->positions[0], count = 0;
	size_t last =
		heads->anchor->positions[heads->anchor->count - 1] + heads->length - heads->before;

	if (first >= heads->before && heads->sequence->keys[first - heads->before] == heads->key)
		ret_list[count++] = first - heads->before;
	for (size_t i = 0; i + 1 < heads->anchor->count; i++) {
		size_t head = launch_at_distance(heads, i);

		if (head != NO_HEAD)
			ret_list[count++] = head;
	}
	/* The last iteration, if the anchor is before its head. */
	if (heads->before < heads->length && last < heads->sequence->count &&
	    heads->sequence->keys[last] == heads->key)
		ret_list[count++] = last;
	return count;
}

/* Heads by place: the marked launch of each segment, otherwise the one at the usual distance,
 * because some launches may lack their stacks. */
static size_t list_placed(struct heads *heads, uint64_t *numbers, size_t *list, size_t count)
{
	double share;

	for (size_t i = 0; i < count; i++)
		numbers[i] = heads->sequence->keys[list[i]];
	heads->key = (uint32_t)most_frequent(numbers, count, &share);
	count = 0;
	for (size_t i = 0; i + 1 < heads->anchor->count; i++) {
		size_t head = marked_launch(heads, i);

		if (head == NO_HEAD)
			head = launch_at_distance(heads, i);
		if (head != NO_HEAD)
			list[count++] = head;
	}
	return count;
}

/* Adds the marked launches before the first anchor and after the last. */
static int add_outer_marked(const struct heads *heads, size_t **list, size_t *count)
{
	const size_t *positions = heads->anchor->positions;
	size_t *all = NULL, all_count = 0, capacity = 0, next = 0;

	for (size_t i = 0; i < heads->sequence->count; i++) {
		bool is_outer = i <= positions[0] || i > positions[heads->anchor->count - 1];
		bool is_listed = next < *count && (*list)[next] == i;

		next += is_listed;
		if ((is_listed || (is_outer && is_marked(heads, i))) &&
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

/* ---- the ends of the loop -------------------------------------------------------------------- */

/* Counts which common keys a piece has. */
struct piece {
	const struct heads *heads;
	uint32_t *seen; /* owned; by key: the last piece with it */
	uint32_t number;
	size_t common, uncommon; /* kinds of common keys; launches with other keys */
};

static void add_launch(struct piece *piece, size_t i)
{
	uint32_t key = piece->heads->sequence->keys[i];

	if (!piece->heads->anchor->is_common[key])
		piece->uncommon++;
	else if (piece->seen[key] != piece->number)
		piece->common++;
	piece->seen[key] = piece->number;
}

/* Whether the launches of a piece are an iteration: few uncommon keys, most common ones. It ends
 * somewhere from `to` to `end`. */
static bool is_iteration(struct piece *piece, size_t from, size_t to, size_t end)
{
	piece->number++;
	piece->common = piece->uncommon = 0;
	for (size_t i = from; i < end; i++) {
		add_launch(piece, i);
		if (i + 1 >= to && 5 * piece->common >= 3 * piece->heads->anchor->common_count &&
		    2 * piece->uncommon <= i + 1 - from)
			return true;
	}
	return false;
}

/* The shortest and the longest piece. */
static void measure_pieces(const size_t *list, size_t count, size_t *ret_shortest,
			   size_t *ret_longest)
{
	*ret_shortest = SIZE_MAX;
	*ret_longest = 0;
	for (size_t i = 0; i + 1 < count; i++) {
		*ret_shortest = smaller(*ret_shortest, list[i + 1] - list[i]);
		*ret_longest = larger(*ret_longest, list[i + 1] - list[i]);
	}
}

/* Drops pieces that are not iterations at both ends: parts of the warm-up and of the cool-down. The
 * last piece has no known end. */
static int trim_heads(const struct heads *heads, size_t *list, size_t *count)
{
	struct piece piece = {.heads = heads};
	size_t first = 0, shortest, longest, last;

	piece.seen = calloc(heads->sequence->keys_count + (size_t)1, sizeof(*piece.seen));
	if (!piece.seen)
		return -ENOMEM;
	while (*count - first > 1 &&
	       !is_iteration(&piece, list[first], list[first + 1], list[first + 1]))
		first++;
	measure_pieces(list + first, *count - first, &shortest, &longest);
	while (*count > first + 1) {
		last = list[*count - 1];
		if (is_iteration(&piece, last, last + shortest,
				 smaller(heads->sequence->count, last + longest * 3 / 2)))
			break;
		--*count;
	}
	*count -= first;
	for (size_t i = 0; i < *count; i++)
		list[i] = list[i + first];
	free(piece.seen);
	return 0;
}

static int heads_init(struct heads *heads, uint64_t *numbers)
{
	const struct anchor *anchor = heads->anchor;
	int error = 0;

	for (size_t i = 0; i + 1 < anchor->count; i++)
		numbers[i] = anchor->positions[i + 1] - anchor->positions[i];
	qsort(numbers, anchor->count - 1, sizeof(*numbers), compare_u64);
	heads->length = numbers[(anchor->count - 1) / 2];
	if (find_place(heads, numbers))
		heads->sign = HEAD_BY_PLACE;
	else if (!find_whole(heads))
		error = find_pair(heads);
	if (heads->sign == HEAD_UNKNOWN)
		find_pair_by_vote(heads, numbers);
	if (heads->sign == HEAD_UNKNOWN)
		find_repetition(heads);
	return error;
}

static int list_heads(struct heads *heads, uint64_t *numbers, size_t **list, size_t *count)
{
	struct head_likeness like = {0};
	size_t *chosen = NULL, chosen_count = 0;
	bool is_same = false;
	int error = 0;

	if (heads->sign == HEAD_BY_REPETITION) {
		*count = list_repeated(heads, *list);
		return 0;
	}
	*count = list_marked(heads, numbers, *list);
	if (heads->sign == HEAD_BY_PLACE) {
		*count = list_placed(heads, numbers, *list, *count);
		return add_outer_marked(heads, list, count);
	}
	/* Two heads have too little in common to look for others; the distance is the sign. */
	if (*count < MIN_ALIKE && heads->before_share >= is_certain_from) {
		*count = list_repeated(heads, *list);
		return 0;
	}
	for (unsigned int pass = 0; pass < PASSES && *count >= MIN_ALIKE && !error && !is_same;
	     pass++) {
		error = head_likeness_init(heads, *list, *count, &like);
		if (!error)
			error = heads_choose(heads, &like, &chosen, &chosen_count);
		head_likeness_fini(&like);
		if (!error) {
			is_same = chosen_count == *count &&
				  !memcmp(chosen, *list, chosen_count * sizeof(*chosen));
			free(*list);
			*list = chosen;
			*count = chosen_count;
		}
	}
	return error;
}

int heads_find(const struct sequence *sequence, const struct anchor *anchor, size_t **ret_heads,
	       size_t *ret_count)
{
	struct heads heads = {.sequence = sequence, .anchor = anchor};
	uint64_t *numbers = malloc((anchor->count + 1) * sizeof(*numbers));
	size_t *list = malloc((anchor->count + 2) * sizeof(*list)), count = 0;
	int error = numbers && list ? heads_init(&heads, numbers) : -ENOMEM;

	if (!error)
		error = list_heads(&heads, numbers, &list, &count);
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
