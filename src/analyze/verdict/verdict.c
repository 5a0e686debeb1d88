/* SPDX-License-Identifier: MIT
 *
 * analyze/verdict/verdict.c - groups the idle time of a device's steady part by cause and function
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     states of launching threads, what the threads did for which they waited, and paths
 * Gives:    causes that add up to the idle time of the steady part
 * Owns:     the list of causes
 * Fails:    -ENOMEM
 * Why in two steps: a loop shows up in a hundred lines and stacks. The first step sums by line; the
 *           second joins the lines of a function and keeps the line with most time.
 */
#include "analyze/verdict/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/text/name_pattern.h"
#include "analyze/verdict/parts.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/pair_map.h"

enum { MAX_STACKS = 4096 }; /* the longest states get a function; the others are joined */

/* A place of a launching thread's counterpart during all waits with one number. */
struct counterpart {
	uint32_t wait; /* number */
	struct verdict_place place;
	uint32_t thread;
	uint64_t weight, away;
	uint32_t next; /* index + 1 of the next one of the same wait; 0: none */
};

struct maker {
	const struct analysis *analysis;
	struct frames *frames;
	struct verdict *verdict;
	struct string_table keys; /* keys of causes: an id is an index + 1 */
	struct verdict_parts parts;
	struct pair_map waits;            /* (wait, 0) -> index of the first counterpart */
	struct counterpart *counterparts; /* owned */
	size_t counterparts_count, counterparts_capacity;
};

int verdict_find_place(struct frames *frames, uint32_t stack, struct verdict_place *ret_place)
{
	const struct frame_name *names, *best;
	size_t count;

	*ret_place = (struct verdict_place){.stack = stack};
	if (!stack)
		return 0;
	if (frames_of_stack(frames, stack, &names, &count))
		return -ENOMEM;
	best = frames_own(frames, names, count);
	if (!best || best->class == FRAME_CLASS_TRUNCATED)
		return 0;
	ret_place->function = best->function;
	ret_place->file = best->file;
	ret_place->line = best->line;
	ret_place->is_own = frames_is_own(frames, best);
	return 0;
}

/* ---- first step: sums by line --------------------------------------------------------------- */

static const char *text_of(const char *text)
{
	return text ? text : "";
}

/* Whether the thread had something to run. */
static bool is_on_processor(enum verdict_kind kind)
{
	return kind == VERDICT_COMPUTING || kind == VERDICT_PREEMPTED ||
	       kind == VERDICT_PAGE_FAULT || kind == VERDICT_GARBAGE_COLLECTION;
}

bool verdict_is_call(enum verdict_kind kind)
{
	return kind == VERDICT_BUILD || kind == VERDICT_MODULE_LOAD || kind == VERDICT_ALLOCATION ||
	       kind == VERDICT_FREE || kind == VERDICT_CALL || kind == VERDICT_DEVICE_WAIT ||
	       kind == VERDICT_LAUNCH_CALL;
}

/* The function that was called, or the program that ran instead. "": the key does not have it. */
static void write_what(const struct verdict *verdict, const struct verdict_cause *cause,
		       bool has_line, char ret_what[NAME_PATTERN_BYTES])
{
	const bool is_finest = verdict->is_whole || has_line;

	ret_what[0] = '\0';
	if (cause->kind == VERDICT_PREEMPTED && is_finest)
		name_pattern(cause->what, ret_what);
	else if (cause->kind == VERDICT_CALL || cause->kind == VERDICT_DEVICE_WAIT ||
		 (is_finest && verdict_is_call(cause->kind)))
		snprintf(ret_what, NAME_PATTERN_BYTES, "%s", cause->what);
}

/* The key distinguishes two causes for the user. The thread for which one waits matters more than
 * the place of the wait; without such a thread the place does. Code that was preempted and code
 * that ran are one cause if they are in one place: the user changes that place, or moves the other
 * program. The account of the whole window has them apart. */
static void write_key(const struct verdict *verdict, const struct verdict_cause *cause,
		      bool has_line, char *ret_key, size_t size)
{
	const bool by_other = cause->other.function != NULL;
	const struct verdict_place *place = by_other ? &cause->other : &cause->place;
	const bool is_preempted = cause->kind == VERDICT_PREEMPTED;
	const bool by_place = !is_preempted || !verdict->is_whole;
	const bool is_joined = is_on_processor(cause->kind) && !verdict->is_whole && !has_line &&
			       cause->place.function;
	char what[NAME_PATTERN_BYTES];

	write_what(verdict, cause, has_line, what);
	snprintf(ret_key, size, "%d %d %d %d %d %.2000s %.2000s %" PRIu32 " %s %" PRIu32,
		 (int)(is_joined ? VERDICT_COMPUTING : cause->kind), by_other,
		 verdict->is_whole ? (int)cause->cause : 0, cause->is_after,
		 is_preempted && verdict->is_whole && cause->other_thread,
		 by_place ? text_of(place->function) : "", by_place ? text_of(place->file) : "",
		 has_line ? cause->place.line : 0, what, has_line ? cause->other.line : 0);
}

static int add_cause(struct maker *maker, const struct verdict_cause *cause)
{
	struct verdict *verdict = maker->verdict;
	char key[8192];
	uint32_t id;

	if (!cause->ns)
		return 0;
	write_key(verdict, cause, true, key, sizeof(key));
	id = string_table_add(&maker->keys, key, strlen(key));
	if (!id || array_grow(verdict->causes, verdict->capacity, id))
		return -ENOMEM;
	if (id > verdict->count) {
		verdict->causes[id - 1] = *cause;
		verdict->causes[id - 1].id = id;
		verdict->count = id;
	} else {
		verdict->causes[id - 1].ns += cause->ns;
		verdict->causes[id - 1].preempted_ns += cause->preempted_ns;
	}
	return verdict_parts_add(&maker->parts, id, cause);
}

/* ---- places of the other threads ------------------------------------------------------------- */

static int add_counterpart(struct maker *maker, const struct analysis_holding *holding)
{
	struct counterpart added = {.wait = holding->wait,
				    .thread = holding->thread,
				    .weight = maker->verdict->is_whole ? holding->weight
								       : holding->steady_weight,
				    .away = holding->away};
	uint32_t first;

	if (!added.weight)
		return 0;
	if (verdict_find_place(maker->frames, holding->stack, &added.place))
		return -ENOMEM;
	if (!added.place.function)
		return 0;
	first = pair_map_find(&maker->waits, holding->wait, 0);
	if (first != PAIR_MAP_NONE) {
		added.next = maker->counterparts[first].next;
		maker->counterparts[first].next = (uint32_t)maker->counterparts_count + 1;
	} else if (pair_map_put(&maker->waits, holding->wait, 0,
				(uint32_t)maker->counterparts_count)) {
		return -ENOMEM;
	}
	return array_append(maker->counterparts, maker->counterparts_capacity,
			    maker->counterparts_count, added);
}

static int list_counterparts(struct maker *maker)
{
	const struct analysis_cpu *cpu = &maker->analysis->cpu;
	int error = 0;

	for (size_t i = 0; i < cpu->holdings_count && !error; i++)
		if (cpu->holdings[i].device == maker->verdict->device)
			error = add_counterpart(maker, &cpu->holdings[i]);
	return error;
}

static const struct counterpart *first_counterpart(const struct maker *maker, uint32_t wait)
{
	const uint32_t first = pair_map_find(&maker->waits, wait, 0);

	return wait && first != PAIR_MAP_NONE ? &maker->counterparts[first] : NULL;
}

static const struct counterpart *next_counterpart(const struct maker *maker,
						  const struct counterpart *one)
{
	return one->next ? &maker->counterparts[one->next - 1] : NULL;
}

/* Divides the time of a wait among the places in which the other thread was meanwhile. */
static int add_wait(struct maker *maker, struct verdict_cause cause, uint32_t wait)
{
	const struct counterpart *first = first_counterpart(maker, wait);
	const uint64_t whole_ns = cause.ns;
	uint64_t weight = 0, done = 0;
	int error = 0;

	for (const struct counterpart *one = first; one; one = next_counterpart(maker, one))
		weight = add_saturated(weight, one->weight);
	if (!weight)
		return add_cause(maker, &cause);
	for (const struct counterpart *one = first; one && !error;
	     one = next_counterpart(maker, one)) {
		const uint64_t before = (uint64_t)((unsigned __int128)whole_ns * done / weight);

		done = add_saturated(done, one->weight);
		cause.ns =
			(uint64_t)((unsigned __int128)whole_ns * smaller(done, weight) / weight) -
			before;
		cause.other = one->place;
		cause.other_thread = one->thread;
		cause.is_other_away = one->away > one->weight / 2;
		error = add_cause(maker, &cause);
	}
	return error;
}

/* ---- states and paths ------------------------------------------------------------------------ */

static uint64_t time_of(const struct maker *maker, const struct analysis_state *state)
{
	return maker->verdict->is_whole ? state->idle_ns : state->steady_ns;
}

static uint32_t other_thread_of(const struct analysis *analysis, const struct analysis_state *state)
{
	if (state->doing == CAUSE_PREEMPTED)
		return state->is_own ? state->holder : 0;
	if (state->doing != CAUSE_BLOCKED)
		return 0;
	if (state->holder || !state->waker)
		return state->holder;
	return analysis->cpu.wakers[state->waker - 1].thread;
}

/* Only these kinds of waits end by the work of another thread of the program. */
static bool is_for_thread(enum verdict_kind kind)
{
	return kind == VERDICT_PYTHON_GIL || kind == VERDICT_LOCK || kind == VERDICT_THREAD_WAIT ||
	       kind == VERDICT_PIPE || kind == VERDICT_NETWORK || kind == VERDICT_EVENT_WAIT;
}

static int add_state(struct maker *maker, const struct analysis_state *state, bool has_place)
{
	struct verdict_cause cause = {
		.cause = state->cause,
		.ns = time_of(maker, state),
		.thread = state->thread,
		.is_after = state->is_after,
		.what = model_text(maker->analysis->model, state->wait_string, ""),
	};
	const struct frame_name *names = NULL;
	size_t count = 0;

	if (has_place && state->stack &&
	    frames_of_stack(maker->frames, state->stack, &names, &count))
		return -ENOMEM;
	cause.kind = verdict_kind_of_state(state, cause.what, names, count);
	cause.preempted_ns = cause.kind == VERDICT_PREEMPTED ? cause.ns : 0;
	if (has_place && verdict_find_place(maker->frames, state->stack, &cause.place))
		return -ENOMEM;
	if (is_for_thread(cause.kind) || cause.kind == VERDICT_PREEMPTED)
		cause.other_thread = other_thread_of(maker->analysis, state);
	if (!is_for_thread(cause.kind))
		return add_cause(maker, &cause);
	if (cause.kind == VERDICT_LOCK && !cause.other_thread)
		cause.kind = VERDICT_THREAD_WAIT;
	return add_wait(maker, cause, state->wait);
}

static int add_path_part(struct maker *maker, const struct analysis_path *path,
			 enum account_cause cause, enum verdict_kind kind, uint64_t ns)
{
	struct verdict_cause added = {.kind = kind,
				      .cause = cause,
				      .ns = ns,
				      .thread = path->whom.thread,
				      .what = path->function};
	int error = verdict_find_place(maker->frames, path->stack, &added.place);

	return error ? error : add_cause(maker, &added);
}

/* In the whole window, a part of the unknown time follows a launch without a known submission; in
 * the steady part that time is CAUSE_LATENCY. */
static int add_path_cause(struct maker *maker, const struct analysis_path *path,
			  enum account_cause cause, uint64_t ns)
{
	uint64_t late_ns = maker->verdict->is_whole && cause == CAUSE_UNKNOWN
				   ? smaller(path->not_started_ns, ns)
				   : 0;
	int error = add_path_part(maker, path, cause, VERDICT_LAUNCHED_NOT_STARTED, late_ns);

	return error ? error
		     : add_path_part(maker, path, cause, verdict_kind_of_path(cause), ns - late_ns);
}

static int add_path(struct maker *maker, const struct analysis_path *path)
{
	const uint64_t *causes = maker->verdict->is_whole ? path->causes : path->steady;
	int error = 0;

	if (path->device != maker->verdict->device || !path->name)
		return 0;
	for (unsigned int i = 0; i < CAUSE_COUNT && !error; i++)
		if (causes[i] && !analysis_has_states((enum account_cause)i))
			error = add_path_cause(maker, path, (enum account_cause)i, causes[i]);
	return error;
}

struct sorted_state {
	const struct analysis_state *state;
	uint64_t ns;
};

static int compare_states(const void *left, const void *right)
{
	const struct sorted_state *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return (a->state > b->state) - (a->state < b->state);
}

static int add_states(struct maker *maker)
{
	const struct analysis_cpu *cpu = &maker->analysis->cpu;
	struct sorted_state *states = calloc(cpu->states_count + 1, sizeof(*states));
	size_t count = 0;
	int error = states ? 0 : -ENOMEM;

	for (size_t i = 0; i < cpu->states_count && !error; i++)
		if (cpu->states[i].device == maker->verdict->device &&
		    time_of(maker, &cpu->states[i]))
			states[count++] = (struct sorted_state){&cpu->states[i],
								time_of(maker, &cpu->states[i])};
	if (count)
		qsort(states, count, sizeof(*states), compare_states);
	for (size_t i = 0; i < count && !error; i++)
		error = add_state(maker, states[i].state, i < MAX_STACKS);
	free(states);
	return error;
}

/* ---- second step: joins the lines of a function ---------------------------------------------- */

static int compare_causes(const void *left, const void *right)
{
	const struct verdict_cause *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind > b->kind ? 1 : -1;
	return strcmp(text_of(a->place.function), text_of(b->place.function));
}

static void sort_causes(struct verdict *verdict)
{
	if (verdict->count)
		qsort(verdict->causes, verdict->count, sizeof(*verdict->causes), compare_causes);
}

/* The larger cause comes first: its place and its texts stay. */
static void join_cause(struct verdict_cause *cause, const struct verdict_cause *added)
{
	cause->ns += added->ns;
	cause->preempted_ns += added->preempted_ns;
	if (cause->own_kind == VERDICT_PREEMPTED)
		cause->own_kind = added->kind;
	if (!*cause->what)
		cause->what = added->what;
}

/* A place is preempted if that takes more time than its own code. */
static void name_kind(struct verdict_cause *cause)
{
	if (!is_on_processor(cause->kind))
		return;
	if (cause->preempted_ns > cause->ns / 2) {
		cause->kind = VERDICT_PREEMPTED;
		cause->cause = CAUSE_PREEMPTED;
	} else {
		cause->kind = cause->own_kind;
		cause->cause = CAUSE_ON_CPU;
	}
	if (cause->own_kind == VERDICT_PREEMPTED)
		cause->own_kind = VERDICT_COMPUTING;
}

/* index: by id of a cause of the first step, the index of the cause that joins it. */
static int join_lines(struct verdict *verdict, uint32_t *index)
{
	struct string_table keys = {0};
	size_t count = 0;
	int error = 0;

	sort_causes(verdict);
	for (size_t i = 0; i < verdict->count && !error; i++) {
		char key[8192];
		uint32_t id;

		write_key(verdict, &verdict->causes[i], false, key, sizeof(key));
		id = string_table_add(&keys, key, strlen(key));
		if (!id) {
			error = -ENOMEM;
			break;
		}
		index[verdict->causes[i].id] = id - 1;
		if (id > count) {
			verdict->causes[count] = verdict->causes[i];
			verdict->causes[count++].own_kind = verdict->causes[i].kind;
		} else {
			join_cause(&verdict->causes[id - 1], &verdict->causes[i]);
		}
	}
	string_table_fini(&keys);
	verdict->count = count;
	for (size_t i = 0; i < count && !verdict->is_whole; i++)
		name_kind(&verdict->causes[i]);
	return error;
}

static int join_causes(struct maker *maker)
{
	struct verdict *verdict = maker->verdict;
	uint32_t *index = calloc(verdict->count + 1, sizeof(*index));
	int error = index ? join_lines(verdict, index) : -ENOMEM;

	if (!error)
		error = verdict_parts_count(&maker->parts, maker->analysis, index, verdict->causes);
	free(index);
	sort_causes(verdict);
	return error;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

size_t verdict_device(const struct analysis *analysis)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < analysis_devices_shown(analysis); i++) {
		const struct analysis_device *device = &analysis->devices[i];

		if (device->is_measured && device->account.commands &&
		    (best == SIZE_MAX ||
		     device->account.busy_ns > analysis->devices[best].account.busy_ns))
			best = i;
	}
	return best;
}

int verdict_make(const struct analysis *analysis, struct frames *frames, size_t device,
		 bool is_whole, struct verdict *ret_verdict)
{
	struct maker maker = {.analysis = analysis, .frames = frames, .verdict = ret_verdict};
	int error;

	*ret_verdict = (struct verdict){.device = device,
					.is_whole = is_whole,
					.steady = &analysis->devices[device].account.steady};
	error = list_counterparts(&maker);
	if (!error)
		error = add_states(&maker);
	for (size_t i = 0; i < analysis->paths_count && !error; i++)
		error = add_path(&maker, &analysis->paths[i]);
	if (!error)
		error = join_causes(&maker);
	string_table_fini(&maker.keys);
	verdict_parts_fini(&maker.parts);
	pair_map_fini(&maker.waits);
	free(maker.counterparts);
	if (error)
		verdict_fini(ret_verdict);
	return error;
}

void verdict_fini(struct verdict *verdict)
{
	if (!verdict)
		return;
	free(verdict->causes);
	*verdict = (struct verdict){0};
}
