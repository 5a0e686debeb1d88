/* SPDX-License-Identifier: MIT
 *
 * import/common/open_slices.h - slices whose end was not read yet, as a stack for each thread or
 * track
 *
 * A stack is a number that the caller keeps, which is 0 while nothing is open. All stacks of a file
 * share their places.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct open_slices {
	unsigned char *slices; /* owned */
	uint32_t *below;       /* owned; the stack below each slice, or the next free place */
	size_t slice_bytes, limit;
	size_t count, slices_capacity, below_capacity;
	uint32_t free; /* index + 1; 0: none */
};

/* limit: max slices at one time; 0: as many as memory has room for. */
void open_slices_init(struct open_slices *open, size_t slice_bytes, size_t limit);
void open_slices_fini(struct open_slices *open);

bool open_slices_is_full(const struct open_slices *open);

/* Puts a copy of a slice on a stack. -ENOMEM, also if the limit is reached. */
int open_slices_push(struct open_slices *open, uint32_t *stack, const void *slice);

/* The innermost slice of a stack that is not empty; valid until the next push. */
void *open_slices_top(const struct open_slices *open, uint32_t stack);

/* Takes that slice from the stack. Its bytes stay until the next push. */
void open_slices_pop(struct open_slices *open, uint32_t *stack);
