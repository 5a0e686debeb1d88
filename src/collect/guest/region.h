/* SPDX-License-Identifier: MIT
 *
 * collect/guest/region.h - the shared memory of one guest: its size, its options, its heartbeat
 */
#pragma once

#include <stdint.h>

#include "collect/recording.h"
#include "ring/ring.h"

struct guest_region {
	struct ring_region *shared; /* owned mapping; NULL: none */
	uint64_t inode;
	size_t bytes;
	uint32_t ring_count, ring_bytes;
	uint32_t max_ring; /* largest ring size to try */
	uint32_t options;  /* enum ring_option, and bits of the guest's own */
	uint32_t numbers[RING_NUMBERS];
	int64_t shift_ns; /* shift of the process's clock by its time namespace */
	uint64_t beat_ns; /* last heartbeat; the program may overwrite the copy in the region */
};

/* Sets the members that do not change. ring_bytes: a power of two; 0: the default. */
void guest_region_init(struct guest_region *region, pid_t pid, uint32_t ring_bytes);

/* Creates the largest region that the recorder's limits allow. The caller sends ret_fd to the guest
 * and closes it. Errors: -errno with the error chain; -ENOTSUP: this machine has no clock for a
 * process in that time namespace. */
int guest_region_open(struct guest_region *region, const struct recording *recording, pid_t pid,
		      int *ret_fd);
void guest_region_close(struct guest_region *region); /* safe without a mapping */

/* Writes the heartbeat in the process's own CLOCK_MONOTONIC, which the guest compares it with. */
void guest_region_beat(const struct guest_region *region, uint64_t now_ns);
