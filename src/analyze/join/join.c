/* SPDX-License-Identifier: MIT
 *
 * analyze/join/join.c - the one join of launches with their executions
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     launches and executions in host time
 * Gives:    the launch of an execution, even if the execution came first
 * Owns:     the open launches (without an execution so far); a ring of the latest executions
 *           without a launch; the times of each queue (unexecuted.c)
 * Fails:    -ENOMEM, results of a callback
 * Why 4096 executions are kept: an execution comes before its launch only if a clock's real error
 *           exceeds its error bound, and then only by a few rows.
 */
#include "analyze/join/join.h"

#include <errno.h>
#include <stdlib.h>

#define EARLY_COUNT 4096

int join_init(struct join *join, const struct model *model)
{
	*join = (struct join){0};
	correlate_init(&join->correlate);
	return unexecuted_init(&join->unexecuted, model);
}

void join_fini(struct join *join)
{
	if (!join)
		return;
	correlate_fini(&join->correlate);
	unexecuted_fini(&join->unexecuted);
	pair_map_fini(&join->early_rows);
	free(join->early);
	join->early = NULL;
}

uint32_t join_find(const struct join *join, uint32_t process, uint64_t correlation)
{
	return correlate_find(&join->correlate, process, correlation);
}

int join_open(struct join *join, uint32_t process, const struct event_launch *row,
	      uint32_t *ret_place)
{
	struct open_command *command;
	int error = correlate_launch(&join->correlate, process, row, ret_place);

	if (error)
		return error;
	command = &join->correlate.commands[*ret_place];
	command->queue = (uint32_t)entity_index_find(&join->unexecuted.queues, row->queue);
	command->passes_ns = unexecuted_add_launch(&join->unexecuted, command->queue, row->enter);
	return 0;
}

void join_add_executed(struct join *join, const struct event_execution *row, uint32_t place)
{
	const struct open_command *launch = &join->correlate.commands[place];

	unexecuted_add_execution(&join->unexecuted, row, launch->queue, launch->passes_ns);
}

bool join_is_passed(const struct join *join, uint32_t place)
{
	const struct open_command *launch = &join->correlate.commands[place];

	return launch->state == OPEN_LAUNCHED &&
	       unexecuted_is_passed(&join->unexecuted, launch->queue, launch->enter, launch->exit);
}

/* ---- executions that come first -------------------------------------------------------------- */

static bool is_kept(const struct join *join, size_t index)
{
	const struct event_execution *row = &join->early[index];

	return pair_map_find(&join->early_rows, row->process, row->correlation) == index;
}

/* Passes a kept execution to on_orphan. It was kept for 4096 rows without its launch, or another
 * execution has the same id. */
static int give_orphan(struct join *join, size_t index)
{
	const struct event_execution *row = &join->early[index];

	pair_map_remove(&join->early_rows, row->process, row->correlation);
	return join->on_orphan ? join->on_orphan(join->context, row) : 0;
}

int join_keep_early(struct join *join, const struct event_execution *row)
{
	const size_t index = join->early_next++ % EARLY_COUNT;
	uint32_t other;
	int error = 0;

	if (!join->early)
		join->early = calloc(EARLY_COUNT, sizeof(*join->early));
	if (!join->early)
		return -ENOMEM;
	if (is_kept(join, index))
		error = give_orphan(join, index);
	other = pair_map_find(&join->early_rows, row->process, row->correlation);
	if (!error && other != PAIR_MAP_NONE)
		error = give_orphan(join, other);
	join->early[index] = *row;
	return error ? error
		     : pair_map_put(&join->early_rows, row->process, row->correlation,
				    (uint32_t)index);
}

const struct event_execution *join_take_early(struct join *join, uint32_t process,
					      uint64_t correlation)
{
	uint32_t index = PAIR_MAP_NONE;

	if (join->early_rows.count)
		index = pair_map_remove(&join->early_rows, process, correlation);
	return index == PAIR_MAP_NONE ? NULL : &join->early[index];
}

int join_give_orphans(struct join *join)
{
	int error = 0;

	for (size_t i = 0; i < EARLY_COUNT && join->early && !error; i++) {
		const size_t index = (join->early_next + i) % EARLY_COUNT;

		if (is_kept(join, index))
			error = give_orphan(join, index);
	}
	return error;
}
