/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/runners.c - finds the command of an instruction sample by kernel and time
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     executions in the order of their start; samples after them
 * Gives:    the path of a sample
 * Owns:     the latest executions of each kernel of each process
 * Fails:    -ENOMEM
 * Why by kernel and time: threads of a CPU device run kernels outside any API call, so their stack
 *           does not name the launch. The code gives the kernel, and the sample belongs to one of
 *           its executions at that time. If these executions belong to different paths, samples are
 *           given to them in turns and count as estimated. A sample with a correlation id belongs
 *           to the execution with the same id.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* The latest executions of one kernel by one process. */
enum { MAX_RUNNERS = 64 };
struct runners {
	struct runner {
		uint64_t started, ended, correlation;
		uint32_t path;
	} last[MAX_RUNNERS];
	unsigned int running,
		count;     /* last[0] to last[running - 1] had not ended at the latest sample */
	uint64_t turns;    /* samples that could belong to several executions */
	uint64_t first_ns; /* start of the kernel's first execution */
};

static int make_runners(struct sweep *sweep, uint32_t process, uint32_t name, uint64_t started)
{
	size_t index = sweep->instructions.runners_count;
	struct runners *made;

	if (array_grow(sweep->instructions.runners, sweep->instructions.runners_capacity,
		       index + 1))
		return -ENOMEM;
	made = calloc(1, sizeof(*made));
	if (!made ||
	    pair_map_put(&sweep->instructions.runner_rows, process, name, (uint32_t)index)) {
		free(made);
		return -ENOMEM;
	}
	made->first_ns = started;
	sweep->instructions.runners[sweep->instructions.runners_count++] = made;
	return 0;
}

static unsigned int first_to_end(const struct runners *runners)
{
	unsigned int place = 0;

	for (unsigned int i = 1; i < MAX_RUNNERS; i++)
		if (runners->last[i].ended < runners->last[place].ended)
			place = i;
	return place;
}

/* Adds an execution. If the list is full, it replaces one that has ended, otherwise the one that
 * ends first. */
static void add_runner(struct runners *runners, const struct runner *runner)
{
	if (runners->running == MAX_RUNNERS) {
		runners->last[first_to_end(runners)] = *runner;
		return;
	}
	if (runners->count < MAX_RUNNERS)
		runners->last[runners->count++] = runners->last[runners->running];
	runners->last[runners->running++] = *runner;
}

/* Moves the executions that ended by time_ns behind the running ones. Samples come in the order of
 * time. */
static void retire_ended(struct runners *runners, uint64_t time_ns)
{
	for (unsigned int i = 0; i < runners->running;) {
		struct runner ended = runners->last[i];

		if (ended.ended > time_ns) {
			i++;
			continue;
		}
		runners->last[i] = runners->last[--runners->running];
		runners->last[runners->running] = ended;
	}
}

int sweep_note_runner(struct sweep *sweep, const struct joined *joined, uint32_t path)
{
	const struct event_code *code =
		entity_index_get(&sweep->entities.codes, joined->launch->kernel);
	const struct runner runner = {.started = joined->row->started,
				      .ended = joined->row->ended,
				      .correlation = joined->row->correlation,
				      .path = path};
	uint32_t index;

	if (!code || !code->name_string)
		return 0;
	index = pair_map_find(&sweep->instructions.runner_rows, joined->row->process,
			      code->name_string);
	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)sweep->instructions.runners_count;
		if (make_runners(sweep, joined->row->process, code->name_string, runner.started))
			return -ENOMEM;
	}
	add_runner(sweep->instructions.runners[index], &runner);
	return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

static bool is_candidate(const struct runner *runner, const struct event_instruction_sample *row)
{
	if (row->correlation)
		return runner->correlation == row->correlation;
	return runner->started <= row->begin && row->begin < runner->ended;
}

static struct runners *runners_of(const struct sweep *sweep, uint32_t process, uint32_t code)
{
	const struct event_code *row = entity_index_get(&sweep->entities.codes, code);
	uint32_t index = row && row->name_string ? pair_map_find(&sweep->instructions.runner_rows,
								 process, row->name_string)
						 : PAIR_MAP_NONE;

	return index == PAIR_MAP_NONE ? NULL : sweep->instructions.runners[index];
}

uint64_t sweep_first_run(const struct sweep *sweep, uint32_t process, uint32_t code)
{
	const struct runners *runners = runners_of(sweep, process, code);

	return runners ? runners->first_ns : UINT64_MAX;
}

/* Whether two paths are the same for a report. They may differ only in being inside or outside the
 * window. */
bool sweep_is_same_code(const struct analysis *analysis, uint32_t left, uint32_t right)
{
	const struct analysis_path *a = &analysis->paths[left], *b = &analysis->paths[right];

	return a->stack == b->stack && a->device == b->device &&
	       strcmp(a->function, b->function) == 0;
}

/* The path of a sample; if several executions are possible, one after the other. */
uint32_t sweep_find_runner(struct sweep *sweep, const struct event_instruction_sample *row,
			   bool *ret_is_estimated)
{
	struct runners *runners = runners_of(sweep, row->process, row->code);
	uint32_t paths[MAX_RUNNERS], count = 0, all = 0;

	*ret_is_estimated = false;
	if (runners) {
		retire_ended(runners, row->begin);
		all = row->correlation ? runners->count : runners->running;
	}
	for (unsigned int i = 0; i < all; i++)
		if (is_candidate(&runners->last[i], row))
			paths[count++] = runners->last[i].path;
	for (unsigned int i = 1; i < count; i++)
		*ret_is_estimated |= !sweep_is_same_code(sweep->analysis, paths[i], paths[0]);
	if (!count)
		return ANALYSIS_NO_PATH;
	return paths[count > 1 ? runners->turns++ % count : 0];
}
