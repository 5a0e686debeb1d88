/* SPDX-License-Identifier: MIT
 *
 * export/gzip.c - bytes into a file, compressed
 *
 * Runs in:  our own process
 * Gets:     bytes   Gives: one gzip member
 * Owns:     zlib's 256 KiB
 * Fails:    -ENOMEM; what the file does not take is its error
 * Why not gzdopen: it puts the time of day into the file, and the same trace must give the same bytes.
 */
#include "export/gzip.h"

#include <errno.h>
#include <limits.h>

enum { GZIP_WINDOW = 15 + 16 }; /* 32 KiB, and zlib's word for "with gzip's header" */

int gzip_init(struct gzip *gzip, FILE *file)
{
	gzip->file = file;
	gzip->stream = (z_stream){0};
	return deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
			    MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK
		       ? 0
		       : -ENOMEM;
}

void gzip_fini(struct gzip *gzip)
{
	deflateEnd(&gzip->stream);
}

static void run(struct gzip *gzip, int flush)
{
	do {
		gzip->stream.next_out = gzip->buffer;
		gzip->stream.avail_out = sizeof(gzip->buffer);
		deflate(&gzip->stream, flush);
		fwrite(gzip->buffer, 1, sizeof(gzip->buffer) - gzip->stream.avail_out, gzip->file);
	} while (!gzip->stream.avail_out);
}

void gzip_write(struct gzip *gzip, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	while (size) {
		unsigned int piece = size > UINT_MAX ? UINT_MAX : (unsigned int)size;

		gzip->stream.next_in = (unsigned char *)at;
		gzip->stream.avail_in = piece;
		run(gzip, Z_NO_FLUSH);
		at += piece;
		size -= piece;
	}
}

void gzip_end(struct gzip *gzip)
{
	gzip->stream.avail_in = 0;
	run(gzip, Z_FINISH);
}
