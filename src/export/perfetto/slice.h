/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/slice.h - a row of the timeline with its start and end, and its packet
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/join/launch_outcomes.h"
#include "event/event.h"

struct model;
struct packets;

enum { SLICE_MAX_STEPS = 3 };

/* A change of a counter. */
struct slice_step {
	uint32_t counter; /* index */
	int64_t by;
};

struct slice_steps {
	struct slice_step steps[SLICE_MAX_STEPS];
	size_t count;
};

/* The launch of an execution. */
struct executed_launch {
	struct event_launch row;
	uint64_t flow; /* 0: no arrow */
};

/* A row with a start and an end. If it is not shown, only its counters are written. new_slice
 * returns it in its final place, and only the members of its kind are set: copying whole slices
 * took a tenth of an export. */
struct slice {
	uint64_t track;
	enum event_kind kind;
	bool is_shown;
	bool has_launch;             /* executions only */
	enum launch_outcome verdict; /* launches only */
	uint64_t flow;               /* launches only; 0: no arrow */
	struct slice_steps at_begin, at_end;
	uint32_t next_free;
	union {
		struct event_api api;
		struct event_launch launch;
		struct event_execution execution;
		struct event_loss loss;
		struct event_cpu_sample sample;
		struct event_switch change;
		struct event_range range;
		struct event_counter counter;
		struct event_instruction_sample instruction;
		uint32_t thread; /* EVENT_THREAD: the thread that ends */
	} row;
	struct executed_launch launched; /* executions only */
};

struct slice_writer {
	const struct model *model; /* borrowed */
	struct packets *packets;   /* borrowed */
};

/* Whether a row is drawn as an instant. */
bool slice_is_instant(const struct slice *slice);

/* Writes category, name and arguments of a row into the current event packet. */
void slice_write(const struct slice_writer *writer, const struct slice *slice);
