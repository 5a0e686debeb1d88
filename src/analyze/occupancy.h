/* SPDX-License-Identifier: MIT
 *
 * analyze/occupancy.h - how many warps of a kernel an NVIDIA multiprocessor has room for
 */
#ifndef ANALYZE_OCCUPANCY_H
#define ANALYZE_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

struct analysis;
struct analysis_kernel;

struct occupancy_needs {
	uint32_t registers; /* of a thread; 0: not known */
	uint64_t
		shared_bytes; /* of a block, as its code names them, with what is kept free of it */
	uint64_t threads;     /* of a block */
};

struct occupancy {
	uint64_t warps, of_warps; /* at once on a multiprocessor */
	const char *limit;        /* "warps", "blocks", "registers" or "shared memory" */
	bool is_at_most;          /* shared memory that the launch asked for is not known */
	bool is_at_least; /* another launch of the kernel may have asked for more of what limits it */
};

/* By the CUDA programming guide's table of compute capabilities. target: "sm_90"; unit_shared_bytes: of a multiprocessor, 0: not known. False: the target is not known, or a block
 * does not fit. */
bool occupancy_find(const char *target, uint64_t unit_shared_bytes,
		    const struct occupancy_needs *needs, struct occupancy *ret_occupancy);

/* Of the longest launch of a kernel: by what its launches have taken at most, where they tell of it, else by its code, where
 * that is in the trace. False: it is not, or one of these is not known. */
bool occupancy_of_kernel(const struct analysis *analysis, const struct analysis_kernel *kernel,
			 struct occupancy *ret_occupancy);

#endif
