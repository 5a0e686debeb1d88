/* SPDX-License-Identifier: MIT
 *
 * import/common/stream.c - the bytes of a file, decompressed if gzip or zstd compressed them
 *
 * Runs in:  our own process
 * Gets:     a path
 * Gives:    bytes
 * Owns:     the file, 64 KiB of it, the state of both libraries
 * Fails:    -errno with a text; a cut or damaged file fails after its last readable byte; -EFBIG
 * for one that is above 1 GiB and 200 times its compressed size Why a limit: a file of 40 KB can
 * hold 1 GB, and several times as much of zstd. Text formats of profilers become 5 to 60 times
 * smaller. Why zstd reads through zlib: zlib passes on a file that it does not know, also a pipe,
 * so the first four bytes decide without a second way to open and rewind the file Why a window of
 * at most 32 MiB: the writer of a zstd file chooses how much memory its reader needs, up to 2 GiB.
 * zstd without --ultra and --long uses at most 8 MiB.
 */
#include "import/common/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"

enum { INPUT_BYTES = 65536, MAX_WINDOW_LOG = 25, RATIO_MAX = 200 };

#define BYTES_FREE UINT64_C(1 << 30)

static const char zstd_magic[] = {'\x28', '\xb5', '\x2f', '\xfd'};

struct import_stream {
	gzFile file;
	ZSTD_DStream *zstd; /* NULL: not compressed by zstd */
	bool is_begun;      /* the first bytes were read */
	bool is_inside;     /* in a frame of zstd */
	size_t failed;      /* zstd's error, which stays; 0: none */
	uint64_t taken;     /* bytes read into `input` */
	uint64_t given;     /* bytes given to the caller */
	size_t path_length;
	size_t used, size; /* bytes of `input` */
	char input[INPUT_BYTES];
};

int import_stream_open(const char *path, struct import_stream **ret_stream)
{
	struct import_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return -ENOMEM;
	errno = 0;
	stream->file = gzopen(path, "rbe");
	if (!stream->file) {
		int error =
			error_set(errno ? -errno : -ENOMEM, "%s", strerror(errno ? errno : ENOMEM));

		import_stream_close(stream);
		return error;
	}
	gzbuffer(stream->file, INPUT_BYTES);
	stream->path_length = strlen(path);
	*ret_stream = stream;
	return 0;
}

void import_stream_close(struct import_stream *stream)
{
	if (!stream)
		return;
	if (stream->file)
		gzclose(stream->file);
	ZSTD_freeDStream(stream->zstd);
	free(stream);
}

bool import_stream_is_compressed(const struct import_stream *stream)
{
	return stream->zstd || !gzdirect(stream->file);
}

/* zlib's text without the path before it, which the caller adds. */
static const char *skip_path(const struct import_stream *stream, const char *text)
{
	const size_t length = stream->path_length;

	return strlen(text) > length + 2 && memcmp(text + length, ": ", 2) == 0 ? text + length + 2
										: text;
}

static ssize_t read_file(struct import_stream *stream, void *buffer, size_t size)
{
	int given = gzread(stream->file, buffer, (unsigned int)size), number;
	const char *text;

	text = gzerror(stream->file, &number);
	if (given > 0 || (!given && number != Z_BUF_ERROR)) /* that error: a truncated file */
		return given;
	if (number == Z_ERRNO)
		return error_set(-EIO, "read: %s", strerror(errno));
	return error_set(-EBADMSG, "the compressed data is damaged or cut off (%s)",
			 skip_path(stream, text));
}

/* Returns 1 if the input holds bytes, 0 at the end, -errno. */
static int fill_input(struct import_stream *stream)
{
	ssize_t given;

	if (stream->used < stream->size)
		return 1;
	given = read_file(stream, stream->input, INPUT_BYTES);
	stream->used = 0;
	stream->size = given > 0 ? (size_t)given : 0;
	stream->taken += stream->size;
	return given < 0 ? (int)given : given > 0;
}

/* ---- zstd ---- */

static int fail_zstd(size_t code)
{
	if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge)
		return error_set(-EBADMSG,
				 "the data is compressed by zstd with a window above %d "
				 "MiB; decompress the file: zstd -d --long=31 FILE",
				 1 << (MAX_WINDOW_LOG - 20));
	return error_set(-EBADMSG, "the compressed data is damaged or cut off (%s)",
			 ZSTD_getErrorName(code));
}

static int begin_zstd(struct import_stream *stream)
{
	stream->zstd = ZSTD_createDStream();
	if (!stream->zstd ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(stream->zstd, ZSTD_d_windowLogMax, MAX_WINDOW_LOG)))
		return -ENOMEM;
	return 0;
}

static ssize_t read_zstd(struct import_stream *stream, void *buffer, size_t size)
{
	ZSTD_outBuffer out = {buffer, size, 0};
	int status = 1;

	if (stream->failed)
		return fail_zstd(stream->failed);
	while (!out.pos && (stream->is_inside || (status = fill_input(stream)) > 0)) {
		ZSTD_inBuffer in;
		size_t code;

		status = fill_input(stream);
		if (status < 0)
			return status;
		in = (ZSTD_inBuffer){stream->input + stream->used, stream->size - stream->used, 0};
		code = ZSTD_decompressStream(stream->zstd, &out, &in);
		if (ZSTD_isError(code)) {
			stream->failed = code;
			return fail_zstd(code);
		}
		if (!status && code && !out.pos)
			return error_set(-EBADMSG, "the compressed data is damaged or cut off "
						   "(unexpected end of file)");
		stream->used += in.pos;
		stream->is_inside = code != 0;
	}
	return out.pos ? (ssize_t)out.pos : status;
}

/* ---- both ---- */

/* A frame of zstd is recognized if the file begins with it. */
static int begin(struct import_stream *stream)
{
	int status = fill_input(stream);

	while (status > 0 && stream->size < sizeof(zstd_magic)) { /* a pipe */
		ssize_t given = read_file(stream, stream->input + stream->size,
					  sizeof(zstd_magic) - stream->size);

		if (given <= 0) {
			status = (int)given;
			break;
		}
		stream->size += (size_t)given;
	}
	stream->is_begun = status >= 0;
	if (status >= 0 && !stream->zstd && stream->size >= sizeof(zstd_magic) &&
	    memcmp(stream->input, zstd_magic, sizeof(zstd_magic)) == 0)
		return begin_zstd(stream);
	return status < 0 ? status : 0;
}

static ssize_t read_bytes(struct import_stream *stream, void *buffer, size_t size)
{
	if (stream->zstd)
		return read_zstd(stream, buffer, size);
	if (stream->used == stream->size)
		return read_file(stream, buffer, size);
	if (size > stream->size - stream->used)
		size = stream->size - stream->used;
	memcpy(buffer, stream->input + stream->used, size);
	stream->used += size;
	return (ssize_t)size;
}

/* A pipe compressed by gzip has no position: its limit is BYTES_FREE. */
static uint64_t compressed_bytes(const struct import_stream *stream)
{
	const z_off_t offset = gzoffset(stream->file);

	return stream->zstd ? stream->taken : offset > 0 ? (uint64_t)offset : 0;
}

ssize_t import_stream_read(struct import_stream *stream, void *buffer, size_t size)
{
	int error = stream->is_begun ? 0 : begin(stream);
	ssize_t given = error ? error : read_bytes(stream, buffer, size);

	if (given <= 0)
		return given;
	stream->given += (uint64_t)given;
	if (stream->given > BYTES_FREE && import_stream_is_compressed(stream) &&
	    stream->given / RATIO_MAX > compressed_bytes(stream))
		return error_set(-EFBIG,
				 "the file is above 1 GiB and %d times its compressed size; "
				 "decompress it first",
				 RATIO_MAX);
	return given;
}

int import_stream_rewind(struct import_stream *stream)
{
	stream->used = stream->size = 0;
	stream->taken = stream->given = 0;
	stream->is_begun = stream->is_inside = false;
	stream->failed = 0;
	if (stream->zstd)
		ZSTD_DCtx_reset(stream->zstd, ZSTD_reset_session_only);
	return gzrewind(stream->file) == 0 ? 0 : -ESPIPE;
}
