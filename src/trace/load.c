/* SPDX-License-Identifier: MIT
 *
 * trace/load.c - load everything that a reader needs before the first row is requested
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     the list of chunks; gives texts, entities, frames, stacks, clock pairs, losses, the
 *           list of contents and the list of chunks with rows
 * Owns:     nothing of its own; all goes into the reader
 * Fails:    -ENOMEM, -EPROTONOSUPPORT for a newer schema; a damaged chunk is counted and left out
 * Why ranges: the ids of a dictionary form a few contiguous ranges. Because ranges are stored, a
 *           hostile first_id of 4 * 10^9 costs twelve bytes instead of a table of 4 * 10^9 entries.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "trace/reader_private.h"
#include "trace/unpack.h"

#include "duet_trace.pb-c.h"

static struct dictionary *find_dictionary(const struct trace_reader *reader, uint32_t segment)
{
	uint64_t index = hash_map_get(&reader->dictionaries.by_segment, segment, 0);

	return index ? &reader->dictionaries.items[index - 1] : NULL;
}

static int get_dictionary(struct trace_reader *reader, uint32_t segment,
			  struct dictionary **ret_dictionary)
{
	struct dictionary *dictionary = find_dictionary(reader, segment);

	if (!dictionary) {
		if (array_grow(reader->dictionaries.items, reader->dictionaries.capacity,
			       reader->dictionaries.count + 1) ||
		    hash_map_put(&reader->dictionaries.by_segment, segment,
				 reader->dictionaries.count + 1))
			return -ENOMEM;
		dictionary = &reader->dictionaries.items[reader->dictionaries.count++];
		*dictionary = (struct dictionary){.segment = segment};
	}
	*ret_dictionary = dictionary;
	return 0;
}

struct load_context load_context(struct trace_reader *reader, uint32_t segment)
{
	return (struct load_context){reader, find_dictionary(reader, segment)};
}

uint32_t load_translate(void *opaque, uint32_t id)
{
	struct load_context *context = opaque;
	struct dictionary *dictionary = context->dictionary;
	size_t after = LOWER_BOUND(dictionary ? dictionary->count : 0, i,
				   dictionary->ranges[i].first <= id);
	const struct string_range *range = after ? &dictionary->ranges[after - 1] : NULL;

	return range && id - range->first < range->count
		       ? context->reader->strings.ids[range->start + (id - range->first)]
		       : 0;
}

/* ---- one function per chunk kind ---- */

static int load_texts(struct trace_reader *reader, const Duet__Strings *message)
{
	const uint8_t *text = message->text.len ? message->text.data : (const uint8_t *)"";
	size_t left = message->text.len;

	if (array_grow(reader->strings.ids, reader->strings.ids_capacity,
		       reader->strings.ids_count + message->n_length))
		return -ENOMEM;
	for (size_t i = 0; i < message->n_length; i++) {
		size_t length = message->length[i];
		uint32_t id;

		if (length > left)
			return -EBADMSG;
		id = string_table_add(&reader->strings.table, text, length);
		if (length && !id)
			return -ENOMEM;
		reader->strings.ids[reader->strings.ids_count + i] = id;
		text += length;
		left -= length;
	}
	reader->strings.ids_count += message->n_length;
	return 0;
}

static int load_string_range(struct trace_reader *reader, uint32_t segment,
			     const Duet__Strings *message)
{
	struct dictionary *dictionary;
	struct string_range range = {message->first_id, (uint32_t)message->n_length,
				     reader->strings.ids_count};
	const struct string_range *last;

	if (!message->n_length)
		return 0;
	if (!range.first || message->n_length > TRACE_ROWS_LIMIT ||
	    range.first > UINT32_MAX - range.count)
		return -EBADMSG;
	if (get_dictionary(reader, segment, &dictionary))
		return -ENOMEM;
	last = dictionary->count ? &dictionary->ranges[dictionary->count - 1] : NULL;
	if (last && range.first < last->first + last->count)
		return -EBADMSG;
	if (array_grow(dictionary->ranges, dictionary->capacity, dictionary->count + 1))
		return -ENOMEM;
	dictionary->ranges[dictionary->count] = range;
	return load_texts(reader, message);
}

static int load_strings(struct trace_reader *reader, struct reader_entry *entry)
{
	struct chunk_head head;
	const uint8_t *payload;
	size_t size;
	struct unpack unpack;
	Duet__Strings *message;
	int error = reader_open_entry(reader, entry, &head, &payload, &size);

	if (error)
		return error;
	message = duet__strings__unpack(unpack_begin(&unpack), size, payload);
	if (!message)
		return unpack_error(&unpack);
	error = load_string_range(reader, head.segment, message);
	if (!error && message->n_length)
		find_dictionary(reader, head.segment)->count++;
	duet__strings__free_unpacked(message, NULL);
	return error;
}

static int put_entity(struct reader_entities *entities, const struct trace_format *format,
		      const char *row)
{
	uint32_t id = (uint32_t)trace_field_read(row, format->key_offset, FIELD_U32);
	size_t bytes = entities->count * (size_t)format->row_size;
	char *known;

	if (!id)
		return 0;
	known = reader_find_row(entities, format->row_size, format->key_offset, id);
	if (!known) {
		if (array_reserve((void **)&entities->rows, &entities->rows_capacity,
				  bytes + format->row_size, 1) ||
		    (id != entities->count + 1 &&
		     hash_map_put(&entities->by_id, id, entities->count)))
			return -ENOMEM;
		entities->count++;
		entities->last_id = id > entities->last_id ? id : entities->last_id;
		known = entities->rows + bytes;
	}
	memcpy(known, row, format->row_size);
	return 0;
}

/* Appends the first rows at once if they have the next ids, which are new if no id is larger.
 * *ret_count: number of these rows. */
static int append_next(struct reader_entities *entities, const struct trace_format *format,
		       const char *rows, size_t count, size_t *ret_count)
{
	const size_t size = format->row_size;
	size_t next = 0;

	while (entities->last_id <= entities->count && next < count &&
	       trace_field_read(rows + next * size, format->key_offset, FIELD_U32) ==
		       entities->count + next + 1)
		next++;
	*ret_count = next;
	if (!next)
		return 0;
	if (array_reserve((void **)&entities->rows, &entities->rows_capacity,
			  (entities->count + next) * size, 1))
		return -ENOMEM;
	memcpy(entities->rows + entities->count * size, rows, next * size);
	entities->count += (uint32_t)next;
	entities->last_id = entities->count;
	return 0;
}

static int put_entities(struct reader_entities *entities, uint32_t kind, const void *rows,
			size_t count)
{
	const struct trace_format *format = trace_format_find(kind);
	int error = 0;

	for (size_t i = 0, next; i < count && !error; i += next) {
		const char *row = (const char *)rows + i * format->row_size;

		error = append_next(entities, format, row, count - i, &next);
		if (error || next)
			continue;
		error = put_entity(entities, format, row);
		next = 1;
	}
	return error;
}

static int load_entities(struct trace_reader *reader, struct reader_entry *entry)
{
	uint32_t kind = entry->head.kind;
	auto_free void *rows = NULL;
	size_t count;
	int error = reader_decode_entry(reader, entry, &rows, &count);

	return error ? error : put_entities(&reader->entities[kind], kind, rows, count);
}

/* The ids of frames and stacks are valid for the whole file. Every segment that refers to a frame
 * contains its row. */
static int load_frames(struct trace_reader *reader, struct reader_entry *entry)
{
	auto_free void *rows = NULL;
	size_t count;
	int error = reader_decode_entry(reader, entry, &rows, &count);

	return error ? error : put_entities(&reader->frames, TRACE_FRAMES, rows, count);
}

static int load_stacks(struct trace_reader *reader, struct reader_entry *entry)
{
	auto_free struct trace_stack_row *rows = NULL;
	size_t count;
	int error = reader_decode_entry(reader, entry, (void **)&rows, &count);

	/* a caller's id must be lower, so that a walk over callers ends */
	for (size_t i = 0; !error && i < count; i++)
		if (rows[i].stack.caller >= rows[i].id)
			rows[i].stack.caller = 0;
	return error ? error : put_entities(&reader->stacks, TRACE_STACKS, rows, count);
}

static int get_pairs(struct trace_reader *reader, uint32_t clock, struct reader_pairs **ret_pairs)
{
	uint64_t index = hash_map_get(&reader->clocks.by_clock, clock, 0);

	if (!index) {
		if (array_grow(reader->clocks.items, reader->clocks.capacity,
			       reader->clocks.count + 1) ||
		    hash_map_put(&reader->clocks.by_clock, clock, reader->clocks.count + 1))
			return -ENOMEM;
		index = ++reader->clocks.count;
		reader->clocks.items[index - 1] = (struct reader_pairs){.clock = clock};
	}
	*ret_pairs = &reader->clocks.items[index - 1];
	return 0;
}

static int load_pairs(struct trace_reader *reader, struct reader_entry *entry)
{
	auto_free struct event_clock_pair *rows = NULL;
	struct reader_pairs *pairs;
	size_t count;
	int error = reader_decode_entry(reader, entry, (void **)&rows, &count);

	if (error || !count)
		return error;
	if (get_pairs(reader, entry->head.clock, &pairs) ||
	    array_grow(pairs->pairs, pairs->capacity, pairs->count + count))
		return -ENOMEM;
	memcpy(pairs->pairs + pairs->count, rows, count * sizeof(*rows));
	pairs->count += count;
	return 0;
}

static int load_losses(struct trace_reader *reader, struct reader_entry *entry)
{
	auto_free struct event_loss *rows = NULL;
	size_t count;
	int error = reader_decode_entry(reader, entry, (void **)&rows, &count);

	if (error || !count)
		return error;
	if (array_grow(reader->losses.rows, reader->losses.capacity, reader->losses.count + count))
		return -ENOMEM;
	memcpy(reader->losses.rows + reader->losses.count, rows, count * sizeof(*rows));
	reader->losses.count += count;
	return 0;
}

static int load_content(struct trace_reader *reader, size_t index)
{
	const struct chunk_head *head = &reader->entries.items[index].head;
	uint64_t known = hash_map_get(&reader->contents.by_hash, head->first, 0);
	struct reader_content *content;

	if (!known) {
		if (array_grow(reader->contents.items, reader->contents.capacity,
			       reader->contents.count + 1) ||
		    hash_map_put(&reader->contents.by_hash, head->first,
				 reader->contents.count + 1))
			return -ENOMEM;
		known = ++reader->contents.count;
		reader->contents.items[known - 1] =
			(struct reader_content){.hash_low = head->first, .hash_high = head->last};
	}
	content = &reader->contents.items[known - 1];
	if (content->hash_high != head->last)
		return 0;
	return array_append(content->parts, content->parts_capacity, content->parts_count, index);
}

static int load_chunk(struct trace_reader *reader, size_t index)
{
	const struct reader_entry *entry = &reader->entries.items[index];

	if (entry->head.flags & TRACE_REPEATED)
		return 0;
	if (array_grow(reader->chunks.items, reader->chunks.capacity, reader->chunks.count + 1) ||
	    array_grow(reader->chunks.entries, reader->chunks.entries_capacity,
		       reader->chunks.count + 1))
		return -ENOMEM;
	reader->chunks.entries[reader->chunks.count] = index;
	reader->chunks.items[reader->chunks.count++] = (struct trace_chunk){
		.kind = (enum event_kind)entry->head.kind,
		.source = entry->head.source,
		.clock = entry->head.clock,
		.seen_clock = entry->head.seen_clock,
		.segment = entry->head.segment,
		.rows = entry->head.rows,
		.by_seen = entry->head.flags & TRACE_BY_SEEN,
		.first = entry->head.first,
		.last = entry->head.last,
		.offset = entry->offset,
	};
	return 0;
}

/* ---- all of them ---- */

static int load_head(struct trace_reader *reader, struct reader_entry *entry)
{
	struct chunk_head head;
	const uint8_t *payload;
	size_t size;
	uint32_t major;
	struct unpack unpack;
	Duet__SegmentHead *message;
	int error = reader_open_entry(reader, entry, &head, &payload, &size);

	if (error)
		return error;
	message = duet__segment_head__unpack(unpack_begin(&unpack), size, payload);
	if (!message)
		return unpack_error(&unpack);
	major = message->schema_major;
	if (message->first_segment > reader->segments.first)
		reader->segments.first = message->first_segment;
	entry->head.first = message->begin_ns;
	duet__segment_head__free_unpacked(message, NULL);
	if (major > EVENT_SCHEMA_MAJOR)
		return error_set(-EPROTONOSUPPORT,
				 "'%s' was written by a newer duet (schema %u): update duet",
				 reader->file.path, major);
	return 0;
}

static int load_entry(struct trace_reader *reader, size_t index)
{
	struct reader_entry *entry = &reader->entries.items[index];
	uint32_t kind = entry->head.kind;
	int error;

	if (kind == TRACE_STRINGS)
		return load_strings(reader, entry);
	if (kind == TRACE_CONTENT)
		return load_content(reader, index);
	if (kind == TRACE_FRAMES)
		return load_frames(reader, entry);
	if (kind == TRACE_STACKS)
		return load_stacks(reader, entry);
	if (kind >= EVENT_HOST && kind <= EVENT_ENTITY_LAST)
		return load_entities(reader, entry);
	if (kind < EVENT_API || kind >= EVENT_KIND_COUNT || !trace_format_find(kind))
		return 0;
	error = kind == EVENT_CLOCK_PAIR ? load_pairs(reader, entry)
		: kind == EVENT_LOSS     ? load_losses(reader, entry)
					 : 0;
	return error ? error : load_chunk(reader, index);
}

static int sort_entities(struct trace_reader *reader)
{
	for (uint32_t kind = EVENT_HOST; kind <= EVENT_ENTITY_LAST; kind++) {
		const struct trace_format *format = trace_format_find(kind);
		struct reader_entities *entities = &reader->entities[kind];

		if (trace_sort(entities->rows, entities->count, format->row_size,
			       format->key_offset, FIELD_U32))
			return -ENOMEM;
		for (uint32_t i = 0; i < entities->count; i++) {
			uint64_t id =
				trace_field_read(entities->rows + i * (size_t)format->row_size,
						 format->key_offset, FIELD_U32);

			if (id != i + UINT64_C(1) && hash_map_put(&entities->by_id, id, i))
				return -ENOMEM;
		}
	}
	return 0;
}

/* ---- stacks that are too deep ---- */

/* Finds an unused id. */
static uint32_t free_id(const struct reader_entities *entities)
{
	uint32_t id = UINT32_MAX;

	while (hash_map_find(&entities->by_id, id))
		id--;
	return id;
}

/* Adds the stack that replaces removed outer frames: one frame, "[truncated]". */
static int add_truncated(struct trace_reader *reader, uint32_t *ret_stack)
{
	const struct trace_frame_row frame = {.frame = {.type = FRAME_TRUNCATED},
					      .id = free_id(&reader->frames)};
	const struct trace_stack_row stack = {.stack = {.frame = frame.id},
					      .id = free_id(&reader->stacks)};

	if (put_entity(&reader->frames, trace_format_find(TRACE_FRAMES), (const char *)&frame) ||
	    put_entity(&reader->stacks, trace_format_find(TRACE_STACKS), (const char *)&stack))
		return -ENOMEM;
	*ret_stack = stack.id;
	return 0;
}

/* Index of a stack's caller; UINT32_MAX: none, or a replacement of removed frames. */
static uint32_t caller_index(const struct trace_reader *reader, uint32_t stack, uint32_t count)
{
	const struct reader_entities *stacks = &reader->stacks;
	const size_t size = sizeof(struct trace_stack_row);
	const struct trace_stack_row *rows = (const struct trace_stack_row *)stacks->rows;
	const char *row = reader_find_row(stacks, size, offsetof(struct trace_stack_row, id),
					  rows[stack].stack.caller);
	size_t index = row ? (size_t)(row - stacks->rows) / size : count;

	return index < count ? (uint32_t)index : UINT32_MAX;
}

/* *depth: the caller's depth before, the stack's after. */
static int add_depth(struct trace_reader *reader, uint32_t stack, uint16_t *depth,
		     uint32_t *truncated)
{
	if (++*depth <= TRACE_STACK_LIMIT)
		return 0;
	if (!*truncated && add_truncated(reader, truncated))
		return -ENOMEM;
	((struct trace_stack_row *)reader->stacks.rows)[stack].stack.caller = *truncated;
	*depth = 2;
	reader->stacks_cut++;
	return 0;
}

/* Most callers come before their callees. Those that do not are visited before them. */
static int cut_stacks(struct trace_reader *reader, uint32_t *path, uint16_t *depths, uint32_t count)
{
	uint32_t truncated = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t length = 0, next = i;
		uint16_t depth;

		while (next != UINT32_MAX && !depths[next]) {
			path[length++] = next;
			next = caller_index(reader, next, count);
		}
		depth = next == UINT32_MAX ? 0 : depths[next];
		while (length-- > 0) {
			if (add_depth(reader, path[length], &depth, &truncated))
				return -ENOMEM;
			depths[path[length]] = depth;
		}
	}
	return 0;
}

static int limit_stacks(struct trace_reader *reader)
{
	uint32_t count = reader->stacks.count;
	auto_free uint32_t *path = malloc(((size_t)count + 1) * sizeof(*path));
	auto_free uint16_t *depths = calloc((size_t)count + 1, sizeof(*depths));

	if (!path || !depths)
		return -ENOMEM;
	return count > TRACE_STACK_LIMIT ? cut_stacks(reader, path, depths, count) : 0;
}

/* Sorts clock pairs and removes the ones that segments repeat at their start. */
static int sort_pairs(struct reader_pairs *pairs)
{
	size_t kept = 0;

	if (trace_sort(pairs->pairs, pairs->count, sizeof(*pairs->pairs),
		       offsetof(struct event_clock_pair, time), FIELD_U64))
		return -ENOMEM;
	for (size_t i = 0; i < pairs->count; i++) {
		if (!kept ||
		    memcmp(&pairs->pairs[kept - 1], &pairs->pairs[i], sizeof(*pairs->pairs)) != 0)
			pairs->pairs[kept++] = pairs->pairs[i];
	}
	pairs->count = kept;
	return 0;
}

/* If earlier segments were dropped, the trace starts with its first remaining segment. */
static void find_begin(struct trace_reader *reader)
{
	uint64_t begin_ns = UINT64_MAX;

	for (size_t i = 0; reader->segments.first > 1 && i < reader->entries.count; i++) {
		const struct chunk_head *head = &reader->entries.items[i].head;

		if (head->kind == TRACE_SEGMENT && head->segment >= reader->segments.first &&
		    head->first < begin_ns)
			begin_ns = head->first;
	}
	reader->segments.begin_ns = begin_ns == UINT64_MAX ? 0 : begin_ns;
}

static void count_segments(struct trace_reader *reader)
{
	uint32_t previous = 0;

	/* entries are in the order in which they were written */
	for (size_t i = 0; i < reader->entries.count; i++) {
		uint32_t segment = reader->entries.items[i].head.segment;

		if (segment != previous && segment >= reader->segments.first)
			reader->segments.count++;
		previous = segment >= reader->segments.first ? segment : previous;
	}
}

int load_entries(struct trace_reader *reader)
{
	int error = 0;

	/* all segment heads first: they define which segments were dropped */
	for (size_t i = 0; !error && i < reader->entries.count; i++) {
		if (reader->entries.items[i].head.kind == TRACE_SEGMENT)
			error = load_head(reader, &reader->entries.items[i]);
		if (error == -EBADMSG) {
			reader_note_damage(reader, &reader->entries.items[i]);
			error = 0;
		}
	}
	find_begin(reader);
	for (size_t i = 0; !error && i < reader->entries.count; i++) {
		if (reader->entries.items[i].head.segment < reader->segments.first)
			continue;
		error = load_entry(reader, i);
		if (error == -EBADMSG) {
			reader_note_damage(reader, &reader->entries.items[i]);
			error = 0;
		}
	}
	if (!error)
		error = sort_entities(reader);
	if (!error)
		error = limit_stacks(reader);
	for (size_t i = 0; !error && i < reader->clocks.count; i++)
		error = sort_pairs(&reader->clocks.items[i]);
	if (!error)
		error = trace_sort(reader->losses.rows, reader->losses.count,
				   sizeof(*reader->losses.rows), offsetof(struct event_loss, begin),
				   FIELD_U64);
	count_segments(reader);
	return error;
}
