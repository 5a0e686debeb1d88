/* SPDX-License-Identifier: MIT
 *
 * flame/diff/list.c - the largest differences between two recordings
 *
 * Runs in:  our own process
 * Gets:     the graph of both
 * Gives:    lists of frames that grew, shrank, are new or are gone
 * Owns:     during a call, the nodes' order and 24 bytes per node
 * Fails:    -ENOMEM
 * Why own values: with the values of all callees, the first ten rows are main and the functions on
 *           the way to one kernel. Own values are disjoint, so the lists add up to the change of
 *           the total. A frame that only one recording has is one row with all above it, because
 *           the frames above are missing for the same reason.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flame/diff/change.h"
#include "flame/diff/diff.h"
#include "flame/tree.h"

struct change_search {
	const struct flame_diff *diff;
	struct flame_order order;
	uint64_t *owns, *own_others; /* by node */
	uint32_t *lengths;           /* by node: number of frames before its first instruction */
	uint32_t *holders; /* by node: itself, or the one below that has its instructions' values */
};

static void search_fini(struct change_search *search)
{
	flame_order_fini(&search->order);
	free(search->owns);
	free(search->own_others);
	free(search->lengths);
	free(search->holders);
}

/* In a stack of instructions alone, the first one is a frame like others. */
static uint32_t length_of(const struct flame *flame, uint32_t node)
{
	const struct flame_node *piece = &flame->nodes[node];
	uint32_t length = piece->length;

	while (length > 0) {
		uint32_t frame = flame->pool[piece->first + length - 1];
		uint8_t class = flame->frames[frame].frame_class;

		if (class != FLAME_INSTRUCTION && class != FLAME_STALL)
			break;
		length--;
	}
	return length || piece->parent ? length : 1;
}

/* Gives each node the values of the instructions above it. */
static void hold_values(struct change_search *search)
{
	const struct flame *flame = search->diff->flame;

	search->lengths[0] = search->holders[0] = 0;
	for (uint32_t i = 0; i < flame->nodes_count; i++) {
		const uint32_t node = search->order.nodes[i];
		const uint32_t below = search->holders[flame->nodes[node].parent];

		search->lengths[node] = node ? length_of(flame, node) : 0;
		search->holders[node] = search->lengths[node] ? node : below;
		if (search->holders[node] == node)
			continue;
		search->owns[below] += search->owns[node];
		search->own_others[below] += search->own_others[node];
	}
}

static int search_init(struct change_search *search, const struct flame_diff *diff)
{
	const size_t count = diff->flame->nodes_count;

	search->diff = diff;
	search->owns = flame_allocate(count, sizeof(*search->owns));
	search->own_others = flame_allocate(count, sizeof(*search->own_others));
	search->lengths = flame_allocate(count, sizeof(*search->lengths));
	search->holders = flame_allocate(count, sizeof(*search->holders));
	if (!search->owns || !search->own_others || !search->lengths || !search->holders)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		search->owns[i] = diff->flame->nodes[i].self;
	memcpy(search->own_others, diff->others, count * sizeof(*search->own_others));
	hold_values(search);
	return 0;
}

static uint64_t size_of(const struct flame_change *change)
{
	return change->now > change->base ? change->now - change->base : change->base - change->now;
}

/* Changes of equal size keep their order. */
static void list_change(struct flame_change_list *list, const struct flame_change *change)
{
	const uint64_t size = size_of(change);
	uint32_t place = list->listed;

	list->count++;
	list->sum += size;
	while (place > 0 && size_of(&list->changes[place - 1]) < size)
		place--;
	if (place == FLAME_CHANGES_LISTED)
		return;
	if (list->listed < FLAME_CHANGES_LISTED)
		list->listed++;
	memmove(&list->changes[place + 1], &list->changes[place],
		(list->listed - place - 1) * sizeof(*change));
	list->changes[place] = *change;
}

/* A frame without a value in one recording is listed if the frame below it has values in both. */
static bool is_listed(const struct change_search *search, uint32_t node)
{
	const uint32_t below = search->holders[search->diff->flame->nodes[node].parent];

	return !below || (search->order.totals[below] && search->order.others[below]);
}

static void list_node(const struct change_search *search, uint32_t node,
		      struct flame_change_list *lists)
{
	struct flame_values values = flame_diff_values(search->diff, search->order.totals[node],
						       search->order.others[node]);
	const bool is_in_both = values.now && values.base;
	enum flame_change_kind kind = values.now ? FLAME_ADDED : FLAME_GONE;

	if (is_in_both) {
		values = flame_diff_values(search->diff, search->owns[node],
					   search->own_others[node]);
		kind = values.now > values.base ? FLAME_GREW : FLAME_SHRANK;
	}
	if (values.now != values.base && (is_in_both || is_listed(search, node)))
		list_change(&lists[kind], &(struct flame_change){values.now, values.base, node,
								 search->lengths[node]});
}

int flame_diff_list(const struct flame_diff *diff,
		    struct flame_change_list ret_lists[FLAME_CHANGE_KINDS])
{
	struct change_search search = {0};
	int error = flame_order_init(&search.order, diff->flame, diff->others);

	if (!error)
		error = search_init(&search, diff);
	if (!error)
		memset(ret_lists, 0, FLAME_CHANGE_KINDS * sizeof(*ret_lists));
	for (uint32_t i = 1; i < diff->flame->nodes_count && !error; i++)
		if (search.lengths[search.order.nodes[i]])
			list_node(&search, search.order.nodes[i], ret_lists);
	search_fini(&search);
	return error;
}
