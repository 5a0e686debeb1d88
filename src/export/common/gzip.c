/* SPDX-License-Identifier: MIT
 *
 * export/common/gzip.c - write bytes into a file, compressed by gzip
 *
 * Runs in:  our own process
 * Gets:     bytes
 * Gives:    one gzip member
 * Owns:     zlib's 256 KiB
 * Fails:    -ENOMEM; errors of writing are left in the file
 * Why not gzdopen: it writes the time of day into the file, but equal traces must give equal bytes.
 */
#include "export/common/gzip.h"

#include <errno.h>
#include <limits.h>

enum { GZIP_WINDOW = 15 + 16 }; /* window of 32 KiB; + 16: zlib's flag for a gzip header */

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

static void deflate_input(struct gzip *gzip, int flush)
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
		deflate_input(gzip, Z_NO_FLUSH);
		at += piece;
		size -= piece;
	}
}

void gzip_end(struct gzip *gzip)
{
	gzip->stream.avail_in = 0;
	deflate_input(gzip, Z_FINISH);
}
