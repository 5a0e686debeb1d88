/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/batches.c - sums the spans of the account by batch of iterations
 *
 * Runs in:  our own process, during the sweep of an analysis
 * Gets:     spans and commands
 * Gives:    busy time and executions by path, idle time by device and cause, for each batch
 * Owns:     the sums
 * Fails:    -ENOMEM ends the analysis
 * Why batches and not iterations: neighbouring iterations depend on each other, and the means of
 *           groups of them much less (Conway 1963). 40 groups also bound the memory.
 */
#include "analyze/compare/batches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/observer.h"
#include "base/array.h"
#include "base/number.h"

struct path_sums {
	uint64_t ns[BATCHES_MAX], counts[BATCHES_MAX];
};

struct idle_sums {
	uint64_t ns[CAUSE_COUNT][BATCHES_MAX];
};

struct batches {
	struct analysis_observer observer;
	size_t count;
	uint64_t begins[BATCHES_MAX + 1]; /* host ns; the last is the end of the last batch */
	uint64_t iterations[BATCHES_MAX];
	struct path_sums *paths; /* by index of the analysis */
	size_t paths_capacity;
	uint32_t *positions; /* by index of the analysis */
	size_t positions_capacity;
	uint32_t positions_count;
	struct idle_sums *idle; /* by device */
	size_t idle_capacity;
};

/* The iterations of the list that are inside of the window: [*ret_first, *ret_end). */
static void find_shown(const struct analysis *analysis, size_t *ret_first, size_t *ret_end)
{
	const struct iterations *iterations = &analysis->iterations;
	size_t first = 0, end = iterations->count;

	while (first < end && iterations->list[first].begin < analysis->from_ns)
		first++;
	while (end > first && analysis->to_ns && iterations->list[end - 1].end > analysis->to_ns)
		end--;
	*ret_first = first;
	*ret_end = end;
}

/* A batch ends where the next one begins, so that no time between iterations is lost. */
static void divide_iterations(struct batches *batches, const struct analysis *analysis)
{
	const struct iteration *list = analysis->iterations.list;
	size_t first, end, count;

	find_shown(analysis, &first, &end);
	count = end - first;
	batches->count = count < BATCHES_MIN ? 0 : smaller(count, BATCHES_MAX);
	for (size_t i = 0; i < batches->count; i++) {
		const size_t from = first + i * count / batches->count;
		const size_t to = first + (i + 1) * count / batches->count;

		batches->begins[i] = list[from].begin;
		batches->iterations[i] = to - from;
	}
	if (batches->count)
		batches->begins[batches->count] = list[end - 1].end;
}

static int on_begin(void *context, const struct analysis *analysis)
{
	struct batches *batches = context;

	if (batches->paths)
		memset(batches->paths, 0, batches->paths_capacity * sizeof(*batches->paths));
	if (batches->positions)
		memset(batches->positions, 0,
		       batches->positions_capacity * sizeof(*batches->positions));
	if (batches->idle)
		memset(batches->idle, 0, batches->idle_capacity * sizeof(*batches->idle));
	batches->positions_count = 0;
	divide_iterations(batches, analysis);
	return 0;
}

/* The batch that contains a time; count: none. */
static size_t batch_at(const struct batches *batches, uint64_t time_ns)
{
	size_t place;

	if (!batches->count || time_ns < batches->begins[0] ||
	    time_ns >= batches->begins[batches->count])
		return batches->count;
	place = LOWER_BOUND(batches->count, i, batches->begins[i] <= time_ns);
	return place - 1;
}

/* Adds the parts of [begin, end) to the batches in which they are. */
static void add_interval(const struct batches *batches, uint64_t begin, uint64_t end,
			 uint64_t *sums_ns)
{
	begin = larger(begin, batches->begins[0]);
	end = smaller(end, batches->begins[batches->count]);
	for (size_t i = batch_at(batches, begin); i < batches->count && begin < end; i++) {
		const uint64_t until = smaller(end, batches->begins[i + 1]);

		if (until > begin)
			sums_ns[i] += until - begin;
		begin = larger(begin, until);
	}
}

static int on_span(void *context, size_t device, const struct account_span *span)
{
	struct batches *batches = context;

	if (!batches->count)
		return 0;
	if (span->is_busy) {
		if (array_grow(batches->paths, batches->paths_capacity, (size_t)span->tag + 1))
			return -ENOMEM;
		add_interval(batches, span->begin, span->end, batches->paths[span->tag].ns);
		return 0;
	}
	if (array_grow(batches->idle, batches->idle_capacity, device + 1))
		return -ENOMEM;
	add_interval(batches, span->begin, span->end, batches->idle[device].ns[span->cause]);
	return 0;
}

static int on_command(void *context, const struct observed_command *command)
{
	struct batches *batches = context;
	size_t batch;

	if (!command->is_in_account)
		return 0;
	if (array_grow(batches->positions, batches->positions_capacity, (size_t)command->path + 1))
		return -ENOMEM;
	if (!batches->positions[command->path])
		batches->positions[command->path] = ++batches->positions_count;
	batch = batch_at(batches, command->row->started);
	if (batch == batches->count)
		return 0;
	if (array_grow(batches->paths, batches->paths_capacity, (size_t)command->path + 1))
		return -ENOMEM;
	batches->paths[command->path].counts[batch]++;
	return 0;
}

struct batches *batches_new(void)
{
	struct batches *batches = calloc(1, sizeof(*batches));

	if (batches)
		batches->observer = (struct analysis_observer){.context = batches,
							       .on_begin = on_begin,
							       .on_command = on_command,
							       .on_span = on_span};
	return batches;
}

void batches_free(struct batches *batches)
{
	if (!batches)
		return;
	free(batches->paths);
	free(batches->positions);
	free(batches->idle);
	free(batches);
}

const struct analysis_observer *batches_observer(const struct batches *batches)
{
	return &batches->observer;
}

size_t batches_count(const struct batches *batches)
{
	return batches->count;
}

double batches_wall(const struct batches *batches, size_t batch)
{
	return (double)(batches->begins[batch + 1] - batches->begins[batch]) /
	       (double)batches->iterations[batch];
}

uint64_t batches_size(const struct batches *batches, size_t batch)
{
	return batches->iterations[batch];
}

void batches_add_path(const struct batches *batches, uint32_t path, double *inout_ns,
		      double *inout_counts)
{
	if (path >= batches->paths_capacity)
		return;
	for (size_t i = 0; i < batches->count; i++) {
		const double iterations = (double)batches->iterations[i];

		if (inout_ns)
			inout_ns[i] += (double)batches->paths[path].ns[i] / iterations;
		if (inout_counts)
			inout_counts[i] += (double)batches->paths[path].counts[i] / iterations;
	}
}

void batches_add_idle(const struct batches *batches, size_t device, enum account_cause cause,
		      double *inout_ns)
{
	if (device >= batches->idle_capacity)
		return;
	for (size_t i = 0; i < batches->count; i++)
		inout_ns[i] +=
			(double)batches->idle[device].ns[cause][i] / (double)batches->iterations[i];
}

uint32_t batches_position(const struct batches *batches, uint32_t path)
{
	return path < batches->positions_capacity ? batches->positions[path] : 0;
}
