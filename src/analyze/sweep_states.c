/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_states.c - where the launching threads were while a device idled
 *
 * Runs in:  the readers
 * Gets:     switches and samples of threads; gaps of devices, as the account explains them
 * Gives:    when a thread was away from its processor; what it did, by stack
 * Owns:     moments of each thread since the earliest gap that is still open
 * Fails:    -ENOMEM
 * Why two ways: an interval off the processor has its length and, if somebody looked at it, its stack. On the
 *           processor a sample stands for what lies around it, and most gaps are shorter than the time between two:
 *           what all gaps of a device have together is divided by what was seen in all of them.
 */
#include "analyze/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Of a thread, 20 s of samples; in a longer gap the last ones stand for all. */
#define MOMENTS_MOST ((size_t)1 << 12)
/* Shorter intervals are looked at by chance, more likely the longer they are. */
#define SHORT_NS     50000000u

static void forget_first(struct thread_state *state, size_t count)
{
	state->moments_first += count;
	if (state->moments_first * 2 < state->moments_count)
		return;
	state->moments_count -= state->moments_first;
	if (state->moments_count)
		memmove(state->moments, state->moments + state->moments_first,
			state->moments_count * sizeof(*state->moments));
	state->moments_first = 0;
}

static int keep_moment(struct thread_state *state, uint64_t begin, uint64_t end, uint64_t weight,
		       uint32_t stack)
{
	if (state->moments_count - state->moments_first >= MOMENTS_MOST)
		forget_first(state, MOMENTS_MOST / 2);
	if (array_grow(state->moments, state->moments_capacity, state->moments_count + 1))
		return -ENOMEM;
	state->moments[state->moments_count++] = (struct thread_moment){begin, end, weight, stack};
	return 0;
}

void sweep_forget_moments(struct sweep *sweep, size_t thread, const uint64_t *kept, size_t count)
{
	struct thread_state *state = &sweep->states[thread];
	uint64_t earliest = UINT64_MAX;
	size_t old = 0, all = state->moments_count - state->moments_first;

	for (size_t i = 0; i < count; i++)
		if (kept[i] < earliest)
			earliest = kept[i];
	while (old < all && state->moments[state->moments_first + old].end < earliest)
		old++;
	forget_first(state, old);
}

/* The last call that began is the only one that can be over a later moment. */
static bool is_in_call(const struct sweep *sweep, size_t thread, uint64_t time_ns)
{
	const struct calls *calls = &sweep->calls[thread];

	return calls->count && calls->spans[calls->count - 1].end > time_ns;
}

static void watch(struct sweep *sweep, uint32_t id, uint64_t time_ns)
{
	size_t thread = things_index(&sweep->threads, id);

	if (thread < sweep->threads.count && sweep->states[thread].watched_ns == UINT64_MAX)
		sweep->states[thread].watched_ns = time_ns;
}

int sweep_come_back(struct sweep *sweep, size_t thread, uint64_t time_ns)
{
	struct thread_state *state = &sweep->states[thread];
	uint64_t since_ns = state->since_ns;

	if (thread == sweep->threads.count || since_ns == UINT64_MAX)
		return 0;
	state->since_ns = UINT64_MAX;
	sweep_compact_state(sweep, thread, time_ns);
	if (!state->is_preempted) {
		int error = keep_moment(state, since_ns, time_ns, time_ns - since_ns, state->stack);

		if (!error && state->gil_until)
			error = sweep_count_gil(sweep, thread, since_ns, time_ns);
		if (error)
			return error;
	}
	return calls_add(&state->away, since_ns, time_ns, state->is_preempted);
}

/* Who leaves its processor inside of a call comes back to it there: that time is the call's. */
static void go_away(struct sweep *sweep, size_t thread, const struct event_switch *row)
{
	struct thread_state *state = &sweep->states[thread];

	if (thread == sweep->threads.count || state->since_ns != UINT64_MAX ||
	    is_in_call(sweep, thread, row->time))
		return;
	state->since_ns = row->time;
	state->is_preempted = row->reason == SWITCH_PREEMPTED;
	state->stack = row->stack;
	sweep_await_gil(sweep, thread, row);
}

int sweep_take_switch(struct sweep *sweep, const struct event_switch *row)
{
	size_t next = things_index(&sweep->threads, row->next);

	watch(sweep, row->previous, row->time);
	watch(sweep, row->next, row->time);
	go_away(sweep, things_index(&sweep->threads, row->previous), row);
	return sweep_come_back(sweep, next, row->time);
}

int sweep_take_sample(struct sweep *sweep, const struct event_cpu_sample *row)
{
	size_t thread = things_index(&sweep->threads, row->thread);

	watch(sweep, row->thread, row->time);
	if (thread == sweep->threads.count || !sweep_tells_time(sweep, row->source_string) ||
	    is_in_call(sweep, thread, row->time))
		return 0;
	return keep_moment(&sweep->states[thread], row->time, row->time, row->weight, row->stack);
}

void sweep_states_fini(struct sweep *sweep)
{
	for (size_t i = 0; sweep->states && i <= sweep->threads.count; i++) {
		calls_fini(&sweep->states[i].away);
		free(sweep->states[i].moments);
	}
	free(sweep->states);
}

/* ---- gaps -------------------------------------------------------------------------------------- */

static int find_row(struct sweep *sweep, size_t device, enum account_cause cause, uint32_t stack,
		    struct analysis_state **ret_row)
{
	struct analysis *analysis = sweep->analysis;
	uint64_t key = (uint64_t)device << 32 | cause;
	uint32_t index = pair_map_find(&sweep->state_rows, key, stack);

	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)analysis->states_count;
		if (array_grow(analysis->states, sweep->states_capacity, index + (size_t)1) ||
		    pair_map_put(&sweep->state_rows, key, stack, index))
			return -ENOMEM;
		analysis->states[index] =
			(struct analysis_state){.device = device, .cause = cause, .stack = stack};
		analysis->states_count++;
	}
	*ret_row = &analysis->states[index];
	return 0;
}

/* Weights are what a file says. */
static uint64_t add_saturated(uint64_t sum, uint64_t value)
{
	return value > UINT64_MAX - sum ? UINT64_MAX : sum + value;
}

static int see(struct sweep *sweep, size_t device, const struct thread_moment *moment,
	       uint64_t begin, uint64_t end)
{
	bool is_away = moment->begin != moment->end;
	uint64_t from = moment->begin > begin ? moment->begin : begin;
	uint64_t to = moment->end < end ? moment->end : end;
	struct analysis_state *row;
	int error;

	if (is_away ? from >= to || !moment->stack : moment->begin < begin || moment->begin >= end)
		return 0;
	error = find_row(sweep, device, is_away ? CAUSE_BLOCKED : CAUSE_ON_CPU, moment->stack,
			 &row);
	if (error)
		return error;
	if (is_away)
		row->known_ns += to - from;
	if (!is_away)
		row->seen = add_saturated(row->seen, moment->weight);
	else if (moment->end - moment->begin < SHORT_NS)
		row->seen++;
	return 0;
}

static size_t device_of(const struct sweep *sweep, const struct account *account)
{
	const char *first = (const char *)&sweep->analysis->devices[0].account;

	return (size_t)((const char *)account - first) / sizeof(sweep->analysis->devices[0]);
}

int sweep_on_thread(void *context, const struct account *account, uint32_t thread, uint64_t begin,
		    uint64_t end)
{
	struct sweep *sweep = context;
	struct thread_state *state = &sweep->states[thread];
	size_t device = device_of(sweep, account), i = state->moments_count;
	int error = 0;

	while (i > state->moments_first && state->moments[i - 1].end >= begin)
		i--;
	for (; i < state->moments_count && !error; i++)
		error = see(sweep, device, &state->moments[i], begin, end);
	return error;
}

/* ---- the end ----------------------------------------------------------------------------------- */

/* Clamps of the account can leave less than the intervals have. */
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

	while (analysis->states[i].device != device || analysis->states[i].cause != cause ||
	       !analysis->states[i].seen)
		i++;
	return &analysis->states[i];
}

/* What was not seen goes to what was, by how often; what rounding leaves, and what nobody saw, has no stack. */
static int divide(struct sweep *sweep, size_t device, enum account_cause cause, uint64_t idle_ns)
{
	struct analysis *analysis = sweep->analysis;
	uint64_t known_ns = 0, seen = 0, left, rest, over;
	struct analysis_state *row;

	for (size_t i = 0; i < analysis->states_count; i++) {
		row = &analysis->states[i];
		if (row->device != device || row->cause != cause)
			continue;
		known_ns += row->known_ns;
		seen = add_saturated(seen, row->seen);
	}
	over = known_ns > idle_ns ? known_ns - idle_ns : 0;
	rest = left = known_ns > idle_ns ? 0 : idle_ns - known_ns;
	for (size_t i = 0; i < analysis->states_count; i++) {
		uint64_t part;

		row = &analysis->states[i];
		if (row->device != device || row->cause != cause)
			continue;
		shorten(row, &over);
		part = seen ? (uint64_t)((unsigned __int128)left * row->seen / seen) : 0;
		part = part < rest ? part : rest; /* sums of weights may be saturated */
		row->idle_ns = row->known_ns + part;
		rest -= part;
	}
	if (seen && rest < analysis->states_count) { /* of rounding */
		first_seen(analysis, device, cause)->idle_ns += rest;
		rest = 0;
	}
	if (!rest)
		return 0;
	if (find_row(sweep, device, cause, 0, &row))
		return -ENOMEM;
	row->idle_ns += rest;
	return 0;
}

int sweep_close_states(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis_devices_shown(analysis) && !error; i++) {
		const uint64_t *causes = analysis->devices[i].account.causes;

		error = divide(sweep, i, CAUSE_ON_CPU, causes[CAUSE_ON_CPU]);
		if (!error)
			error = divide(sweep, i, CAUSE_BLOCKED, causes[CAUSE_BLOCKED]);
	}
	return error;
}
