/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/occupancy_fill.c - how well a kernel's executions fill their device, and whether
 * they last longer than their launch
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     timed kernels in the window
 * Gives:    sums in the kernel's row
 * Owns:     nothing
 * Fails:    never; sums leave out what a launch or a runtime did not report
 * Why rounds: a unit that runs one work-group at a time takes ceil(groups / units) rounds, and the
 *           units without a group in the last round are idle. Units that run several groups at a
 *           time share their throughput among them, so the share of idle units holds for them too.
 */
#include "analyze/sweep/sweep.h"

#include <string.h>

/* Below a fifth of idle units the device's own scheduling may fill them. */
#define TAIL_LOST(lost, slots) ((lost)*5 >= (slots))

static void divide_sizes(const struct event_launch *row, struct grid *grid)
{
	unsigned __int128 groups = 1, items = 1;

	grid->groups = grid->items = 0;
	for (uint32_t i = 0; i < row->dimensions; i++) {
		uint64_t local = row->local_size[i], global = row->global_size[i];

		if (!local || !global || groups >> 64 || items >> 64)
			return;
		groups *= global / local + (global % local != 0);
		items *= local;
	}
	if (groups >> 48 ||
	    items >> 48) /* more than any device has; keeps the products below in range */
		return;
	grid->groups = (uint64_t)groups;
	grid->items = (uint64_t)items;
}

/* Reuses the result of the previous launch, which mostly has the same sizes: divisions are slow. */
void sweep_measure_groups(struct sweep *sweep, const struct event_launch *row,
			  struct open_command *command)
{
	struct grid *grid = &sweep->grid;

	command->groups = command->items = 0;
	if (row->command != COMMAND_KERNEL || !row->dimensions || row->dimensions > 3 ||
	    !row->local_size[0])
		return;
	if (grid->dimensions != row->dimensions ||
	    memcmp(grid->global_size, row->global_size, sizeof(grid->global_size)) != 0 ||
	    memcmp(grid->local_size, row->local_size, sizeof(grid->local_size)) != 0) {
		grid->dimensions = row->dimensions;
		memcpy(grid->global_size, row->global_size, sizeof(grid->global_size));
		memcpy(grid->local_size, row->local_size, sizeof(grid->local_size));
		divide_sizes(row, grid);
	}
	command->groups = grid->groups;
	command->items = grid->items;
}

static void add(struct analysis_part *part, uint64_t ns)
{
	part->count++;
	part->total_ns += ns;
}

/* ns * idle / all, rounded down. */
static uint64_t part_of(uint64_t ns, uint64_t idle, uint64_t all)
{
	if (!(ns >> 32 | idle >> 32))
		return ns * idle / all;
	return (uint64_t)((unsigned __int128)ns * idle / all);
}

static void count_rounds(struct analysis_fill *fill, uint64_t groups, uint64_t ns)
{
	uint64_t rounds = groups / fill->units + (groups % fill->units != 0);
	uint64_t slots = rounds * fill->units, idle = slots - groups;

	if (rounds == 1 && idle) {
		add(&fill->few, ns);
		fill->few_lost_ns += part_of(ns, idle, slots);
	} else if (idle && TAIL_LOST(idle, slots)) {
		add(&fill->tail, ns);
		fill->tail_lost_ns += part_of(ns, idle, slots);
	}
}

/* Counts the lanes that idle because a group's size is not a multiple of group_multiple. */
static void count_lanes(struct analysis_fill *fill, uint64_t items, uint64_t ns)
{
	uint64_t multiple = fill->group_multiple, over = items % multiple;

	if (!over)
		return;
	add(&fill->odd, ns);
	fill->odd_lost_ns += part_of(ns, multiple - over, items - over + multiple);
}

/* The runtime reports a kernel's limits on the size of work-groups and its local memory for the
 * device on which it was launched first. They are not applied to other devices. */
static void learn_needs(struct sweep *sweep, struct analysis_fill *fill,
			const struct joined *joined)
{
	const struct event_device *device = sweep->analysis->devices[joined->device].device;
	const struct event_code *code =
		entity_index_get(&sweep->entities.codes, joined->launch->kernel);

	if (device) {
		fill->units = device->compute_units;
		fill->unit_local_bytes = device->local_bytes;
	}
	if (code && code->registers) {
		fill->registers = code->registers;
		fill->taken_bytes = code->local_bytes;
	}
	if (!device || !code || !code->group_most || code->device != device->id)
		return;
	fill->group_most = code->group_most;
	fill->group_multiple = code->group_multiple;
	if (code->local_bytes != CODE_UNKNOWN)
		fill->local_bytes = code->local_bytes;
}

void sweep_count_fill(struct sweep *sweep, struct analysis_kernel *kernel,
		      const struct joined *joined)
{
	const struct open_command *launch = joined->launch;
	struct analysis_fill *fill = &kernel->fill;
	uint64_t ns = joined->duration_ns, call_ns = launch->exit - launch->enter;

	/* the call of a graph is not the cost of each of its kernels */
	if (ns < call_ns && !(launch->flags & (LAUNCH_BLOCKING | LAUNCH_FURTHER))) {
		add(&kernel->tiny, ns);
		kernel->tiny_calls_ns += call_ns;
	}
	if (!launch->groups)
		return;
	learn_needs(sweep, fill, joined);
	add(&fill->known, ns);
	if (ns >= fill->longest_ns) {
		fill->longest_ns = ns;
		fill->groups = launch->groups;
		fill->items = launch->items;
	}
	if (fill->units)
		count_rounds(fill, launch->groups, ns);
	if (fill->group_multiple)
		count_lanes(fill, launch->items, ns);
	if (fill->unit_local_bytes && fill->local_bytes > fill->unit_local_bytes / 2)
		add(&fill->local, ns);
}

static void merge(struct analysis_part *part, const struct analysis_part *other)
{
	part->count += other->count;
	part->total_ns += other->total_ns;
}

void sweep_merge_fill(struct analysis_kernel *kernel, const struct analysis_kernel *other)
{
	struct analysis_fill *fill = &kernel->fill;
	const struct analysis_fill *more = &other->fill;

	merge(&kernel->tiny, &other->tiny);
	kernel->tiny_calls_ns += other->tiny_calls_ns;
	if (more->longest_ns > fill->longest_ns) {
		fill->longest_ns = more->longest_ns;
		fill->groups = more->groups;
		fill->items = more->items;
		fill->group_most = more->group_most;
		fill->group_multiple = more->group_multiple;
		fill->local_bytes = more->local_bytes;
		fill->registers = more->registers;
		fill->taken_bytes = more->taken_bytes;
		fill->units = more->units;
		fill->unit_local_bytes = more->unit_local_bytes;
	}
	merge(&fill->known, &more->known);
	merge(&fill->few, &more->few);
	merge(&fill->odd, &more->odd);
	merge(&fill->tail, &more->tail);
	merge(&fill->local, &more->local);
	fill->few_lost_ns += more->few_lost_ns;
	fill->odd_lost_ns += more->odd_lost_ns;
	fill->tail_lost_ns += more->tail_lost_ns;
}
