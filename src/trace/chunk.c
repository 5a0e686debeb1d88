/* SPDX-License-Identifier: MIT
 *
 * trace/chunk.c - one message of the file: envelope, checksum, compression
 *
 * Runs in:  the recorder, and all commands that read a trace
 * Gets:     a chunk head and a payload; gives the bytes of the chunk in the file. Opening a chunk
 *           is the reverse; the bytes are untrusted then.
 * Owns:     its compressor and buffers, which live as long as the packer or opener
 * Fails:    -ENOMEM, -EBADMSG, -EMSGSIZE
 * Why level 1: measured with bench_trace, level 3 does not shrink an API call and saves 0.7 % of a
 *           launch with its execution, for about a tenth more time.
 * Why a block per column: the low bytes of jittered times and of function ids have different
 *           statistics; compressed in separate blocks they take 6 to 8 % less.
 * Why some payloads are stored raw: readers refuse payloads that expand more than 1024-fold, to
 *           protect their memory. So a payload that compresses that well is stored uncompressed.
 */
#include "trace/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "trace/codec.h"
#include "trace/format.h"
#include "trace/unpack.h"

#include "duet_trace.pb-c.h"

/* bytes; smaller columns share a block, because the statistics of a block take about 100 bytes */
#define BLOCK_MIN ((size_t)2000)

enum { BLOCK_MAX = 1 << 17 }; /* the largest block of a file system */
enum { LENGTH_MAX = 5, SYNC_AT = 1, CHECKSUM_AT = 10, SYNC_TAG = 0x09, CHECKSUM_TAG = 0x11 };

void chunk_packer_init(struct chunk_packer *packer, int level)
{
	*packer = (struct chunk_packer){.level = level};
}

void chunk_packer_fini(struct chunk_packer *packer)
{
	ZSTD_freeCCtx(packer->context);
	free(packer->compressed);
	free(packer->bytes);
	*packer = (struct chunk_packer){0};
}

static bool is_within_ratio(size_t raw, size_t stored)
{
	return raw <= TRACE_RATIO_FREE + stored * TRACE_RATIO_LIMIT;
}

/* Compresses into one zstd frame with a block for each large column. Returns the size, 0 on
 * failure. */
static size_t compress_columns(struct chunk_packer *packer, const struct chunk_payload *payload,
			       size_t bound)
{
	ZSTD_outBuffer out = {packer->compressed, bound, 0};
	ZSTD_inBuffer in = {payload->bytes, 0, 0};

	ZSTD_CCtx_reset(packer->context, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(packer->context, ZSTD_c_compressionLevel, packer->level);
	ZSTD_CCtx_setPledgedSrcSize(packer->context, payload->size);
	for (size_t i = 0; i < payload->ends_count; i++) {
		in.size = payload->ends[i];
		if (in.size - in.pos < BLOCK_MIN || payload->size - in.size < BLOCK_MIN)
			continue;
		if (ZSTD_compressStream2(packer->context, &out, &in, ZSTD_e_flush))
			return 0;
	}
	in.size = payload->size;
	return ZSTD_compressStream2(packer->context, &out, &in, ZSTD_e_end) ? 0 : out.pos;
}

/* Compresses the payload if that makes it smaller; sets payload and raw_bytes of chunk. */
static int compress_payload(struct chunk_packer *packer, const struct chunk_payload *payload,
			    Duet__Chunk *chunk)
{
	/* every block may add its header */
	size_t bound = ZSTD_compressBound(payload->size) + 16 * (payload->ends_count + 1);
	size_t compressed;

	if (!packer->context)
		packer->context = ZSTD_createCCtx();
	if (!packer->context || array_grow(packer->compressed, packer->compressed_capacity, bound))
		return -ENOMEM;
	compressed = compress_columns(packer, payload, bound);
	chunk->has_payload = payload->size > 0;
	if (!compressed || compressed >= payload->size ||
	    !is_within_ratio(payload->size, compressed)) {
		chunk->payload.data = (uint8_t *)payload->bytes;
		chunk->payload.len = payload->size;
		return 0;
	}
	chunk->payload.data = packer->compressed;
	chunk->payload.len = compressed;
	chunk->has_raw_bytes = true;
	chunk->raw_bytes = payload->size;
	return 0;
}

static void set_head(Duet__Chunk *chunk, const struct chunk_head *head)
{
#define SET(field)                                     \
	do {                                           \
		chunk->has_##field = head->field != 0; \
		chunk->field = head->field;            \
	} while (0)
	SET(kind);
	SET(source);
	SET(clock);
	SET(seen_clock);
	SET(segment);
	SET(rows);
	SET(first);
	SET(last);
	SET(lateness);
	SET(sequence);
	SET(flags);
#undef SET
}

int chunk_pack(struct chunk_packer *packer, const struct chunk_head *head,
	       const struct chunk_payload *payload)
{
	Duet__Chunk chunk = DUET__CHUNK__INIT;
	size_t length, before;
	uint8_t *message;
	uint64_t checksum;
	int error;

	if (payload->size > TRACE_RAW_LIMIT)
		return -EMSGSIZE;
	error = compress_payload(packer, payload, &chunk);
	if (error)
		return error;
	chunk.sync = TRACE_SYNC;
	set_head(&chunk, head);
	length = duet__chunk__get_packed_size(&chunk);
	if (array_grow(packer->bytes, packer->bytes_capacity, length + LENGTH_MAX))
		return -ENOMEM;
	before = (size_t)(varint_write(packer->bytes, length) - packer->bytes);
	message = packer->bytes + before;
	duet__chunk__pack(&chunk, message);
	checksum = XXH3_64bits(message + TRACE_PREFIX_BYTES, length - TRACE_PREFIX_BYTES);
	memcpy(message + CHECKSUM_AT, &checksum, sizeof(checksum));
	packer->size = before + length;
	return 0;
}

void chunk_opener_init(struct chunk_opener *opener)
{
	*opener = (struct chunk_opener){0};
}

void chunk_opener_fini(struct chunk_opener *opener)
{
	ZSTD_freeDCtx(opener->context);
	free(opener->raw);
	*opener = (struct chunk_opener){0};
}

size_t chunk_length(const uint8_t *at, const uint8_t *end, size_t *ret_size)
{
	uint64_t length;
	const uint8_t *after = trace_varint_read(at, end, &length);

	if (!after || after - at > LENGTH_MAX || length < TRACE_PREFIX_BYTES ||
	    length > TRACE_MESSAGE_LIMIT)
		return 0;
	*ret_size = (size_t)length;
	return (size_t)(after - at);
}

bool chunk_has_prefix(const uint8_t *message, size_t size)
{
	uint64_t sync;

	if (size < TRACE_PREFIX_BYTES || message[0] != SYNC_TAG ||
	    message[CHECKSUM_AT - 1] != CHECKSUM_TAG)
		return false;
	memcpy(&sync, message + SYNC_AT, sizeof(sync));
	return sync == TRACE_SYNC;
}

static bool is_chunk_at(int fd, off_t at)
{
	uint8_t head[64];
	ssize_t count = pread(fd, head, sizeof(head), at);
	size_t size, length = count > 0 ? chunk_length(head, head + count, &size) : 0;

	return length && chunk_has_prefix(head + length, (size_t)count - length);
}

/* The first block with data may begin with zeros. */
bool chunk_begins_file(int fd)
{
	off_t at = lseek(fd, 0, SEEK_DATA), end;
	uint8_t bytes[4096];
	ssize_t count = 1, i;

	if (at < 0)
		at = 0; /* the file system has no answer */
	for (end = at + BLOCK_MAX; at < end && count > 0; at += count) {
		count = pread(fd, bytes, sizeof(bytes), at);
		for (i = 0; i < count; i++)
			if (bytes[i])
				return is_chunk_at(fd, at + i);
	}
	return false;
}

uint64_t chunk_checksum(const uint8_t *message)
{
	uint64_t checksum;

	memcpy(&checksum, message + CHECKSUM_AT, sizeof(checksum));
	return checksum;
}

bool chunk_is_intact(const uint8_t *message, size_t size)
{
	return chunk_has_prefix(message, size) &&
	       chunk_checksum(message) ==
		       XXH3_64bits(message + TRACE_PREFIX_BYTES, size - TRACE_PREFIX_BYTES);
}

static void get_head(const Duet__Chunk *chunk, struct chunk_head *head)
{
	*head = (struct chunk_head){
		.kind = chunk->kind,
		.source = chunk->source,
		.clock = chunk->clock,
		.seen_clock = chunk->seen_clock,
		.segment = chunk->segment,
		.rows = chunk->rows,
		.flags = chunk->flags,
		.first = chunk->first,
		.last = chunk->last,
		.lateness = chunk->lateness,
		.sequence = chunk->sequence,
	};
}

int chunk_head(const uint8_t *message, size_t size, struct chunk_head *ret_head)
{
	struct unpack unpack;
	Duet__Chunk *chunk;

	if (!chunk_has_prefix(message, size))
		return -EBADMSG;
	chunk = duet__chunk__unpack(unpack_begin(&unpack), size, message);
	if (!chunk)
		return unpack_error(&unpack);
	get_head(chunk, ret_head);
	duet__chunk__free_unpacked(chunk, NULL);
	return ret_head->rows > TRACE_ROWS_LIMIT ? -EBADMSG : 0;
}

static int decompress(struct chunk_opener *opener, const Duet__Chunk *chunk)
{
	size_t raw = (size_t)chunk->raw_bytes, got;

	if (chunk->raw_bytes > TRACE_RAW_LIMIT || !is_within_ratio(raw, chunk->payload.len))
		return -EBADMSG;
	if (!opener->context)
		opener->context = ZSTD_createDCtx();
	if (!opener->context || array_grow(opener->raw, opener->raw_capacity, raw))
		return -ENOMEM;
	got = ZSTD_decompressDCtx(opener->context, opener->raw, raw, chunk->payload.data,
				  chunk->payload.len);
	return ZSTD_isError(got) || got != raw ? -EBADMSG : 0;
}

static int open_payload(struct chunk_opener *opener, const Duet__Chunk *chunk, size_t *ret_size)
{
	if (chunk->rows > TRACE_ROWS_LIMIT)
		return -EBADMSG;
	if (chunk->has_raw_bytes && chunk->raw_bytes) {
		*ret_size = (size_t)chunk->raw_bytes;
		return decompress(opener, chunk);
	}
	if (chunk->payload.len > TRACE_RAW_LIMIT)
		return -EBADMSG;
	*ret_size = chunk->payload.len;
	if (array_grow(opener->raw, opener->raw_capacity, chunk->payload.len + 1))
		return -ENOMEM;
	if (chunk->payload.len)
		memcpy(opener->raw, chunk->payload.data, chunk->payload.len);
	return 0;
}

int chunk_open(struct chunk_opener *opener, const uint8_t *message, size_t size,
	       struct chunk_head *ret_head, const uint8_t **ret_payload, size_t *ret_size)
{
	struct unpack unpack;
	Duet__Chunk *chunk;
	size_t raw = 0;
	int error;

	if (!chunk_is_intact(message, size))
		return -EBADMSG;
	chunk = duet__chunk__unpack(unpack_begin(&unpack), size, message);
	if (!chunk)
		return unpack_error(&unpack);
	error = open_payload(opener, chunk, &raw);
	if (!error) {
		get_head(chunk, ret_head);
		*ret_payload = opener->raw;
		*ret_size = raw;
	}
	duet__chunk__free_unpacked(chunk, NULL);
	return error;
}
