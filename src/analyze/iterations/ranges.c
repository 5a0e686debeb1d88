/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/ranges.c - iterations that the program named: "ProfilerStep#12", "step"
 *
 * Runs in:  our own process
 * Gets:     the ranges of the launching process, the launches of its main thread
 * Gives:    the ranges of one name as iterations
 * Owns:     the ranges until the end
 * Fails:    -ENOMEM; a damaged chunk is skipped
 * Why numbers in names are ignored: most programs count their steps in the names. A name that says
 *           "step" or "iteration" wins, then the ranges with most launches, then the outer ones.
 *           An "epoch" is a loop around the iterations. One step alone counts too: a profiler may
 *           have recorded a single one, and its layers are not iterations.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/iterations/launches.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/pair_map.h"
#include "base/number.h"
#include "base/string.h"
#include "trace/reader.h"

enum { MIN_RANGES = 3, MIN_STEPS = 1, MAX_RANGES = 4 << 20 };

struct named_range {
	uint64_t begin, end;
	uint32_t group;
};

/* Ranges of one name in one thread. */
struct range_group {
	uint32_t name; /* id in the table of names */
	uint32_t thread;
	size_t count;
	uint64_t last_end, total_ns;
	uint64_t first_begin;
	uint64_t launches, filled; /* launches inside; ranges with launches inside */
	uint64_t overlap_ns;       /* with the range before */
};

struct named_ranges {
	struct named_range *ranges;
	size_t count, capacity;
	struct range_group *groups;
	size_t groups_count, groups_capacity;
	struct pair_map group_rows; /* by name and thread */
	struct string_table names;  /* with '#' for each number */
	struct hash_map name_ids;   /* by string id of the trace */
};

static void named_ranges_fini(struct named_ranges *ranges)
{
	free(ranges->ranges);
	free(ranges->groups);
	pair_map_fini(&ranges->group_rows);
	string_table_fini(&ranges->names);
	hash_map_fini(&ranges->name_ids);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A name with '#' for each number; "ProfilerStep#12" is "ProfilerStep#". */
static void strip_numbers(const char *name, struct string_builder *stripped)
{
	for (const char *at = name; *at; at++) {
		bool is_digit = isdigit((unsigned char)*at);

		if (!is_digit)
			string_builder_append_char(stripped, *at);
		else if (!stripped->length || stripped->text[stripped->length - 1] != '#')
			string_builder_append_char(stripped, '#');
	}
}

/* The id of a range's name without numbers; 0: out of memory. */
static uint32_t find_name(struct named_ranges *ranges, const struct model *model,
			  const struct event_range *row)
{
	struct string_builder stripped = {0};
	uint32_t name = (uint32_t)hash_map_get(&ranges->name_ids, row->name_string, 0);

	if (name)
		return name;
	strip_numbers(model_range_name(model, row), &stripped);
	if (!stripped.error)
		name = string_table_add(&ranges->names, string_builder_text(&stripped),
					stripped.length);
	string_builder_fini(&stripped);
	return name && !hash_map_put(&ranges->name_ids, row->name_string, name) ? name : 0;
}

/* 2: an iteration by its name; 1: perhaps one; 0: a loop around the iterations. */
static int rank_of_name(const char *name)
{
	static const char *const steps[] = {"step", "iter", "batch", "frame"};

	if (strcasestr(name, "epoch"))
		return 0;
	for (size_t i = 0; i < ARRAY_COUNT(steps); i++)
		if (strcasestr(name, steps[i]))
			return 2;
	return 1;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int add_range(struct named_ranges *ranges, const struct model *model,
		     const struct clocks_domain *clock, const struct event_range *row)
{
	uint32_t name = find_name(ranges, model, row), group;

	if (!name)
		return -ENOMEM;
	if (row->end < row->begin)
		return 0;
	group = pair_map_add(&ranges->group_rows, name, row->thread, ranges->groups,
			     ranges->groups_capacity, ranges->groups_count,
			     (struct range_group){.name = name, .thread = row->thread});
	if (group == PAIR_MAP_NONE)
		return -ENOMEM;
	return array_append(ranges->ranges, ranges->capacity, ranges->count,
			    (struct named_range){.begin = clocks_domain_to_host(clock, row->begin),
						 .end = clocks_domain_to_host(clock, row->end),
						 .group = group});
}

static int read_chunk(struct named_ranges *ranges, const struct model *model, size_t index,
		      uint32_t process)
{
	const struct trace_chunk *chunk = trace_reader_chunk(model->reader, index);
	const struct clocks_domain *clock = clocks_find(model->clocks, chunk->clock);
	struct event_range *rows = NULL;
	size_t count = 0;
	int error = trace_reader_rows(model->reader, index, (void **)&rows, &count);

	for (size_t i = 0; !error && i < count && ranges->count < MAX_RANGES; i++)
		if (rows[i].process == process && !rows[i].flags && rows[i].type != RANGE_MARK)
			error = add_range(ranges, model, clock, &rows[i]);
	free(rows);
	return error == -EBADMSG ? 0 : error;
}

static int read_ranges(struct named_ranges *ranges, const struct model *model, uint32_t process)
{
	int error = 0;

	for (size_t i = 0; i < trace_reader_chunk_count(model->reader) && !error; i++)
		if (trace_reader_chunk(model->reader, i)->kind == EVENT_RANGE)
			error = read_chunk(ranges, model, i, process);
	if (ranges->count)
		qsort(ranges->ranges, ranges->count, sizeof(*ranges->ranges), compare_u64);
	return error;
}

/* ---- choice ---------------------------------------------------------------------------------- */

static void count_groups(struct named_ranges *ranges, const struct thread_launches *launches)
{
	for (size_t i = 0; i < ranges->count; i++) {
		const struct named_range *range = &ranges->ranges[i];
		struct range_group *group = &ranges->groups[range->group];
		uint64_t inside = thread_launches_from(launches, range->end) -
				  thread_launches_from(launches, range->begin);

		if (!group->count++)
			group->first_begin = range->begin;
		else
			group->overlap_ns +=
				group->last_end - smaller(range->begin, group->last_end);
		group->last_end = larger(group->last_end, range->end);
		group->total_ns = add_saturated(group->total_ns, range->end - range->begin);
		group->launches += inside;
		group->filled += inside > 0;
	}
}

/* Iterations follow each other, have launches inside, and hold most launches of their time. */
static bool can_be_iterations(const struct range_group *group, int rank,
			      const struct thread_launches *launches)
{
	uint64_t during = thread_launches_from(launches, group->last_end) -
			  thread_launches_from(launches, group->first_begin);

	return group->count >= (rank == 2 ? MIN_STEPS : MIN_RANGES) &&
	       group->overlap_ns <= group->total_ns / 100 &&
	       group->filled * 10 >= group->count * 8 && group->launches * 2 >= during;
}

static bool is_better(const struct named_ranges *ranges, const struct range_group *group,
		      const struct range_group *best)
{
	int rank = rank_of_name(string_table_text(&ranges->names, group->name, NULL));
	int best_rank = rank_of_name(string_table_text(&ranges->names, best->name, NULL));

	if (rank != best_rank)
		return rank > best_rank;
	if (group->launches * 10 > best->launches * 11 ||
	    best->launches * 10 > group->launches * 11)
		return group->launches > best->launches;
	return group->total_ns / group->count > best->total_ns / best->count;
}

static const struct range_group *choose_group(const struct named_ranges *ranges,
					      const struct thread_launches *launches)
{
	const struct range_group *best = NULL;

	for (size_t i = 0; i < ranges->groups_count; i++) {
		const struct range_group *group = &ranges->groups[i];
		int rank = rank_of_name(string_table_text(&ranges->names, group->name, NULL));

		if (can_be_iterations(group, rank, launches) &&
		    (!best || is_better(ranges, group, best)))
			best = group;
	}
	return best;
}

static int list_group(const struct named_ranges *ranges, const struct range_group *group,
		      const struct thread_launches *launches, struct iterations *ret_iterations)
{
	uint64_t *lengths = calloc(group->count, sizeof(*lengths));
	const char *name = string_table_text(&ranges->names, group->name, NULL);

	*ret_iterations =
		(struct iterations){.method = ITERATIONS_RANGES,
				    .thread = group->thread,
				    .name = strdup(name),
				    .list = calloc(group->count, sizeof(struct iteration))};
	if (!lengths || !ret_iterations->name || !ret_iterations->list) {
		free(lengths);
		iterations_fini(ret_iterations);
		return -ENOMEM;
	}
	for (size_t i = 0; i < ranges->count; i++) {
		const struct named_range *range = &ranges->ranges[i];
		size_t first = thread_launches_from(launches, range->begin);

		if (&ranges->groups[range->group] != group)
			continue;
		lengths[ret_iterations->count] = thread_launches_from(launches, range->end) - first;
		ret_iterations->list[ret_iterations->count] =
			(struct iteration){.begin = range->begin,
					   .end = range->end,
					   .first = first,
					   .launches = lengths[ret_iterations->count]};
		ret_iterations->count++;
	}
	qsort(lengths, group->count, sizeof(*lengths), compare_u64);
	ret_iterations->period = lengths[group->count / 2];
	iterations_join(ret_iterations);
	free(lengths);
	return 0;
}

int ranges_find_iterations(const struct model *model, const struct thread_launches *launches,
			   struct iterations *ret_iterations)
{
	struct named_ranges ranges = {0};
	const struct range_group *group;
	int error = read_ranges(&ranges, model, launches->process);

	*ret_iterations = (struct iterations){0};
	if (!error) {
		count_groups(&ranges, launches);
		group = choose_group(&ranges, launches);
		if (group)
			error = list_group(&ranges, group, launches, ret_iterations);
	}
	named_ranges_fini(&ranges);
	return error;
}
