/* SPDX-License-Identifier: MIT
 *
 * export/chrome/events.h - write single events of a Chrome trace as JSON
 *
 * Times are in microseconds with three decimals, so they keep the nanoseconds.
 */
#pragma once

#include <stdint.h>

#include "analyze/join/launch_outcomes.h"
#include "event/event.h"
#include "export/chrome/links.h"
#include "export/chrome/rows.h"

struct command;
struct json_writer;
struct model;

struct chrome_events {
	const struct model *model; /* borrowed */
	struct json_writer *json;  /* borrowed; it is inside the array of events */
	uint64_t base_ns;          /* the host time that is 0 in the file */
};

/* number: the operator's; otherwise 0. */
void chrome_events_api(const struct chrome_events *events, const struct chrome_place *place,
		       const struct event_api *row, uint64_t number);
/* The arguments of the command are written at its execution, or at the launch if it has no
 * execution. */
void chrome_events_launch(const struct chrome_events *events, const struct chrome_place *place,
			  const struct event_launch *row, enum launch_outcome verdict,
			  const struct chrome_link *link);
/* Write a pushed range, which nests in its thread's calls; a mark; a started range, which may
 * overlap others of its thread. id: unique among started ranges. */
void chrome_events_range(const struct chrome_events *events, const struct chrome_place *place,
			 const struct event_range *row);
void chrome_events_mark(const struct chrome_events *events, const struct chrome_place *place,
			const struct event_range *row);
void chrome_events_started(const struct chrome_events *events, const struct chrome_place *place,
			   const struct event_range *row, uint64_t id);
/* To be called for commands with start and end times. link: its launch's. */
void chrome_events_execution(const struct chrome_events *events, const struct chrome_place *place,
			     const struct command *command, const struct chrome_link *link);
/* A reading, drawn from its start on; name: that of the series. */
void chrome_events_counter(const struct chrome_events *events, const struct chrome_place *place,
			   const char *name, const char *unit, double value, uint64_t time_ns);
void chrome_events_loss(const struct chrome_events *events, const struct chrome_place *place,
			const struct event_loss *row);

/* The start of a flow arrow in the slice that starts at time_ns, or its end. */
void chrome_events_flow(const struct chrome_events *events, const struct chrome_place *place,
			uint64_t id, uint64_t time_ns, bool is_end);

/* The number of commands of a queue that are in flight from time_ns on. */
void chrome_events_depth(const struct chrome_events *events, const struct chrome_place *place,
			 uint32_t queue, uint64_t time_ns, int64_t commands);

/* A key with a time in the file's unit, relative to base_ns. */
void chrome_events_time(const struct chrome_events *events, const char *key, uint64_t time_ns);
