/* SPDX-License-Identifier: MIT
 *
 * export/gzip.h - bytes into a file, compressed
 */
#ifndef EXPORT_GZIP_H
#define EXPORT_GZIP_H

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

/* What does not arrive in the file is told by export_flush. */
void gzip_write(struct gzip *gzip, const void *bytes, size_t size);
/* Writes what is left. The same bytes give the same file: no name, no time is in it. */
void gzip_end(struct gzip *gzip);

#endif
