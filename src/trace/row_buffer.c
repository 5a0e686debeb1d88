/* SPDX-License-Identifier: MIT
 *
 * trace/row_buffer.c - the rows that wait in memory until their chunk is written
 *
 * Runs in:  the recorder, as a part of a writer
 * Gets:     rows with their kind and source; gives open chunks, which the writer empties
 * Owns:     the open chunks and their rows
 * Fails:    -ENOMEM or NULL if memory has run out
 * Why a budget per chunk: with a fixed budget many sources (a thread each) would write many small
 *           chunks. Few sources keep at most 6 MiB of rows, and no writer keeps more than 48 MiB.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/writer_private.h"

enum { FIRST_ROWS = 32, IDLE_CHUNKS = 64 };

/* Rows waiting in memory: 6 MiB for a handful of sources; many sources get 32 KiB per open chunk,
 * about 500 rows, up to 48 MiB. */
#define BUFFER_BASE      ((size_t)6 << 20)
#define BUFFER_PER_CHUNK ((size_t)32 << 10)
#define BUFFER_LIMIT     ((size_t)48 << 20)

void row_buffer_release(struct row_buffer *buffer, struct open_chunk *chunk)
{
	buffer->bytes -= chunk->capacity * trace_format_find(chunk->kind)->row_size;
	free(chunk->rows);
	chunk->rows = NULL;
	chunk->capacity = 0;
}

static uint64_t chunk_key(uint32_t kind, const struct trace_source *source, bool by_seen)
{
	return (uint64_t)source->clock << 32 ^ source->source ^
	       (uint64_t)source->seen_clock * 0x9e3779b97f4a7c15u ^ (uint64_t)kind << 56 ^
	       (uint64_t)by_seen << 63;
}

static bool is_chunk_of(const struct open_chunk *chunk, uint32_t kind,
			const struct trace_source *source, bool by_seen)
{
	return chunk->kind == kind && chunk->source.source == source->source &&
	       chunk->source.clock == source->clock &&
	       chunk->source.seen_clock == source->seen_clock && chunk->by_seen == by_seen;
}

static uint32_t key_offset(uint32_t kind, bool by_seen)
{
	return by_seen ? offsetof(struct event_execution, seen)
		       : trace_format_find(kind)->key_offset;
}

static struct open_chunk *add_chunk(struct row_buffer *buffer, uint32_t kind,
				    const struct trace_source *source, bool by_seen)
{
	uint64_t key = chunk_key(kind, source, by_seen);
	uint32_t next = (uint32_t)hash_map_get(&buffer->by_key, key, 0);
	struct open_chunk *chunk;

	if (array_grow(buffer->chunks, buffer->capacity, buffer->count + (size_t)1) ||
	    hash_map_put(&buffer->by_key, key, buffer->count + (uint64_t)1))
		return NULL;
	chunk = &buffer->chunks[buffer->count++];
	*chunk = (struct open_chunk){.kind = kind,
				     .source = *source,
				     .by_seen = by_seen,
				     .key_offset = key_offset(kind, by_seen),
				     .next = next};
	return chunk;
}

/* The open chunk of a kind and source; adds one if there is none. NULL without memory. */
static struct open_chunk *find_chunk(struct row_buffer *buffer, uint32_t kind,
				     const struct trace_source *source, bool by_seen)
{
	uint32_t index = buffer->recent[kind];
	struct open_chunk *chunk;

	if (index && is_chunk_of(&buffer->chunks[index - 1], kind, source, by_seen))
		return &buffer->chunks[index - 1];
	index = (uint32_t)hash_map_get(&buffer->by_key, chunk_key(kind, source, by_seen), 0);
	while (index && !is_chunk_of(&buffer->chunks[index - 1], kind, source, by_seen))
		index = buffer->chunks[index - 1].next;
	chunk = index ? &buffer->chunks[index - 1] : add_chunk(buffer, kind, source, by_seen);
	if (chunk)
		buffer->recent[kind] = (uint32_t)(chunk - buffer->chunks) + 1;
	return chunk;
}

/* Forgets the chunks of sources that sent no rows, once there are many of them. */
void row_buffer_forget_idle(struct row_buffer *buffer)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < buffer->count; i++)
		kept += buffer->chunks[i].rows != NULL;
	if (buffer->count - kept < IDLE_CHUNKS + kept)
		return;
	kept = 0;
	hash_map_clear(&buffer->by_key);
	memset(buffer->recent, 0, sizeof(buffer->recent));
	for (uint32_t i = 0; i < buffer->count; i++) {
		struct open_chunk *chunk = &buffer->chunks[i];
		uint64_t key = chunk_key(chunk->kind, &chunk->source, chunk->by_seen);

		if (!chunk->rows)
			continue;
		chunk->next = (uint32_t)hash_map_get(&buffer->by_key, key, 0);
		buffer->chunks[kept++] = *chunk;
		/* cannot fail: the map has held more entries than this */
		hash_map_put(&buffer->by_key, key, kept);
	}
	buffer->count = kept;
}

static int grow_chunk(struct row_buffer *buffer, struct open_chunk *chunk, size_t row_size)
{
	size_t wanted = chunk->capacity ? chunk->capacity * 2 : FIRST_ROWS;
	char *rows;

	if (chunk->count < chunk->capacity)
		return 0;
	rows = realloc(chunk->rows, wanted * row_size);
	if (!rows)
		return -ENOMEM;
	buffer->bytes += (wanted - chunk->capacity) * row_size;
	chunk->rows = rows;
	chunk->capacity = wanted;
	return 0;
}

static void push_row(struct open_chunk *chunk, const void *row, size_t row_size)
{
	uint64_t key = trace_field_read(row, chunk->key_offset, FIELD_U64);

	memcpy(chunk->rows + chunk->count * row_size, row, row_size);
	if (chunk->count++ == 0) {
		chunk->first = chunk->last = key;
		chunk->lateness = 0;
		chunk->is_sorted = true;
	} else if (key >= chunk->last) {
		chunk->last = key;
	} else {
		chunk->is_sorted = false;
		if (chunk->last - key > chunk->lateness)
			chunk->lateness = chunk->last - key;
		if (key < chunk->first)
			chunk->first = key;
	}
}

bool row_buffer_is_over_budget(const struct row_buffer *buffer)
{
	size_t budget = BUFFER_BASE + buffer->count * BUFFER_PER_CHUNK;

	return buffer->bytes > (budget < BUFFER_LIMIT ? budget : BUFFER_LIMIT);
}

struct open_chunk *row_buffer_append(struct row_buffer *buffer, uint32_t kind,
				     const struct trace_source *source, bool by_seen,
				     const void *row, size_t row_size)
{
	struct open_chunk *chunk = find_chunk(buffer, kind, source, by_seen);

	if (!chunk || grow_chunk(buffer, chunk, row_size))
		return NULL;
	push_row(chunk, row, row_size);
	return chunk;
}

struct open_chunk *row_buffer_largest(struct row_buffer *buffer)
{
	struct open_chunk *largest = NULL;
	size_t largest_bytes = 0;

	for (uint32_t i = 0; i < buffer->count; i++) {
		struct open_chunk *chunk = &buffer->chunks[i];
		size_t bytes = chunk->capacity * trace_format_find(chunk->kind)->row_size;

		if (bytes > largest_bytes) {
			largest = chunk;
			largest_bytes = bytes;
		}
	}
	return largest;
}

void row_buffer_fini(struct row_buffer *buffer)
{
	for (uint32_t i = 0; i < buffer->count; i++)
		free(buffer->chunks[i].rows);
	free(buffer->chunks);
	hash_map_fini(&buffer->by_key);
}
