/* SPDX-License-Identifier: MIT
 *
 * import/source.h - a foreign file that is read from front to back, compressed by gzip or not
 */
#ifndef IMPORT_SOURCE_H
#define IMPORT_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SOURCE_LINE_MOST ((size_t)16 << 20)

struct import_source;

/* -errno with a text. */
int import_source_open(const char *path, struct import_source **ret_source);
void import_source_close(struct import_source *source); /* NULL-safe */

const char *import_source_path(const struct import_source *source);

/* As json_reader_more; context is the source. */
ssize_t import_source_read(void *context, void *buffer, size_t size);

/* From the beginning once more. -ESPIPE for what is no regular file, with a text. */
int import_source_rewind(struct import_source *source);

/* The next line without its end, which the caller may change; until the next call. 1: a line, 0: the end, -EBADMSG for
 * one of more than 16 MiB, -errno with a text. */
int import_source_line(struct import_source *source, char **ret_line, size_t *ret_length);

/* Goes on behind a line that was too long. 1: done, 0: none was, -errno with a text. */
int import_source_skip(struct import_source *source);

/* -EBADMSG with "line 7: expected …, found '…'"; found NULL: nothing. */
int import_source_fail(const struct import_source *source, const char *expected, const char *found);

#endif
