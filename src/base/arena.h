/* SPDX-License-Identifier: MIT
 *
 * base/arena.h - memory that is freed all at once
 */
#pragma once

#include <stddef.h>

struct arena_block;

/* All zero: empty. */
struct arena {
	struct arena_block *blocks; /* newest first */
	size_t used;                /* in the newest block */
	size_t bytes;               /* total size of the blocks, for accounting */
};

void arena_init(struct arena *arena);
void arena_fini(struct arena *arena); /* NULL-safe */

/* `size` bytes aligned for any type, not initialised; size 0 gives a valid pointer. NULL: no
 * memory. */
void *arena_alloc(struct arena *arena, size_t size);

/* A copy of `size` bytes followed by one NUL, unaligned. NULL: no memory. */
char *arena_copy(struct arena *arena, const void *bytes, size_t size);
