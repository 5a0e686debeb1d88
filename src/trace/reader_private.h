/* SPDX-License-Identifier: MIT
 *
 * trace/reader_private.h - the parts of a reader, shared by reader.c, scan.c, index.c and load.c
 */
#pragma once

#include <pthread.h>

#include "base/hash.h"
#include "trace/chunk.h"
#include "trace/codec.h"
#include "trace/format.h"
#include "trace/reader.h"

/* The place of a chunk of any kind. */
struct reader_entry {
	struct chunk_head head;
	uint64_t offset, bytes; /* including the length before the message */
	uint64_t checksum;      /* 0 if the entry comes from the index */
	bool is_counted;        /* is counted as damaged */
};

/* Ids first … first + count - 1 of a segment are strings.ids[start …] of the reader. */
struct string_range {
	uint32_t first, count;
	size_t start;
};

struct dictionary {
	uint32_t segment;
	struct string_range *ranges; /* sorted by first */
	size_t capacity, count, recent;
};

struct reader_entities {
	char *rows;
	size_t rows_capacity;    /* bytes */
	uint32_t count, last_id; /* the largest id */
	/* Index of the ids that are not at index id - 1. Writers count ids from 1, so most are. */
	struct hash_map by_id;
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

struct reader_file {
	int fd; /* -1: the file is in memory */
	const uint8_t *memory;
	void *owned_memory;
	char *path;
	uint64_t size;
};

/* The bytes that reader_view read last. */
struct reader_window {
	uint8_t *bytes;
	size_t capacity, size;
	uint64_t offset;
};

/* The places of all chunks. */
struct reader_entries {
	struct reader_entry *items;
	size_t capacity, count;
};

struct reader_segments {
	uint32_t first, count;
	uint64_t begin_ns; /* start of the first remaining segment; 0: none was dropped */
};

struct reader_strings {
	struct string_table table;
	uint32_t *ids; /* by place in the dictionaries: id in table */
	size_t ids_capacity, ids_count;
};

struct reader_dictionaries {
	struct dictionary *items;
	size_t capacity, count;
	struct hash_map by_segment; /* index + 1 */
};

struct reader_clocks {
	struct reader_pairs *items;
	size_t capacity, count;
	struct hash_map by_clock; /* index + 1 */
};

struct reader_losses {
	struct event_loss *rows;
	size_t capacity, count;
};

struct reader_contents {
	struct reader_content *items;
	size_t capacity, count;
	struct hash_map by_hash; /* index + 1 */
};

/* Rows of chunks that are decoded once and read twice. */
struct reader_kept {
	struct kept_rows {
		void *rows; /* owned; NULL: none */
		size_t count;
	} * items;    /* owned; by chunk; NULL: no chunk has any */
	size_t count; /* rows of all */
};

/* The chunks with rows. */
struct reader_chunks {
	struct trace_chunk *items;
	size_t *entries; /* index of the entry, by chunk */
	size_t capacity, entries_capacity, count;
};

struct trace_reader {
	/* Protects everything that changes after open: the window, the opener, the damage, the
	 * contents and `recent` of the dictionaries. */
	pthread_mutex_t lock;
	struct reader_file file;
	struct reader_window window;
	struct chunk_opener opener;
	struct trace_damage damage;
	bool is_out_of_memory; /* a read failed for lack of memory, not because of damage */
	struct reader_entries entries;
	struct reader_segments segments;
	struct reader_strings strings;
	struct reader_dictionaries dictionaries;
	struct reader_entities entities[EVENT_ENTITY_LAST + 1];
	struct reader_entities frames, stacks; /* struct trace_frame_row, trace_stack_row */
	size_t stacks_cut; /* number of stacks with more frames than TRACE_STACK_LIMIT */
	struct reader_clocks clocks;
	struct reader_losses losses;
	struct reader_contents contents;
	struct reader_chunks chunks;
	struct reader_kept kept;
};

/* reader.c: returns size bytes of the file from offset, valid until the next call; NULL if the file
 * has fewer bytes or cannot be read. */
const uint8_t *reader_view(struct trace_reader *reader, uint64_t offset, size_t size);
/* -ENOMEM if a read failed for lack of memory, otherwise -EBADMSG. */
int reader_damage_error(const struct trace_reader *reader);
int reader_add_entry(struct trace_reader *reader, const struct reader_entry *entry);
/* Counts an entry as damaged, once. */
void reader_note_damage(struct trace_reader *reader, struct reader_entry *entry);
/* Opens the chunk of an entry. Errors: -EBADMSG (not counted), -ENOMEM. */
int reader_open_entry(struct trace_reader *reader, const struct reader_entry *entry,
		      struct chunk_head *ret_head, const uint8_t **ret_payload, size_t *ret_size);
/* The same, and decodes its rows; the caller frees them. */
int reader_decode_entry(struct trace_reader *reader, const struct reader_entry *entry,
			void **ret_rows, size_t *ret_count);

/* The row of an id; NULL: there is none. */
static inline char *reader_find_row(const struct reader_entities *entities, size_t row_size,
				    size_t id_offset, uint32_t id)
{
	const uint64_t *index;

	if (id && id <= entities->count) {
		char *row = entities->rows + (id - (size_t)1) * row_size;

		if (trace_field_read(row, id_offset, FIELD_U32) == id)
			return row;
	}
	index = hash_map_find(&entities->by_id, id);
	return index ? entities->rows + *index * row_size : NULL;
}

/* scan.c: reads the chunk at offset. Returns its bytes including the length; 0 if there is no
 * intact chunk. */
size_t scan_chunk(struct trace_reader *reader, uint64_t offset, struct reader_entry *ret_entry);
/* Finds all intact chunks and counts the damage. Errors: -ENOMEM. */
int scan_file(struct trace_reader *reader);

/* index.c: adds the entries of the index. Errors: -ENOENT without an index, -EBADMSG for a damaged
 * one, -ENOMEM. */
int index_load(struct trace_reader *reader);

/* load.c: loads the dictionaries, entities, clock pairs, losses, contents and chunks of all
 * entries. */
int load_entries(struct trace_reader *reader);
uint32_t load_translate(void *dictionary_context, uint32_t id);
struct load_context {
	struct trace_reader *reader;
	struct dictionary *dictionary; /* may be NULL */
};
struct load_context load_context(struct trace_reader *reader, uint32_t segment);
