/* SPDX-License-Identifier: MIT
 *
 * live/in_flight.h - commands that were launched before the rows that are read, and still run
 *
 * A look reads the rows of little more than its interval. The launch of a command that runs for
 * longer is not among them, so that its device would look unused. The list remembers such commands
 * from one look to the next.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct analysis;
struct observed_command;
struct observed_open;

struct live_open_command {
	uint64_t enter, correlation;     /* enter: host ns */
	uint32_t process, device, queue; /* ids in the trace */
	bool is_over;                    /* a row of the present look shows that it has ended */
};

struct live_open_commands {
	struct live_open_command *all; /* owned */
	size_t count, capacity;
};

struct live_in_flight {
	struct live_open_commands before; /* launched before the rows of the last look */
	struct live_open_commands known;  /* those and the ones of the last look */
	struct live_open_commands found;  /* by the present look */
};

void live_in_flight_fini(struct live_in_flight *flight);

/* A look starts, or its analysis starts again. */
void live_in_flight_begin(struct live_in_flight *flight);
/* A command that has no end in the rows of the look. -ENOMEM. */
int live_in_flight_open(struct live_in_flight *flight, const struct observed_open *open);
/* A command that has ended. */
void live_in_flight_end(struct live_in_flight *flight, const struct analysis *analysis,
			const struct observed_command *command);
/* The look is complete; its rows began at from_ns. Fills `before` and `known`. -ENOMEM. */
int live_in_flight_close(struct live_in_flight *flight, uint64_t from_ns);
/* Forgets all: the next look shows another time. */
void live_in_flight_clear(struct live_in_flight *flight);
