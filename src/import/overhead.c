/* SPDX-License-Identifier: MIT
 *
 * import/overhead.c - time that the driver or CUPTI took, as a recording of duet has it
 *
 * Runs in:  our own process
 * Gets:     a name and times from a file of another program
 * Gives:    a range
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why one place: the analysis recognises these ranges by their domain and type. A range "command
 *           buffer full" explains a launch of 36 ms.
 */
#include "import/overhead.h"

#include <strings.h>

#include "base/array.h"
#include "event/event.h"
#include "import/target.h"

int import_overhead_make(struct import_target *target, const char *name, bool is_profiler,
			 uint64_t begin_ns, uint64_t end_ns, struct event_range *ret_range)
{
	struct event_range row = {.begin = begin_ns, .end = end_ns, .type = RANGE_START};
	int error = import_target_text(target, "CUPTI", &row.domain_string);

	if (!error)
		error = import_target_text(target, name, &row.name_string);
	if (!error && is_profiler)
		error = import_target_text(target, RANGE_CATEGORY_PROFILER, &row.category_string);
	*ret_range = row;
	return error;
}

/* The kinds after the first count in the upper half of 32 bits. */
const char *import_overhead_name(int64_t kind)
{
	static const char *const names[] = {
		"flushing CUPTI's buffers",
		"instrumenting code",
		"CUPTI's own resources",
		"loading a module",
		"loading a function at its first use",
		"command buffer full",
		"requesting CUPTI's buffers",
		"starting to record unified memory",
	};

	if (kind == 1)
		return "compiling for the GPU";
	return array_text(names, ARRAY_COUNT(names), (size_t)(kind >> 16) - 1, "other overhead");
}

/* Names of PyTorch, of Nsight Systems, and those above. */
bool import_overhead_is_profiler(const char *name)
{
	static const char *const names[] = {
		"Buffer Flush",
		"CUPTI Buffer Flush",
		"flushing CUPTI's buffers",
		"Instrumentation",
		"CUPTI Instrumentation",
		"instrumenting code",
		"Resource",
		"CUPTI Resource Management",
		"CUPTI's own resources",
		"Activity Buffer Request",
		"requesting CUPTI's buffers",
		"UVM Activity Init",
		"starting to record unified memory",
	};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}
