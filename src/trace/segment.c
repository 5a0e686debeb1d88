/* SPDX-License-Identifier: MIT
 *
 * trace/segment.c - the parts that make a segment readable alone: head, dictionary, entities, clock
 * pairs, index
 *
 * Runs in:  the recorder, as a part of a writer
 * Gets:     the writer's tables; gives the chunks that every segment repeats
 * Owns:     nothing of its own
 * Fails:    -errno; unwritten data stay marked and are written with the next chunk
 * Why an ended entity is repeated in one more segment: an entity is repeated while it lives and in
 *           the segment after its end, because the completion of a command may be read after its
 *           queue or process has gone. The entities to which a living one refers (a thread's
 *           process, a kernel's program) are repeated with it. All other entities are removed from
 *           memory, which bounds the memory of a week's recording.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "trace/segment_head.h"
#include "trace/writer_private.h"

#include "duet_trace.pb-c.h"

enum entity_flag { ENTITY_DIRTY = 1, ENTITY_KEPT = 2 };

#define STRINGS_BYTES ((size_t)256 << 10)

static int out_of_memory(const struct trace_writer *writer)
{
	return error_set(-ENOMEM, "write '%s': out of memory", writer->file.path);
}

/* ---- dictionary ---- */

uint32_t segment_local_string(void *context, uint32_t id)
{
	struct trace_writer *writer = context;

	if (!id || id > writer->strings.count ||
	    array_grow(writer->dictionary.ids, writer->dictionary.ids_capacity,
		       writer->strings.count + (size_t)1))
		return 0;
	if (writer->dictionary.ids[id])
		return writer->dictionary.ids[id];
	if (array_grow(writer->dictionary.strings, writer->dictionary.strings_capacity,
		       writer->dictionary.count + (size_t)1))
		return 0;
	writer->dictionary.strings[writer->dictionary.count++] = id;
	writer->dictionary.ids[id] = writer->dictionary.count;
	return writer->dictionary.count;
}

/* Number of strings from dictionary.written on that fit into one chunk, and their bytes. */
static uint32_t batch_strings(const struct trace_writer *writer, size_t *ret_bytes)
{
	uint32_t count = 0;
	size_t bytes = 0, length;

	while (writer->dictionary.written + count < writer->dictionary.count &&
	       count < TRACE_ROWS_LIMIT) {
		string_table_text(&writer->strings,
				  writer->dictionary.strings[writer->dictionary.written + count],
				  &length);
		if (count && bytes + length > STRINGS_BYTES)
			break;
		bytes += length;
		count++;
	}
	*ret_bytes = bytes;
	return count;
}

static int write_string_batch(struct trace_writer *writer)
{
	Duet__Strings message = DUET__STRINGS__INIT;
	struct chunk_head head = {.kind = TRACE_STRINGS};
	size_t bytes, length, used = 0;
	uint32_t count = batch_strings(writer, &bytes);
	auto_free uint32_t *lengths = malloc(count * sizeof(*lengths));
	auto_free uint8_t *text = malloc(bytes + 1);
	auto_free uint8_t *packed = NULL;
	int error;

	if (!lengths || !text)
		return out_of_memory(writer);
	for (uint32_t i = 0; i < count; i++) {
		const char *from = string_table_text(
			&writer->strings,
			writer->dictionary.strings[writer->dictionary.written + i], &length);

		memcpy(text + used, from, length);
		used += length;
		lengths[i] = (uint32_t)length;
	}
	message.has_first_id = message.has_text = true;
	message.first_id = writer->dictionary.written + 1;
	message.n_length = count;
	message.length = lengths;
	message.text = (ProtobufCBinaryData){used, text};
	packed = malloc(duet__strings__get_packed_size(&message));
	if (!packed)
		return out_of_memory(writer);
	head.rows = count;
	error = writer_append_bytes(writer, &head, packed, duet__strings__pack(&message, packed));
	if (!error)
		writer->dictionary.written += count;
	return error;
}

int segment_write_strings(struct trace_writer *writer)
{
	int error = 0;

	while (!error && writer->dictionary.written < writer->dictionary.count)
		error = write_string_batch(writer);
	return error;
}

/* ---- entities ---- */

static int mark_dirty(struct trace_writer *writer, struct entity_table *table, uint32_t index)
{
	if (table->flags[index] & ENTITY_DIRTY)
		return 0;
	if (array_grow(table->dirty, table->dirty_capacity, table->dirty_count + (size_t)1))
		return -ENOMEM;
	table->dirty[table->dirty_count++] = index;
	table->flags[index] |= ENTITY_DIRTY;
	writer->entities.has_dirty = true;
	return 0;
}

static int add_entity(struct entity_table *table, uint32_t id, size_t row_size, uint32_t *ret_index)
{
	uint32_t index = table->count;
	size_t bytes = (index + (size_t)1) * row_size;

	if (array_reserve((void **)&table->rows, &table->rows_capacity, bytes, 1) ||
	    array_grow(table->flags, table->flags_capacity, index + (size_t)1) ||
	    hash_map_put(&table->by_id, id, index))
		return -ENOMEM;
	table->flags[index] = 0;
	table->count++;
	*ret_index = index;
	return 0;
}

int trace_writer_entity(struct trace_writer *writer, enum event_kind kind, const void *row)
{
	const struct trace_format *format = trace_format_find(kind);
	struct entity_table *table;
	uint64_t *known;
	uint32_t id, index;

	if (!format || !format->is_entity)
		return error_set(-EINVAL, "kind %d is not an entity", kind);
	id = (uint32_t)trace_field_read(row, format->key_offset, FIELD_U32);
	if (!id)
		return error_set(-EINVAL, "an entity of kind %d has no id", kind);
	if (writer->options.has_row && !writer->options.has_row(writer->options.context, kind, row))
		return 0;
	table = &writer->entities.tables[kind];
	known = hash_map_find(&table->by_id, id);
	if (known) {
		index = (uint32_t)*known;
		if (!memcmp(table->rows + index * (size_t)format->row_size, row, format->row_size))
			return 0;
	} else if (add_entity(table, id, format->row_size, &index)) {
		return out_of_memory(writer);
	}
	memcpy(table->rows + index * (size_t)format->row_size, row, format->row_size);
	return mark_dirty(writer, table, index) ? out_of_memory(writer) : 0;
}

bool trace_writer_find_entity(const struct trace_writer *writer, enum event_kind kind, uint32_t id,
			      void *ret_row)
{
	const struct trace_format *format = trace_format_find(kind);
	const struct entity_table *table = &writer->entities.tables[kind];
	const uint64_t *index =
		format && format->is_entity ? hash_map_find(&table->by_id, id) : NULL;

	if (index)
		memcpy(ret_row, table->rows + *index * format->row_size, format->row_size);
	return index != NULL;
}

void trace_writer_end_entity(struct trace_writer *writer, enum event_kind kind, uint32_t id,
			     uint64_t end_ns)
{
	const struct trace_format *format = trace_format_find(kind);
	struct entity_table *table = &writer->entities.tables[kind];
	const uint64_t *index = hash_map_find(&table->by_id, id);
	char *row = index ? table->rows + *index * format->row_size : NULL;

	if (!row || trace_field_read(row, format->end_offset, FIELD_U64))
		return;
	/* if marking fails for lack of memory, the next segment contains the row nevertheless */
	trace_field_write(row, format->end_offset, FIELD_U64, end_ns);
	mark_dirty(writer, table, (uint32_t)*index);
}

static int write_dirty(struct trace_writer *writer, uint32_t kind)
{
	const struct trace_format *format = trace_format_find(kind);
	struct entity_table *table = &writer->entities.tables[kind];
	uint32_t count =
		table->dirty_count < TRACE_ROWS_LIMIT ? table->dirty_count : TRACE_ROWS_LIMIT;
	uint32_t start = table->dirty_count - count;
	struct chunk_head head = {.kind = kind, .first = UINT64_MAX};
	auto_free char *rows = malloc(count * (size_t)format->row_size);
	int error;

	if (!rows)
		return out_of_memory(writer);
	for (uint32_t i = 0; i < count; i++) {
		const char *row = table->rows + table->dirty[start + i] * (size_t)format->row_size;
		uint64_t id = trace_field_read(row, format->key_offset, FIELD_U32);

		memcpy(rows + i * (size_t)format->row_size, row, format->row_size);
		head.first = id < head.first ? id : head.first;
		head.last = id > head.last ? id : head.last;
	}
	error = trace_sort(rows, count, format->row_size, format->key_offset, FIELD_U32);
	if (!error)
		error = writer_append_rows(writer, &head, rows, count);
	if (error)
		return error;
	for (uint32_t i = 0; i < count; i++)
		table->flags[table->dirty[start + i]] &= (uint8_t)~ENTITY_DIRTY;
	table->dirty_count = start;
	return 0;
}

int segment_write_entities(struct trace_writer *writer)
{
	int error = 0;

	if (!writer->entities.has_dirty)
		return 0;
	for (uint32_t kind = EVENT_HOST; !error && kind <= EVENT_ENTITY_LAST; kind++) {
		while (!error && writer->entities.tables[kind].dirty_count)
			error = write_dirty(writer, kind);
	}
	if (!error) {
		writer->entities.has_dirty = false;
		writer->entities.dirty_since_ns = 0;
	}
	return error;
}

struct worklist {
	uint64_t *items; /* kind << 32 | index */
	size_t capacity, count;
};

static int keep_entity(struct trace_writer *writer, struct worklist *list, uint32_t kind,
		       uint32_t index)
{
	struct entity_table *table = &writer->entities.tables[kind];

	if (table->flags[index] & ENTITY_KEPT)
		return 0;
	if (array_grow(list->items, list->capacity, list->count + 1))
		return -ENOMEM;
	table->flags[index] |= ENTITY_KEPT;
	list->items[list->count++] = (uint64_t)kind << 32 | index;
	return 0;
}

/* Marks the entities that living ones refer to, directly or through others. */
static int keep_named(struct trace_writer *writer, struct worklist *list)
{
	while (list->count) {
		uint64_t item = list->items[--list->count];
		uint32_t kind = (uint32_t)(item >> 32), index = (uint32_t)item;
		const struct trace_format *format = trace_format_find(kind);
		const char *row =
			writer->entities.tables[kind].rows + index * (size_t)format->row_size;

		for (size_t i = 0; i < format->column_count; i++) {
			const struct trace_column *column = &format->columns[i];
			const uint64_t *found;

			if (!column->target)
				continue;
			found = hash_map_find(&writer->entities.tables[column->target].by_id,
					      trace_field_read(row, column->offset, FIELD_U32));
			if (found && keep_entity(writer, list, column->target, (uint32_t)*found))
				return -ENOMEM;
		}
	}
	return 0;
}

static int keep_living(struct trace_writer *writer, struct worklist *list)
{
	for (uint32_t kind = EVENT_HOST; kind <= EVENT_ENTITY_LAST; kind++) {
		const struct trace_format *format = trace_format_find(kind);
		struct entity_table *table = &writer->entities.tables[kind];

		for (uint32_t i = 0; i < table->count; i++) {
			const char *row = table->rows + i * (size_t)format->row_size;
			uint64_t end = trace_field_read(row, format->end_offset, FIELD_U64);
			bool lives = !end || end >= writer->segments.previous_begin_ns;

			if ((lives || table->flags[i] & ENTITY_DIRTY) &&
			    keep_entity(writer, list, kind, i))
				return -ENOMEM;
		}
	}
	return keep_named(writer, list);
}

/* Forgets the rows that are not kept; marks the kept ones to be written in the new segment. */
static int renew_table(struct trace_writer *writer, uint32_t kind)
{
	size_t size = trace_format_find(kind)->row_size;
	struct entity_table *table = &writer->entities.tables[kind];
	uint32_t kept = 0;

	table->dirty_count = 0;
	hash_map_clear(&table->by_id);
	for (uint32_t i = 0; i < table->count; i++) {
		if (!(table->flags[i] & ENTITY_KEPT))
			continue;
		memmove(table->rows + kept * size, table->rows + i * size, size);
		table->flags[kept] = 0;
		hash_map_put(&table->by_id,
			     trace_field_read(table->rows + kept * size, 0, FIELD_U32), kept);
		kept++;
	}
	table->count = kept;
	for (uint32_t i = 0; i < kept; i++) {
		if (mark_dirty(writer, table, i))
			return -ENOMEM;
	}
	return 0;
}

static int renew_entities(struct trace_writer *writer)
{
	struct worklist list = {0};
	int error = keep_living(writer, &list);

	free(list.items);
	for (uint32_t kind = EVENT_HOST; !error && kind <= EVENT_ENTITY_LAST; kind++)
		error = renew_table(writer, kind);
	return error ? out_of_memory(writer) : 0;
}

/* ---- the segment itself ---- */

int segment_write_head(struct trace_writer *writer, uint32_t first_segment)
{
	const struct segment_head present = {.number = writer->segments.present,
					     .first_segment = first_segment,
					     .begin_ns = writer->now_ns};
	struct chunk_head head = {.kind = TRACE_SEGMENT};
	uint8_t packed[64];

	return writer_append_bytes(writer, &head, packed, segment_head_pack(&present, packed));
}

static bool is_clock_gone(const struct trace_writer *writer, uint32_t clock)
{
	const struct hash_map *clocks = &writer->entities.tables[EVENT_CLOCK].by_id;

	return clocks->count && clock != CLOCK_ID_MONOTONIC && !hash_map_find(clocks, clock);
}

static void forget_pair(struct trace_writer *writer, size_t index)
{
	const struct last_pair *last = &writer->pairs.items[--writer->pairs.count];

	hash_map_remove(&writer->pairs.by_clock, writer->pairs.items[index].source.clock, NULL);
	/* cannot fail: the key exists already */
	if (index < writer->pairs.count)
		hash_map_put(&writer->pairs.by_clock, last->source.clock, index);
	writer->pairs.items[index] = *last;
}

static int repeat_pairs(struct trace_writer *writer)
{
	int error = 0;

	for (size_t i = 0; !error && i < writer->pairs.count; i++) {
		const struct last_pair *last = &writer->pairs.items[i];
		struct chunk_head head = {.kind = EVENT_CLOCK_PAIR,
					  .source = last->source.source,
					  .clock = last->source.clock,
					  .flags = TRACE_REPEATED,
					  .first = last->pair.time,
					  .last = last->pair.time};

		if (is_clock_gone(writer, last->source.clock))
			forget_pair(writer, i--);
		else
			error = writer_append_rows(writer, &head, &last->pair, 1);
	}
	return error;
}

/* Copies the contents that are still needed before the new head drops the old segments, so that a
 * crash in between loses nothing. */
static int drop_segments(struct trace_writer *writer, uint32_t first_segment)
{
	size_t dropped = 0, kept = 0;
	int error = content_carry(writer, first_segment);

	if (!error)
		error = segment_write_head(writer, first_segment);
	if (error)
		return error;
	writer->segments.first = first_segment;
	while (writer->segments.items[dropped].number < first_segment)
		dropped++;
	memmove(writer->segments.items, writer->segments.items + dropped,
		(writer->segments.count - dropped) * sizeof(*writer->segments.items));
	writer->segments.count -= dropped;
	writer->stats.segments_dropped += dropped;
	for (size_t i = 0; i < writer->index.written_count; i++) {
		if (writer->index.written[i].segment >= first_segment)
			writer->index.written[kept++] = writer->index.written[i];
	}
	writer->index.written_count = kept;
	shorten_start(writer);
	return 0;
}

int segment_begin(struct trace_writer *writer)
{
	uint64_t offset = writer->file.size;
	uint32_t first_segment;
	int error;

	if (writer->segments.is_open)
		return 0;
	if (array_grow(writer->segments.items, writer->segments.capacity,
		       writer->segments.count + 1))
		return out_of_memory(writer);
	first_segment = shorten_plan(writer);
	writer->segments.present++;
	error = segment_write_head(writer, writer->segments.first);
	if (error) {
		writer->segments.present--;
		return error;
	}
	if (writer->segments.count)
		writer->segments.previous_begin_ns =
			writer->segments.items[writer->segments.count - 1].begin_ns;
	writer->segments.items[writer->segments.count++] =
		(struct trace_segment){writer->segments.present, offset, writer->now_ns};
	writer->segments.is_open = true;
	/* The time limit counts from the end of the previous segment. A segment starts with its
	 * first chunk, up to a second later. After an idle time it counts from now. */
	if (writer->now_ns - writer->segments.since_ns > 2 * writer->options.segment_ns)
		writer->segments.since_ns = writer->now_ns;
	segment_forget_stacks(writer);
	writer->dictionary.count = writer->dictionary.written = 0;
	if (writer->dictionary.ids)
		memset(writer->dictionary.ids, 0,
		       writer->dictionary.ids_capacity * sizeof(*writer->dictionary.ids));
	error = renew_entities(writer);
	/* a failure here is retried in the next segment; rows can be written nevertheless */
	if (!error && first_segment > writer->segments.first)
		drop_segments(writer, first_segment);
	if (!error)
		repeat_pairs(writer);
	return error;
}

/* Index rows are written in reverse order, so that `back` increases. */
int segment_write_index(struct trace_writer *writer)
{
	while (writer->index.entries_count) {
		size_t count = writer->index.entries_count < TRACE_ROWS_LIMIT
				       ? writer->index.entries_count
				       : TRACE_ROWS_LIMIT;
		struct trace_index_row *last =
			&writer->index.entries[writer->index.entries_count - 1];
		auto_free struct trace_index_row *rows = malloc(count * sizeof(*rows));
		struct chunk_head head = {.kind = TRACE_INDEX};
		struct index_place place = {writer->file.size, 0, writer->segments.present};
		int error;

		if (!rows || array_grow(writer->index.written, writer->index.written_capacity,
					writer->index.written_count + 1))
			return out_of_memory(writer);
		for (size_t i = 0; i < count; i++) {
			rows[i] = last[-(ptrdiff_t)i];
			rows[i].back = place.offset - rows[i].back;
		}
		error = writer_append_rows(writer, &head, rows, count);
		if (error)
			return error;
		place.bytes = writer->file.size - place.offset;
		writer->index.written[writer->index.written_count++] = place;
		writer->index.entries_count -= count;
	}
	return 0;
}

int segment_end(struct trace_writer *writer)
{
	int error, entities_error, index_error;

	error = writer_write_open_chunks(writer);
	if (!writer->segments.is_open)
		return error;
	entities_error = segment_write_entities(writer);
	index_error = segment_write_index(writer);
	if (index_error)
		writer->index.is_incomplete = true;
	writer->index.entries_count = 0;
	writer->segments.is_open = false;
	writer->segments.since_ns = writer->now_ns;
	error = error ? error : entities_error;
	return error ? error : index_error;
}

int segment_write_end(struct trace_writer *writer)
{
	uint64_t before = 0;
	int error = shorten_close_ring(writer);

	if (error || writer->index.is_incomplete)
		return error;
	do {
		size_t count = writer->index.written_count < TRACE_ROWS_LIMIT
				       ? writer->index.written_count
				       : TRACE_ROWS_LIMIT;
		auto_free struct trace_end_row *rows = malloc((count + 1) * sizeof(*rows));
		struct chunk_head head = {.kind = TRACE_END};
		uint64_t offset = writer->file.size;

		if (!rows)
			return out_of_memory(writer);
		for (size_t i = 0; i < count; i++) {
			const struct index_place *place =
				&writer->index.written[writer->index.written_count - 1 - i];

			rows[i] = (struct trace_end_row){offset - place->offset, place->bytes};
		}
		head.first = before ? offset - before : 0;
		before = offset;
		error = writer_append_rows(writer, &head, rows, count);
		writer->index.written_count -= count;
	} while (!error && writer->index.written_count);
	return error;
}
