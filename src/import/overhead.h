/* SPDX-License-Identifier: MIT
 *
 * import/overhead.h - time that the driver or CUPTI took, as a recording of duet has it
 */
#pragma once

#include <stdint.h>

struct event_range;
struct import_target;

/* Makes a range of the domain CUPTI, without a thread and a process. Errors: -ENOMEM. */
int import_overhead_make(struct import_target *target, const char *name, uint64_t begin_ns,
			 uint64_t end_ns, struct event_range *ret_range);

/* The name of a CUPTI overhead by its kind. */
const char *import_overhead_name(int64_t kind);
