/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/occupancy.h - computes how many warps of a kernel fit on an NVIDIA multiprocessor
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct analysis;
struct analysis_kernel;

struct occupancy_needs {
	uint32_t registers; /* per thread; 0: not known */
	/* shared memory per block as the code names it; from sm_90 on including the reserved
	 * bytes */
	uint64_t shared_bytes;
	uint64_t threads; /* threads per block */
};

struct occupancy {
	uint64_t warps,
		of_warps;  /* warps at once on a multiprocessor, and the hardware's maximum */
	const char *limit; /* "warps", "blocks", "registers" or "shared memory" */
	bool is_at_most;   /* upper bound: the launch's dynamic shared memory is not known */
	bool is_at_least;  /* lower bound: needs are the maximum of all launches; the longest may
			      need less */
};

/* Computes the occupancy from the CUDA programming guide's table of compute capabilities. target:
 * "sm_90". unit_shared_bytes: shared memory of a multiprocessor, 0: not known. Returns false if the
 * target or a need is not known, or if a block does not fit. */
bool occupancy_find(const char *target, uint64_t unit_shared_bytes,
		    const struct occupancy_needs *needs, struct occupancy *ret_occupancy);

/* The occupancy of a kernel's longest launch. It uses the largest needs that launches reported,
 * otherwise the kernel's code if the trace contains it. Returns false if neither is known. */
bool occupancy_of_kernel(const struct analysis *analysis, const struct analysis_kernel *kernel,
			 struct occupancy *ret_occupancy);
