/* SPDX-License-Identifier: MIT
 *
 * export/common/processors.c - switches as steps of processors that fit together
 *
 * Runs in:  our own process
 * Gets:     switches, ordered by time
 * Gives:    steps in which each thread that leaves a processor came there before
 * Owns:     the thread that runs on each processor
 * Fails:    -ENOMEM
 * Why:      trace_processor counts an error for each thread that leaves a processor to which it did
 *           not come, and Trace Compass lets the thread that came before run on
 */
#include "export/common/processors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void processors_fini(struct processors *processors)
{
	if (processors)
		free(processors->running);
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

int processors_switch(struct processors *processors, uint32_t cpu, uint32_t previous, uint32_t next,
		      struct processors_step ret_steps[2])
{
	uint32_t running;
	int count = 0, error = grow(processors, cpu);

	if (error)
		return error;
	running = processors->running[cpu] ? (uint32_t)(processors->running[cpu] - 1) : previous;
	if (previous && previous != running)
		ret_steps[count++] = (struct processors_step){running, previous, true};
	else
		previous = running;
	ret_steps[count++] = (struct processors_step){previous, next, false};
	processors->running[cpu] = (uint64_t)next + 1;
	return count;
}
