/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/states.h - write the times at which threads were off the processor, as slices of
 * a track below each thread
 *
 * All calls must be in the order of time. Events of threads that the trace does not describe are
 * left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_switch;
struct model;
struct packets;
struct samples;
struct tracks;

struct states {
	const struct model *model; /* borrowed, like all below */
	struct packets *packets;
	struct tracks *tracks;
	struct samples *samples; /* source of function names */
	bool *is_away;           /* by index of the thread */
	size_t away_count;
};

/* -ENOMEM. */
int states_init(struct states *states, const struct model *model, struct packets *packets,
		struct tracks *tracks, struct samples *samples);
void states_fini(struct states *states); /* NULL-safe */

/* Errors of all functions: -ENOMEM, errors of writing. */

/* A switch: the previous thread leaves the processor (only if is_drawn) and the next one returns to
 * it. */
int states_switch(struct states *states, const struct event_switch *row, bool is_drawn);

/* The thread showed activity, so it is on a processor; or it ended. */
int states_back(struct states *states, uint32_t thread, uint64_t time_ns);

/* End of the trace: closes all open slices. */
int states_end(struct states *states, uint64_t time_ns);
