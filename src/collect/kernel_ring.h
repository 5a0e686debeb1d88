/* SPDX-License-Identifier: MIT
 *
 * collect/kernel_ring.h - what programs inside the kernel write, and count as lost
 */
#ifndef COLLECT_KERNEL_RING_H
#define COLLECT_KERNEL_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/kernel_object.h"

struct kernel_ring;

typedef void kernel_ring_record(void *context, const void *record, size_t size);

/* Records that are taken at a time: some 30 ms. Others have their turn too, however fast the kernel writes. */
enum { KERNEL_RING_RECORDS = 32768 };

/* Reads an object's ring `map`; others beside it, of which all records are taken, in their order, when the first is. context:
 * borrowed. Errors: -ENOMEM, with the error chain. */
int kernel_ring_open(const struct kernel_object *object, const char *map,
		     kernel_ring_record *on_record, void *context, struct kernel_ring **ret_ring);
int kernel_ring_add(struct kernel_ring *ring, const struct kernel_object *object, const char *map,
		    kernel_ring_record *on_record);
void kernel_ring_close(struct kernel_ring *ring); /* NULL-safe */

/* Takes what the kernel has written so far: true where there is more. */
bool kernel_ring_drain(struct kernel_ring *ring);

/* What an object's map `counts` has at a place, over all processors; 0 where it cannot be looked at. */
uint64_t kernel_ring_counted(const struct kernel_object *object, uint32_t key);

#endif
