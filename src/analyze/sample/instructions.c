/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/instructions.c - passes each instruction sample to the rule that can attribute it
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     instruction samples, each after the executions that it may belong to
 * Gives:    samples with only an address to sample/addresses.c, samples with code and a window to
 *           sample/windows.c, all others to sample/runners.c
 * Owns:     nothing
 * Fails:    -ENOMEM
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>

int sweep_take_instruction(struct sweep *sweep, const struct event_instruction_sample *row)
{
	bool is_estimated;
	uint32_t path;

	note_time(sweep, row->begin);
	if (sweep_add_sampled(sweep, row))
		return -ENOMEM;
	if (row->device)
		sweep->analysis->devices[entity_index_find(&sweep->entities.devices, row->device)]
			.is_counted = true;
	if (sweep_is_address(row))
		return sweep_take_address(sweep, row);
	if (sweep_is_window(row))
		return sweep_take_window(sweep, row);
	path = sweep_find_runner(sweep, row, &is_estimated);
	return sweep_give_instruction(sweep, row, path, is_estimated);
}
