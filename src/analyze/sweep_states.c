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
#include "base/number.h"

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

static int keep_moment(struct thread_state *state, const struct thread_moment *moment)
{
	if (state->moments_count - state->moments_first >= MOMENTS_MOST)
		forget_first(state, MOMENTS_MOST / 2);
	if (array_grow(state->moments, state->moments_capacity, state->moments_count + 1))
		return -ENOMEM;
	state->moments[state->moments_count++] = *moment;
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

/* Samples alone do not tell that a thread stayed on its processor: what was imported has no switches. */
static void watch(struct sweep *sweep, uint32_t id, uint64_t time_ns)
{
	size_t thread = things_index(&sweep->threads, id);

	if (sweep->has_switches && thread < sweep->threads.count &&
	    sweep->states[thread].watched_ns == UINT64_MAX)
		sweep->states[thread].watched_ns = time_ns;
}

/* The number of what was waited for or called; 0: it is not known. */
static int find_wait(struct sweep *sweep, const struct state_wait *wait, uint32_t *ret_wait)
{
	const uint64_t first = (uint64_t)wait->string << 32 | wait->holder;
	const uint64_t second = (uint64_t)wait->is_own << 32 | wait->waker;
	uint32_t number = pair_map_find(&sweep->wait_numbers, first, second);

	*ret_wait = 0;
	if (!first && !wait->waker)
		return 0;
	if (number == PAIR_MAP_NONE) {
		number = (uint32_t)(sweep->state_waits_count ? sweep->state_waits_count : 1);
		if (array_grow(sweep->state_waits, sweep->state_waits_capacity,
			       number + (size_t)1) ||
		    pair_map_put(&sweep->wait_numbers, first, second, number))
			return -ENOMEM;
		sweep->state_waits[0] = (struct state_wait){0};
		sweep->state_waits[number] = *wait;
		sweep->state_waits_count = number + (size_t)1;
	}
	*ret_wait = number;
	return 0;
}

/* The number of a chain that begins with this link; 0: there are too many. */
static int add_waker(struct sweep *sweep, uint32_t thread, uint32_t name_string, uint32_t before,
		     uint32_t *ret_waker)
{
	struct analysis *analysis = sweep->analysis;
	const uint64_t who = (uint64_t)thread << 32 | name_string;
	uint32_t number = pair_map_find(&sweep->waker_numbers, who, before);

	*ret_waker = 0;
	if (number == PAIR_MAP_NONE && analysis->wakers_count == ANALYSIS_WAKERS_KEPT)
		return 0;
	if (number == PAIR_MAP_NONE) {
		if (array_grow(analysis->wakers, sweep->wakers_capacity,
			       analysis->wakers_count + 1))
			return -ENOMEM;
		analysis->wakers[analysis->wakers_count++] = (struct analysis_waker){
			.thread = thread,
			.name_string = name_string,
			.before = before,
			.depth = before ? analysis->wakers[before - 1].depth + 1 : 1};
		number = (uint32_t)analysis->wakers_count;
		if (pair_map_put(&sweep->waker_numbers, who, before, number))
			return -ENOMEM;
	}
	*ret_waker = number;
	return 0;
}

/* Without its last link, who is farthest from what happened: those between stay. */
static int cut_wakers(struct sweep *sweep, uint32_t *waker)
{
	struct analysis_waker links[ANALYSIS_WAKERS_MOST];
	size_t count = 0;
	int error = 0;

	while (*waker && count < ANALYSIS_WAKERS_MOST) {
		links[count] = sweep->analysis->wakers[*waker - 1];
		*waker = links[count++].before;
	}
	*waker = 0;
	for (size_t i = count - 1; i-- > 0 && !error;)
		error = add_waker(sweep, links[i].thread, links[i].name_string, *waker, waker);
	return error;
}

/* Who let a thread go on that had gone at since_ns, and who let that one where it waited meanwhile. */
static int find_waker(struct sweep *sweep, const struct event_switch *row, uint64_t since_ns,
		      uint32_t *ret_waker)
{
	const size_t thread = things_index(&sweep->threads, row->waker);
	uint32_t before = 0;

	*ret_waker = 0;
	if (!row->waker && !row->waker_string)
		return 0;
	if (thread < sweep->threads.count && sweep->states[thread].woken_until > since_ns)
		before = sweep->states[thread].waker;
	if (before && sweep->analysis->wakers[before - 1].depth == ANALYSIS_WAKERS_MOST &&
	    cut_wakers(sweep, &before))
		return -ENOMEM;
	return add_waker(sweep, row->waker, row->waker_string, before, ret_waker);
}

/* Who has a thing is who lets others go on with it. */
static int know_waker(struct sweep *sweep, struct thread_state *state, uint32_t waker)
{
	struct state_wait wait = {.waker = waker};

	if (!waker || (state->wait && sweep->state_waits[state->wait].holder))
		return 0;
	/* what is not known at all stays so: such intervals are divided among those that were seen */
	if (!state->wait)
		return 0;
	wait.string = sweep->state_waits[state->wait].string;
	return find_wait(sweep, &wait, &state->wait);
}

int sweep_come_back(struct sweep *sweep, size_t thread, uint64_t time_ns, uint32_t waker)
{
	struct thread_state *state = &sweep->states[thread];
	uint64_t since_ns = state->since_ns;
	struct thread_moment moment;
	int error = 0;

	if (thread == sweep->threads.count || since_ns == UINT64_MAX)
		return 0;
	state->since_ns = UINT64_MAX;
	sweep_compact_state(sweep, thread, time_ns);
	if (!state->is_preempted)
		error = know_waker(sweep, state, waker);
	moment = (struct thread_moment){since_ns,     time_ns,     time_ns - since_ns,
					state->stack, state->wait, state->is_preempted};
	if (!error && (!state->is_preempted || state->wait))
		error = keep_moment(state, &moment);
	if (!error && !state->is_preempted && state->gil_until)
		error = sweep_count_gil(sweep, thread, since_ns, time_ns);
	return error ? error
		     : calls_add(&state->away, since_ns, time_ns,
				 state->is_preempted ? CALLS_WAIT : CALLS_CALL);
}

/* Whether the thread that got the processor is of the process whose thread lost it. */
static bool is_own(const struct sweep *sweep, const struct event_switch *row)
{
	const struct event_thread *thread =
		things_row(&sweep->threads, things_index(&sweep->threads, row->previous));
	const struct event_thread *next =
		things_row(&sweep->threads, things_index(&sweep->threads, row->holder));

	return thread && next && thread->process == next->process;
}

/* Who leaves its processor inside of a call comes back to it there: that time is the call's. */
static int go_away(struct sweep *sweep, size_t thread, const struct event_switch *row)
{
	struct thread_state *state = &sweep->states[thread];

	if (thread == sweep->threads.count || state->since_ns != UINT64_MAX)
		return 0;
	if (is_in_call(sweep, thread, row->time)) {
		sweep_see_in_call(sweep, thread, row->time, row->stack);
		return 0;
	}
	state->since_ns = row->time;
	state->is_preempted = row->reason == SWITCH_PREEMPTED;
	state->stack = row->stack;
	sweep_await_gil(sweep, thread, row);
	return find_wait(sweep,
			 &(struct state_wait){.string = row->wait_string,
					      .holder = row->holder,
					      .is_own = state->is_preempted && is_own(sweep, row)},
			 &state->wait);
}

int sweep_take_switch(struct sweep *sweep, const struct event_switch *row)
{
	size_t next = things_index(&sweep->threads, row->next);
	struct thread_state *state = &sweep->states[next];
	uint32_t waker = 0;
	int error;

	watch(sweep, row->previous, row->time);
	watch(sweep, row->next, row->time);
	error = go_away(sweep, things_index(&sweep->threads, row->previous), row);
	/* who was preempted waited for nobody, and is who it was woken by before */
	if (!error && next < sweep->threads.count && state->since_ns != UINT64_MAX &&
	    !state->is_preempted) {
		error = find_waker(sweep, row, state->since_ns, &waker);
		state->woken_until = row->time;
		state->waker = waker;
	}
	return error ? error : sweep_come_back(sweep, next, row->time, waker);
}

int sweep_take_sample(struct sweep *sweep, const struct event_cpu_sample *row)
{
	size_t thread = things_index(&sweep->threads, row->thread);

	watch(sweep, row->thread, row->time);
	if (thread == sweep->threads.count || !sweep_tells_time(sweep, row->source_string))
		return 0;
	if (is_in_call(sweep, thread, row->time)) {
		sweep_see_in_call(sweep, thread, row->time, row->stack);
		return 0;
	}
	return keep_moment(
		&sweep->states[thread],
		&(struct thread_moment){row->time, row->time, row->weight, row->stack, 0, false});
}

void sweep_states_fini(struct sweep *sweep)
{
	for (size_t i = 0; sweep->states && i <= sweep->threads.count; i++) {
		calls_fini(&sweep->states[i].away);
		free(sweep->states[i].moments);
		free(sweep->states[i].called.calls);
	}
	free(sweep->states);
	free(sweep->state_waits);
}

/* ---- gaps -------------------------------------------------------------------------------------- */

static int find_row(struct sweep *sweep, size_t device, enum account_cause cause, uint32_t stack,
		    uint32_t wait, struct analysis_state **ret_row)
{
	struct analysis *analysis = sweep->analysis;
	uint64_t key = (uint64_t)device << 32 | cause, second = (uint64_t)wait << 32 | stack;
	uint32_t index = pair_map_find(&sweep->state_rows, key, second);

	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)analysis->states_count;
		if (array_grow(analysis->states, sweep->states_capacity, index + (size_t)1) ||
		    pair_map_put(&sweep->state_rows, key, second, index))
			return -ENOMEM;
		analysis->states[index] =
			(struct analysis_state){.device = device, .cause = cause, .stack = stack};
		if (wait) {
			analysis->states[index].wait_string = sweep->state_waits[wait].string;
			analysis->states[index].holder = sweep->state_waits[wait].holder;
			analysis->states[index].waker = sweep->state_waits[wait].waker;
			analysis->states[index].is_own = sweep->state_waits[wait].is_own;
		}
		analysis->states_count++;
	}
	*ret_row = &analysis->states[index];
	return 0;
}

static int add_holding(struct sweep *sweep, size_t device, uint32_t wait, uint32_t stack,
		       uint64_t weight)
{
	struct analysis *analysis = sweep->analysis;
	uint64_t key = (uint64_t)device << 32 | wait;
	uint32_t index = pair_map_find(&sweep->holding_rows, key, stack);

	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)analysis->holdings_count;
		if (array_grow(analysis->holdings, sweep->holdings_capacity, index + (size_t)1) ||
		    pair_map_put(&sweep->holding_rows, key, stack, index))
			return -ENOMEM;
		analysis->holdings[index] =
			(struct analysis_holding){.device = device,
						  .wait_string = sweep->state_waits[wait].string,
						  .holder = sweep->state_waits[wait].holder,
						  .stack = stack};
		analysis->holdings_count++;
	}
	analysis->holdings[index].weight = add_saturated(analysis->holdings[index].weight, weight);
	return 0;
}

static int tell_state(struct sweep *sweep, const struct analysis_state *row,
		      struct observed_part part)
{
	part.row = (uint32_t)(row - sweep->analysis->states);
	return sweep_tell_part(sweep, &part);
}

/* How much of an interval a moment has, where that is an interval too. */
static uint64_t overlap(const struct thread_moment *moment, uint64_t begin, uint64_t end)
{
	uint64_t from = moment->begin > begin ? moment->begin : begin;
	uint64_t to = moment->end < end ? moment->end : end;

	return from < to ? to - from : 0;
}

/* What the holder did in an interval in which another thread waited for it. */
static int see_holder(struct sweep *sweep, size_t device, uint32_t wait, uint64_t begin,
		      uint64_t end)
{
	size_t thread = things_index(&sweep->threads, sweep->state_waits[wait].holder);
	const struct thread_state *state = &sweep->states[thread];
	size_t i = state->moments_count;
	int error = 0;

	if (thread == sweep->threads.count)
		return 0;
	while (i > state->moments_first && state->moments[i - 1].end >= begin)
		i--;
	for (; i < state->moments_count && state->moments[i].begin < end && !error; i++) {
		const struct thread_moment *moment = &state->moments[i];
		const bool is_in = moment->begin >= begin && moment->begin < end;
		uint64_t weight = moment->begin != moment->end ? overlap(moment, begin, end)
				  : is_in                      ? moment->weight
							       : 0;

		if (weight && moment->stack)
			error = add_holding(sweep, device, wait, moment->stack, weight);
	}
	if (!error && state->since_ns < end && state->stack && !state->is_preempted)
		error = add_holding(sweep, device, wait, state->stack,
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

/* One that nobody looked at. */
static int miss_away(struct sweep *sweep, size_t device, const struct thread_moment *moment,
		     struct observed_part part)
{
	struct analysis_state *row;
	int error = find_row(sweep, device, CAUSE_BLOCKED, 0, 0, &row);

	if (error)
		return error;
	part.table = OBSERVED_STATE_LENGTH;
	part.length = length_class(moment->end - moment->begin);
	row->lengths[part.length] = add_saturated(row->lengths[part.length], part.by);
	return tell_state(sweep, row, part);
}

/* One of those that stand for others of their length, which nobody looked at. */
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
	error = tell_state(sweep, row, part);
	part.table = OBSERVED_STATE_LENGTH;
	part.length = length_class(moment->end - moment->begin);
	row->lengths[part.length]++;
	return error ? error : tell_state(sweep, row, part);
}

/* Only those are kept of which it is known who took the processor. Nobody is told: that time is drawn with the launch
 * that came late by it. */
static int see_preempted(struct sweep *sweep, size_t device, const struct thread_moment *moment,
			 uint64_t length_ns)
{
	struct analysis_state *row;
	int error = find_row(sweep, device, CAUSE_PREEMPTED, 0, moment->wait, &row);

	if (!error)
		row->known_ns += length_ns;
	return error;
}

static int see_away(struct sweep *sweep, size_t device, const struct thread_moment *moment,
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
		return see_preempted(sweep, device, moment, part.by);
	if (!moment->stack && !moment->wait)
		return miss_away(sweep, device, moment, part);
	error = find_row(sweep, device, CAUSE_BLOCKED, moment->stack, moment->wait, &row);
	if (error)
		return error;
	row->known_ns += part.by;
	error = tell_state(sweep, row, part);
	if (!error)
		error = count_short(sweep, row, moment, part);
	if (error || !moment->wait || !row->holder)
		return error;
	return see_holder(sweep, device, moment->wait, part.begin, part.end);
}

static int see(struct sweep *sweep, size_t device, const struct thread_moment *moment,
	       uint64_t begin, uint64_t end)
{
	struct analysis_state *row;
	int error;

	if (moment->begin != moment->end)
		return see_away(sweep, device, moment, begin, end);
	if (moment->begin < begin || moment->begin >= end)
		return 0;
	error = find_row(sweep, device, CAUSE_ON_CPU, moment->stack, 0, &row);
	if (error)
		return error;
	row->seen = add_saturated(row->seen, moment->weight);
	return tell_state(sweep, row,
			  (struct observed_part){.table = OBSERVED_STATE_SEEN,
						 .begin = moment->begin,
						 .end = moment->begin,
						 .by = moment->weight});
}

size_t sweep_device_of(const struct sweep *sweep, const struct account *account)
{
	const char *first = (const char *)&sweep->analysis->devices[0].account;

	return (size_t)((const char *)account - first) / sizeof(sweep->analysis->devices[0]);
}

/* What of it is forgotten later is divided as what is known. */
int sweep_add_call(struct sweep *sweep, const struct account *account,
		   const struct thread_call *call, uint32_t thread, struct observed_part part)
{
	enum account_cause cause = call->is_wait ? CAUSE_API_WAIT : CAUSE_API_CALL;
	struct analysis_state *row = NULL;
	uint32_t wait;
	int error = find_wait(sweep, &(struct state_wait){call->function, thread, 0}, &wait);

	if (!error)
		error = find_row(sweep, sweep_device_of(sweep, account), cause, call->stack, wait,
				 &row);
	if (error)
		return error;
	row->known_ns += part.by;
	row->seen = add_saturated(row->seen, part.by);
	part.table = OBSERVED_STATE_KNOWN;
	error = tell_state(sweep, row, part);
	part.table = OBSERVED_STATE_SEEN;
	return error ? error : tell_state(sweep, row, part);
}

int sweep_on_thread(void *context, const struct account *account, uint32_t thread, uint64_t begin,
		    uint64_t end)
{
	struct sweep *sweep = context;
	struct thread_state *state = &sweep->states[thread];
	size_t device = sweep_device_of(sweep, account), i = state->moments_count;
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
	uint64_t rest; /* of what is divided */
};

static void give(struct division *division, struct analysis_state *row, uint64_t part)
{
	part = part < division->rest ? part : division->rest; /* sums may be saturated */
	row->idle_ns += part;
	division->rest -= part;
}

/* To each by how often it was seen. */
static void divide_by_seen(struct division *division, uint64_t left, uint64_t seen)
{
	struct analysis *analysis = division->sweep->analysis;

	for (size_t i = 0; i < analysis->states_count; i++) {
		struct analysis_state *row = &analysis->states[i];

		if (is_of(row, division->device, division->cause))
			give(division, row, part_of(left, row->seen, seen));
	}
}

/* Intervals of one length: what was not seen of them goes to those that were; where none was, to nobody. */
static void divide_length(struct division *division, uint64_t left, unsigned int class)
{
	struct analysis *analysis = division->sweep->analysis;
	uint64_t seen = 0;

	for (size_t i = 0; i < analysis->states_count; i++) {
		const struct analysis_state *row = &analysis->states[i];

		if (is_of(row, division->device, division->cause) && !is_nameless(row))
			seen = add_saturated(seen, row->lengths[class]);
	}
	for (size_t i = 0; i < analysis->states_count && seen; i++) {
		struct analysis_state *row = &analysis->states[i];

		if (is_of(row, division->device, division->cause) && !is_nameless(row))
			give(division, row, part_of(left, row->lengths[class], seen));
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

/* What was not seen goes to what was, by how often; what rounding leaves, and what nobody saw, has no stack. */
static int divide(struct sweep *sweep, size_t device, enum account_cause cause, uint64_t idle_ns)
{
	struct analysis *analysis = sweep->analysis;
	struct division division = {sweep, device, cause, 0};
	uint64_t known_ns = 0, seen = 0, left, over, unseen[ANALYSIS_LENGTHS] = {0};
	bool has_unseen = false;
	struct analysis_state *row;

	for (size_t i = 0; i < analysis->states_count; i++) {
		row = &analysis->states[i];
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
	for (size_t i = 0; i < analysis->states_count; i++) {
		row = &analysis->states[i];
		if (!is_of(row, device, cause))
			continue;
		shorten(row, &over);
		row->idle_ns = row->known_ns;
	}
	if (has_unseen)
		divide_by_length(&division, left, unseen);
	else
		divide_by_seen(&division, left, seen);
	if (seen && division.rest < analysis->states_count) { /* of rounding */
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
