/* SPDX-License-Identifier: MIT
 *
 * analyze/join/correlate.c - the open launches (whose command has not ended) by correlation id, and
 * the dependencies between them
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     launches, wait-list entries and executions in host time
 * Gives:    the launch of an execution; the latest end among the commands that it waited for
 * Owns:     the open commands, their wait lists, and a heap of the ends of commands with a handle
 * Fails:    -ENOMEM
 * Why commands are removed after their end: an ended command cannot delay a command that is
 *           launched later. A command for which an open command waits stays until the waiting one
 *           is done. So 10^7 commands with an event each need a table only for the few that are
 *           open.
 */
#include "analyze/join/correlate.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/order/heap.h"

void correlate_init(struct correlate *correlate)
{
	*correlate = (struct correlate){.free_wait = CORRELATE_NONE};
}

void correlate_fini(struct correlate *correlate)
{
	if (!correlate)
		return;
	free(correlate->commands);
	free(correlate->free_places);
	free(correlate->waits);
	free(correlate->ends);
	pair_map_fini(&correlate->open);
	pair_map_fini(&correlate->handles);
	correlate_init(correlate);
}

static int take_place(struct correlate *correlate, uint32_t *ret_place)
{
	if (correlate->free_count) {
		*ret_place = correlate->free_places[--correlate->free_count];
		return 0;
	}
	if (correlate->count >= CORRELATE_NONE - 1 ||
	    array_grow(correlate->commands, correlate->capacity, correlate->count + 1) ||
	    array_grow(correlate->free_places, correlate->free_capacity, correlate->count + 1))
		return -ENOMEM;
	*ret_place = (uint32_t)correlate->count++;
	return 0;
}

/* Cannot fail: take_place reserved room in free_places. */
static void free_if_unused(struct correlate *correlate, uint32_t place)
{
	struct open_command *command = &correlate->commands[place];

	if (command->state != OPEN_DONE || command->references || command->has_handle)
		return;
	command->state = OPEN_FREE;
	correlate->free_places[correlate->free_count++] = place;
}

static const struct open_command new_command = {.over_by = UINT64_MAX,
						.waits = CORRELATE_NONE,
						.launches = CORRELATE_NONE,
						.previous = CORRELATE_NONE,
						.next = CORRELATE_NONE};

static int open_place(struct correlate *correlate, uint32_t process, uint64_t correlation,
		      uint32_t *ret_place)
{
	struct open_command command = new_command;
	uint32_t place = CORRELATE_NONE;
	int error = take_place(correlate, &place);

	if (error)
		return error;
	command.process = process;
	command.correlation = correlation;
	command.state = OPEN_EXPECTED;
	correlate->commands[place] = command;
	error = pair_map_put(&correlate->open, process, correlation, place);
	if (error) {
		correlate->commands[place].state = OPEN_DONE;
		free_if_unused(correlate, place);
		return error;
	}
	*ret_place = place;
	return 0;
}

static void forget_handle(struct correlate *correlate, uint32_t place)
{
	struct open_command *command = &correlate->commands[place];

	if (!command->has_handle)
		return;
	command->has_handle = false;
	if (pair_map_find(&correlate->handles, command->process, command->handle) == place)
		pair_map_remove(&correlate->handles, command->process, command->handle);
	free_if_unused(correlate, place);
}

static int remember_handle(struct correlate *correlate, uint32_t place)
{
	struct open_command *command = &correlate->commands[place];
	uint32_t before = pair_map_find(&correlate->handles, command->process, command->handle);
	int error = pair_map_put(&correlate->handles, command->process, command->handle, place);

	if (error)
		return error;
	command->has_handle = true;
	if (before != CORRELATE_NONE && before != place) {
		correlate->commands[before].has_handle = false;
		free_if_unused(correlate, before);
	}
	return 0;
}

static void drop_waits(struct correlate *correlate, struct open_command *command)
{
	uint32_t next;

	for (uint32_t i = command->waits; i != CORRELATE_NONE; i = next) {
		struct correlate_wait *wait = &correlate->waits[i];
		struct open_command *on = &correlate->commands[wait->on];

		next = wait->next;
		if (!--on->references && on->is_event)
			forget_handle(correlate, wait->on);
		free_if_unused(correlate, wait->on);
		wait->next = correlate->free_wait;
		correlate->free_wait = i;
	}
	command->waits = CORRELATE_NONE;
}

/* Removes the command from the table of open commands. */
static void close_place(struct correlate *correlate, uint32_t place, uint64_t ended)
{
	struct open_command *command = &correlate->commands[place];

	pair_map_remove(&correlate->open, command->process, command->correlation);
	drop_waits(correlate, command);
	command->state = OPEN_DONE;
	command->ended = ended;
}

static int place_for_launch(struct correlate *correlate, uint32_t process, uint64_t correlation,
			    uint32_t *ret_place)
{
	uint32_t place = pair_map_find(&correlate->open, process, correlation);

	if (place != CORRELATE_NONE && correlate->commands[place].state == OPEN_LAUNCHED) {
		correlate_done(correlate, place, 0);
		place = CORRELATE_NONE;
	}
	if (place == CORRELATE_NONE)
		return open_place(correlate, process, correlation, ret_place);
	*ret_place = place;
	return 0;
}

int correlate_launch(struct correlate *correlate, uint32_t process, const struct event_launch *row,
		     uint32_t *ret_place)
{
	struct open_command *command;
	uint32_t place = CORRELATE_NONE;
	int error = place_for_launch(correlate, process, row->correlation, &place);

	if (error)
		return error;
	command = &correlate->commands[place];
	command->state = OPEN_LAUNCHED;
	command->enter = row->enter;
	command->exit = row->exit;
	command->bytes = row->bytes;
	command->handle = row->handle;
	command->kernel = row->kernel;
	command->type = row->command;
	command->flags = row->flags;
	if (row->handle)
		error = remember_handle(correlate, place);
	if (!error)
		*ret_place = place;
	return error;
}

static int take_wait(struct correlate *correlate, uint32_t *ret_wait)
{
	if (correlate->free_wait != CORRELATE_NONE) {
		*ret_wait = correlate->free_wait;
		correlate->free_wait = correlate->waits[*ret_wait].next;
		return 0;
	}
	if (correlate->waits_count >= CORRELATE_NONE - 1 ||
	    array_grow(correlate->waits, correlate->waits_capacity, correlate->waits_count + 1))
		return -ENOMEM;
	*ret_wait = (uint32_t)correlate->waits_count++;
	return 0;
}

/* A handle without a launch, or whose command had ended, may be an event that the program sets. It
 * is kept until its last command is done. */
static int open_event(struct correlate *correlate, const struct event_dependency *row,
		      uint32_t *ret_place)
{
	struct open_command event = new_command;
	uint32_t place = CORRELATE_NONE;
	int error = take_place(correlate, &place);

	if (error)
		return error;
	event.process = row->process;
	event.handle = row->handle;
	event.state = OPEN_DONE;
	event.is_event = true;
	correlate->commands[place] = event;
	error = remember_handle(correlate, place);
	if (error)
		free_if_unused(correlate, place);
	*ret_place = place;
	return error;
}

static bool has_ended(const struct correlate *correlate, uint32_t place, uint64_t time_ns)
{
	const struct open_command *command = &correlate->commands[place];

	return command->state == OPEN_DONE && !command->is_event && command->ended <= time_ns;
}

int correlate_dependency(struct correlate *correlate, const struct event_dependency *row)
{
	uint32_t on = pair_map_find(&correlate->handles, row->process, row->handle);
	uint32_t place = pair_map_find(&correlate->open, row->process, row->correlation);
	uint32_t wait = CORRELATE_NONE;
	int error = 0;

	if ((on != CORRELATE_NONE && on == place) || !row->correlation)
		return 0;
	if (on == CORRELATE_NONE || has_ended(correlate, on, row->time))
		error = open_event(correlate, row, &on);
	if (!error && place == CORRELATE_NONE)
		error = open_place(correlate, row->process, row->correlation, &place);
	if (!error)
		error = take_wait(correlate, &wait);
	if (error)
		return error;
	correlate->waits[wait] =
		(struct correlate_wait){.on = on, .next = correlate->commands[place].waits};
	correlate->commands[place].waits = wait;
	correlate->commands[on].references++;
	return 0;
}

uint32_t correlate_find(const struct correlate *correlate, uint32_t process, uint64_t correlation)
{
	uint32_t place = pair_map_find(&correlate->open, process, correlation);

	if (place == CORRELATE_NONE || correlate->commands[place].state != OPEN_LAUNCHED)
		return CORRELATE_NONE;
	return place;
}

void correlate_signal(struct correlate *correlate, uint32_t process, uint32_t thread,
		      const struct event_api *row)
{
	const uint32_t place = pair_map_find(&correlate->handles, process, row->argument);
	struct open_command *event;

	if (place == CORRELATE_NONE || !correlate->commands[place].is_event || row->result)
		return;
	event = &correlate->commands[place];
	event->ended = row->begin;
	event->thread = thread;
	event->stack = row->stack;
	forget_handle(correlate, place);
}

uint32_t correlate_dependency_last(const struct correlate *correlate, uint32_t place,
				   uint64_t after, uint64_t until)
{
	uint32_t last = CORRELATE_NONE;
	uint64_t latest = 0;

	for (uint32_t i = correlate->commands[place].waits; i != CORRELATE_NONE;
	     i = correlate->waits[i].next) {
		const struct open_command *on = &correlate->commands[correlate->waits[i].on];

		if (on->state == OPEN_DONE && on->ended > after && on->ended <= until &&
		    on->ended > latest) {
			latest = on->ended;
			last = correlate->waits[i].on;
		}
	}
	return last;
}

static int push_end(struct correlate *correlate, uint32_t place, uint64_t ended)
{
	if (array_append(correlate->ends, correlate->ends_capacity, correlate->ends_count,
			 (struct correlate_end){ended, place}))
		return -ENOMEM;
	HEAP_LIFT(correlate->ends, correlate->ends_count, a->ended < b->ended);
	return 0;
}

int correlate_done(struct correlate *correlate, uint32_t place, uint64_t ended)
{
	close_place(correlate, place, ended);
	if (correlate->commands[place].has_handle && ended) {
		/* The heap's entry holds one more reference. */
		int error = push_end(correlate, place, ended);

		if (error)
			return error;
		correlate->commands[place].references++;
		return 0;
	}
	if (correlate->commands[place].has_handle)
		forget_handle(correlate, place);
	else
		free_if_unused(correlate, place);
	return 0;
}

void correlate_expire(struct correlate *correlate, uint64_t now)
{
	while (correlate->ends_count && correlate->ends[0].ended <= now) {
		uint32_t place =
			HEAP_POP(correlate->ends, correlate->ends_count, a->ended < b->ended).place;

		correlate->commands[place].references--;
		if (correlate->commands[place].has_handle)
			forget_handle(correlate, place);
		else
			free_if_unused(correlate, place);
	}
}
