/* SPDX-License-Identifier: MIT
 *
 * export/common/stack_set.c - collect the stacks and frames that an export refers to
 *
 * Runs in:  our own process
 * Gets:     ids of stacks, while rows are written
 * Gives:    the ids that must be described after the rows
 * Owns:     two sets of ids
 * Fails:    -ENOMEM
 * Why:      an export of a part of a trace contains only the stacks of that part. Otherwise a small
 *           export would spend most of its time on symbols of stacks that it does not contain.
 */
#include "export/common/stack_set.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/model.h"

void stack_set_init(struct stack_set *set, const struct model *model)
{
	*set = (struct stack_set){.model = model};
}

void stack_set_fini(struct stack_set *set)
{
	if (!set)
		return;
	hash_map_fini(&set->stacks);
	hash_map_fini(&set->frames);
}

int stack_set_add(struct stack_set *set, uint32_t stack)
{
	const struct event_stack *node;

	/* a stack that is in the set has its callers in the set */
	while (!hash_map_find(&set->stacks, stack) && (node = model_stack(set->model, stack))) {
		if (hash_map_put(&set->stacks, stack, 1) ||
		    hash_map_put(&set->frames, node->frame, 1))
			return -ENOMEM;
		stack = node->caller;
	}
	return 0;
}

static int compare_ids(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

static uint32_t *list(const struct hash_map *map, size_t *ret_count)
{
	uint32_t *ids = malloc((map->count + 1) * sizeof(*ids));
	size_t cursor = 0, count = 0;
	uint64_t id;

	if (!ids)
		return NULL;
	while (hash_map_next(map, &cursor, &id, NULL))
		ids[count++] = (uint32_t)id;
	qsort(ids, count, sizeof(*ids), compare_ids);
	*ret_count = count;
	return ids;
}

uint32_t *stack_set_stacks(const struct stack_set *set, size_t *ret_count)
{
	return list(&set->stacks, ret_count);
}

uint32_t *stack_set_frames(const struct stack_set *set, size_t *ret_count)
{
	return list(&set->frames, ret_count);
}
