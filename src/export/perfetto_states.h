/* SPDX-License-Identifier: MIT
 *
 * export/perfetto_states.h - when threads were on no processor, as slices of a track below each
 *
 * Everything is told in the order of time. What is told of a thread that is not described is left out.
 */
#ifndef EXPORT_PERFETTO_STATES_H
#define EXPORT_PERFETTO_STATES_H

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
	struct samples *samples; /* names functions */
	bool *is_away;           /* by place of the thread */
	size_t away_count;
};

/* -ENOMEM. */
int states_init(struct states *states, const struct model *model, struct packets *packets,
		struct tracks *tracks, struct samples *samples);
void states_fini(struct states *states); /* NULL-safe */

/* Errors of all: -ENOMEM, errors of writing. */

/* One thread went, if it is to be drawn, and another came. */
int states_switch(struct states *states, const struct event_switch *row, bool is_drawn);

/* Something was seen of the thread that it can only have done on a processor, or it ended. */
int states_back(struct states *states, uint32_t thread, uint64_t time_ns);

/* Nothing more is known of any thread. */
int states_end(struct states *states, uint64_t time_ns);

#endif
