/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_cpu.c - what threads did, by the stacks in which they were found
 *
 * Runs in:  the readers
 * Gets:     samples in the window   Gives: one row for each thread, stack, source and mode
 * Owns:     nothing; the rows are the analysis's
 * Fails:    -ENOMEM
 */
#include "analyze/sweep.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

bool sweep_tells_time(const struct sweep *sweep, uint32_t source)
{
	return analysis_tells_time(model_text(sweep->analysis->model, source, ""));
}

static int add_row(struct sweep *sweep, const struct event_cpu_sample *row, size_t thread)
{
	struct analysis *analysis = sweep->analysis;
	size_t index = analysis->samples_count;

	if (array_grow(analysis->samples, sweep->samples_capacity, index + 1) ||
	    array_grow(sweep->sample_threads, sweep->sample_threads_capacity, index + 1))
		return -ENOMEM;
	sweep->sample_threads[index] = (uint32_t)thread;
	analysis->samples[index] = (struct analysis_sample){
		.source = model_text(analysis->model, row->source_string, "samples"),
		.mode = row->mode,
		.stack = row->stack,
		.process = sweep->thread_process[thread],
		.tells_time = sweep_tells_time(sweep, row->source_string)};
	analysis->samples_count++;
	return 0;
}

void sweep_close_samples(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;

	for (size_t i = 0; i < analysis->samples_count; i++)
		analysis->samples[i].is_launching =
			sweep->states[sweep->sample_threads[i]].has_launched;
}

int sweep_count_sample(struct sweep *sweep, const struct event_cpu_sample *row)
{
	struct analysis *analysis = sweep->analysis;
	size_t thread = things_index(&sweep->threads, row->thread);
	uint64_t key = (uint64_t)row->source_string << 32 | row->mode;
	uint64_t place = (uint64_t)thread << 32 | row->stack;
	uint32_t index;

	analysis->ledger.samples++;
	if (!is_in_window(analysis, row->time, row->time))
		return 0;
	index = pair_map_find(&sweep->sample_rows, key, place);
	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)analysis->samples_count;
		if (add_row(sweep, row, thread) ||
		    pair_map_put(&sweep->sample_rows, key, place, index))
			return -ENOMEM;
	}
	analysis->samples[index].count++;
	if (__builtin_add_overflow(analysis->samples[index].weight, row->weight,
				   &analysis->samples[index].weight))
		analysis->samples[index].weight = UINT64_MAX;
	return 0;
}
