/* SPDX-License-Identifier: MIT
 *
 * tests/programs/storm_plugin.c - a library that storm.c loads and unloads; built twice, as a and b
 *
 * Both have the same code at the same offsets under other names: STORM_NAME(enter) is a_enter or
 * b_enter.
 */
#include "storm.h"

#define EXPORTED __attribute__((visibility("default")))

static STORM_FRAME void STORM_NAME(inner)(struct storm_path *path, storm_hop *back)
{
	back(path);
	path->returns++;
}

EXPORTED void STORM_NAME(enter)(struct storm_path *path, storm_hop *back);
EXPORTED void STORM_NAME(launch)(struct storm_path *path, storm_hop *launched);

EXPORTED STORM_FRAME void STORM_NAME(enter)(struct storm_path *path, storm_hop *back)
{
	STORM_NAME(inner)(path, back);
	path->returns++;
}

EXPORTED STORM_FRAME void STORM_NAME(launch)(struct storm_path *path, storm_hop *launched)
{
	const size_t size[3] = {path->code, path->plugin | STORM_END, path->hops};

	if (clEnqueueNDRangeKernel(path->queue, path->kernel, 3, NULL, size, NULL, 0, NULL, NULL) ==
	    CL_SUCCESS)
		launched(path);
}
