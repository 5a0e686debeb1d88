/* SPDX-License-Identifier: MIT
 *
 * trace/segment.c - what makes a segment stand alone: head, dictionary, things, clock pairs, index
 *
 * Runs in:  the recorder, as a part of a writer
 * Gets:     the writer's tables; gives the chunks that every segment repeats
 * Owns:     nothing of its own
 * Fails:    -errno; whatever was not written stays marked and is tried again with the next chunk
 * Why one more segment: a thing is repeated while it lives and in the segment after its end,
 *           because the completion of a command may be read after its queue or process has gone.
 *           What living things name (a thread's process, a kernel's program) is repeated with them;
 *           all others are forgotten, which keeps the memory of a week's recording bounded
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "trace/writer_private.h"

#include "duet_trace.pb-c.h"

enum thing_flag { THING_DIRTY = 1, THING_KEPT = 2 };

#define STRINGS_BYTES ((size_t)256 << 10)

static int out_of_memory(const struct trace_writer *writer)
{
	return error_set(-ENOMEM, "write '%s': out of memory", writer->path);
}

/* ---- dictionary ---- */

uint32_t segment_local_string(void *context, uint32_t id)
{
	struct trace_writer *writer = context;

	if (!id || id > writer->strings.count ||
	    array_grow(writer->local_ids, writer->local_ids_capacity,
		       writer->strings.count + (size_t)1))
		return 0;
	if (writer->local_ids[id])
		return writer->local_ids[id];
	if (array_grow(writer->local_strings, writer->local_strings_capacity,
		       writer->local_count + (size_t)1))
		return 0;
	writer->local_strings[writer->local_count++] = id;
	writer->local_ids[id] = writer->local_count;
	return writer->local_count;
}

/* How many strings from local_written on go into one chunk, and their bytes. */
static uint32_t batch_strings(const struct trace_writer *writer, size_t *ret_bytes)
{
	uint32_t count = 0;
	size_t bytes = 0, length;

	while (writer->local_written + count < writer->local_count && count < TRACE_ROWS_LIMIT) {
		string_table_text(&writer->strings,
				  writer->local_strings[writer->local_written + count], &length);
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
			&writer->strings, writer->local_strings[writer->local_written + i],
			&length);

		memcpy(text + used, from, length);
		used += length;
		lengths[i] = (uint32_t)length;
	}
	message.has_first_id = message.has_text = true;
	message.first_id = writer->local_written + 1;
	message.n_length = count;
	message.length = lengths;
	message.text = (ProtobufCBinaryData){used, text};
	packed = malloc(duet__strings__get_packed_size(&message));
	if (!packed)
		return out_of_memory(writer);
	head.rows = count;
	error = writer_append_bytes(writer, &head, packed, duet__strings__pack(&message, packed));
	if (!error)
		writer->local_written += count;
	return error;
}

int segment_write_strings(struct trace_writer *writer)
{
	int error = 0;

	while (!error && writer->local_written < writer->local_count)
		error = write_string_batch(writer);
	return error;
}

/* ---- things ---- */

static int mark_dirty(struct trace_writer *writer, struct thing_table *table, uint32_t index)
{
	if (table->flags[index] & THING_DIRTY)
		return 0;
	if (array_grow(table->dirty, table->dirty_capacity, table->dirty_count + (size_t)1))
		return -ENOMEM;
	table->dirty[table->dirty_count++] = index;
	table->flags[index] |= THING_DIRTY;
	writer->has_dirty_things = true;
	return 0;
}

static int add_thing(struct thing_table *table, uint32_t id, size_t row_size, uint32_t *ret_index)
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

int trace_writer_thing(struct trace_writer *writer, enum event_kind kind, const void *row)
{
	const struct trace_format *format = trace_format_find(kind);
	struct thing_table *table;
	uint64_t *known;
	uint32_t id, index;

	if (!format || !format->is_thing)
		return error_set(-EINVAL, "kind %d is not a thing", kind);
	id = (uint32_t)trace_field_read(row, format->key_offset, FIELD_U32);
	if (!id)
		return error_set(-EINVAL, "a thing of kind %d has no id", kind);
	table = &writer->things[kind];
	known = hash_map_find(&table->by_id, id);
	if (known) {
		index = (uint32_t)*known;
		if (!memcmp(table->rows + index * (size_t)format->row_size, row, format->row_size))
			return 0;
	} else if (add_thing(table, id, format->row_size, &index)) {
		return out_of_memory(writer);
	}
	memcpy(table->rows + index * (size_t)format->row_size, row, format->row_size);
	return mark_dirty(writer, table, index) ? out_of_memory(writer) : 0;
}

bool trace_writer_find_thing(const struct trace_writer *writer, enum event_kind kind, uint32_t id,
			     void *ret_row)
{
	const struct trace_format *format = trace_format_find(kind);
	const struct thing_table *table = &writer->things[kind];
	const uint64_t *index =
		format && format->is_thing ? hash_map_find(&table->by_id, id) : NULL;

	if (index)
		memcpy(ret_row, table->rows + *index * format->row_size, format->row_size);
	return index != NULL;
}

void trace_writer_end_thing(struct trace_writer *writer, enum event_kind kind, uint32_t id,
			    uint64_t end_ns)
{
	const struct trace_format *format = trace_format_find(kind);
	struct thing_table *table = &writer->things[kind];
	const uint64_t *index = hash_map_find(&table->by_id, id);
	char *row = index ? table->rows + *index * format->row_size : NULL;

	if (!row || trace_field_read(row, format->end_offset, FIELD_U64))
		return;
	/* Where it cannot be marked (no memory), the next segment has it all the same. */
	trace_field_write(row, format->end_offset, FIELD_U64, end_ns);
	mark_dirty(writer, table, (uint32_t)*index);
}

static int write_dirty(struct trace_writer *writer, uint32_t kind)
{
	const struct trace_format *format = trace_format_find(kind);
	struct thing_table *table = &writer->things[kind];
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
		table->flags[table->dirty[start + i]] &= (uint8_t)~THING_DIRTY;
	table->dirty_count = start;
	return 0;
}

int segment_write_things(struct trace_writer *writer)
{
	int error = 0;

	if (!writer->has_dirty_things)
		return 0;
	for (uint32_t kind = EVENT_HOST; !error && kind <= EVENT_THING_LAST; kind++) {
		while (!error && writer->things[kind].dirty_count)
			error = write_dirty(writer, kind);
	}
	if (!error) {
		writer->has_dirty_things = false;
		writer->things_since_ns = 0;
	}
	return error;
}

struct worklist {
	uint64_t *items; /* kind << 32 | index */
	size_t capacity, count;
};

static int keep_thing(struct trace_writer *writer, struct worklist *list, uint32_t kind,
		      uint32_t index)
{
	struct thing_table *table = &writer->things[kind];

	if (table->flags[index] & THING_KEPT)
		return 0;
	if (array_grow(list->items, list->capacity, list->count + 1))
		return -ENOMEM;
	table->flags[index] |= THING_KEPT;
	list->items[list->count++] = (uint64_t)kind << 32 | index;
	return 0;
}

/* Marks what living things name, and what those name. */
static int keep_named(struct trace_writer *writer, struct worklist *list)
{
	while (list->count) {
		uint64_t item = list->items[--list->count];
		uint32_t kind = (uint32_t)(item >> 32), index = (uint32_t)item;
		const char *row = writer->things[kind].rows +
				  index * (size_t)trace_format_find(kind)->row_size;

		for (size_t i = 0; i < trace_reference_count; i++) {
			const struct trace_reference *reference = &trace_references[i];
			const uint64_t *found;

			if (reference->kind != kind)
				continue;
			found = hash_map_find(&writer->things[reference->target].by_id,
					      trace_field_read(row, reference->offset, FIELD_U32));
			if (found && keep_thing(writer, list, reference->target, (uint32_t)*found))
				return -ENOMEM;
		}
	}
	return 0;
}

static int keep_living(struct trace_writer *writer, struct worklist *list)
{
	for (uint32_t kind = EVENT_HOST; kind <= EVENT_THING_LAST; kind++) {
		const struct trace_format *format = trace_format_find(kind);
		struct thing_table *table = &writer->things[kind];

		for (uint32_t i = 0; i < table->count; i++) {
			const char *row = table->rows + i * (size_t)format->row_size;
			uint64_t end = trace_field_read(row, format->end_offset, FIELD_U64);
			bool lives = !end || end >= writer->previous_begin_ns;

			if ((lives || table->flags[i] & THING_DIRTY) &&
			    keep_thing(writer, list, kind, i))
				return -ENOMEM;
		}
	}
	return keep_named(writer, list);
}

/* Forgets what is not kept; everything else has to be written in the new segment. */
static int renew_table(struct trace_writer *writer, uint32_t kind)
{
	size_t size = trace_format_find(kind)->row_size;
	struct thing_table *table = &writer->things[kind];
	uint32_t kept = 0;

	table->dirty_count = 0;
	hash_map_clear(&table->by_id);
	for (uint32_t i = 0; i < table->count; i++) {
		if (!(table->flags[i] & THING_KEPT))
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

static int renew_things(struct trace_writer *writer)
{
	struct worklist list = {0};
	int error = keep_living(writer, &list);

	free(list.items);
	for (uint32_t kind = EVENT_HOST; !error && kind <= EVENT_THING_LAST; kind++)
		error = renew_table(writer, kind);
	return error ? out_of_memory(writer) : 0;
}

/* ---- the segment itself ---- */

static int write_head(struct trace_writer *writer, uint32_t first_segment)
{
	Duet__SegmentHead message = DUET__SEGMENT_HEAD__INIT;
	struct chunk_head head = {.kind = TRACE_SEGMENT};
	uint8_t packed[64];

	message.has_schema_major = message.has_schema_minor = true;
	message.schema_major = EVENT_SCHEMA_MAJOR;
	message.schema_minor = EVENT_SCHEMA_MINOR;
	message.has_number = message.has_begin_ns = message.has_first_segment = true;
	message.number = writer->segment;
	message.begin_ns = writer->now_ns;
	message.first_segment = first_segment;
	return writer_append_bytes(writer, &head, packed,
				   duet__segment_head__pack(&message, packed));
}

static bool is_clock_gone(const struct trace_writer *writer, uint32_t clock)
{
	const struct hash_map *clocks = &writer->things[EVENT_CLOCK].by_id;

	return clocks->count && clock != CLOCK_ID_MONOTONIC && !hash_map_find(clocks, clock);
}

static void forget_pair(struct trace_writer *writer, size_t index)
{
	const struct last_pair *last = &writer->pairs[--writer->pairs_count];

	hash_map_remove(&writer->pairs_by_clock, writer->pairs[index].source.clock, NULL);
	/* Replaces a value that is there: that does not fail. */
	if (index < writer->pairs_count)
		hash_map_put(&writer->pairs_by_clock, last->source.clock, index);
	writer->pairs[index] = *last;
}

static int repeat_pairs(struct trace_writer *writer)
{
	int error = 0;

	for (size_t i = 0; !error && i < writer->pairs_count; i++) {
		const struct last_pair *last = &writer->pairs[i];
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

/* First the contents that are still needed are brought over, then the old segments are renounced:
 * a crash in between costs nothing. */
static int drop_segments(struct trace_writer *writer, uint32_t first_segment)
{
	size_t dropped = 0, kept = 0;
	int error = content_carry(writer, first_segment);

	if (!error)
		error = write_head(writer, first_segment);
	if (error)
		return error;
	writer->first_segment = first_segment;
	while (writer->segments[dropped].number < first_segment)
		dropped++;
	memmove(writer->segments, writer->segments + dropped,
		(writer->segments_count - dropped) * sizeof(*writer->segments));
	writer->segments_count -= dropped;
	writer->stats.segments_dropped += dropped;
	for (size_t i = 0; i < writer->indices_count; i++) {
		if (writer->indices[i].segment >= first_segment)
			writer->indices[kept++] = writer->indices[i];
	}
	writer->indices_count = kept;
	shorten_start(writer);
	return 0;
}

int segment_begin(struct trace_writer *writer)
{
	uint64_t offset = writer->size;
	uint32_t first_segment;
	int error;

	if (writer->in_segment)
		return 0;
	if (array_grow(writer->segments, writer->segments_capacity, writer->segments_count + 1))
		return out_of_memory(writer);
	first_segment = shorten_plan(writer);
	writer->segment++;
	error = write_head(writer, writer->first_segment);
	if (error) {
		writer->segment--;
		return error;
	}
	if (writer->segments_count)
		writer->previous_begin_ns = writer->segments[writer->segments_count - 1].begin_ns;
	writer->segments[writer->segments_count++] =
		(struct trace_segment){writer->segment, offset, writer->now_ns};
	writer->in_segment = true;
	/* it counts from the end of the one before, whose successor begins with its first chunk, up to
	 * a second later; after an idle time it counts from now */
	if (writer->now_ns - writer->segment_since_ns > 2 * writer->options.segment_ns)
		writer->segment_since_ns = writer->now_ns;
	segment_forget_stacks(writer);
	writer->local_count = writer->local_written = 0;
	if (writer->local_ids)
		memset(writer->local_ids, 0,
		       writer->local_ids_capacity * sizeof(*writer->local_ids));
	error = renew_things(writer);
	/* what fails here is tried again in the next segment; the rows can be written all the same */
	if (!error && first_segment > writer->first_segment)
		drop_segments(writer, first_segment);
	if (!error)
		repeat_pairs(writer);
	return error;
}

/* Rows of the index go backwards, because `back` rises then. */
static int write_index(struct trace_writer *writer)
{
	while (writer->entries_count) {
		size_t count = writer->entries_count < TRACE_ROWS_LIMIT ? writer->entries_count
									: TRACE_ROWS_LIMIT;
		struct trace_index_row *last = &writer->entries[writer->entries_count - 1];
		auto_free struct trace_index_row *rows = malloc(count * sizeof(*rows));
		struct chunk_head head = {.kind = TRACE_INDEX};
		struct index_place place = {writer->size, 0, writer->segment};
		int error;

		if (!rows || array_grow(writer->indices, writer->indices_capacity,
					writer->indices_count + 1))
			return out_of_memory(writer);
		for (size_t i = 0; i < count; i++) {
			rows[i] = last[-(ptrdiff_t)i];
			rows[i].back = place.offset - rows[i].back;
		}
		error = writer_append_rows(writer, &head, rows, count);
		if (error)
			return error;
		place.bytes = writer->size - place.offset;
		writer->indices[writer->indices_count++] = place;
		writer->entries_count -= count;
	}
	return 0;
}

int segment_end(struct trace_writer *writer)
{
	int error, things_error, index_error;

	error = writer_write_open_chunks(writer);
	if (!writer->in_segment)
		return error;
	things_error = segment_write_things(writer);
	index_error = write_index(writer);
	if (index_error)
		writer->is_index_incomplete = true;
	writer->entries_count = 0;
	writer->in_segment = false;
	writer->segment_since_ns = writer->now_ns;
	error = error ? error : things_error;
	return error ? error : index_error;
}

int segment_write_end(struct trace_writer *writer)
{
	uint64_t before = 0;
	int error = shorten_step(writer, UINT64_MAX);

	if (error || writer->is_index_incomplete)
		return error;
	do {
		size_t count = writer->indices_count < TRACE_ROWS_LIMIT ? writer->indices_count
									: TRACE_ROWS_LIMIT;
		auto_free struct trace_end_row *rows = malloc((count + 1) * sizeof(*rows));
		struct chunk_head head = {.kind = TRACE_END};
		uint64_t offset = writer->size;

		if (!rows)
			return out_of_memory(writer);
		for (size_t i = 0; i < count; i++) {
			const struct index_place *place =
				&writer->indices[writer->indices_count - 1 - i];

			rows[i] = (struct trace_end_row){offset - place->offset, place->bytes};
		}
		head.first = before ? offset - before : 0;
		before = offset;
		error = writer_append_rows(writer, &head, rows, count);
		writer->indices_count -= count;
	} while (!error && writer->indices_count);
	return error;
}
