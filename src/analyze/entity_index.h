/* SPDX-License-Identifier: MIT
 *
 * analyze/entity_index.h - the entities of one kind, and the index of each in the reader's list
 *
 * For each list of entities the analysis has an array of its own, which is one item longer. The
 * last item stands for all ids that have no row in the file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct trace_reader;

struct entity_index {
	const char *rows; /* the reader's rows, sorted by id, which is each row's first field */
	size_t count, size;
};

void entity_index_init(struct entity_index *entities, const struct trace_reader *reader,
		       enum event_kind kind);

static inline uint32_t entity_index_id(const struct entity_index *entities, size_t index)
{
	return *(const uint32_t *)(const void *)(entities->rows + index * entities->size);
}

/* The same as entity_index_find, in O(log n). */
size_t entity_index_search(const struct entity_index *entities, uint32_t id);

/* The index of `id`; entities->count if there is no such row. O(1) for ids without gaps, otherwise
 * O(log n). */
static inline size_t entity_index_find(const struct entity_index *entities, uint32_t id)
{
	if (!id) /* no entity has it: the idle thread, an unknown device */
		return entities->count;
	if (id <= entities->count && entity_index_id(entities, id - 1) == id)
		return id - 1;
	return entity_index_search(entities, id);
}

/* The row at an index; NULL for things->count. */
const void *entity_index_row(const struct entity_index *entities, size_t index);

/* The row of `id`; NULL if there is none. */
static inline const void *entity_index_get(const struct entity_index *entities, uint32_t id)
{
	return entity_index_row(entities, entity_index_find(entities, id));
}
