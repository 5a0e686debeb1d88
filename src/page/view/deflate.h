/* SPDX-License-Identifier: MIT
 *
 * page/view/deflate.h - compress to raw deflate (RFC 1951), which every browser decompresses
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

struct view_bytes {
	uint8_t *bytes;
	size_t size, capacity;
};

/* Number of hints. Pieces with the same hint have similar content, so they share the choice of
 * compressor. */
enum { DEFLATE_HINTS = 32 };

struct view_deflater {
	z_stream matches, runs; /* searches for matches; searches for runs of one byte only */
	bool has_matches, has_runs;
	struct deflate_choice {
		uint32_t turns;
		bool is_runs;
	} choices[DEFLATE_HINTS];
};

int view_deflater_init(struct view_deflater *deflater);  /* -ENOMEM */
void view_deflater_fini(struct view_deflater *deflater); /* NULL-safe */

/* Appends a piece. A sequence of pieces and VIEW_DEFLATE_END form a stream. Errors: -ENOMEM. */
int view_deflater_add(struct view_deflater *deflater, unsigned int hint, const void *bytes,
		      size_t size, struct view_bytes *to);
#define VIEW_DEFLATE_END "\x03" /* and a NUL: 2 bytes */
