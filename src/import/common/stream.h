/* SPDX-License-Identifier: MIT
 *
 * import/common/stream.h - the bytes of a file, decompressed if gzip or zstd compressed them
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct import_stream;

/* Errors: -errno with a text. */
int import_stream_open(const char *path, struct import_stream **ret_stream);
void import_stream_close(struct import_stream *stream); /* NULL-safe */

/* Returns the number of bytes, 0 at the end, -errno with a text; -EFBIG above 1 GiB and 200 times
 * the compressed size, and of a pipe compressed by gzip above 1 GiB. */
ssize_t import_stream_read(struct import_stream *stream, void *buffer, size_t size);

/* Number of bytes of the file that were read so far, before decompression; 0: not known (a pipe
 * that zstd did not compress). */
uint64_t import_stream_offset(const struct import_stream *stream);

/* Starts again from the first byte. Errors: -ESPIPE without a text unless it is a regular file. */
int import_stream_rewind(struct import_stream *stream);

/* Whether what was read so far was compressed. */
bool import_stream_is_compressed(const struct import_stream *stream);
