/* SPDX-License-Identifier: MIT
 *
 * analyze/verdict/launch_bound.c - idle time of launches that came only after a wait for the device
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     gaps that the end of a wait and a launch fill, states of launching threads, paths
 * Gives:    the time of these gaps as one cause, and what it takes from other causes
 * Owns:     sums
 * Fails:    -ENOMEM
 * Why:      Gaussian of Rodinia waits after each of 8190 launches. Its causes are 35 ms in a
 * launch, 14 ms of latency, 12 ms in a wait and 4 ms of computing. One change wins all of them.
 */
#include "analyze/verdict/launch_bound.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/analysis.h"
#include "base/array.h"
#include "base/number.h"

/* With fewer gaps it may be chance: the limit of tiny_kernels. */
enum { MIN_GAPS = 100 };

/* Causes that belong to a launch, and the thread's own code on the way to it. */
static const enum account_cause bound_causes[] = {
	CAUSE_RUNTIME, CAUSE_SUBMISSION, CAUSE_LATENCY, CAUSE_API_WAIT, CAUSE_ON_CPU, CAUSE_HOST,
};

static uint64_t sum_of(const uint64_t causes[CAUSE_COUNT])
{
	uint64_t ns = 0;

	for (size_t i = 0; i < ARRAY_COUNT(bound_causes); i++)
		ns += causes[bound_causes[i]];
	return ns;
}

static bool is_of(const struct analysis *analysis, const struct analysis_waited *row, size_t device)
{
	return analysis->paths[row->path].device == device;
}

bool verdict_launch_bound(const struct analysis *analysis, size_t device,
			  struct verdict_launch_bound *ret_bound)
{
	const struct account_steady *steady = &analysis->devices[device].account.steady;
	struct verdict_launch_bound bound = {0};
	uint64_t longest_ns = 0;

	for (size_t i = 0; i < analysis->program.waited_count; i++) {
		const struct analysis_waited *row = &analysis->program.waited[i];
		const uint64_t ns = sum_of(row->steady);

		if (!is_of(analysis, row, device))
			continue;
		bound.gaps += row->count;
		bound.ns += ns;
		if (ns > longest_ns) {
			longest_ns = ns;
			bound.row = row;
		}
	}
	*ret_bound = bound;
	return bound.gaps >= MIN_GAPS && bound.ns >= (steady->end - steady->begin) / 100;
}

static const uint64_t *causes_of(const struct verdict *verdict, const struct analysis_waited *row)
{
	return verdict->scope == VERDICT_SLOWEST ? row->slowest : row->steady;
}

/* ---- time of such launches ------------------------------------------------------------------- */

static int add_wait(struct launch_bound *bound, const struct analysis_waited *row, uint64_t ns)
{
	const uint32_t index =
		pair_map_add(&bound->calls, row->function_string, row->stack, bound->parts,
			     bound->capacity, bound->count, (struct launch_bound_part){0});

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	bound->parts[index].ns += ns;
	return 0;
}

static int add_row(struct launch_bound *bound, const struct analysis *analysis,
		   const struct analysis_waited *row, const uint64_t causes[CAUSE_COUNT])
{
	for (size_t i = 0; i < ARRAY_COUNT(bound_causes); i++) {
		const enum account_cause cause = bound_causes[i];

		if (!analysis_has_states(analysis, cause))
			bound->paths[row->path][cause] += causes[cause];
		else if (cause != CAUSE_API_WAIT)
			bound->parts[cause].ns += causes[cause];
	}
	return add_wait(bound, row, causes[CAUSE_API_WAIT]);
}

/* The part of a cause, or of a call that waited; NULL: none. */
static struct launch_bound_part *part_of(struct launch_bound *bound, enum account_cause cause,
					 uint32_t call, uint32_t stack)
{
	const uint32_t index =
		cause == CAUSE_API_WAIT ? pair_map_find(&bound->calls, call, stack) : cause;

	return index < bound->count ? &bound->parts[index] : NULL;
}

static struct launch_bound_part *part_of_state(struct launch_bound *bound,
					       const struct analysis_state *state)
{
	return part_of(bound, state->cause, state->wait_string, state->stack);
}

static uint64_t time_of(const struct verdict *verdict, const struct analysis_state *state)
{
	return verdict->scope == VERDICT_SLOWEST ? state->slowest_ns : state->steady_ns;
}

static void count_states(struct launch_bound *bound, const struct analysis *analysis,
			 const struct verdict *verdict)
{
	for (size_t i = 0; i < analysis->cpu.states_count; i++) {
		const struct analysis_state *state = &analysis->cpu.states[i];
		struct launch_bound_part *part =
			state->device == verdict->device ? part_of_state(bound, state) : NULL;

		if (part)
			part->all_ns += time_of(verdict, state);
	}
	for (size_t i = 0; i < bound->count; i++) {
		struct launch_bound_part *part = &bound->parts[i];

		part->missing_ns = part->ns - smaller(part->ns, part->all_ns);
		part->ns -= part->missing_ns;
	}
}

int launch_bound_find(struct launch_bound *bound, const struct analysis *analysis,
		      const struct verdict *verdict)
{
	struct verdict_launch_bound all;
	int error = 0;

	if ((verdict->scope != VERDICT_STEADY && verdict->scope != VERDICT_SLOWEST) ||
	    !verdict_launch_bound(analysis, verdict->device, &all))
		return 0;
	bound->paths = calloc(analysis->paths_count, sizeof(*bound->paths));
	bound->parts = calloc(CAUSE_COUNT, sizeof(*bound->parts));
	if (!bound->paths || !bound->parts)
		return -ENOMEM;
	bound->count = bound->capacity = CAUSE_COUNT;
	for (size_t i = 0; i < analysis->program.waited_count && !error; i++) {
		const struct analysis_waited *row = &analysis->program.waited[i];

		if (is_of(analysis, row, verdict->device))
			error = add_row(bound, analysis, row, causes_of(verdict, row));
	}
	if (!error)
		count_states(bound, analysis, verdict);
	return error;
}

void launch_bound_fini(struct launch_bound *bound)
{
	pair_map_fini(&bound->calls);
	free(bound->parts);
	free(bound->paths);
	*bound = (struct launch_bound){0};
}

/* ---- time that leaves other causes -------------------------------------------------------------
 */

/* In proportion, and the last state has what is left of the rounding. */
uint64_t launch_bound_take(struct launch_bound *bound, const struct analysis_state *state,
			   uint64_t ns)
{
	struct launch_bound_part *part = bound->count ? part_of_state(bound, state) : NULL;
	uint64_t taken_ns;

	if (!part || !part->ns || !ns)
		return 0;
	taken_ns = (uint64_t)((unsigned __int128)part->ns * ns / part->all_ns);
	part->ns -= taken_ns;
	part->all_ns -= ns;
	return taken_ns;
}

uint64_t launch_bound_of_path(const struct launch_bound *bound, size_t path,
			      enum account_cause cause)
{
	return bound->paths ? bound->paths[path][cause] : 0;
}

/* Time of a row that no state has. */
static uint64_t take_missing(struct launch_bound *bound, const struct analysis_waited *row,
			     const uint64_t causes[CAUSE_COUNT])
{
	uint64_t taken_ns = 0;

	for (size_t i = 0; i < ARRAY_COUNT(bound_causes); i++) {
		const enum account_cause cause = bound_causes[i];
		struct launch_bound_part *part =
			part_of(bound, cause, row->function_string, row->stack);
		const uint64_t ns = part ? smaller(part->missing_ns, causes[cause]) : 0;

		if (part)
			part->missing_ns -= ns;
		taken_ns += ns;
	}
	return taken_ns;
}

uint64_t launch_bound_of_row(struct launch_bound *bound, const struct verdict *verdict,
			     const struct analysis_waited *row, enum account_cause *ret_cause)
{
	const uint64_t *causes = causes_of(verdict, row);
	const uint64_t ns = sum_of(causes);

	*ret_cause = bound_causes[0];
	for (size_t i = 1; i < ARRAY_COUNT(bound_causes); i++)
		if (causes[bound_causes[i]] > causes[*ret_cause])
			*ret_cause = bound_causes[i];
	return ns - take_missing(bound, row, causes);
}
