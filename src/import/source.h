/* SPDX-License-Identifier: MIT
 *
 * import/source.h - read a foreign file from front to back, compressed by gzip, zstd or not
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_SOURCE_LINE   ((size_t)16 << 20)
#define IMPORT_PEEK_BYTES 65536

struct import_source;

/* Errors: -errno with a text. */
int import_source_open(const char *path, struct import_source **ret_source);
void import_source_close(struct import_source *source); /* NULL-safe */

/* The path, or that of the decompressed database after import_source_unpack. */
const char *import_source_path(const struct import_source *source);

/* The next bytes, which stay unread: IMPORT_PEEK_BYTES, or all up to the end of the file; valid
 * until the next read. Errors: -errno with a text. */
int import_source_peek(struct import_source *source, const char **ret_bytes, size_t *ret_size);

/* Writes a compressed SQLite database, and no other file, to a temporary file, which is removed
 * when the source is closed or a signal ends the process. To be called before the first read.
 * Errors: -EFBIG, -errno with a text. */
int import_source_unpack(struct import_source *source);

/* A json_reader_more callback; context is the source. */
ssize_t import_source_read(void *context, void *buffer, size_t size);

/* Number of bytes of the file that were read so far, before decompression; 0: not known. */
uint64_t import_source_offset(const struct import_source *source);

/* Starts again from the first byte. Errors: -ESPIPE with a text unless it is a regular file. */
int import_source_rewind(struct import_source *source);

/* Reads the next line without its end. The caller may change it; it is valid until the next call.
 * Returns 1 for a line, 0 at the end, -EBADMSG for a line above 16 MiB, -errno with a text. */
int import_source_line(struct import_source *source, char **ret_line, size_t *ret_length);

/* Skips the rest of a line that was too long. Returns 1 if it skipped one, 0 if not, -errno with a
 * text. */
int import_source_skip(struct import_source *source);

/* Returns -EBADMSG with the text "line 7: expected …, found '…'"; without "found" if found is
 * NULL. */
int import_source_fail(const struct import_source *source, const char *expected, const char *found);
