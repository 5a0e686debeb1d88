/* SPDX-License-Identifier: MIT
 *
 * export/common/gzip.h - write bytes into a file, compressed by gzip
 */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <zlib.h>

struct gzip {
	FILE *file; /* borrowed */
	z_stream stream;
	unsigned char buffer[16384];
};

int gzip_init(struct gzip *gzip, FILE *file); /* -ENOMEM */
void gzip_fini(struct gzip *gzip);

/* Write errors are returned by stream_flush of the file. */
void gzip_write(struct gzip *gzip, const void *bytes, size_t size);
/* Writes the rest. The file contains no name and no time, so equal bytes give equal files. */
void gzip_end(struct gzip *gzip);
