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

static int find_row(struct sweep *sweep, size_t device, enum account_cause cause, uint32_t stack,
		    uint32_t wait, struct analysis_state **ret_row)
{
	static const struct state_wait none;
	const struct state_wait *about = wait ? &sweep->thread_states.waits[wait] : &none;
	struct analysis_cpu *cpu = &sweep->analysis->cpu;
	uint32_t index =
		sweep_rows_add(&sweep->thread_states.states, (uint64_t)device << 32 | cause,
			       (uint64_t)wait << 32 | stack, cpu->states, cpu->states_count,
			       (struct analysis_state){.device = device,
						       .cause = cause,
						       .stack = stack,
						       .wait_string = about->string,
						       .holder = about->holder,
						       .waker = about->waker,
						       .is_own = about->is_own});

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	*ret_row = &cpu->states[index];
	return 0;
}

static int add_holding(struct sweep *sweep, size_t device, uint32_t wait, uint32_t stack,
		       uint64_t weight)
{
	const struct state_wait *about = &sweep->thread_states.waits[wait];
	struct analysis_cpu *cpu = &sweep->analysis->cpu;
	uint32_t index =
		sweep_rows_add(&sweep->thread_states.holdings, (uint64_t)device << 32 | wait, stack,
			       cpu->holdings, cpu->holdings_count,
			       (struct analysis_holding){.device = device,
							 .wait_string = about->string,
							 .holder = about->holder,
							 .stack = stack});

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	cpu->holdings[index].weight = add_saturated(cpu->holdings[index].weight, weight);
	return 0;
}

static int observe_state(struct sweep *sweep, const struct analysis_state *row,
			 struct observed_part part)
{
	part.row = (uint32_t)(row - sweep->analysis->cpu.states);
	return sweep_observe_part(sweep, &part);
}

/* The overlap of [begin, end) with an interval off the processor. */
static uint64_t overlap(const struct thread_moment *moment, uint64_t begin, uint64_t end)
{
	uint64_t from = moment->begin > begin ? moment->begin : begin;
	uint64_t to = moment->end < end ? moment->end : end;

	return from < to ? to - from : 0;
}

/* Counts what the holder did from begin to end, while another thread waited for it. A woken thread
 * may get its processor later. If the holder blocks before that, it has released the lock. */
static int count_holder(struct sweep *sweep, size_t device, const struct thread_moment *wait,
			uint64_t begin, uint64_t end)
{
	size_t thread = entity_index_find(&sweep->entities.threads,
					  sweep->thread_states.waits[wait->wait].holder);
	const struct thread_state *state = &sweep->per_thread.states[thread];
	size_t i = state->moments_count;
	int error = 0;

	if (thread == sweep->entities.threads.count)
		return 0;
	while (i > state->moments_first && state->moments[i - 1].end >= begin)
		i--;
	for (; i < state->moments_count && state->moments[i].begin < end && !error; i++) {
		const struct thread_moment *moment = &state->moments[i];
		const bool is_in = moment->begin >= begin && moment->begin < end;
		uint64_t weight = moment->begin != moment->end ? overlap(moment, begin, end)
				  : is_in                      ? moment->weight
							       : 0;

		if (wait->is_woken && moment->begin != moment->end && moment->end >= wait->end)
			continue;
		if (weight && moment->stack)
			error = add_holding(sweep, device, wait->wait, moment->stack, weight);
	}
	if (!error && !wait->is_woken && state->since_ns < end && state->stack &&
	    !state->is_preempted)
		error = add_holding(sweep, device, wait->wait, state->stack,
				    end - (state->since_ns > begin ? state->since_ns : begin));
	return error;
}

static unsigned int length_class(uint64_t length_ns)
{
	unsigned int class = 0;

	while (class < ANALYSIS_LENGTHS - 1 && length_ns >= UINT64_C(1000000) << class)
		class ++;
	return class;
}

/* Counts an interval without a stack by its length. */
static int count_unseen_away(struct sweep *sweep, size_t device, const struct thread_moment *moment,
			     struct observed_part part)
{
	struct analysis_state *row;
	int error = find_row(sweep, device, CAUSE_BLOCKED, 0, 0, &row);

	if (error)
		return error;
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

	if (moment->end - moment->begin >= SHORT_NS)
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

/* Only intervals whose preemptor is known are kept. The observer does not get them: the page draws
 * that time at the launch that it delayed. */
static int count_preempted(struct sweep *sweep, size_t device, const struct thread_moment *moment,
			   uint64_t length_ns)
{
	struct analysis_state *row;
	int error = find_row(sweep, device, CAUSE_PREEMPTED, 0, moment->wait, &row);

	if (!error)
		row->known_ns += length_ns;
	return error;
}

static int count_away(struct sweep *sweep, size_t device, const struct thread_moment *moment,
		      uint64_t begin, uint64_t end)
{
	const struct observed_part part = {.table = OBSERVED_STATE_KNOWN,
					   .begin = larger(moment->begin, begin),
					   .end = smaller(moment->end, end),
					   .by = overlap(moment, begin, end)};
	struct analysis_state *row;
	int error;

	if (!part.by)
		return 0;
	if (moment->is_preempted)
		return count_preempted(sweep, device, moment, part.by);
	if (!moment->stack && !moment->wait)
		return count_unseen_away(sweep, device, moment, part);
	error = find_row(sweep, device, CAUSE_BLOCKED, moment->stack, moment->wait, &row);
	if (error)
		return error;
	row->known_ns += part.by;
	error = observe_state(sweep, row, part);
	if (!error)
		error = count_short(sweep, row, moment, part);
	if (error || !moment->wait || !row->holder)
		return error;
	return count_holder(sweep, device, moment, part.begin, part.end);
}

static int count_moment(struct sweep *sweep, size_t device, const struct thread_moment *moment,
			uint64_t begin, uint64_t end)
{
	struct analysis_state *row;
	int error;

	if (moment->begin != moment->end)
		return count_away(sweep, device, moment, begin, end);
	if (moment->begin < begin || moment->begin >= end)
		return 0;
	error = find_row(sweep, device, CAUSE_ON_CPU, moment->stack, 0, &row);
	if (error)
		return error;
	row->seen = add_saturated(row->seen, moment->weight);
	return observe_state(sweep, row,
			     (struct observed_part){.table = OBSERVED_STATE_SEEN,
						    .begin = moment->begin,
						    .end = moment->begin,
						    .by = moment->weight});
}

/* The time counts as seen too: time of calls that are dropped later is divided like the known time.
 * */
int sweep_add_call(struct sweep *sweep, const struct account *account,
		   const struct thread_call *call, uint32_t thread, struct observed_part part)
{
	enum account_cause cause = call->is_wait ? CAUSE_API_WAIT : CAUSE_API_CALL;
	struct analysis_state *row = NULL;
	uint32_t wait;
	int error = sweep_find_wait(sweep, &(struct state_wait){call->function, thread, 0}, &wait);

	if (!error)
		error = find_row(sweep, sweep_device_of(sweep, account), cause, call->stack, wait,
				 &row);
	if (error)
		return error;
	row->known_ns += part.by;
	row->seen = add_saturated(row->seen, part.by);
	part.table = OBSERVED_STATE_KNOWN;
	error = observe_state(sweep, row, part);
	part.table = OBSERVED_STATE_SEEN;
	return error ? error : observe_state(sweep, row, part);
}

int sweep_on_thread(void *context, const struct account *account, uint32_t thread, uint64_t begin,
		    uint64_t end)
{
	struct sweep *sweep = context;
	struct thread_state *state = &sweep->per_thread.states[thread];
	size_t device = sweep_device_of(sweep, account), i = state->moments_count;
	int error = 0;

	while (i > state->moments_first && state->moments[i - 1].end >= begin)
		i--;
	for (; i < state->moments_count && !error; i++)
		error = count_moment(sweep, device, &state->moments[i], begin, end);
	return error;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Clamping in the account can leave less time than the intervals add up to. */
static void shorten(struct analysis_state *row, uint64_t *over_ns)
{
	uint64_t less = *over_ns < row->known_ns ? *over_ns : row->known_ns;

	row->known_ns -= less;
	*over_ns -= less;
}

static struct analysis_state *first_seen(const struct analysis *analysis, size_t device,
					 enum account_cause cause)
{
	size_t i = 0;

	while (analysis->cpu.states[i].device != device || analysis->cpu.states[i].cause != cause ||
	       !analysis->cpu.states[i].seen)
		i++;
	return &analysis->cpu.states[i];
}

static bool is_of(const struct analysis_state *row, size_t device, enum account_cause cause)
{
	return row->device == device && row->cause == cause;
}

static bool is_nameless(const struct analysis_state *row)
{
	return !row->stack && !row->wait_string;
}

static uint64_t part_of(uint64_t whole, uint64_t share, uint64_t all)
{
	return all ? (uint64_t)((unsigned __int128)whole * share / all) : 0;
}

struct division {
	struct sweep *sweep;
	size_t device;
	enum account_cause cause;
	uint64_t rest; /* not given to a row yet */
};

static void add_part(struct division *division, struct analysis_state *row, uint64_t part)
{
	part = part < division->rest ? part : division->rest; /* sums may be saturated */
	row->idle_ns += part;
	division->rest -= part;
}

/* Divides `left` in proportion to the samples of each row. */
static void divide_by_seen(struct division *division, uint64_t left, uint64_t seen)
{
	struct analysis *analysis = division->sweep->analysis;

	for (size_t i = 0; i < analysis->cpu.states_count; i++) {
		struct analysis_state *row = &analysis->cpu.states[i];

		if (is_of(row, division->device, division->cause))
			add_part(division, row, part_of(left, row->seen, seen));
	}
}

/* Divides the time of intervals of one length class without a stack among the rows with stacks of
 * that class. If there is none, the time stays in `rest`. */
static void divide_length(struct division *division, uint64_t left, unsigned int class)
{
	struct analysis *analysis = division->sweep->analysis;
	uint64_t seen = 0;

	for (size_t i = 0; i < analysis->cpu.states_count; i++) {
		const struct analysis_state *row = &analysis->cpu.states[i];

		if (is_of(row, division->device, division->cause) && !is_nameless(row))
			seen = add_saturated(seen, row->lengths[class]);
	}
	for (size_t i = 0; i < analysis->cpu.states_count && seen; i++) {
		struct analysis_state *row = &analysis->cpu.states[i];

		if (is_of(row, division->device, division->cause) && !is_nameless(row))
			add_part(division, row, part_of(left, row->lengths[class], seen));
	}
}

static void divide_by_length(struct division *division, uint64_t left,
			     const uint64_t unseen[ANALYSIS_LENGTHS])
{
	uint64_t all = 0;

	for (unsigned int class = 0; class < ANALYSIS_LENGTHS; class ++)
		all = add_saturated(all, unseen[class]);
	for (unsigned int class = 0; class < ANALYSIS_LENGTHS; class ++)
		divide_length(division, part_of(left, unseen[class], all), class);
}

/* Divides the idle time of one cause that no interval explains, in proportion to what was seen. The
 * remainder of the rounding goes to the first row seen; time that cannot be divided gets a row
 * without a stack. */
static int divide(struct sweep *sweep, size_t device, enum account_cause cause, uint64_t idle_ns)
{
	struct analysis *analysis = sweep->analysis;
	struct division division = {sweep, device, cause, 0};
	uint64_t known_ns = 0, seen = 0, left, over, unseen[ANALYSIS_LENGTHS] = {0};
	bool has_unseen = false;
	struct analysis_state *row;

	for (size_t i = 0; i < analysis->cpu.states_count; i++) {
		row = &analysis->cpu.states[i];
		if (!is_of(row, device, cause))
			continue;
		known_ns += row->known_ns;
		seen = add_saturated(seen, row->seen);
		for (unsigned int class = 0; class < ANALYSIS_LENGTHS && is_nameless(row);
		     class ++) {
			unseen[class] = row->lengths[class];
			has_unseen |= unseen[class] != 0;
		}
	}
	over = known_ns > idle_ns ? known_ns - idle_ns : 0;
	division.rest = left = known_ns > idle_ns ? 0 : idle_ns - known_ns;
	for (size_t i = 0; i < analysis->cpu.states_count; i++) {
		row = &analysis->cpu.states[i];
		if (!is_of(row, device, cause))
			continue;
		shorten(row, &over);
		row->idle_ns = row->known_ns;
	}
	if (has_unseen)
		divide_by_length(&division, left, unseen);
	else
		divide_by_seen(&division, left, seen);
	if (seen && division.rest < analysis->cpu.states_count) { /* remainder of the rounding */
		first_seen(analysis, device, cause)->idle_ns += division.rest;
		division.rest = 0;
	}
	if (!division.rest)
		return 0;
	if (find_row(sweep, device, cause, 0, 0, &row))
		return -ENOMEM;
	row->idle_ns += division.rest;
	return 0;
}

int sweep_close_states(struct sweep *sweep)
{
	static const enum account_cause divided[] = {CAUSE_API_WAIT, CAUSE_API_CALL, CAUSE_ON_CPU,
						     CAUSE_BLOCKED, CAUSE_PREEMPTED};
	struct analysis *analysis = sweep->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis_devices_shown(analysis) && !error; i++) {
		const uint64_t *causes = analysis->devices[i].account.causes;

		for (size_t cause = 0; cause < ARRAY_COUNT(divided) && !error; cause++)
			error = divide(sweep, i, divided[cause], causes[divided[cause]]);
	}
	return error;
}
