/* SPDX-License-Identifier: MIT
 *
 * trace/segment_stacks.c - a writer's frames and stacks, and those that make a segment readable
 * alone
 *
 * Runs in:  the recorder, as a part of a writer
 * Gets:     frames, and pairs of a caller and a frame; gives ids that count from 1, equal ones for
 *           equal frames and stacks. Rows that refer to stacks; gives the chunks that describe
 *           these stacks, before the rows
 * Owns:     the tables of frames and stacks
 * Fails:    id 0 if memory has run out; -errno; unwritten frames and stacks are written with the
 *           next chunk
 * Why a tree: the stacks of a program share their outer frames. A node costs 8 bytes and a slot of
 *           the map, while a separate stack of 24 frames would cost 96 bytes.
 * Why a segment has only those in use: a program that runs for a day has more stacks than any ten
 *           seconds of it
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "trace/writer_private.h"

_Static_assert(sizeof(struct event_frame) == 8 * sizeof(uint32_t) + 3 * sizeof(uint64_t),
	       "a frame is compared as bytes and must have no padding");

static uint32_t add_frame(struct writer_stacks *stacks, const struct event_frame *frame,
			  const void *key, size_t key_size)
{
	uint32_t count = stacks->frames.count, id;

	if (array_grow(stacks->rows, stacks->rows_capacity, count + (size_t)1))
		return 0;
	id = string_table_add(&stacks->frames, key, key_size);
	if (id > count)
		stacks->rows[id - 1] = *frame;
	return id;
}

uint32_t trace_writer_frame(struct trace_writer *writer, const struct event_frame *frame)
{
	return add_frame(&writer->stacks, frame, frame, sizeof(*frame));
}

uint32_t trace_writer_own_frame(struct trace_writer *writer, const struct event_frame *frame,
				uint32_t owner)
{
	struct {
		struct event_frame frame;
		uint64_t owner; /* a longer key: never that of a shared frame */
	} key = {*frame, owner};

	return add_frame(&writer->stacks, frame, &key, sizeof(key));
}

uint32_t trace_writer_stack(struct trace_writer *writer, uint32_t caller, uint32_t frame)
{
	struct writer_stacks *stacks = &writer->stacks;
	uint64_t key = (uint64_t)caller << 32 | frame, known;

	if (!frame || frame > stacks->frames.count || caller > stacks->count ||
	    stacks->count == UINT32_MAX)
		return 0;
	/* a new stack is mostly pushed at once: then its first callee has the next id */
	if (caller < stacks->count) {
		if (stacks->nodes[caller].caller == caller && stacks->nodes[caller].frame == frame)
			return caller + 1;
		known = hash_map_get(&stacks->by_pair, key, 0);
		if (known)
			return (uint32_t)known;
	}
	if (array_grow(stacks->nodes, stacks->nodes_capacity, stacks->count + (size_t)1) ||
	    (caller < stacks->count &&
	     hash_map_put(&stacks->by_pair, key, stacks->count + (uint64_t)1)))
		return 0;
	stacks->nodes[stacks->count] = (struct event_stack){caller, frame};
	return ++stacks->count;
}

bool trace_writer_find_stack(const struct trace_writer *writer, uint32_t stack,
			     struct event_stack *ret_stack)
{
	bool is_known = stack && stack <= writer->stacks.count;

	if (is_known)
		*ret_stack = writer->stacks.nodes[stack - 1];
	return is_known;
}

static int out_of_memory(const struct trace_writer *writer)
{
	return error_set(-ENOMEM, "write '%s': out of memory", writer->file.path);
}

static bool is_needed(const struct needed_ids *needed, uint32_t id)
{
	return id / 64 < needed->known_capacity && needed->known[id / 64] >> id % 64 & 1;
}

static int need_id(struct needed_ids *needed, uint32_t id)
{
	if (is_needed(needed, id))
		return 0;
	if (array_grow(needed->known, needed->known_capacity, id / 64 + (size_t)1) ||
	    array_grow(needed->ids, needed->ids_capacity, needed->count + (size_t)1))
		return -ENOMEM;
	needed->ids[needed->count++] = id;
	needed->known[id / 64] |= UINT64_C(1) << id % 64;
	return 0;
}

int trace_writer_name_frame(struct trace_writer *writer, uint32_t frame, uint32_t name_string)
{
	if (!frame || frame > writer->stacks.frames.count)
		return -ENOENT;
	if (array_grow(writer->stacks.named, writer->stacks.named_capacity,
		       writer->stacks.named_count + 1))
		return -ENOMEM;
	writer->stacks.rows[frame - 1].name_string = name_string;
	writer->stacks.named[writer->stacks.named_count++] = frame;
	return 0;
}

/* Marks renamed frames to be written again in this segment. The rows whose stacks contain them may
 * be in an older segment. */
static int need_named(struct trace_writer *writer)
{
	struct needed_ids *needed = &writer->stacks.needed_frames;

	for (size_t i = 0; i < writer->stacks.named_count; i++) {
		uint32_t id = writer->stacks.named[i];

		if (is_needed(needed, id))
			needed->known[id / 64] &= ~(UINT64_C(1) << id % 64);
	}
	/* frames that are not written yet stay needed, each once */
	for (uint32_t i = needed->written; i < needed->count; i++)
		needed->known[needed->ids[i] / 64] |= UINT64_C(1) << needed->ids[i] % 64;
	for (; writer->stacks.named_count; writer->stacks.named_count--)
		if (need_id(needed, writer->stacks.named[writer->stacks.named_count - 1]))
			return -ENOMEM;
	return 0;
}

/* Marks a stack and all its callers as needed. */
static int need_stack(struct trace_writer *writer, uint32_t id)
{
	struct event_stack node;

	for (; !is_needed(&writer->stacks.needed, id); id = node.caller) {
		if (!trace_writer_find_stack(writer, id, &node))
			return 0;
		if (need_id(&writer->stacks.needed_frames, node.frame) ||
		    need_id(&writer->stacks.needed, id))
			return -ENOMEM;
	}
	return 0;
}

static int need_stacks(struct trace_writer *writer, const void *rows, size_t row_size,
		       size_t offset, size_t count)
{
	uint32_t last = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t id = (uint32_t)trace_field_read((const char *)rows + i * row_size,
							 (unsigned int)offset, FIELD_U32);

		if (id != last && need_stack(writer, id))
			return -ENOMEM;
		last = id;
	}
	return 0;
}

/* Takes the next ids to write, in increasing order. */
static uint32_t take_batch(const struct needed_ids *needed, uint32_t ids[TRACE_ROWS_LIMIT])
{
	uint32_t left = needed->count - needed->written;
	uint32_t count = left < TRACE_ROWS_LIMIT ? left : TRACE_ROWS_LIMIT;

	memcpy(ids, needed->ids + needed->written, count * sizeof(*ids));
	return count;
}

static int write_batch(struct trace_writer *writer, uint32_t kind, struct needed_ids *needed,
		       void *rows, uint32_t count)
{
	const struct trace_format *format = trace_format_find(kind);
	struct chunk_head head = {.kind = kind};
	int error = trace_sort(rows, count, format->row_size, format->key_offset, FIELD_U32);

	if (error)
		return out_of_memory(writer);
	head.first = trace_field_read(rows, format->key_offset, FIELD_U32);
	head.last = trace_field_read((char *)rows + (count - 1) * (size_t)format->row_size,
				     format->key_offset, FIELD_U32);
	error = writer_append_rows(writer, &head, rows, count);
	if (!error)
		needed->written += count;
	return error;
}

static int write_frames(struct trace_writer *writer)
{
	auto_free struct trace_frame_row *rows = calloc(TRACE_ROWS_LIMIT, sizeof(*rows));
	auto_free uint32_t *ids = malloc(TRACE_ROWS_LIMIT * sizeof(*ids));
	uint32_t count;

	if (!rows || !ids)
		return out_of_memory(writer);
	count = take_batch(&writer->stacks.needed_frames, ids);
	for (uint32_t i = 0; i < count; i++) {
		rows[i].id = ids[i];
		rows[i].frame = writer->stacks.rows[ids[i] - 1];
	}
	return write_batch(writer, TRACE_FRAMES, &writer->stacks.needed_frames, rows, count);
}

static int write_nodes(struct trace_writer *writer)
{
	auto_free struct trace_stack_row *rows = calloc(TRACE_ROWS_LIMIT, sizeof(*rows));
	auto_free uint32_t *ids = malloc(TRACE_ROWS_LIMIT * sizeof(*ids));
	uint32_t count;

	if (!rows || !ids)
		return out_of_memory(writer);
	count = take_batch(&writer->stacks.needed, ids);
	for (uint32_t i = 0; i < count; i++) {
		rows[i].id = ids[i];
		rows[i].stack = writer->stacks.nodes[ids[i] - 1];
	}
	return write_batch(writer, TRACE_STACKS, &writer->stacks.needed, rows, count);
}

/* The row kinds that have a stack, and the offset of its id. */
static const struct {
	uint32_t kind;
	size_t size, offset;
} have_stacks[] = {
	{EVENT_API, sizeof(struct event_api), offsetof(struct event_api, stack)},
	{EVENT_LAUNCH, sizeof(struct event_launch), offsetof(struct event_launch, stack)},
	{EVENT_CPU_SAMPLE, sizeof(struct event_cpu_sample),
	 offsetof(struct event_cpu_sample, stack)},
	{EVENT_SWITCH, sizeof(struct event_switch), offsetof(struct event_switch, stack)},
	{EVENT_RANGE, sizeof(struct event_range), offsetof(struct event_range, stack)},
	{EVENT_INSTRUCTION_SAMPLE, sizeof(struct event_instruction_sample),
	 offsetof(struct event_instruction_sample, stack)},
};

int segment_write_stacks(struct trace_writer *writer, uint32_t kind, const void *rows, size_t count)
{
	bool is_needed = false;
	int error = 0;

	for (size_t i = 0; i < ARRAY_COUNT(have_stacks) && !error; i++) {
		if (have_stacks[i].kind != kind)
			continue;
		error = need_stacks(writer, rows, have_stacks[i].size, have_stacks[i].offset,
				    count);
		is_needed = true;
	}
	if (!is_needed)
		return 0;
	if (error)
		return out_of_memory(writer);
	return segment_write_needed(writer);
}

int segment_write_needed(struct trace_writer *writer)
{
	int error = need_named(writer) ? out_of_memory(writer) : 0;

	while (!error && writer->stacks.needed_frames.written < writer->stacks.needed_frames.count)
		error = write_frames(writer);
	while (!error && writer->stacks.needed.written < writer->stacks.needed.count)
		error = write_nodes(writer);
	if (error)
		return error;
	writer->stacks.needed_frames.count = writer->stacks.needed_frames.written = 0;
	writer->stacks.needed.count = writer->stacks.needed.written = 0;
	return 0;
}

static void forget_ids(struct needed_ids *needed)
{
	if (needed->known)
		memset(needed->known, 0, needed->known_capacity * sizeof(*needed->known));
	needed->count = needed->written = 0;
}

void segment_forget_stacks(struct trace_writer *writer)
{
	forget_ids(&writer->stacks.needed_frames);
	forget_ids(&writer->stacks.needed);
}

void segment_stacks_fini(struct writer_stacks *stacks)
{
	string_table_fini(&stacks->frames);
	hash_map_fini(&stacks->by_pair);
	free(stacks->rows);
	free(stacks->nodes);
	free(stacks->needed_frames.known);
	free(stacks->needed_frames.ids);
	free(stacks->needed.known);
	free(stacks->needed.ids);
	free(stacks->named);
}
