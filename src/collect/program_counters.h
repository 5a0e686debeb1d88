/* SPDX-License-Identifier: MIT
 *
 * collect/program_counters.h - values that a program names, as series of its process
 */
#ifndef COLLECT_PROGRAM_COUNTERS_H
#define COLLECT_PROGRAM_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/record.h"

struct injected;

/* Of a process. */
struct program_counters {
	struct program_counter {
		uint64_t time; /* of the reading that stands; 0: none */
		int64_t value;
		uint32_t series, metric_string, unit_string, device;
	} * items; /* owned */
	size_t count, capacity;
	uint64_t lost; /* readings of series that there was no room for; not written yet */
};

/* A record of kind EVENT_COUNTER. False: it makes no sense. */
bool program_counters_take(struct injected *injected, const struct record *record);

/* The process has ended: its series have. */
void program_counters_end(struct injected *injected);

void program_counters_fini(struct program_counters *counters);

#endif
