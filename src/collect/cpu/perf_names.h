/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_names.h - translates the name of a perf event (option -e)
 */
#pragma once

#include "collect/cpu/perf_rings.h"

/* Finds type and config of an event by its name in perf(1): "cycles", "cache-misses",
 * "page-faults", "r1c2" (raw), "sched:sched_switch" (a tracepoint). Does not check whether this
 * machine has the event. Errors: -ENOENT, -EACCES with the error chain. */
int perf_source_find(const char *name, struct perf_event_source *ret_source);
