/* SPDX-License-Identifier: MIT
 *
 * import/overhead.h - time that the driver or CUPTI took, as a recording of duet has it
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event_range;
struct import_target;

/* Makes a range of the domain CUPTI, without a thread and a process. is_profiler: the profiler took
 * the time, not the driver. Errors: -ENOMEM. */
int import_overhead_make(struct import_target *target, const char *name, bool is_profiler,
			 uint64_t begin_ns, uint64_t end_ns, struct event_range *ret_range);

/* The name of a CUPTI overhead by its kind. */
const char *import_overhead_name(int64_t kind);

/* Whether an overhead of CUPTI with this name is the profiler's. The driver has the others: it
 * loads or compiles code, or waits for room. */
bool import_overhead_is_profiler(const char *name);
