/* SPDX-License-Identifier: MIT
 *
 * page/view/deflate.c - compress to raw deflate (RFC 1951), which every browser decompresses
 *
 * Runs in:  our own process; in a thread of its own if there is a second processor
 * Gets:     bytes
 * Gives:    pieces of deflate streams that do not depend on each other
 * Owns:     two compressors
 * Fails:    -ENOMEM
 * Why two compressors: durations in nanoseconds are rarely repeated. Searching for matches takes
 *           two thirds of the time. It saves 9 % of the size, but half of the size for a program
 *           that repeats itself exactly. One piece in 32 is compressed both with and without the
 *           search, to choose for the next pieces.
 */
#include "page/view/deflate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	LEVEL = 4,
	WINDOW_BITS = -15, /* raw */
	MEMORY_LEVEL = 8,
	TURNS = 32, /* pieces per choice */
	WORTH = 10  /* matches must save at least 1 / WORTH of the size */
};

int view_deflater_init(struct view_deflater *deflater)
{
	memset(deflater, 0, sizeof(*deflater));
	deflater->has_matches = deflateInit2(&deflater->matches, LEVEL, Z_DEFLATED, WINDOW_BITS,
					     MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
	deflater->has_runs = deflateInit2(&deflater->runs, LEVEL, Z_DEFLATED, WINDOW_BITS,
					  MEMORY_LEVEL, Z_RLE) == Z_OK;
	return deflater->has_matches && deflater->has_runs ? 0 : -ENOMEM;
}

void view_deflater_fini(struct view_deflater *deflater)
{
	if (!deflater)
		return;
	if (deflater->has_matches)
		deflateEnd(&deflater->matches);
	if (deflater->has_runs)
		deflateEnd(&deflater->runs);
	deflater->has_matches = deflater->has_runs = false;
}

/* The full flush ends the piece at a byte boundary, and later pieces do not refer to it. */
static int add_piece(z_stream *stream, const void *bytes, size_t size, struct view_bytes *to)
{
	size_t bound;

	if (size > UINT32_MAX / 2)
		return -E2BIG;
	deflateReset(stream);
	bound = deflateBound(stream, (uLong)size) + 16;
	if (array_grow(to->bytes, to->capacity, to->size + bound))
		return -ENOMEM;
	stream->next_in = (Bytef *)(uintptr_t)bytes;
	stream->avail_in = (uInt)size;
	stream->next_out = to->bytes + to->size;
	stream->avail_out = (uInt)bound;
	if (deflate(stream, Z_FULL_FLUSH) != Z_OK || stream->avail_in)
		return -EIO;
	to->size += stream->total_out;
	return 0;
}

static int add_smaller(struct view_deflater *deflater, struct deflate_choice *choice,
		       const void *bytes, size_t size, struct view_bytes *to)
{
	size_t before = to->size, runs;
	int error = add_piece(&deflater->runs, bytes, size, to);

	if (error)
		return error;
	runs = to->size - before;
	error = add_piece(&deflater->matches, bytes, size, to);
	if (error)
		return error;
	choice->is_runs = to->size - before - runs > runs - runs / WORTH;
	if (!choice->is_runs)
		memmove(to->bytes + before, to->bytes + before + runs, to->size - before - runs);
	to->size = choice->is_runs ? before + runs : to->size - runs;
	return 0;
}

int view_deflater_add(struct view_deflater *deflater, unsigned int hint, const void *bytes,
		      size_t size, struct view_bytes *to)
{
	struct deflate_choice *choice = &deflater->choices[hint % DEFLATE_HINTS];

	if (choice->turns++ % TURNS == 0)
		return add_smaller(deflater, choice, bytes, size, to);
	return add_piece(choice->is_runs ? &deflater->runs : &deflater->matches, bytes, size, to);
}
