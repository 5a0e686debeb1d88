/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/ring.h - reads the records and loss counts that BPF programs write
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/kernel/object.h"

struct kernel_ring;

typedef void kernel_ring_record(void *context, const void *record, size_t size);

/* Records per call, some 30 ms, so that other work gets its turn however fast the kernel writes. */
enum { KERNEL_RING_RECORDS = 32768 };

/* kernel_ring_open reads the ring `map` of an object. kernel_ring_add adds another ring, which is
 * read completely with each call. context: borrowed. Errors: -ENOMEM, with the error chain. */
int kernel_ring_open(const struct kernel_object *object, const char *map,
		     kernel_ring_record *on_record, void *context, struct kernel_ring **ret_ring);
int kernel_ring_add(struct kernel_ring *ring, const struct kernel_object *object, const char *map,
		    kernel_ring_record *on_record);
void kernel_ring_close(struct kernel_ring *ring); /* NULL-safe */

/* Reads the records so far. True: there are more. */
bool kernel_ring_drain(struct kernel_ring *ring);

/* Sum of an entry of a map of counts, or of the object's map `counts`, over all processors; 0: it
 * cannot be read. */
uint64_t kernel_ring_sum(int counts_fd, uint32_t key);
uint64_t kernel_ring_counted(const struct kernel_object *object, uint32_t key);
