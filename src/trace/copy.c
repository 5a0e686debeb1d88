/* SPDX-License-Identifier: MIT
 *
 * trace/copy.c - copy rows of one trace into another that is being written
 *
 * Runs in:  our own process: a recorder that follows another one
 * Gets:     a reader (untrusted bytes) and a writer; gives rows with the writer's ids
 * Owns:     maps from the source's ids to the target's
 * Fails:    -ENOMEM, errors of the writer; a row that refers to a missing entity is skipped and
 *           counted
 * Why one loop over the columns: the field table says which columns hold ids, texts and stacks, so
 *           a new field of an event is copied without a change here.
 */
#include "trace/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/writer.h"

enum {
	MAX_DEPTH = 64, /* length of a chain of entities that refer to each other */
};

struct trace_copy {
	struct trace_writer *target; /* borrowed */
	struct trace_copy_options options;
	struct trace_reader *source; /* during trace_copy_all */
	/* source id -> target id; 0: left out, or being copied */
	struct hash_map ids[EVENT_ENTITY_LAST + 1];
	struct hash_map strings, stacks; /* valid for the present source */
	unsigned int depth;
	int error; /* the first failure of the target */
};

int trace_copy_new(struct trace_writer *target, const struct trace_copy_options *options,
		   struct trace_copy **ret_copy)
{
	struct trace_copy *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return error_set(-ENOMEM, "copy a recording: out of memory");
	copy->target = target;
	copy->options = *options;
	*ret_copy = copy;
	return 0;
}

void trace_copy_free(struct trace_copy *copy)
{
	if (!copy)
		return;
	for (size_t kind = 0; kind <= EVENT_ENTITY_LAST; kind++)
		hash_map_fini(&copy->ids[kind]);
	hash_map_fini(&copy->strings);
	hash_map_fini(&copy->stacks);
	free(copy);
}

uint32_t trace_copy_id(const struct trace_copy *copy, enum event_kind kind, uint32_t source_id)
{
	if ((unsigned int)kind > EVENT_ENTITY_LAST || !source_id)
		return 0;
	return (uint32_t)hash_map_get(&copy->ids[kind], source_id, 0);
}

static void note_error(struct trace_copy *copy, int error)
{
	if (error && !copy->error)
		copy->error = error;
}

static void remember(struct trace_copy *copy, struct hash_map *map, uint32_t from, uint32_t to)
{
	note_error(copy, hash_map_put(map, from, to) ? -ENOMEM : 0);
}

/* ---- texts and stacks ------------------------------------------------------------------------ */

static uint32_t copy_string(struct trace_copy *copy, uint32_t id)
{
	uint32_t known = id ? (uint32_t)hash_map_get(&copy->strings, id, 0) : 0;
	size_t length;
	const char *text;

	if (!id || known)
		return known;
	text = trace_reader_string(copy->source, id, &length);
	known = trace_writer_string(copy->target, text, length);
	remember(copy, &copy->strings, id, known);
	return known;
}

static uint32_t copy_frame(struct trace_copy *copy, uint32_t id)
{
	const struct event_frame *found = trace_reader_frame(copy->source, id);
	struct event_frame frame;

	if (!found)
		return 0;
	frame = *found;
	frame.module_string = copy_string(copy, frame.module_string);
	frame.build_id_string = copy_string(copy, frame.build_id_string);
	frame.name_string = copy_string(copy, frame.name_string);
	frame.file_string = copy_string(copy, frame.file_string);
	return trace_writer_frame(copy->target, &frame);
}

/* Callers come first. A caller's id is less than its callee's, so the chain ends. */
static uint32_t copy_stack(struct trace_copy *copy, uint32_t id)
{
	uint32_t chain[TRACE_STACK_LIMIT], length = 0, caller = 0, at = id;
	const struct event_stack *node = NULL;

	while (at && length < TRACE_STACK_LIMIT) {
		const uint64_t *known = hash_map_find(&copy->stacks, at);

		if (known) {
			caller = (uint32_t)*known;
			break;
		}
		node = trace_reader_stack(copy->source, at);
		if (!node)
			break;
		chain[length++] = at;
		at = node->caller;
	}
	while (length) {
		node = trace_reader_stack(copy->source, chain[--length]);
		caller = trace_writer_stack(copy->target, caller, copy_frame(copy, node->frame));
		remember(copy, &copy->stacks, chain[length], caller);
	}
	return caller;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static uint32_t copy_entity(struct trace_copy *copy, uint32_t kind, uint32_t id);

/* A parent need not be copied with its child. */
static bool is_optional(const struct trace_column *column)
{
	return strcmp(column->name, "parent") == 0;
}

/* Replaces one field. False: it refers to an entity that is left out. */
static bool translate_field(struct trace_copy *copy, const struct trace_column *column, void *row)
{
	uint32_t from = (uint32_t)trace_field_read(row, column->offset, FIELD_U32), to = from;

	if (!from || column->is_alternative)
		return true;
	if (column->type == FIELD_STRING)
		to = copy_string(copy, from);
	else if (column->is_stack)
		to = copy_stack(copy, from);
	else if (column->target)
		to = copy_entity(copy, column->target, from);
	else
		return true;
	trace_field_write(row, column->offset, FIELD_U32, to);
	return to || column->type == FIELD_STRING || column->is_stack || is_optional(column);
}

static bool translate_row(struct trace_copy *copy, const struct trace_format *format, void *row)
{
	for (size_t i = 0; i < format->column_count; i++)
		if (!translate_field(copy, &format->columns[i], row))
			return false;
	return true;
}

/* The bytes of a code object, if the source has them. */
static void copy_content(struct trace_copy *copy, const struct event_code *code)
{
	uint64_t low, high;
	size_t size;
	const void *bytes;

	if (!code->hash_low && !code->hash_high)
		return;
	bytes = trace_reader_content(copy->source, code->hash_low, code->hash_high, &size);
	if (bytes)
		note_error(copy, trace_writer_content(copy->target, bytes, size, &low, &high));
}

static uint32_t write_entity(struct trace_copy *copy, uint32_t kind, uint32_t source_id, void *row)
{
	const struct trace_format *format = trace_format_find(kind);
	struct hash_map *ids = &copy->ids[kind];
	uint32_t id = (uint32_t)hash_map_get(ids, source_id, 0);
	bool is_new = !id;

	if (is_new) {
		id = copy->options.find_id(copy->options.context, (enum event_kind)kind, row);
		remember(copy, ids, source_id, id);
	}
	if (!id)
		return 0;
	trace_field_write(row, format->key_offset, FIELD_U32, id);
	if (copy->options.update &&
	    !copy->options.update(copy->options.context, (enum event_kind)kind, row))
		return id;
	if (kind == EVENT_CODE && is_new)
		copy_content(copy, row);
	note_error(copy, trace_writer_entity(copy->target, (enum event_kind)kind, row));
	return id;
}

/* Copies an entity of the source even if it is known: its row may have changed. */
static uint32_t copy_row_of(struct trace_copy *copy, uint32_t kind, const void *found)
{
	const struct trace_format *format = trace_format_find(kind);
	uint64_t row[32];
	uint32_t id = (uint32_t)trace_field_read(found, format->key_offset, FIELD_U32), result = 0;

	if (format->row_size > sizeof(row) || copy->depth == MAX_DEPTH)
		return 0;
	memcpy(row, found, format->row_size);
	copy->depth++;
	/* an entity that refers to itself finds 0 */
	if (!hash_map_find(&copy->ids[kind], id))
		remember(copy, &copy->ids[kind], id, 0);
	if (translate_row(copy, format, row))
		result = write_entity(copy, kind, id, row);
	copy->depth--;
	return result;
}

static uint32_t copy_entity(struct trace_copy *copy, uint32_t kind, uint32_t id)
{
	const uint64_t *known = hash_map_find(&copy->ids[kind], id);
	const void *found;

	if (known)
		return (uint32_t)*known;
	found = trace_reader_entity(copy->source, (enum event_kind)kind, id);
	return found ? copy_row_of(copy, kind, found) : 0;
}

static void copy_entities(struct trace_copy *copy, uint32_t kind)
{
	const size_t size = trace_reader_row_size((enum event_kind)kind);
	const void *rows;
	size_t count = trace_reader_entity_list(copy->source, (enum event_kind)kind, &rows);

	for (size_t i = 0; i < count && !copy->error; i++) {
		const void *row = (const char *)rows + i * size;

		if (!copy->options.has_entity ||
		    copy->options.has_entity(copy->options.context, (enum event_kind)kind, row))
			copy_row_of(copy, kind, row);
	}
}

static int copy_chunk(struct trace_copy *copy, size_t index, uint64_t *skipped)
{
	const struct trace_chunk *chunk = trace_reader_chunk(copy->source, index);
	const struct trace_format *format = trace_format_find(chunk->kind);
	const struct trace_source source = {
		chunk->source | TRACE_COPIED_SOURCE, copy_entity(copy, EVENT_CLOCK, chunk->clock),
		chunk->seen_clock ? copy_entity(copy, EVENT_CLOCK, chunk->seen_clock) : 0};
	auto_free char *rows = NULL;
	size_t count = 0;
	int error;

	if (copy->options.only_own && chunk->source & TRACE_COPIED_SOURCE)
		return 0;
	error = trace_reader_rows(copy->source, index, (void **)&rows, &count);
	if (error == -EBADMSG)
		return 0;
	for (size_t i = 0; !error && i < count && !copy->error; i++) {
		void *row = rows + i * format->row_size;

		if (!source.clock || !translate_row(copy, format, row))
			*skipped += 1;
		else if (!copy->options.has_row ||
			 copy->options.has_row(copy->options.context, chunk->kind, row))
			note_error(copy, trace_writer_row(copy->target, chunk->kind, &source, row));
	}
	return error;
}

/* The readings of a clock that the target did not have. Readings that are repeated in each segment
 * are dropped by readers. */
static void copy_pairs(struct trace_copy *copy)
{
	const struct event_clock *clocks;
	size_t count = trace_reader_entities(copy->source, EVENT_CLOCK, &clocks);

	for (size_t i = 0; i < count; i++) {
		const struct event_clock_pair *pairs;
		const struct trace_source source = {
			0, trace_copy_id(copy, EVENT_CLOCK, clocks[i].id), 0};
		size_t pairs_count = trace_reader_clock_pairs(copy->source, clocks[i].id, &pairs);

		for (size_t j = 0;
		     source.clock && clocks[i].type == CLOCK_TYPE_DEVICE && j < pairs_count; j++)
			note_error(copy, trace_writer_row(copy->target, EVENT_CLOCK_PAIR, &source,
							  &pairs[j]));
	}
}

int trace_copy_all(struct trace_copy *copy, struct trace_reader *source, uint64_t *ret_skipped)
{
	uint64_t skipped = 0;
	int error = 0;

	copy->source = source;
	copy->error = 0;
	hash_map_clear(&copy->strings);
	hash_map_clear(&copy->stacks);
	for (uint32_t kind = EVENT_HOST; kind <= EVENT_ENTITY_LAST; kind++)
		copy_entities(copy, kind);
	for (size_t i = 0; !error && i < trace_reader_chunk_count(source); i++) {
		if (copy->options.kinds & 1u << trace_reader_chunk(source, i)->kind)
			error = copy_chunk(copy, i, &skipped);
	}
	copy_pairs(copy);
	copy->source = NULL;
	if (ret_skipped)
		*ret_skipped = skipped;
	return error ? error : copy->error;
}
