/* SPDX-License-Identifier: MIT
 *
 * export/view_deflate.h - raw deflate (RFC 1951), as every browser undoes it
 */
#ifndef EXPORT_VIEW_DEFLATE_H
#define EXPORT_VIEW_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

struct view_bytes {
	uint8_t *bytes;
	size_t size, capacity;
};

/* What is compressed alike, with a number of its own below this. */
enum { DEFLATE_HINTS = 32 };

struct view_deflater {
	z_stream matches, runs; /* looks for what was there before, or only for runs of a byte */
	bool has_matches, has_runs;
	struct deflate_choice {
		uint32_t turns;
		bool is_runs;
	} choices[DEFLATE_HINTS];
};

int view_deflater_init(struct view_deflater *deflater);  /* -ENOMEM */
void view_deflater_fini(struct view_deflater *deflater); /* NULL-safe */

/* Appends a piece: pieces one behind the other and VIEW_DEFLATE_END are a stream. -ENOMEM. */
int view_deflater_add(struct view_deflater *deflater, unsigned int hint, const void *bytes,
		      size_t size, struct view_bytes *to);
#define VIEW_DEFLATE_END "\x03" /* and a NUL: 2 bytes */

#endif
