/* SPDX-License-Identifier: MIT
 *
 * live/in_flight.c - commands that were launched before the rows that are read, and still run
 *
 * Runs in:  our own process, in duet top
 * Gets:     commands that analyses of successive intervals found open or ended
 * Gives:    the open ones whose launch is older than the rows of the last interval
 * Owns:     the lists
 * Fails:    -ENOMEM; at most MAX_COMMANDS are remembered, which is enough to know that a device is
 *           in use
 * Why not read the rows from the launch on: for a kernel that runs for 10 s, each picture would
 *           cost ten times as much
 */
#include "live/in_flight.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/observer.h"
#include "base/array.h"

enum { MAX_COMMANDS = 256 };

static int add_command(struct live_open_commands *list, const struct live_open_command *command)
{
	return list->count == MAX_COMMANDS
		       ? 0
		       : array_append(list->all, list->capacity, list->count, *command);
}

static void swap(struct live_open_commands *left, struct live_open_commands *right)
{
	const struct live_open_commands list = *left;

	*left = *right;
	*right = list;
}

void live_in_flight_fini(struct live_in_flight *flight)
{
	free(flight->before.all);
	free(flight->known.all);
	free(flight->found.all);
	*flight = (struct live_in_flight){0};
}

void live_in_flight_clear(struct live_in_flight *flight)
{
	flight->before.count = flight->known.count = flight->found.count = 0;
}

void live_in_flight_begin(struct live_in_flight *flight)
{
	flight->found.count = 0;
	for (size_t i = 0; i < flight->known.count; i++)
		flight->known.all[i].is_over = false;
}

int live_in_flight_open(struct live_in_flight *flight, const struct observed_open *open)
{
	return add_command(&flight->found,
			   &(struct live_open_command){.enter = open->enter,
						       .correlation = open->correlation,
						       .process = open->process,
						       .device = open->device,
						       .queue = open->queue});
}

/* A queue that runs its commands in order has ended all that were launched before this one. In
 * another queue, a command without an end that was launched this much earlier is one whose row was
 * lost, rather than one that still runs. */
#define LOST_NS UINT64_C(1000000000)

static bool ends(const struct live_open_command *open, const struct analysis *analysis,
		 const struct observed_command *command)
{
	const struct event_queue *queue = analysis->queues[command->queue].queue;

	if (open->process == command->row->process &&
	    open->correlation == command->row->correlation)
		return true;
	if (!queue || queue->id != open->queue || command->enter <= open->enter)
		return false;
	return !(queue->flags & QUEUE_OUT_OF_ORDER) || command->enter - open->enter > LOST_NS;
}

void live_in_flight_end(struct live_in_flight *flight, const struct analysis *analysis,
			const struct observed_command *command)
{
	for (size_t i = 0; i < flight->known.count; i++)
		flight->known.all[i].is_over |= ends(&flight->known.all[i], analysis, command);
}

/* A command whose launch is among the rows is known to the analysis, which found it open or ended.
 */
int live_in_flight_close(struct live_in_flight *flight, uint64_t from_ns)
{
	int error = 0;

	flight->before.count = 0;
	for (size_t i = 0; i < flight->known.count && !error; i++)
		if (!flight->known.all[i].is_over && flight->known.all[i].enter < from_ns)
			error = add_command(&flight->before, &flight->known.all[i]);
	swap(&flight->known, &flight->found);
	for (size_t i = 0; i < flight->before.count && !error; i++)
		error = add_command(&flight->known, &flight->before.all[i]);
	return error;
}
