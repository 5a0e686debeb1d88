/* SPDX-License-Identifier: MIT
 *
 * trace/reader_private.h - the parts of a reader, shared by reader.c, scan.c, index.c and load.c
 */
#ifndef TRACE_READER_PRIVATE_H
#define TRACE_READER_PRIVATE_H

#include <pthread.h>

#include "base/hash.h"
#include "trace/chunk.h"
#include "trace/codec.h"
#include "trace/format.h"
#include "trace/reader.h"

/* A chunk of any kind. */
struct reader_entry {
	struct chunk_head head;
	uint64_t offset, bytes; /* with the length before it */
	uint64_t checksum;      /* 0 where the index told of it */
	bool is_counted;        /* as damaged */
};

/* Ids first … first + count - 1 of a segment are string_ids[start …] of the reader. */
struct string_range {
	uint32_t first, count;
	size_t start;
};

struct dictionary {
	uint32_t segment;
	struct string_range *ranges; /* rising */
	size_t capacity, count, recent;
};

struct reader_things {
	char *rows;
	size_t rows_capacity; /* bytes */
	uint32_t count;
	struct hash_map by_id; /* index */
};

struct reader_pairs {
	uint32_t clock;
	struct event_clock_pair *pairs;
	size_t capacity, count;
};

struct reader_content {
	uint64_t hash_low, hash_high;
	size_t *parts; /* indices of entries */
	size_t parts_capacity, parts_count;
	uint8_t *bytes;
	size_t size;
	bool is_tried;
};

struct trace_reader {
	/* Over the window, the opener, the damage, the contents and what is recent in a dictionary: all
	 * that changes once the reader is open. */
	pthread_mutex_t lock;
	int fd; /* -1: all is in memory */
	const uint8_t *memory;
	void *owned_memory;
	char *path;
	uint64_t size;
	uint8_t *window; /* what view() read last */
	size_t window_capacity, window_size;
	uint64_t window_offset;

	struct chunk_opener opener;
	struct trace_damage damage;
	bool is_out_of_memory; /* something was not read for that: it is not damaged */

	struct reader_entry *entries;
	size_t entries_capacity, entries_count;
	uint32_t first_segment, segment_count;
	uint64_t begin_ns; /* of the first segment that is left, where others were dropped */

	struct string_table strings;
	uint32_t *string_ids;
	size_t string_ids_capacity, string_ids_count;
	struct dictionary *dictionaries;
	size_t dictionaries_capacity, dictionaries_count;
	struct hash_map dictionary_by_segment; /* index + 1 */

	struct reader_things things[EVENT_THING_LAST + 1];
	struct reader_things frames, stacks; /* struct trace_frame_row, trace_stack_row */
	size_t stacks_cut;                   /* that had more frames than TRACE_STACK_LIMIT */

	struct reader_pairs *clocks;
	size_t clocks_capacity, clocks_count;
	struct hash_map pairs_by_clock; /* index + 1 */
	struct event_loss *losses;
	size_t losses_capacity, losses_count;

	struct reader_content *contents;
	size_t contents_capacity, contents_count;
	struct hash_map contents_by_hash; /* index + 1 */

	struct trace_chunk *chunks; /* of rows */
	size_t *chunk_entries;      /* index of the entry, by chunk */
	size_t chunks_capacity, chunk_entries_capacity, chunks_count;
};

/* reader.c: size bytes of the file from offset, valid until the next call; NULL where the file has
 * fewer or cannot be read. */
const uint8_t *reader_view(struct trace_reader *reader, uint64_t offset, size_t size);
/* -ENOMEM where memory was missing, otherwise -EBADMSG. */
int reader_damage_error(const struct trace_reader *reader);
int reader_add_entry(struct trace_reader *reader, const struct reader_entry *entry);
/* Counts an entry as damaged, once. */
void reader_note_damage(struct trace_reader *reader, struct reader_entry *entry);
/* Opens the chunk of an entry. Errors: -EBADMSG (not counted), -ENOMEM. */
int reader_open_entry(struct trace_reader *reader, const struct reader_entry *entry,
		      struct chunk_head *ret_head, const uint8_t **ret_payload, size_t *ret_size);
/* … and decodes its rows, to be freed. */
int reader_decode_entry(struct trace_reader *reader, const struct reader_entry *entry,
			void **ret_rows, size_t *ret_count);

/* scan.c: what begins at offset, with its length; 0 where there is no intact chunk. */
size_t scan_chunk(struct trace_reader *reader, uint64_t offset, struct reader_entry *ret_entry);
/* Finds all intact chunks and notes the damage. Errors: -ENOMEM. */
int scan_file(struct trace_reader *reader);

/* index.c: takes the entries from the index. -ENOENT where there is none, -EBADMSG where it is
 * damaged, -ENOMEM. */
int index_load(struct trace_reader *reader);

/* load.c: dictionaries, things, pairs, losses, contents, chunks of all entries. */
int load_entries(struct trace_reader *reader);
uint32_t load_translate(void *dictionary_context, uint32_t id);
struct load_context {
	struct trace_reader *reader;
	struct dictionary *dictionary; /* may be NULL */
};
struct load_context load_context(struct trace_reader *reader, uint32_t segment);

#endif
