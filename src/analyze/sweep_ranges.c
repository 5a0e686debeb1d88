/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_ranges.c - the program's own ranges: how long, and what was launched and sampled within
 *
 * Runs in:  the readers
 * Gets:     ranges in the order of their begin, launches, executions and samples
 * Gives:    a row for each name within each range that it nests in
 * Owns:     of each thread and process the ranges that are open at the moment of the sweep
 * Fails:    -ENOMEM
 * Why a tree: what is launched in a range was launched in all around it. It is counted in the innermost one, and what is
 *           around gets its sums at the end: a launch costs the same however deep it is. Ranges that were started and
 *           stopped nest in nothing; a launch counts in each of its process that was open.
 */
#include "analyze/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"

static void expire(struct open_ranges *open, uint64_t now_ns)
{
	size_t left = 0;

	for (size_t i = 0; i < open->count; i++)
		if (open->ranges[i].end > now_ns)
			open->ranges[left++] = open->ranges[i];
	open->count = left;
}

/* Those that have ended lie on top, but where domains interleave. */
static struct open_range *innermost(struct open_ranges *open, uint64_t now_ns)
{
	while (open->count && open->ranges[open->count - 1].end <= now_ns)
		open->count--;
	for (size_t i = open->count; i > 0; i--)
		if (open->ranges[i - 1].end > now_ns)
			return &open->ranges[i - 1];
	return NULL;
}

/* The one that a range up to `end` lies within. */
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
	if (array_grow(open->ranges, open->capacity, open->count + 1))
		return -ENOMEM;
	open->ranges[open->count++] = (struct open_range){.end = end, .row = row};
	return 0;
}

/* By name, type and what is around. */
static int find_row(struct sweep *sweep, const struct event_range *row, uint32_t parent,
		    uint32_t *ret_index)
{
	struct analysis *analysis = sweep->analysis;
	uint64_t first = (uint64_t)row->domain_string << 32 | row->name_string;
	uint64_t second = (uint64_t)parent << 32 | row->type;
	uint32_t index = pair_map_find(&sweep->range_rows, first, second);

	*ret_index = index;
	if (index != PAIR_MAP_NONE)
		return 0;
	index = *ret_index = (uint32_t)analysis->ranges_count;
	if (array_grow(analysis->ranges, sweep->ranges_capacity, index + (size_t)1) ||
	    pair_map_put(&sweep->range_rows, first, second, index))
		return -ENOMEM;
	analysis->ranges_count++;
	analysis->ranges[index] = (struct analysis_range){
		.domain = model_text(analysis->model, row->domain_string, ""),
		.name = model_range_name(analysis->model, row),
		.type = row->type,
		.parent = parent,
		.min_ns = UINT64_MAX};
	return 0;
}

/* -ENOMEM. */
static int count_range(struct sweep *sweep, const struct event_range *row, uint32_t index)
{
	struct analysis_range *range = &sweep->analysis->ranges[index];
	uint64_t length = row->end - row->begin;

	if (!is_in_window(sweep->analysis, row->begin, row->end))
		return 0;
	range->count++;
	range->open += (row->flags & RANGE_OPEN) != 0;
	range->total_ns = add_saturated(range->total_ns, length);
	range->self_ns = add_saturated(range->self_ns, length);
	range->min_ns = smaller(range->min_ns, length);
	range->max_ns = length > range->max_ns ? length : range->max_ns;
	/* The window may cut the one around off. */
	if (row->type == RANGE_PUSH && range->parent != ANALYSIS_NO_RANGE) {
		struct analysis_range *parent = &sweep->analysis->ranges[range->parent];

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
	size_t thread = things_index(&sweep->threads, row->thread);
	size_t process = things_index(&sweep->processes, row->process);
	struct open_ranges *open = &sweep->thread_ranges[thread];
	const struct open_range *parent =
		row->type == RANGE_START ? NULL : around(open, row->begin, row->end);
	uint32_t index;

	note_time(sweep, row->end);
	if (row->flags & RANGE_UNBEGUN) {
		sweep->analysis->ranges_unbegun++;
		return 0;
	}
	if (find_row(sweep, row, parent ? parent->row : ANALYSIS_NO_RANGE, &index) ||
	    count_range(sweep, row, index))
		return -ENOMEM;
	if (row->type == RANGE_MARK)
		return 0;
	if (row->type == RANGE_PUSH)
		return add_open(open, row->end, index);
	expire(&sweep->process_ranges[process], row->begin);
	return add_open(&sweep->process_ranges[process], row->end, index);
}

/* ---- what is within ---------------------------------------------------------------------------- */

static int compare_rows(const void *left, const void *right)
{
	const struct open_range *a = left, *b = right;

	return (a->row > b->row) - (a->row < b->row);
}

/* A set of rows has a number: that of a row and of the set of those before it; 0: the empty one. */
static int add_to_set(struct sweep *sweep, uint32_t row, uint32_t rest, uint32_t *ret_set)
{
	uint32_t index = pair_map_find(&sweep->range_set_rows, row, rest);

	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)sweep->range_sets_count;
		if (array_grow(sweep->range_sets, sweep->range_sets_capacity, index + (size_t)1) ||
		    pair_map_put(&sweep->range_set_rows, row, rest, index))
			return -ENOMEM;
		sweep->range_sets[sweep->range_sets_count++] = (struct range_set){row, rest};
	}
	*ret_set = index + 1;
	return 0;
}

/* Several of one row are one. */
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
	const struct open_range *inner = innermost(&sweep->thread_ranges[thread], now_ns);
	struct open_ranges *started = &sweep->process_ranges[sweep->thread_process[thread]];

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

/* To each row of what something was within. */
static void add_within(struct sweep *sweep, struct within_ranges within,
		       const struct analysis_within *sums)
{
	struct analysis_range *ranges = sweep->analysis->ranges;

	if (within.row)
		add_sums(&ranges[within.row - 1].within, sums);
	for (uint32_t set = within.set; set; set = sweep->range_sets[set - 1].rest)
		add_sums(&ranges[sweep->range_sets[set - 1].row].within, sums);
}

int sweep_launch_in_ranges(struct sweep *sweep, struct open_command *command, bool in_window)
{
	const struct analysis_within one = {.launches = 1};
	int error = 0;

	command->within = (struct within_ranges){0};
	if (sweep->analysis->ranges_count)
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

	if (!sweep->analysis->ranges_count ||
	    !is_in_window(sweep->analysis, row->time, row->time) ||
	    !sweep_tells_time(sweep, row->source_string))
		return 0;
	if (strcmp(analysis_source_unit(source), "ns") == 0)
		sums.cpu_ns = row->weight;
	if (find_within(sweep, things_index(&sweep->threads, row->thread), row->time, &within))
		return -ENOMEM;
	add_within(sweep, within, &sums);
	return 0;
}

/* ---- begin and end ----------------------------------------------------------------------------- */

int sweep_make_ranges(struct sweep *sweep)
{
	sweep->thread_ranges = calloc(sweep->threads.count + 1, sizeof(*sweep->thread_ranges));
	sweep->process_ranges = calloc(sweep->processes.count + 1, sizeof(*sweep->process_ranges));
	return sweep->thread_ranges && sweep->process_ranges ? 0 : -ENOMEM;
}

/* What is around stands before what is within. */
void sweep_close_ranges(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;

	for (size_t i = analysis->ranges_count; i > 0; i--) {
		const struct analysis_range *range = &analysis->ranges[i - 1];

		if (range->parent != ANALYSIS_NO_RANGE)
			add_sums(&analysis->ranges[range->parent].within, &range->within);
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
	free_open(sweep->thread_ranges, sweep->threads.count);
	free_open(sweep->process_ranges, sweep->processes.count);
	free(sweep->range_sets);
	free(sweep->busy.moments);
	pair_map_fini(&sweep->range_rows);
	pair_map_fini(&sweep->range_set_rows);
}
