/* SPDX-License-Identifier: MIT
 *
 * analyze/entity_index.c - the entities of one kind, and the index of each in the reader's list
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     a reader's sorted lists
 * Gives:    dense indices
 * Owns:     nothing
 * Fails:    never; all unknown ids share the index entities->count
 * Why an index by position: a file may contain any 32-bit id, so an array indexed by id could take
 *           4 GiB. An array indexed by position cannot. The recorder numbers entities 1, 2, 3, …,
 *           so the id is usually the position + 1, and one comparison confirms it.
 */
#include "analyze/entity_index.h"

#include "base/array.h"
#include "trace/reader.h"

void entity_index_init(struct entity_index *entities, const struct trace_reader *reader,
		       enum event_kind kind)
{
	entities->count = trace_reader_entities(reader, kind, &entities->rows);
	entities->size = trace_reader_row_size(kind);
}

size_t entity_index_search(const struct entity_index *entities, uint32_t id)
{
	const size_t low = LOWER_BOUND(entities->count, i, entity_index_id(entities, i) < id);

	return low < entities->count && entity_index_id(entities, low) == id ? low
									     : entities->count;
}

const void *entity_index_row(const struct entity_index *entities, size_t index)
{
	return index < entities->count ? entities->rows + index * entities->size : NULL;
}
