/* SPDX-License-Identifier: MIT
 *
 * export/perfetto_counters.h - the counters of a timeline that were read while it was recorded
 */
#ifndef EXPORT_PERFETTO_COUNTERS_H
#define EXPORT_PERFETTO_COUNTERS_H

#include <stdint.h>

#include "analyze/things.h"

struct event_counter;
struct packets;
struct tracks;
struct unit_shown;

/* All zero: none. */
struct counters {
	struct packets *packets; /* borrowed, as the tracks */
	struct tracks *tracks;
	struct things series;
	struct unit_shown *units; /* by series, owned, as the next */
	uint64_t *uuids;          /* 0: not described yet */
	uint64_t system; /* the track that the machine's stand below; 0: not described yet */
};

int counters_init(struct counters *counters, struct tracks *tracks,
		  struct packets *packets);    /* -ENOMEM */
void counters_fini(struct counters *counters); /* NULL-safe */

/* At its begin, up to the next. What says nothing, or nobody knows what it is of, is left out. Errors of writing. */
int counters_write(struct counters *counters, const struct event_counter *row);

#endif
