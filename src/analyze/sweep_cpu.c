/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_cpu.c - what threads did, by the stacks in which they were found
 *
 * Runs in:  the readers
 * Gets:     samples in the window   Gives: one row for each stack, source and mode
 * Owns:     nothing; the rows are the analysis's
 * Fails:    -ENOMEM
 */
#include "analyze/sweep.h"

#include <errno.h>

#include "base/array.h"

int sweep_count_sample(struct sweep *sweep, const struct event_cpu_sample *row)
{
	struct analysis *analysis = sweep->analysis;
	uint64_t key = (uint64_t)row->source_string << 32 | row->mode;
	uint32_t index;

	analysis->ledger.samples++;
	if (!is_in_window(analysis, row->time, row->time))
		return 0;
	index = pair_map_find(&sweep->sample_rows, key, row->stack);
	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)analysis->samples_count;
		if (array_grow(analysis->samples, sweep->samples_capacity, index + (size_t)1) ||
		    pair_map_put(&sweep->sample_rows, key, row->stack, index))
			return -ENOMEM;
		analysis->samples_count++;
		analysis->samples[index] = (struct analysis_sample){
			.source = model_text(analysis->model, row->source_string, "samples"),
			.mode = row->mode,
			.stack = row->stack};
	}
	analysis->samples[index].count++;
	if (__builtin_add_overflow(analysis->samples[index].weight, row->weight,
				   &analysis->samples[index].weight))
		analysis->samples[index].weight = UINT64_MAX;
	return 0;
}
