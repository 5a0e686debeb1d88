/* SPDX-License-Identifier: MIT
 *
 * export/common/processors.c - switches as steps of processors that fit together
 *
 * Runs in:  our own process
 * Gets:     switches, ordered by time
 * Gives:    steps in which each thread that leaves a processor came there before
 * Owns:     the thread that runs on each processor, the last processor of each thread
 * Fails:    -ENOMEM
 * Why:      trace_processor counts an error for each thread that leaves a processor to which it did
 *           not come, and Trace Compass lets the thread that came before run on
 */
#include "export/common/processors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "base/array.h"
#include "event/event.h"

void processors_fini(struct processors *processors)
{
	if (!processors)
		return;
	free(processors->running);
	hash_map_fini(&processors->last);
}

static int grow(struct processors *processors, uint32_t cpu)
{
	size_t before = processors->count;

	if (cpu < before)
		return 0;
	if (array_grow(processors->running, processors->capacity, (size_t)cpu + 1))
		return -ENOMEM;
	processors->count = (size_t)cpu + 1;
	memset(&processors->running[before], 0,
	       (processors->count - before) * sizeof(*processors->running));
	return 0;
}

enum processors_leave processors_leave_of(const struct event_switch *row,
					  const struct processors_step *step)
{
	if (!step->previous || (!step->is_unseen && row->reason == SWITCH_PREEMPTED))
		return PROCESSORS_RUNNABLE;
	return !step->is_unseen && row->reason == SWITCH_EXITED ? PROCESSORS_EXITED
								: PROCESSORS_BLOCKED;
}

bool processors_find(const struct processors *processors, uint32_t thread, uint32_t *ret_cpu)
{
	const uint64_t cpu = hash_map_get(&processors->last, thread, UINT64_MAX);

	if (!thread || cpu >= processors->count || processors->running[cpu] != (uint64_t)thread + 1)
		return false;
	*ret_cpu = (uint32_t)cpu;
	return true;
}

const char *processors_thread_name(const struct model *model, uint32_t thread)
{
	const struct event_thread *row = model_entity(model, EVENT_THREAD, thread);
	const struct event_process *process =
		model_entity(model, EVENT_PROCESS, row ? row->process : 0);
	const char *name = row ? model_text(model, row->name_string, "") : PROCESSORS_NO_THREAD;

	return *name || !process ? name : model_text(model, process->name_string, "");
}

/* A thread whose leave is not in the trace leaves the processor where it seems to run, when it
 * comes to another one. */
static int leave_other(struct processors *processors, const struct event_switch *row,
		       uint32_t thread,
		       int (*on_step)(void *context, const struct event_switch *row,
				      const struct processors_step *step),
		       void *context)
{
	struct event_switch other = *row;

	if (!processors_find(processors, thread, &other.cpu) || other.cpu == row->cpu)
		return 0;
	processors->running[other.cpu] = 1; /* no thread */
	return on_step(context, &other, &(const struct processors_step){thread, 0, true});
}

int processors_switch(struct processors *processors, const struct event_switch *row,
		      uint32_t previous, uint32_t next,
		      int (*on_step)(void *context, const struct event_switch *row,
				     const struct processors_step *step),
		      void *context)
{
	uint64_t *place;
	uint32_t running;
	int error = grow(processors, row->cpu);

	if (!error)
		error = leave_other(processors, row, previous, on_step, context);
	if (!error)
		error = leave_other(processors, row, next, on_step, context);
	if (!error && next)
		error = hash_map_put(&processors->last, next, row->cpu);
	if (error)
		return error;
	place = &processors->running[row->cpu];
	running = *place ? (uint32_t)(*place - 1) : previous;
	*place = (uint64_t)next + 1;
	if (previous && previous != running)
		error = on_step(context, row,
				&(const struct processors_step){running, previous, true});
	else
		previous = running;
	return error ? error
		     : on_step(context, row,
			       &(const struct processors_step){previous, next, false});
}
