/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/waits.c - calls that waited for a device, by the stack that made them
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     calls in the window
 * Gives:    one row for each function and stack
 * Owns:     nothing; the rows belong to the analysis
 * Fails:    -ENOMEM
 * Why not in the table of API calls: that table has a dozen functions, but the waits have up to
 *           10^5 stacks
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>

#include "base/array.h"

int sweep_count_wait(struct sweep *sweep, const struct event_api *row)
{
	struct analysis *analysis = sweep->analysis;
	uint32_t index = pair_map_find(&sweep->tables.waits.rows, row->function_string, row->stack);

	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)analysis->program.waits_count;
		if (array_grow(analysis->program.waits, sweep->tables.waits.capacity,
			       index + (size_t)1) ||
		    pair_map_put(&sweep->tables.waits.rows, row->function_string, row->stack,
				 index))
			return -ENOMEM;
		analysis->program.waits_count++;
		analysis->program.waits[index] = (struct analysis_wait){
			.name = trace_reader_string(analysis->model->reader, row->function_string,
						    NULL),
			.stack = row->stack};
	}
	analysis->program.waits[index].count++;
	analysis->program.waits[index].total_ns += row->end - row->begin;
	return 0;
}
