/* SPDX-License-Identifier: MIT
 *
 * import/source.c - read a foreign file from front to back, compressed by gzip, zstd or not
 *
 * Runs in:  our own process
 * Gets:     a path
 * Gives:    bytes or lines
 * Owns:     the file, 64 KiB of it, the current line; the temporary file of a compressed database
 * Fails:    -errno with a message; for a bad line it contains the line's number
 * Why a database is unpacked to a file: SQLite reads a file in any order. The stream's limit keeps
 * a small file from filling the disk
 */
#include "import/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file/unfinished.h"
#include "base/io.h"
#include "base/string.h"
#include "import/common/stream.h"

enum { BUFFER_BYTES = IMPORT_PEEK_BYTES };

struct import_source {
	char *path;
	char *unpacked; /* path of the temporary file; NULL: none */
	struct import_stream *stream;
	char buffer[BUFFER_BYTES];
	size_t used, size;
	char *line;
	size_t capacity;
	uint64_t number;         /* line number */
	bool is_long, is_inside; /* the line is too long; its end is not read yet */
};

int import_source_open(const char *path, struct import_source **ret_source)
{
	struct import_source *source = calloc(1, sizeof(*source));
	int error;

	if (source)
		source->path = strdup(path);
	if (!source || !source->path) {
		free(source);
		return -ENOMEM;
	}
	error = import_stream_open(path, &source->stream);
	if (error)
		import_source_close(source);
	else
		*ret_source = source;
	return error;
}

static void remove_unpacked(struct import_source *source)
{
	if (source->unpacked)
		unfinished_finish(AT_FDCWD, source->unpacked, NULL);
	free(source->unpacked);
	source->unpacked = NULL;
}

void import_source_close(struct import_source *source)
{
	if (!source)
		return;
	import_stream_close(source->stream);
	remove_unpacked(source);
	free(source->line);
	free(source->path);
	free(source);
}

const char *import_source_path(const struct import_source *source)
{
	return source->unpacked ? source->unpacked : source->path;
}

/* Returns 1 if the buffer holds data, 0 at the end of the file, or -errno. */
static int fill_buffer(struct import_source *source)
{
	ssize_t given;

	if (source->used < source->size)
		return 1;
	given = import_stream_read(source->stream, source->buffer, BUFFER_BYTES);
	source->used = 0;
	source->size = given > 0 ? (size_t)given : 0;
	return given < 0 ? (int)given : given > 0;
}

int import_source_peek(struct import_source *source, const char **ret_bytes, size_t *ret_size)
{
	int status = fill_buffer(source);
	ssize_t given = 1;

	if (status < 0)
		return status;
	while (given > 0 && source->size < BUFFER_BYTES) {
		given = import_stream_read(source->stream, source->buffer + source->size,
					   BUFFER_BYTES - source->size);
		source->size += given > 0 ? (size_t)given : 0;
	}
	error_clear(); /* the next read past these bytes fails again */
	*ret_bytes = source->buffer + source->used;
	*ret_size = source->size - source->used;
	return 0;
}

ssize_t import_source_read(void *context, void *buffer, size_t size)
{
	struct import_source *source = context;

	if (source->used == source->size)
		return import_stream_read(source->stream, buffer, size);
	if (size > source->size - source->used)
		size = source->size - source->used;
	memcpy(buffer, source->buffer + source->used, size);
	source->used += size;
	return (ssize_t)size;
}

uint64_t import_source_offset(const struct import_source *source)
{
	return import_stream_offset(source->stream);
}

int import_source_rewind(struct import_source *source)
{
	source->used = source->size = 0;
	source->number = 0;
	source->is_long = source->is_inside = false;
	if (import_stream_rewind(source->stream) == 0)
		return 0;
	return error_set(-ESPIPE, "the file is read twice, so it must be a regular file");
}

/* ---- databases ---- */

static int write_unpacked(struct import_source *source, const char *folder, int fd)
{
	int status, error;

	while ((status = fill_buffer(source)) > 0) {
		error = write_all(fd, source->buffer + source->used, source->size - source->used);
		if (error)
			return error_set(error,
					 "write the decompressed database into '%s': %s; set "
					 "TMPDIR to another folder, or decompress the file first",
					 folder, strerror(-error));
		source->used = source->size;
	}
	return status;
}

static int reopen_unpacked(struct import_source *source)
{
	import_stream_close(source->stream);
	source->stream = NULL;
	return import_stream_open(source->unpacked, &source->stream);
}

int import_source_unpack(struct import_source *source)
{
	static const char magic[] = "SQLite format 3"; /* with its NUL */
	const char *folder = getenv("TMPDIR"), *bytes;
	char *pattern;
	size_t size;
	int fd, error = import_source_peek(source, &bytes, &size);

	if (error || size < sizeof(magic) || memcmp(bytes, magic, sizeof(magic)) != 0 ||
	    !import_stream_is_compressed(source->stream))
		return error;
	folder = folder && *folder ? folder : "/tmp";
	if (asprintf(&pattern, "%s/duet-import", folder) < 0)
		return -ENOMEM;
	error = unfinished_create(AT_FDCWD, pattern, &source->unpacked, &fd);
	free(pattern);
	if (error)
		return error_set(error,
				 "decompress the database into '%s': %s; set TMPDIR to "
				 "another folder",
				 folder, strerror(-error));
	error = write_unpacked(source, folder, fd);
	close(fd);
	return error ? error : reopen_unpacked(source);
}

/* ---- lines ---- */

static int append_to_line(struct import_source *source, const char *bytes, size_t size,
			  size_t *length)
{
	source->is_long = *length + size > MAX_SOURCE_LINE;
	if (source->is_long)
		return error_set(-EBADMSG, "line %llu: longer than 16 MiB",
				 (unsigned long long)source->number);
	if (array_grow(source->line, source->capacity, *length + size + 1))
		return -ENOMEM;
	memcpy(source->line + *length, bytes, size);
	*length += size;
	source->line[*length] = 0;
	return 0;
}

int import_source_line(struct import_source *source, char **ret_line, size_t *ret_length)
{
	const char *end = NULL;
	size_t length = 0;
	int status = 0, error = 0;

	source->number++;
	source->is_long = false;
	while (!end && !error && (status = fill_buffer(source)) > 0) {
		const char *begin = source->buffer + source->used;
		size_t left = source->size - source->used;

		end = memchr(begin, '\n', left);
		error = append_to_line(source, begin, end ? (size_t)(end - begin) : left, &length);
		source->used += end ? (size_t)(end - begin) + 1 : left;
	}
	source->is_inside = source->is_long && !end;
	if (error || status < 0)
		return error ? error : status;
	if (!end && !length)
		return 0;
	if (!length && append_to_line(source, "", 0, &length))
		return -ENOMEM;
	if (length && source->line[length - 1] == '\r')
		source->line[--length] = 0;
	*ret_line = source->line;
	*ret_length = length;
	return 1;
}

int import_source_skip(struct import_source *source)
{
	int status = 1;

	while (source->is_inside && (status = fill_buffer(source)) > 0) {
		const char *begin = source->buffer + source->used;
		const char *end = memchr(begin, '\n', source->size - source->used);

		source->used = end ? (size_t)(end - source->buffer) + 1 : source->size;
		source->is_inside = !end;
	}
	return status < 0 ? status : source->is_long;
}

int import_source_fail(const struct import_source *source, const char *expected, const char *found)
{
	char shown[64];

	if (!found)
		return error_set(-EBADMSG, "line %llu: expected %s",
				 (unsigned long long)source->number, expected);
	return error_set(-EBADMSG, "line %llu: expected %s, found '%s'",
			 (unsigned long long)source->number, expected,
			 string_make_printable(found, shown, sizeof(shown)));
}
