/* SPDX-License-Identifier: MIT
 *
 * collect/guest/robust_region.h - shared memory in which the kernel clears a word when the recorder
 * dies
 */
#pragma once

#include <stddef.h>

struct ring_region;

/* Maps `bytes` of fd. NULL: failed with errno. Between robust_region_own and robust_region_disown,
 * the region's `enabled` holds the id of the calling thread; the kernel clears it when that thread
 * dies for any reason. All calls for a region must come from one thread. */
struct ring_region *robust_region_map(int fd, size_t bytes);
void robust_region_own(struct ring_region *region);
void robust_region_disown(struct ring_region *region);
void robust_region_unmap(struct ring_region *region,
			 size_t bytes); /* calls robust_region_disown first */
