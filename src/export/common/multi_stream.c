/* SPDX-License-Identifier: MIT
 *
 * export/common/multi_stream.c - build many streams at the same time in one temporary file, to be
 * written one after the other
 *
 * Runs in:  our own process
 * Gets:     bytes of streams
 * Gives:    each complete stream
 * Owns:     an unnamed temporary file; 16 KiB per stream, and 16 bytes per 16 KiB written
 * Fails:    -ENOMEM; -errno of the temporary file, with a text; errors of writing stay in the
 *           output file
 * Why one file: a trace of 64 queues with 8 lanes each would need 512 open files.
 */
#include "export/common/multi_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

enum { PIECE_BYTES = 16384 };

struct piece {
	long offset;
	size_t size;
};

struct stream {
	char *buffer; /* PIECE_BYTES; NULL: nothing was written */
	size_t used;
	struct piece *pieces;
	size_t count, capacity;
};

struct spool {
	FILE *file;
	struct stream *streams;
	size_t count, capacity;
};

static int fail_file(void)
{
	int error = errno ? errno : EIO;

	return error_set(-error, "temporary file: %s", strerror(error));
}

int spool_new(struct spool **ret_spool)
{
	struct spool *spool = calloc(1, sizeof(*spool));

	if (!spool)
		return -ENOMEM;
	spool->file = tmpfile();
	if (!spool->file) {
		free(spool);
		return fail_file();
	}
	*ret_spool = spool;
	return 0;
}

void spool_free(struct spool *spool)
{
	if (!spool)
		return;
	for (size_t i = 0; i < spool->count; i++) {
		free(spool->streams[i].buffer);
		free(spool->streams[i].pieces);
	}
	free(spool->streams);
	fclose(spool->file);
	free(spool);
}

static int put_piece(struct spool *spool, struct stream *stream)
{
	struct piece piece = {.size = stream->used};

	errno = 0;
	if (array_grow(stream->pieces, stream->capacity, stream->count + 1))
		return -ENOMEM;
	piece.offset = ftell(spool->file);
	if (piece.offset < 0 ||
	    fwrite(stream->buffer, 1, stream->used, spool->file) != stream->used)
		return fail_file();
	stream->pieces[stream->count++] = piece;
	stream->used = 0;
	return 0;
}

static int find_stream(struct spool *spool, size_t index, struct stream **ret_stream)
{
	struct stream *stream;

	if (array_grow(spool->streams, spool->capacity, index + 1))
		return -ENOMEM;
	spool->count = index >= spool->count ? index + 1 : spool->count;
	stream = &spool->streams[index];
	if (!stream->buffer && !(stream->buffer = malloc(PIECE_BYTES)))
		return -ENOMEM;
	*ret_stream = stream;
	return 0;
}

int spool_write(struct spool *spool, size_t index, const void *bytes, size_t size)
{
	struct stream *stream;
	const char *at = bytes;
	int error = find_stream(spool, index, &stream);

	while (!error && size) {
		size_t part = PIECE_BYTES - stream->used;

		part = part < size ? part : size;
		memcpy(stream->buffer + stream->used, at, part);
		stream->used += part;
		at += part;
		size -= part;
		if (stream->used == PIECE_BYTES)
			error = put_piece(spool, stream);
	}
	return error;
}

bool spool_is_empty(const struct spool *spool, size_t index)
{
	const struct stream *stream = index < spool->count ? &spool->streams[index] : NULL;

	return !stream || (!stream->used && !stream->count);
}

static int copy_piece(struct spool *spool, const struct piece *piece, FILE *out)
{
	char buffer[PIECE_BYTES];

	errno = 0;
	if (fseek(spool->file, piece->offset, SEEK_SET) != 0 ||
	    fread(buffer, 1, piece->size, spool->file) != piece->size)
		return fail_file();
	fwrite(buffer, 1, piece->size, out);
	return 0;
}

int spool_copy(struct spool *spool, size_t index, FILE *out)
{
	const struct stream *stream;
	int error = 0;

	if (index >= spool->count)
		return 0;
	stream = &spool->streams[index];
	for (size_t i = 0; i < stream->count && !error; i++)
		error = copy_piece(spool, &stream->pieces[i], out);
	if (!error && stream->used)
		fwrite(stream->buffer, 1, stream->used, out);
	return error;
}
