/* SPDX-License-Identifier: MIT
 *
 * collect/robust_region.h - shared memory that the kernel marks when this recorder dies
 */
#ifndef COLLECT_ROBUST_REGION_H
#define COLLECT_ROBUST_REGION_H

#include <stddef.h>

struct ring_region;

/* Maps `bytes` of fd. From robust_region_own until robust_region_disown, `enabled` of the region holds the number of the
 * calling thread; when that thread dies, however it dies, the kernel takes the number away. All calls for one region come
 * from one thread. NULL: errno says why. */
struct ring_region *robust_region_map(int fd, size_t bytes);
void robust_region_own(struct ring_region *region);
void robust_region_disown(struct ring_region *region);
void robust_region_unmap(struct ring_region *region, size_t bytes); /* disowns it first */

#endif
