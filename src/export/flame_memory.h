/* SPDX-License-Identifier: MIT
 *
 * export/flame_memory.h - large arrays that are used all over
 */
#ifndef EXPORT_FLAME_MEMORY_H
#define EXPORT_FLAME_MEMORY_H

#include <stddef.h>

/* `count` items of `size` bytes, not initialised, in huge pages where that is worth it; for free().
 * NULL: no memory. */
void *flame_allocate(size_t count, size_t size);

/* Makes room for at least `count` items of `size` bytes in *items, which was allocated so or is NULL,
 * and for half as many again as there was. -ENOMEM leaves everything as it was. */
int flame_grow(void **items, size_t *capacity, size_t count, size_t size);

#endif
