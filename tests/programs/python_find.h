/* SPDX-License-Identifier: MIT
 *
 * tests/programs/python_find.h - look for interpreters as a guest does, which has read the loader's
 * counters for the native frames already
 */
#pragma once

#include "inject/libraries.h"
#include "inject/python_frames.h"

static inline bool find_python(struct python *python)
{
	struct libraries_counts counts;

	return libraries_count(&counts) && python_find_again(python, counts.loads, counts.unloads);
}
