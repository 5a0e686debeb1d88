/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/idle_states.c - what the launching threads did while a device was idle
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     idle gaps of devices from the account; samples and intervals off the processor of
 *           threads
 * Gives:    idle time of each device by cause, stack and wait of the launching thread
 * Owns:     nothing; the lists belong to the analysis
 * Fails:    -ENOMEM
 * Why times off and on the processor are counted differently: an interval off the processor has a
 *           length and, if the recorder took one, a stack. Time on the processor has only samples,
 *           and most gaps are shorter than the sampling period. So the time on the processor is
 *           summed over all gaps of a device and divided in proportion to the samples in all of
 *           these gaps.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"

/* The recorder takes the stacks of shorter intervals at random, more likely for longer ones. */
#define SHORT_NS 50000000u

/* The state of a thread in one piece of an idle gap. */
struct found_state {
	size_t device;
	const struct account_piece *piece;
	enum account_cause doing;
	uint32_t stack, wait; /* wait: number of waits */
};

static enum account_cause cause_of(const struct found_state *found)
{
	const bool is_call = found->doing == CAUSE_API_WAIT || found->doing == CAUSE_API_CALL;

	if (found->piece->rest == CAUSE_NOTHING_TO_DO && (found->piece->is_after || !is_call))
		return CAUSE_NOTHING_TO_DO;
	return found->doing;
}

static int find_row(struct sweep *sweep, const struct analysis_state *row,
		    struct analysis_state **ret_row)
{
	struct analysis_cpu *cpu = &sweep->analysis->cpu;
	const uint64_t state = (uint64_t)row->device << 16 | row->is_slowest << 10 |
			       row->is_after << 9 | row->is_steady << 8 | row->cause << 4 |
			       row->doing;
	uint32_t index = sweep_rows_add(&sweep->thread_states.states, state << 32 | row->thread,
					(uint64_t)row->wait << 32 | row->stack, cpu->states,
					cpu->states_count, *row);

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	*ret_row = &cpu->states[index];
	return 0;
}

/* The row without a stack and a wait. There is one for each device and group. */
static int find_nameless(struct sweep *sweep, size_t device, uint32_t group,
			 struct analysis_state **ret_row)
{
	const struct analysis_state row = analysis_nameless_state(device, group);

	return find_row(sweep, &row, ret_row);
}

static int find_state(struct sweep *sweep, const struct found_state *found,
		      struct analysis_state **ret_row)
{
	static const struct state_wait none;
	const struct state_wait *about =
		found->wait ? &sweep->thread_states.waits[found->wait] : &none;
	const struct event_thread *thread =
		entity_index_row(&sweep->entities.threads, found->piece->thread);

	if (!found->stack && !found->wait)
		return find_nameless(sweep, found->device,
				     analysis_state_group(cause_of(found), found->piece->is_after),
				     ret_row);
	return find_row(sweep,
			&(struct analysis_state){.device = found->device,
						 .cause = cause_of(found),
						 .is_after = found->piece->is_after,
						 .doing = found->doing,
						 .thread = thread ? thread->id : 0,
						 .is_steady = found->piece->is_steady,
						 .is_slowest = found->piece->is_slowest,
						 .stack = found->stack,
						 .wait = found->wait,
						 .wait_string = about->string,
						 .holder = about->holder,
						 .waker = about->waker,
						 .awaited_device = about->device,
						 .capture = about->capture,
						 .is_full = about->is_full,
						 .is_dropped = about->is_dropped,
						 .is_own = about->is_own},
			ret_row);
}

static int observe_state(struct sweep *sweep, const struct analysis_state *row,
			 struct observed_part part)
{
	part.row = (uint32_t)(row - sweep->analysis->cpu.states);
	return sweep_observe_part(sweep, &part);
}

static unsigned int length_class(uint64_t length_ns)
{
	unsigned int class = 0;

	while (class < ANALYSIS_LENGTHS - 1 && length_ns >= UINT64_C(1000000) << class)
		class ++;
	return class;
}

/* Counts an interval without a stack by its length. Before the first command and after the last it
 * keeps its own time instead. */
static int count_unseen_away(struct sweep *sweep, const struct found_state *found,
			     const struct thread_moment *moment, struct observed_part part)
{
	struct analysis_state *row;
	int error = find_state(sweep, found, &row);

	if (error)
		return error;
	if (row->cause == CAUSE_NOTHING_TO_DO) {
		row->known_ns += part.by;
		return observe_state(sweep, row, part);
	}
	part.table = OBSERVED_STATE_LENGTH;
	part.length = length_class(moment->end - moment->begin);
	row->lengths[part.length] = add_saturated(row->lengths[part.length], part.by);
	return observe_state(sweep, row, part);
}

/* Counts an interval with a stack that represents others of its length without one. */
static int count_short(struct sweep *sweep, struct analysis_state *row,
		       const struct thread_moment *moment, struct observed_part part)
{
	int error;

	if (moment->end - moment->begin >= SHORT_NS || row->cause != CAUSE_BLOCKED)
		return 0;
	part.end = part.begin;
	part.by = 1;
	part.table = OBSERVED_STATE_SEEN;
	row->seen++;
	error = observe_state(sweep, row, part);
	part.table = OBSERVED_STATE_LENGTH;
	part.length = length_class(moment->end - moment->begin);
	row->lengths[part.length]++;
	return error ? error : observe_state(sweep, row, part);
}

static int count_away(struct sweep *sweep, struct found_state *found,
		      const struct thread_moment *moment)
{
	const struct account_piece *piece = found->piece;
	const struct observed_part part = {
		.table = OBSERVED_STATE_KNOWN,
		.begin = larger(moment->begin, piece->begin),
		.end = smaller(moment->end, piece->end),
		.by = thread_moment_overlap(moment, piece->begin, piece->end)};
	struct analysis_state *row;
	int error;

	if (!part.by)
		return 0;
	found->doing = moment->is_preempted ? CAUSE_PREEMPTED : CAUSE_BLOCKED;
	if (!moment->stack && !moment->wait)
		return count_unseen_away(sweep, found, moment, part);
	error = find_state(sweep, found, &row);
	if (error)
		return error;
	row->known_ns += part.by;
	error = observe_state(sweep, row, part);
	if (!error)
		error = count_short(sweep, row, moment, part);
	if (!error)
		error = sweep_count_ranks(sweep, found->device, piece, moment);
	if (error || !moment->wait || moment->is_preempted)
		return error;
	return sweep_count_holder(sweep,
				  &(struct sweep_waiter){.device = found->device,
							 .wait = found->wait,
							 .is_steady = piece->is_steady,
							 .is_slowest = piece->is_slowest},
				  moment, part.begin, part.end);
}

static int count_moment(struct sweep *sweep, struct found_state *found,
			const struct thread_moment *moment)
{
	struct analysis_state *row;
	int error;

	found->stack = moment->stack;
	found->wait = moment->wait;
	if (moment->begin != moment->end)
		return count_away(sweep, found, moment);
	if (moment->begin < found->piece->begin || moment->begin >= found->piece->end)
		return 0;
	found->doing = CAUSE_ON_CPU;
	error = find_state(sweep, found, &row);
	if (error)
		return error;
	row->seen = add_saturated(row->seen, moment->weight);
	error = observe_state(sweep, row,
			      (struct observed_part){.table = OBSERVED_STATE_SEEN,
						     .begin = moment->begin,
						     .end = moment->begin,
						     .by = moment->weight});
	return error ? error : sweep_count_ranks(sweep, found->device, found->piece, moment);
}

/* Before the first command and after the last one, calls and other states share one time. */
static bool is_outside(const struct analysis_state *row)
{
	const uint32_t group = analysis_state_group(row->cause, row->is_after);

	return group == CAUSE_NOTHING_TO_DO || group == CAUSE_COUNT;
}

/* The time counts as seen too: time of calls that are dropped later is divided like the known time.
 * Outside of the commands it does not: a call would get a part of the program's exit. */
int sweep_add_call(struct sweep *sweep, size_t device, const struct account_piece *piece,
		   const struct thread_call *call, struct observed_part part)
{
	struct found_state found = {.device = device,
				    .piece = piece,
				    .doing = call->is_wait ? CAUSE_API_WAIT : CAUSE_API_CALL,
				    .stack = call->stack};
	const struct event_thread *thread =
		entity_index_row(&sweep->entities.threads, piece->thread);
	const struct state_wait about = {.string = call->function,
					 .device = call->device == device + 1 ? 0 : call->device,
					 .holder = call->is_own || !thread ? 0 : thread->id,
					 .capture = call->capture,
					 .is_full = call->is_full};
	struct analysis_state *row = NULL;
	int error = sweep_find_wait(sweep, &about, &found.wait);

	if (!error)
		error = find_state(sweep, &found, &row);
	if (error)
		return error;
	row->known_ns += part.by;
	part.table = OBSERVED_STATE_KNOWN;
	error = observe_state(sweep, row, part);
	if (error || is_outside(row))
		return error;
	row->seen = add_saturated(row->seen, part.by);
	part.table = OBSERVED_STATE_SEEN;
	return observe_state(sweep, row, part);
}

/* The time does not count as seen: a thread may be outside of all functions, so the rest of its
 * time is not known. */
int sweep_add_function(struct sweep *sweep, size_t device, const struct account_piece *piece,
		       const struct thread_call *call, struct observed_part part)
{
	struct found_state found = {
		.device = device, .piece = piece, .doing = CAUSE_HOST, .stack = call->stack};
	const struct state_wait about = {.capture = call->capture, .is_dropped = call->is_dropped};
	struct analysis_state *row = NULL;
	int error =
		call->capture || call->is_dropped ? sweep_find_wait(sweep, &about, &found.wait) : 0;

	if (!error)
		error = find_state(sweep, &found, &row);
	if (error)
		return error;
	row->known_ns += part.by;
	part.table = OBSERVED_STATE_KNOWN;
	return observe_state(sweep, row, part);
}

int sweep_on_thread(void *context, const struct account *account, const struct account_piece *piece)
{
	struct sweep *sweep = context;
	struct thread_state *state = &sweep->per_thread.states[piece->thread];
	struct found_state found = {.device = sweep_device_of(sweep, account), .piece = piece};
	size_t i = sweep_first_moment(state, piece->begin);
	int error = 0;

	for (; i < state->moments_count && !error; i++)
		error = count_moment(sweep, &found, &state->moments[i]);
	return error;
}

/* ---- the end --------------------------------------------------------------------------------- */

struct division {
	struct sweep *sweep;
	size_t device;
	uint32_t group;
	/* Divides the time of the steady part or of the slowest iteration, among the rows of that
	 * part. */
	bool is_steady, is_slowest;
	uint64_t rest; /* not given to a row yet */
};

static uint64_t *result_of(const struct division *division, struct analysis_state *row)
{
	if (division->is_slowest)
		return &row->slowest_ns;
	return division->is_steady ? &row->steady_ns : &row->idle_ns;
}

static bool is_of(const struct division *division, const struct analysis_state *row)
{
	return row->device == division->device &&
	       analysis_state_group(row->cause, row->is_after) == division->group &&
	       (!division->is_steady || row->is_steady) &&
	       (!division->is_slowest || row->is_slowest);
}

static bool is_nameless(const struct analysis_state *row)
{
	return !row->stack && !row->wait_string;
}

static uint64_t part_of(uint64_t whole, uint64_t share, uint64_t all)
{
	return all ? (uint64_t)((unsigned __int128)whole * share / all) : 0;
}

/* Gives each row the time that it is known to have. Clamping in the account can leave less time
 * than the rows add up to. */
static void give_known(const struct division *division, uint64_t over_ns)
{
	struct analysis_cpu *cpu = &division->sweep->analysis->cpu;

	for (size_t i = 0; i < cpu->states_count; i++) {
		struct analysis_state *row = &cpu->states[i];
		const uint64_t less = smaller(over_ns, row->known_ns);

		if (!is_of(division, row))
			continue;
		*result_of(division, row) = row->known_ns - less;
		over_ns -= less;
	}
}

static void add_part(struct division *division, struct analysis_state *row, uint64_t part)
{
	part = smaller(part, division->rest); /* sums may be saturated */
	*result_of(division, row) += part;
	division->rest -= part;
}

/* Divides `left` in proportion to the samples of each row. */
static void divide_by_seen(struct division *division, uint64_t left, uint64_t seen)
{
	struct analysis_cpu *cpu = &division->sweep->analysis->cpu;

	for (size_t i = 0; i < cpu->states_count; i++)
		if (is_of(division, &cpu->states[i]))
			add_part(division, &cpu->states[i],
				 part_of(left, cpu->states[i].seen, seen));
}

/* Divides the time of intervals of one length class without a stack among the rows with stacks of
 * that class. If there is none, the time stays in `rest`. */
static void divide_length(struct division *division, uint64_t left, unsigned int class)
{
	struct analysis_cpu *cpu = &division->sweep->analysis->cpu;
	uint64_t seen = 0;

	for (size_t i = 0; i < cpu->states_count; i++) {
		const struct analysis_state *row = &cpu->states[i];

		if (is_of(division, row) && !is_nameless(row))
			seen = add_saturated(seen, row->lengths[class]);
	}
	for (size_t i = 0; i < cpu->states_count && seen; i++) {
		struct analysis_state *row = &cpu->states[i];

		if (is_of(division, row) && !is_nameless(row))
			add_part(division, row, part_of(left, row->lengths[class], seen));
	}
}

/* Returns false if all intervals have stacks. */
static bool divide_by_length(struct division *division, uint64_t left,
			     const struct analysis_state *nameless)
{
	uint64_t all = 0;

	for (unsigned int class = 0; nameless && class < ANALYSIS_LENGTHS; class ++)
		all = add_saturated(all, nameless->lengths[class]);
	for (unsigned int class = 0; all && class < ANALYSIS_LENGTHS; class ++)
		divide_length(division, part_of(left, nameless->lengths[class], all), class);
	return all != 0;
}

static const struct analysis_state *nameless_of(const struct division *division)
{
	const struct analysis_cpu *cpu = &division->sweep->analysis->cpu;

	for (size_t i = 0; i < cpu->states_count; i++)
		if (is_nameless(&cpu->states[i]) && cpu->states[i].device == division->device &&
		    analysis_state_group(cpu->states[i].cause, cpu->states[i].is_after) ==
			    division->group)
			return &cpu->states[i];
	return NULL;
}

/* The first row with samples gets the remainder of the rounding. Time that cannot be divided gets
 * the row without a stack. */
static int give_rest(struct division *division, uint64_t seen)
{
	struct analysis_cpu *cpu = &division->sweep->analysis->cpu;
	struct analysis_state *row;
	size_t i = 0;

	if (!division->rest)
		return 0;
	if (seen && division->rest < cpu->states_count) {
		while (!is_of(division, &cpu->states[i]) || !cpu->states[i].seen)
			i++;
		row = &cpu->states[i];
	} else if (find_nameless(division->sweep, division->device, division->group, &row)) {
		return -ENOMEM;
	}
	*result_of(division, row) += division->rest;
	return 0;
}

/* Divides the idle time of one cause that no interval explains, in proportion to what was seen. */
static int divide(struct division division, uint64_t idle_ns)
{
	struct analysis_cpu *cpu = &division.sweep->analysis->cpu;
	uint64_t known_ns = 0, seen = 0, left;

	for (size_t i = 0; i < cpu->states_count; i++) {
		if (!is_of(&division, &cpu->states[i]))
			continue;
		known_ns += cpu->states[i].known_ns;
		seen = add_saturated(seen, cpu->states[i].seen);
	}
	give_known(&division, known_ns > idle_ns ? known_ns - idle_ns : 0);
	division.rest = left = known_ns > idle_ns ? 0 : idle_ns - known_ns;
	if (!divide_by_length(&division, left, nameless_of(&division)))
		divide_by_seen(&division, left, seen);
	return give_rest(&division, seen);
}

static uint64_t idle_of_group(const struct analysis *analysis, const struct account *account,
			      uint32_t group)
{
	if (group == CAUSE_COUNT)
		return account->after[CAUSE_NOTHING_TO_DO];
	if (group == CAUSE_NOTHING_TO_DO)
		return account->before[CAUSE_NOTHING_TO_DO];
	return analysis_has_states(analysis, (enum account_cause)group) ? account->causes[group]
									: 0;
}

static size_t place_of(size_t device, uint32_t group)
{
	return device * ANALYSIS_STATE_GROUPS + group;
}

/* Marks the groups with rows among `count` ones. Most groups of many devices have none, and a
 * search of all rows for each would take quadratic time. */
static void mark_seen(const struct analysis_cpu *cpu, bool *seen, size_t count)
{
	for (size_t i = 0; i < cpu->states_count; i++) {
		const struct analysis_state *row = &cpu->states[i];
		const size_t place =
			place_of(row->device, analysis_state_group(row->cause, row->is_after));

		if (place < count)
			seen[place] = true;
	}
}

static int divide_group(struct division division, const struct account *account, bool has_rows)
{
	const struct analysis *analysis = division.sweep->analysis;
	const uint64_t idle_ns = idle_of_group(analysis, account, division.group);
	const bool has_parts = division.group < CAUSE_NOTHING_TO_DO &&
			       analysis_has_states(analysis, (enum account_cause)division.group);
	const uint64_t steady_ns = has_parts ? account->steady.causes[division.group] : 0;
	const uint64_t slowest_ns = has_parts ? account->slowest.causes[division.group] : 0;
	struct analysis_state *row;
	int error;

	if (!idle_ns && !steady_ns && !slowest_ns)
		return 0;
	if (!has_rows) {
		error = find_nameless(division.sweep, division.device, division.group, &row);
		if (error)
			return error;
		row->idle_ns = idle_ns;
		row->steady_ns = steady_ns;
		row->slowest_ns = slowest_ns;
		return 0;
	}
	error = divide(division, idle_ns);
	division.is_steady = true;
	if (!error && steady_ns)
		error = divide(division, steady_ns);
	division.is_steady = false;
	division.is_slowest = true;
	return error || !slowest_ns ? error : divide(division, slowest_ns);
}

/* Marks the devices of threads without recorded functions: whether they were in one is not known.
 */
static void mark_unrecorded(struct sweep *sweep)
{
	const struct pair_map *map = &sweep->thread_states.idle_threads;

	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].value != PAIR_MAP_NONE &&
		    !sweep->analysis->cpu.threads[map->slots[i].second].has_functions)
			sweep->analysis->devices[map->slots[i].first].has_unrecorded = true;
}

int sweep_close_states(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	const size_t count = place_of(analysis_devices_shown(analysis), 0);
	bool *seen = calloc(count + 1, sizeof(*seen));
	int error = seen ? 0 : -ENOMEM;

	mark_unrecorded(sweep);
	if (seen)
		mark_seen(&analysis->cpu, seen, count);
	for (size_t i = 0; i < count && !error; i++) {
		const struct division division = {.sweep = sweep,
						  .device = i / ANALYSIS_STATE_GROUPS,
						  .group = i % ANALYSIS_STATE_GROUPS};

		error = divide_group(division, &analysis->devices[division.device].account,
				     seen[i]);
	}
	free(seen);
	return error;
}
