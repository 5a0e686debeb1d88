/* SPDX-License-Identifier: MIT
 *
 * trace/chunk.h - one message of the file: envelope, checksum, compression
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chunk_head {
	uint32_t kind;
	uint32_t source, clock, seen_clock;
	uint32_t segment;
	uint32_t rows;
	uint32_t flags; /* enum trace_flag */
	uint64_t first, last, lateness;
	uint64_t sequence;
};

/* Packs a payload into the bytes of a chunk, with the chunk's length in front. */
struct chunk_packer {
	int level;
	void *context; /* ZSTD_CCtx */
	uint8_t *compressed;
	size_t compressed_capacity;
	uint8_t *bytes; /* the result of chunk_pack */
	size_t bytes_capacity;
	size_t size;
};

void chunk_packer_init(struct chunk_packer *packer, int level);
void chunk_packer_fini(struct chunk_packer *packer);

/* A payload. ends: the offsets at which its columns end; each column is compressed with its own
 * statistics. */
struct chunk_payload {
	const uint8_t *bytes;
	size_t size;
	const size_t *ends;
	size_t ends_count;
};

/* Errors: -ENOMEM; -EMSGSIZE for a payload above TRACE_RAW_LIMIT. */
int chunk_pack(struct chunk_packer *packer, const struct chunk_head *head,
	       const struct chunk_payload *payload);

/* Checks and decompresses chunks. */
struct chunk_opener {
	void *context; /* ZSTD_DCtx */
	uint8_t *raw;  /* the result of chunk_payload */
	size_t raw_capacity;
};

void chunk_opener_init(struct chunk_opener *opener);
void chunk_opener_fini(struct chunk_opener *opener);

/* Reads the length before a chunk at `at`. Returns the number of bytes of the length itself; 0 if
 * it is cut off or no valid length of a chunk. */
size_t chunk_length(const uint8_t *at, const uint8_t *end, size_t *ret_size);

/* Whether a message (without its length) starts with the sync bytes of a chunk; whether its
 * checksum matches as well. */
bool chunk_has_prefix(const uint8_t *message, size_t size);
bool chunk_is_intact(const uint8_t *message, size_t size);
uint64_t chunk_checksum(const uint8_t *message); /* as stored */
/* Whether a file begins with a chunk; a ring's file may have a hole before it. */
bool chunk_begins_file(int fd);

/* Reads the head of a message whose prefix is valid; the checksum need not be checked. Errors:
 * -EBADMSG. */
int chunk_head(const uint8_t *message, size_t size, struct chunk_head *ret_head);

/* Checks everything and decompresses: ret_payload is valid until the next call, or as long as
 * message. Errors: -EBADMSG, -ENOMEM. */
int chunk_open(struct chunk_opener *opener, const uint8_t *message, size_t size,
	       struct chunk_head *ret_head, const uint8_t **ret_payload, size_t *ret_size);
