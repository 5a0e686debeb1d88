/* SPDX-License-Identifier: MIT
 *
 * import/common/cuda.h - functions of CUDA's API and the enumerations of CUPTI's records
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "import/sqlite_file.h"

struct import_target;

enum import_cuda_flag {
	CUDA_WAITS = 1,        /* waits for the device: cudaDeviceSynchronize */
	CUDA_WAITS_STREAM = 2, /* cudaStreamSynchronize */
	CUDA_NEVER_WAITS = 4,  /* has a row of synchronization and does not wait: cudaEventQuery */
	CUDA_LAUNCHES = 8,     /* cudaLaunchKernel */
	CUDA_BLOCKS = 16,      /* a copy without "Async" */
	CUDA_BEGINS_CAPTURE = 32,
	CUDA_ENDS_CAPTURE = 64
};

struct import_cuda_function {
	uint32_t string;  /* in the trace; 0: not looked up */
	uint16_t flags;   /* enum import_cuda_flag */
	uint16_t command; /* that it launches */
};

/* A function by its name, whose version at the end is removed: "_v7000", "_ptsz". Errors:
 * -ENOMEM. */
int import_cuda_function(struct import_target *target, const char *name,
			 struct import_cuda_function *ret_function);

/* COMMAND_… of CUPTI's kind of copy, MEMORY_… of its kind of memory, MIGRATION_… of its cause. */
uint32_t import_cuda_copy(int64_t kind);
uint32_t import_cuda_memory(int64_t kind);
uint32_t import_cuda_migration(int64_t cause);
/* Whether a kind of memory (MEMORY_…) lies on a device. */
bool import_cuda_is_on_device(uint32_t memory);

/* The number in a column; 0 if it is negative. */
uint64_t import_cuda_positive(const struct sqlite_cursor *row, size_t column);

/* Reads the number of blocks from three columns, of threads of a block from the three after them.
 */
void import_cuda_read_sizes(const struct sqlite_cursor *row, size_t grid_column,
			    struct event_launch *launch);
