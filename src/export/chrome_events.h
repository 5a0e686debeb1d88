/* SPDX-License-Identifier: MIT
 *
 * export/chrome_events.h - one event of a Chrome trace, as JSON
 *
 * Times are in microseconds with three digits behind the point, which are the nanoseconds.
 */
#ifndef EXPORT_CHROME_EVENTS_H
#define EXPORT_CHROME_EVENTS_H

#include <stdint.h>

#include "event/event.h"
#include "export/chrome_rows.h"
#include "export/verdicts.h"

struct command;
struct json_writer;
struct model;

struct chrome_events {
	const struct model *model; /* borrowed */
	struct json_writer *json;  /* borrowed: in the array of events */
	uint64_t base_ns;          /* the host time that is 0 in the file */
};

void chrome_events_api(const struct chrome_events *events, const struct chrome_place *place,
		       const struct event_api *row);
/* What the command is stands at its execution, or here where there is none. */
void chrome_events_launch(const struct chrome_events *events, const struct chrome_place *place,
			  const struct event_launch *row, enum verdict verdict);
/* A range that nests in its thread's calls, a mark, and a range that may overlap others of its thread; id: unique
 * among those. */
void chrome_events_range(const struct chrome_events *events, const struct chrome_place *place,
			 const struct event_range *row);
void chrome_events_mark(const struct chrome_events *events, const struct chrome_place *place,
			const struct event_range *row);
void chrome_events_started(const struct chrome_events *events, const struct chrome_place *place,
			   const struct event_range *row, uint64_t id);
/* Of one that has a span. */
void chrome_events_execution(const struct chrome_events *events, const struct chrome_place *place,
			     const struct command *command);
/* A reading, from its begin on; name: of its series. */
void chrome_events_counter(const struct chrome_events *events, const struct chrome_place *place,
			   const char *name, const char *unit, double value, uint64_t time_ns);
void chrome_events_loss(const struct chrome_events *events, const struct chrome_place *place,
			const struct event_loss *row);

/* An arrow's begin, in the slice that began then, or its end. */
void chrome_events_flow(const struct chrome_events *events, const struct chrome_place *place,
			uint64_t id, uint64_t time_ns, bool is_end);

/* How many commands of a queue are in flight from now on. */
void chrome_events_depth(const struct chrome_events *events, const struct chrome_place *place,
			 uint32_t queue, uint64_t time_ns, int64_t commands);

/* A time as it is in the file. */
void chrome_events_time(const struct chrome_events *events, const char *key, uint64_t time_ns);

#endif
