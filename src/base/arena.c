/* SPDX-License-Identifier: MIT
 *
 * base/arena.c - memory that is freed all at once
 *
 * Runs in:  the recorder, and all commands that read a trace; one arena belongs to one thread at a
 *           time
 * Gets:     sizes
 * Gives:    pointers that live as long as the arena
 * Owns:     its blocks, freed by arena_fini
 * Fails:    NULL if malloc fails or a size overflows
 * Why blocks of 4 KiB to 256 KiB: each block is twice the size of the one before, so that a
 *           thousand small arenas cost 4 MB, and a dictionary of millions of strings needs few
 *           allocations. An allocation larger than a block gets a block of its own
 */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define ARENA_ALIGN   _Alignof(max_align_t)
#define ARENA_FIRST   ((size_t)4096)
#define ARENA_LARGEST ((size_t)256 * 1024)

struct arena_block {
	struct arena_block *next;
	size_t size; /* bytes of data */
	_Alignas(max_align_t) char data[];
};

void arena_init(struct arena *arena)
{
	*arena = (struct arena){0};
}

void arena_fini(struct arena *arena)
{
	struct arena_block *next;

	if (!arena)
		return;
	for (struct arena_block *block = arena->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	*arena = (struct arena){0};
}

static int add_block(struct arena *arena, size_t size)
{
	size_t wanted = arena->blocks ? arena->blocks->size * 2 : ARENA_FIRST;
	struct arena_block *block;

	if (wanted > ARENA_LARGEST)
		wanted = ARENA_LARGEST;
	if (wanted < size)
		wanted = size;
	if (wanted > SIZE_MAX - sizeof(*block))
		return -1;
	block = malloc(sizeof(*block) + wanted);
	if (!block)
		return error_no_memory();
	block->next = arena->blocks;
	block->size = wanted;
	arena->blocks = block;
	arena->used = 0;
	arena->bytes += sizeof(*block) + wanted;
	return 0;
}

static void *take_room(struct arena *arena, size_t size, size_t align)
{
	size_t start = (arena->used + align - 1) / align * align;

	if (!arena->blocks || start > arena->blocks->size || size > arena->blocks->size - start) {
		if (add_block(arena, size))
			return NULL;
		start = 0;
	}
	arena->used = start + size;
	return arena->blocks->data + start;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	return take_room(arena, size, ARENA_ALIGN);
}

char *arena_copy(struct arena *arena, const void *bytes, size_t size)
{
	char *copy;

	if (size == SIZE_MAX)
		return NULL;
	copy = take_room(arena, size + 1, 1);
	if (!copy)
		return NULL;
	if (size)
		memcpy(copy, bytes, size);
	copy[size] = '\0';
	return copy;
}
