/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/counters.h - write the recorded counters of a timeline
 */
#pragma once

#include <stdint.h>

#include "analyze/entity_index.h"

struct event_counter;
struct packets;
struct tracks;
struct unit_shown;

/* All zero: none. */
struct counters {
	struct packets *packets; /* borrowed, like tracks */
	struct tracks *tracks;
	struct entity_index series;
	struct unit_shown *units; /* by series; owned, like uuids */
	uint64_t *uuids;          /* 0: not described yet */
	uint64_t system;          /* parent track of the machine's counters; 0: not described yet */
};

int counters_init(struct counters *counters, struct tracks *tracks,
		  struct packets *packets);    /* -ENOMEM */
void counters_fini(struct counters *counters); /* NULL-safe */

/* Writes a reading at its start. Leaves out readings without a value and those of a series that the
 * trace does not describe. Errors: those of writing. */
int counters_write(struct counters *counters, const struct event_counter *row);
