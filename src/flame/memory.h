/* SPDX-License-Identifier: MIT
 *
 * flame/memory.h - allocation of large arrays with random access
 */
#ifndef FLAME_MEMORY_H
#define FLAME_MEMORY_H

#include <stddef.h>

/* `count` items of `size` bytes, not initialised, in huge pages if they are large enough; for
 * free().
 * NULL: no memory. */
void *flame_allocate(size_t count, size_t size);

/* Makes room for at least `count` items of `size` bytes in *items, and grows it by at least a half.
 * *items is NULL or comes from flame_allocate. -ENOMEM changes nothing. */
int flame_grow(void **items, size_t *capacity, size_t count, size_t size);

#endif
