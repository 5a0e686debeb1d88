/* SPDX-License-Identifier: MIT
 *
 * import/source.c - read a foreign file from front to back, compressed by gzip or not
 *
 * Runs in:  our own process
 * Gets:     a path
 * Gives:    bytes or lines
 * Owns:     the file, 64 KiB of it, the current line
 * Fails:    -errno with a message; for a bad line it contains the line's number
 * Why gzip: PyTorch compresses its timelines with it, and zlib also reads uncompressed files
 */
#include "import/source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

enum { BUFFER_BYTES = 65536 };

struct import_source {
	char *path;
	gzFile file;
	char buffer[BUFFER_BYTES]; /* for lines */
	size_t used, size;
	char *line;
	size_t capacity;
	uint64_t number;         /* line number */
	bool is_long, is_inside; /* the line is too long; its end is not read yet */
};

int import_source_open(const char *path, struct import_source **ret_source)
{
	struct import_source *source = calloc(1, sizeof(*source));

	if (source)
		source->path = strdup(path);
	if (!source || !source->path) {
		free(source);
		return -ENOMEM;
	}
	errno = 0;
	source->file = gzopen(path, "rbe");
	if (!source->file) {
		int error =
			error_set(errno ? -errno : -ENOMEM, "%s", strerror(errno ? errno : ENOMEM));

		import_source_close(source);
		return error;
	}
	gzbuffer(source->file, BUFFER_BYTES);
	*ret_source = source;
	return 0;
}

void import_source_close(struct import_source *source)
{
	if (!source)
		return;
	if (source->file)
		gzclose(source->file);
	free(source->line);
	free(source->path);
	free(source);
}

const char *import_source_path(const struct import_source *source)
{
	return source->path;
}

ssize_t import_source_read(void *context, void *buffer, size_t size)
{
	struct import_source *source = context;
	int given = gzread(source->file, buffer, (unsigned int)size), number;
	const char *text;

	text = gzerror(source->file, &number);
	if (given > 0 || (!given && number != Z_BUF_ERROR)) /* that error: a truncated file */
		return given;
	if (number == Z_ERRNO)
		return error_set(-EIO, "read: %s", strerror(errno));
	return error_set(-EBADMSG, "the compressed data is damaged or cut off (%s)", text);
}

int import_source_rewind(struct import_source *source)
{
	source->used = source->size = 0;
	source->number = 0;
	source->is_long = source->is_inside = false;
	if (gzrewind(source->file) == 0)
		return 0;
	return error_set(-ESPIPE, "the file is read twice, so it must be a regular file");
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

/* Returns 1 if the buffer holds data, 0 at the end of the file, or -errno. */
static int fill_buffer(struct import_source *source)
{
	ssize_t given;

	if (source->used < source->size)
		return 1;
	given = import_source_read(source, source->buffer, BUFFER_BYTES);
	source->used = 0;
	source->size = given > 0 ? (size_t)given : 0;
	return given < 0 ? (int)given : given > 0;
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
