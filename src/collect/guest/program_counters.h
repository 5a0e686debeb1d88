/* SPDX-License-Identifier: MIT
 *
 * collect/guest/program_counters.h - counters that a program or a runtime names, as series of its
 * process
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/record.h"

struct injected;

/* The counters of one process. */
struct program_counters {
	struct program_counter {
		uint64_t time; /* time of the last reading; 0: none */
		int64_t value;
		uint32_t series, metric_string, unit_string, device;
	} * items; /* owned */
	size_t count, capacity;
	uint64_t lost; /* readings of series without room; not written yet */
};

/* Takes a record of kind EVENT_COUNTER. False: it makes no sense. */
bool program_counters_take(struct injected *injected, const struct record *record);

/* Ends the series when the process has ended. */
void program_counters_end(struct injected *injected);

void program_counters_fini(struct program_counters *counters);
