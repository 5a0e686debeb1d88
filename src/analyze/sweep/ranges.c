/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/ranges.c - the program's own ranges: their lengths, and the launches and samples
 * within
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     ranges in the order of their begin, launches, executions and samples
 * Gives:    a row for each name within each parent range
 * Owns:     each thread's and process's ranges that are open at the time that the sweep has reached
 * Fails:    -ENOMEM
 * Why a tree: a launch counts in its range and in all ranges around it. The sweep adds it to the
 *           innermost range only, and adds inner sums to the outer ranges at the end. So the cost
 *           of a launch does not depend on the depth. Ranges that the program starts and stops by a
 *           handle do not nest: a launch counts in each one that is open in its process.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"

enum { MAX_RANK = 0xffffff }; /* in a row's key */

/* An open range of a thread (pushed) or of its process (started). */
struct open_range {
	uint64_t end;
	uint32_t row; /* index of the analysis's ranges */
};

struct open_ranges {
	struct open_range *ranges; /* owned */
	size_t count, capacity;
};

struct range_set {
	uint32_t row, rest;
};

static void expire(struct open_ranges *open, uint64_t now_ns)
{
	size_t left = 0;

	for (size_t i = 0; i < open->count; i++)
		if (open->ranges[i].end > now_ns)
			open->ranges[left++] = open->ranges[i];
	open->count = left;
}

/* Ended ranges are on top of the stack, unless ranges of several domains interleave. */
static struct open_range *innermost(struct open_ranges *open, uint64_t now_ns)
{
	while (open->count && open->ranges[open->count - 1].end <= now_ns)
		open->count--;
	for (size_t i = open->count; i > 0; i--)
		if (open->ranges[i - 1].end > now_ns)
			return &open->ranges[i - 1];
	return NULL;
}

/* The open range that contains a range from `begin` to `end`. */
static struct open_range *around(struct open_ranges *open, uint64_t begin, uint64_t end)
{
	innermost(open, begin);
	for (size_t i = open->count; i > 0; i--)
		if (open->ranges[i - 1].end >= end && open->ranges[i - 1].end > begin)
			return &open->ranges[i - 1];
	return NULL;
}

static int add_open(struct open_ranges *open, uint64_t end, uint32_t row)
{
	return array_append(open->ranges, open->capacity, open->count,
			    (struct open_range){.end = end, .row = row});
}

/* Finds or adds the row for a name, a rank, a type and a parent. */
static int find_row(struct sweep *sweep, const struct event_range *row, uint32_t parent,
		    uint32_t *ret_index)
{
	const struct model *model = sweep->analysis->model;
	struct analysis_program *program = &sweep->analysis->program;
	const struct event_process *process = model_entity(model, EVENT_PROCESS, row->process);
	const uint32_t rank = process ? process->rank & MAX_RANK : 0;

	*ret_index = sweep_rows_add(
		&sweep->ranges.rows, (uint64_t)row->domain_string << 32 | row->name_string,
		(uint64_t)parent << 32 | rank << 8 | (row->type & 0xff), program->ranges,
		program->ranges_count,
		(struct analysis_range){.domain = model_text(model, row->domain_string, ""),
					.name = model_range_name(model, row),
					.type = row->type,
					.rank = rank,
					.parent = parent,
					.min_ns = UINT64_MAX});
	return *ret_index == PAIR_MAP_NONE ? -ENOMEM : 0;
}

/* Adds a range to its row. -ENOMEM. */
static int count_range(struct sweep *sweep, const struct event_range *row, uint32_t index)
{
	struct analysis_range *range = &sweep->analysis->program.ranges[index];
	uint64_t length = row->end - row->begin;

	if (!analysis_shows(sweep->analysis, row->begin, row->end))
		return 0;
	range->count++;
	range->open += (row->flags & RANGE_OPEN) != 0;
	range->total_ns = add_saturated(range->total_ns, length);
	range->self_ns = add_saturated(range->self_ns, length);
	range->min_ns = smaller(range->min_ns, length);
	range->max_ns = length > range->max_ns ? length : range->max_ns;
	/* smaller(), because the window may exclude the parent. */
	if (row->type == RANGE_PUSH && range->parent != ANALYSIS_NO_RANGE) {
		struct analysis_range *parent = &sweep->analysis->program.ranges[range->parent];

		parent->self_ns -= smaller(parent->self_ns, length);
	}
	if (row->type == RANGE_MARK)
		return 0;
	return sweep_range_busy(sweep, row, index) || sweep_range_metrics(sweep, row, index)
		       ? -ENOMEM
		       : 0;
}

int sweep_take_range(struct sweep *sweep, const struct event_range *row)
{
	size_t thread = entity_index_find(&sweep->entities.threads, row->thread);
	size_t process = entity_index_find(&sweep->entities.processes, row->process);
	struct open_ranges *open = &sweep->ranges.of_threads[thread];
	const struct open_range *parent =
		row->type == RANGE_START ? NULL : around(open, row->begin, row->end);
	uint32_t index;

	note_time(sweep, row->end);
	if (row->flags & RANGE_UNBEGUN) {
		sweep->analysis->program.ranges_unbegun++;
		return 0;
	}
	if (find_row(sweep, row, parent ? parent->row : ANALYSIS_NO_RANGE, &index) ||
	    count_range(sweep, row, index))
		return -ENOMEM;
	if (row->type == RANGE_MARK)
		return 0;
	if (row->type == RANGE_PUSH)
		return add_open(open, row->end, index);
	expire(&sweep->ranges.of_processes[process], row->begin);
	return add_open(&sweep->ranges.of_processes[process], row->end, index);
}

/* ---- launches and samples within
 * -------------------------------------------------------------------------- */

static int compare_rows(const void *left, const void *right)
{
	const struct open_range *a = left, *b = right;

	return (a->row > b->row) - (a->row < b->row);
}

/* A set of rows is a linked list with a number: a row and the number of the set without it. 0 is
 * the empty set. */
static int add_to_set(struct sweep *sweep, uint32_t row, uint32_t rest, uint32_t *ret_set)
{
	struct sweep_ranges *ranges = &sweep->ranges;
	uint32_t index =
		pair_map_add(&ranges->set_rows, row, rest, ranges->sets, ranges->sets_capacity,
			     ranges->sets_count, (struct range_set){row, rest});

	*ret_set = index + 1;
	return index == PAIR_MAP_NONE ? -ENOMEM : 0;
}

/* The set of the rows of all open ranges, each row once. */
static int find_set(struct sweep *sweep, struct open_ranges *open, uint64_t now_ns,
		    uint32_t *ret_set)
{
	uint32_t set = 0;
	int error = 0;

	expire(open, now_ns);
	if (open->count > 1)
		qsort(open->ranges, open->count, sizeof(*open->ranges), compare_rows);
	for (size_t i = 0; i < open->count && !error; i++)
		if (!i || open->ranges[i].row != open->ranges[i - 1].row)
			error = add_to_set(sweep, open->ranges[i].row, set, &set);
	*ret_set = set;
	return error;
}

static int find_within(struct sweep *sweep, size_t thread, uint64_t now_ns,
		       struct within_ranges *ret_within)
{
	const struct open_range *inner = innermost(&sweep->ranges.of_threads[thread], now_ns);
	struct open_ranges *started =
		&sweep->ranges.of_processes[sweep->entities.thread_process[thread]];

	*ret_within = (struct within_ranges){.row = inner ? inner->row + 1 : 0};
	return started->count ? find_set(sweep, started, now_ns, &ret_within->set) : 0;
}

static void add_sums(struct analysis_within *to, const struct analysis_within *sums)
{
	to->launches += sums->launches;
	to->samples += sums->samples;
	to->device_ns = add_saturated(to->device_ns, sums->device_ns);
	to->cpu_ns = add_saturated(to->cpu_ns, sums->cpu_ns);
}

/* Adds sums to each row that contains the event. */
static void add_within(struct sweep *sweep, struct within_ranges within,
		       const struct analysis_within *sums)
{
	struct analysis_range *ranges = sweep->analysis->program.ranges;

	if (within.row)
		add_sums(&ranges[within.row - 1].within, sums);
	for (uint32_t set = within.set; set; set = sweep->ranges.sets[set - 1].rest)
		add_sums(&ranges[sweep->ranges.sets[set - 1].row].within, sums);
}

int sweep_launch_in_ranges(struct sweep *sweep, struct open_command *command, bool in_window)
{
	const struct analysis_within one = {.launches = 1};
	int error = 0;

	command->within = (struct within_ranges){0};
	if (sweep->analysis->program.ranges_count)
		error = find_within(sweep, command->thread, command->enter, &command->within);
	if (!error && in_window)
		add_within(sweep, command->within, &one);
	return error;
}

void sweep_execute_in_ranges(struct sweep *sweep, const struct joined *joined)
{
	const struct analysis_within sums = {.device_ns = joined->duration_ns};

	add_within(sweep, joined->launch->within, &sums);
}

int sweep_sample_in_ranges(struct sweep *sweep, const struct event_cpu_sample *row)
{
	const char *source = model_text(sweep->analysis->model, row->source_string, "");
	struct analysis_within sums = {.samples = 1};
	struct within_ranges within;

	if (!sweep->analysis->program.ranges_count ||
	    !analysis_shows(sweep->analysis, row->time, row->time) ||
	    !sweep_source_is_time(sweep, row->source_string))
		return 0;
	if (strcmp(analysis_source_unit(source), "ns") == 0)
		sums.cpu_ns = row->weight;
	if (find_within(sweep, entity_index_find(&sweep->entities.threads, row->thread), row->time,
			&within))
		return -ENOMEM;
	add_within(sweep, within, &sums);
	return 0;
}

/* ---- begin and end --------------------------------------------------------------------------- */

int sweep_make_ranges(struct sweep *sweep)
{
	sweep->ranges.of_threads =
		calloc(sweep->entities.threads.count + 1, sizeof(*sweep->ranges.of_threads));
	sweep->ranges.of_processes =
		calloc(sweep->entities.processes.count + 1, sizeof(*sweep->ranges.of_processes));
	return sweep->ranges.of_threads && sweep->ranges.of_processes ? 0 : -ENOMEM;
}

/* A parent's index is smaller than its children's, so one backward pass sums up the tree. */
void sweep_close_ranges(struct analysis *analysis)
{
	for (size_t i = analysis->program.ranges_count; i > 0; i--) {
		const struct analysis_range *range = &analysis->program.ranges[i - 1];

		if (range->parent != ANALYSIS_NO_RANGE)
			add_sums(&analysis->program.ranges[range->parent].within, &range->within);
	}
}

static void free_open(struct open_ranges *open, size_t count)
{
	for (size_t i = 0; open && i <= count; i++)
		free(open[i].ranges);
	free(open);
}

void sweep_ranges_fini(struct sweep *sweep)
{
	free_open(sweep->ranges.of_threads, sweep->entities.threads.count);
	free_open(sweep->ranges.of_processes, sweep->entities.processes.count);
	free(sweep->ranges.sets);
	free(sweep->ranges.busy.moments);
	pair_map_fini(&sweep->ranges.rows.rows);
	pair_map_fini(&sweep->ranges.set_rows);
}
