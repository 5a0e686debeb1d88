/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_names.h - perf events by name
 */
#ifndef COLLECT_CPU_PERF_NAMES_H
#define COLLECT_CPU_PERF_NAMES_H

#include "collect/cpu/perf_rings.h"

/* As perf names them: "cycles", "cache-misses", "page-faults", "r1c2" (raw), "sched:sched_switch" (a tracepoint).
 * Whether this machine has it only the kernel knows. Errors: -ENOENT, -EACCES with the error chain. */
int perf_source_find(const char *name, struct perf_event_source *ret_source);

#endif
