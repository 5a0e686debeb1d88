/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_waits.c - calls that waited for a device, by the stack that made them
 *
 * Runs in:  the readers
 * Gets:     calls in the window   Gives: one row for each function and stack
 * Owns:     nothing; the rows are the analysis's
 * Fails:    -ENOMEM
 * Why apart from the calls: a program has a dozen functions and may have 10^5 stacks
 */
#include "analyze/sweep.h"

#include <errno.h>

#include "base/array.h"

int sweep_count_wait(struct sweep *sweep, const struct event_api *row)
{
	struct analysis *analysis = sweep->analysis;
	uint32_t index = pair_map_find(&sweep->wait_rows, row->function_string, row->stack);

	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)analysis->waits_count;
		if (array_grow(analysis->waits, sweep->waits_capacity, index + (size_t)1) ||
		    pair_map_put(&sweep->wait_rows, row->function_string, row->stack, index))
			return -ENOMEM;
		analysis->waits_count++;
		analysis->waits[index] = (struct analysis_wait){
			.name = trace_reader_string(analysis->model->reader, row->function_string,
						    NULL),
			.stack = row->stack};
	}
	analysis->waits[index].count++;
	analysis->waits[index].total_ns += row->end - row->begin;
	return 0;
}
