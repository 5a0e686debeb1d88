/* SPDX-License-Identifier: MIT
 *
 * import/rocm/memory.h - the amount of allocated memory over time
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pair_map.h"

struct import_target;

/* An allocation of memory or its end. */
struct rocm_allocation {
	uint64_t address, bytes;
	uint32_t device; /* 0: memory of the host */
	bool is_free;
};

/* The memory of one device that one process allocated. */
struct rocm_memory_level {
	uint32_t process, device;
	uint32_t series;
	uint64_t bytes, time;
};

/* All zero: empty, once target is set. */
struct rocm_memory {
	struct import_target *target;
	struct pair_map by_address; /* (process, address) -> index */
	struct rocm_allocation *live;
	size_t live_count, live_capacity;
	uint32_t free; /* index + 1 of a free place in `live`, whose `bytes` is the next; 0: none */
	struct rocm_memory_level *levels;
	size_t level_count, levels_capacity;
};

void rocm_memory_fini(struct rocm_memory *memory);

/* Writes the level of the memory after an allocation, in the order of times. Errors: -ENOMEM,
 * errors of the target. */
int rocm_memory_write(struct rocm_memory *memory, uint32_t process, uint64_t time,
		      const struct rocm_allocation *allocation);
