/* SPDX-License-Identifier: MIT
 *
 * base/lane_assign.c - assign overlapping spans of one row to lanes
 *
 * Runs in:  our own process
 * Gets:     the spans of one thread's calls, or of one queue's commands, ordered by start
 * Gives:    numbers of lanes
 * Owns:     the spans that are still open in each lane
 * Fails:    -ENOMEM
 * Why lanes: if two slices overlap on one track, a viewer closes the wrong one first, so both
 *           lengths are wrong, or it drops one. An out-of-order queue that executes k commands at
 *           once gets k lanes.
 */
#include "base/lane_assign.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Limit for calls of one thread that overlap without nesting: that is damage, not a program, and
 * each tried lane costs time. Calls that fit into none of these lanes overlap in the last one. */
enum { MAX_CALL_LANES = 64 };

/* Whether a call nests with the open ones of the lane, and its position there. If two calls start
 * at the same time, the longer one is the outer one. */
static bool nests(struct lanes_stack *lane, uint64_t begin, uint64_t end, size_t *ret_at)
{
	size_t at;

	while (lane->count && lane->open[lane->count - 1].end <= begin)
		lane->count--;
	at = lane->count;
	while (at && lane->open[at - 1].begin == begin && lane->open[at - 1].end < end)
		at--;
	*ret_at = at;
	return !at || lane->open[at - 1].end >= end;
}

static int insert_span(struct lanes_stack *lane, size_t at, uint64_t begin, uint64_t end)
{
	if (array_grow(lane->open, lane->capacity, lane->count + 1))
		return -ENOMEM;
	memmove(&lane->open[at + 1], &lane->open[at], (lane->count - at) * sizeof(lane->open[0]));
	lane->open[at] = (struct lanes_span){begin, end};
	lane->count++;
	return 0;
}

int lanes_place_call(struct lanes *lanes, uint64_t begin, uint64_t end, size_t *ret_lane)
{
	size_t lane = 0, at = 0;

	while (lane < lanes->count && !nests(&lanes->stacks[lane], begin, end, &at))
		lane++;
	if (lane == MAX_CALL_LANES) {
		lane--; /* with the result of nests() for this last lane */
	} else if (lane == lanes->count) {
		at = 0;
		if (array_grow(lanes->stacks, lanes->stacks_capacity, lane + 1))
			return -ENOMEM;
		lanes->count++;
	}
	*ret_lane = lane;
	return insert_span(&lanes->stacks[lane], at, begin, end);
}

static int grow_ends(struct lanes *lanes)
{
	size_t leaves = lanes->leaves ? 2 * lanes->leaves : 8;
	uint64_t *grown = malloc(2 * leaves * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	for (size_t i = 0; i < leaves; i++)
		grown[leaves + i] = i < lanes->leaves ? lanes->ends[lanes->leaves + i] : UINT64_MAX;
	for (size_t i = leaves - 1; i; i--)
		grown[i] = grown[2 * i] < grown[2 * i + 1] ? grown[2 * i] : grown[2 * i + 1];
	free(lanes->ends);
	lanes->ends = grown;
	lanes->leaves = leaves;
	return 0;
}

static void set_end(struct lanes *lanes, size_t lane, uint64_t end)
{
	uint64_t *ends = lanes->ends;
	size_t i = lanes->leaves + lane;

	ends[i] = end;
	while (i /= 2)
		ends[i] = ends[2 * i] < ends[2 * i + 1] ? ends[2 * i] : ends[2 * i + 1];
}

/* The first lane whose last command ended before `begin`; lanes->count if there is none. */
static size_t find_free(const struct lanes *lanes, uint64_t begin)
{
	size_t i = 1;

	if (!lanes->leaves || lanes->ends[1] > begin)
		return lanes->count;
	if (lanes->ends[lanes->leaves] <= begin) /* mostly */
		return 0;
	while (i < lanes->leaves)
		i = 2 * i + (lanes->ends[2 * i] > begin);
	return i - lanes->leaves;
}

int lanes_place_command(struct lanes *lanes, uint64_t begin, uint64_t end, size_t *ret_lane)
{
	size_t lane = find_free(lanes, begin);

	if (lane == lanes->count) {
		if (lane == lanes->leaves && grow_ends(lanes))
			return -ENOMEM;
		lanes->count++;
	}
	set_end(lanes, lane, end);
	*ret_lane = lane;
	return 0;
}

void lanes_fini(struct lanes *lanes)
{
	for (size_t i = 0; lanes->stacks && i < lanes->count; i++)
		free(lanes->stacks[i].open);
	free(lanes->stacks);
	free(lanes->ends);
}
