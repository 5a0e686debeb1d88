/* SPDX-License-Identifier: MIT
 *
 * export/view_deflate.c - raw deflate (RFC 1951), as every browser undoes it
 *
 * Runs in:  our own process, a thread of its own where there are processors for it
 * Gets:     bytes   Gives: pieces of deflate streams that stand alone
 * Owns:     two compressors
 * Fails:    -ENOMEM
 * Why two: durations in nanoseconds hardly ever come twice. To look for them takes two thirds of the time and saves 9 %;
 *           of a program that does the same again and again it saves half. One piece of 32 is compressed both ways.
 */
#include "export/view_deflate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	LEVEL = 4,
	WINDOW_BITS = -15, /* raw */
	MEMORY_LEVEL = 8,
	TURNS = 32, /* pieces between two choices */
	WORTH = 10  /* part of the size that matches must save */
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

/* The flush lets a piece begin at a byte and refer to nothing before it. */
static int add(z_stream *stream, const void *bytes, size_t size, struct view_bytes *to)
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

static int choose(struct view_deflater *deflater, struct deflate_choice *choice, const void *bytes,
		  size_t size, struct view_bytes *to)
{
	size_t before = to->size, runs;
	int error = add(&deflater->runs, bytes, size, to);

	if (error)
		return error;
	runs = to->size - before;
	error = add(&deflater->matches, bytes, size, to);
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
		return choose(deflater, choice, bytes, size, to);
	return add(choice->is_runs ? &deflater->runs : &deflater->matches, bytes, size, to);
}
