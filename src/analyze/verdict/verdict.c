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
	struct verdict_place place; /* without a function: the late rank is not certain */
	enum verdict_kind kind;     /* its own wait */
	const char *what;           /* the object of that */
	uint32_t thread;
	uint64_t weight, away;
	uint32_t next; /* index + 1 of the next one of the same wait; 0: none */
};

enum {
	/* A pool's thread or two may be between a launching thread and the one that it waits for.
	 */
	MAX_DEPTH = 4,
	/* A late rank is named if it is certain for 1 / MIN_CERTAIN of the wait. */
	MIN_CERTAIN = 10
};

/* Instead of the number of a wait. */
#define PREEMPTED_IN_MPI (UINT64_C(1) << 32)

struct maker {
	const struct analysis *analysis;
	struct frames *frames;
	struct verdict *verdict;
	struct string_table keys; /* keys of causes: an id is an index + 1 */
	struct verdict_parts parts;
	/* (wait, stack behind), or with wait 0 (0, place behind) -> index of the first counterpart
	 */
	struct pair_map waits;
	struct string_table places;       /* places in which threads wait for other ranks */
	struct counterpart *counterparts; /* owned */
	size_t counterparts_count, counterparts_capacity;
	uint64_t *divided; /* owned; by path: its dependency time that add_dependencies has added */
};

static bool is_whole(const struct verdict *verdict)
{
	return verdict->scope == VERDICT_WHOLE;
}

static void name_place(const struct frames *frames, const struct frame_name *names, size_t count,
		       struct verdict_place *place)
{
	const struct frame_name *best = frames_own(frames, names, count);

	if (!best || best->class == FRAME_CLASS_TRUNCATED)
		return;
	place->function = best->place;
	place->file = best->file;
	place->line = best->line;
	place->is_own = frames_is_own(frames, best);
}

int verdict_find_place(struct frames *frames, uint32_t stack, struct verdict_place *ret_place)
{
	const struct frame_name *names;
	size_t count;

	*ret_place = (struct verdict_place){.stack = stack};
	if (!stack)
		return 0;
	if (frames_of_stack(frames, stack, &names, &count))
		return -ENOMEM;
	name_place(frames, names, count, ret_place);
	return 0;
}

/* Number of frames outside of the call, in a stack that was seen inside of it. */
static size_t count_callers(const struct frame_name *names, size_t count, const char *function)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i].function, function) == 0)
			return i;
	return count;
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
	       kind == VERDICT_OTHER_DEVICE || kind == VERDICT_LAUNCH_CALL;
}

/* The function that was called, or the program that ran instead. "": the key does not have it. */
static void write_what(const struct verdict *verdict, const struct verdict_cause *cause,
		       bool has_line, char ret_what[NAME_PATTERN_BYTES])
{
	const bool is_finest = is_whole(verdict) || has_line;

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
	/* one limit stops the thread, wherever it is */
	const bool is_throttled = cause->kind == VERDICT_THROTTLED && !has_line;
	const bool by_place = is_whole(verdict) ? !is_preempted : !is_throttled;
	const bool is_joined = is_on_processor(cause->kind) && !is_whole(verdict) && !has_line &&
			       cause->place.function;
	char what[NAME_PATTERN_BYTES];

	write_what(verdict, cause, has_line, what);
	snprintf(ret_key, size,
		 "%d %d %d %d %d %" PRIu32 " %.2000s %.2000s %" PRIu32 " %s %" PRIu32,
		 (int)(is_joined ? VERDICT_COMPUTING : cause->kind), by_other + 2 * cause->is_event,
		 is_whole(verdict) ? (int)cause->cause : 0, cause->is_after,
		 is_preempted && is_whole(verdict) && cause->other_thread, cause->other_device,
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
		verdict->causes[id - 1].other_ns += cause->other_ns;
		verdict->causes[id - 1].other_away_ns += cause->other_away_ns;
	}
	return verdict_parts_add(&maker->parts, id, cause);
}

/* ---- places of the other threads ------------------------------------------------------------- */

/* The time in the verdict's scope, from those in the whole window, in the steady part and in the
 * slowest iteration. */
static uint64_t in_scope(const struct maker *maker, uint64_t whole, uint64_t steady,
			 uint64_t slowest)
{
	switch (maker->verdict->scope) {
	case VERDICT_WHOLE:
		return whole;
	case VERDICT_SLOWEST:
		return slowest;
	case VERDICT_BESIDE:
		return whole > steady ? whole - steady : 0;
	default:
		return steady;
	}
}

/* The user's function distinguishes waits for other ranks, because a rank that polls has many
 * stacks. 0: out of memory. */
static uint32_t rank_place(struct maker *maker, const struct verdict_place *place)
{
	char key[4096];

	snprintf(key, sizeof(key), "%.2000s %.2000s", text_of(place->function),
		 text_of(place->file));
	return string_table_add(&maker->places, key, strlen(key));
}

static int find_behind_key(struct maker *maker, const struct analysis_holding *holding,
			   uint32_t *ret_behind)
{
	struct verdict_place place;

	*ret_behind = holding->behind;
	if (holding->wait)
		return 0;
	if (verdict_find_place(maker->frames, holding->behind, &place))
		return -ENOMEM;
	*ret_behind = rank_place(maker, &place);
	return *ret_behind ? 0 : -ENOMEM;
}

/* The other thread may wait for something, too. */
static int name_own_wait(struct maker *maker, const struct analysis_holding *holding,
			 struct counterpart *added)
{
	const struct frame_name *names = NULL;
	size_t count = 0;

	if (holding->stack && frames_of_stack(maker->frames, holding->stack, &names, &count))
		return -ENOMEM;
	added->what = model_text(maker->analysis->model, holding->own_wait_string, "");
	added->kind = verdict_kind_of_wait(maker->frames, added->what, names, count);
	return 0;
}

static int add_counterpart(struct maker *maker, const struct analysis_holding *holding)
{
	struct counterpart added = {.thread = holding->thread,
				    .weight =
					    in_scope(maker, holding->weight, holding->steady_weight,
						     holding->slowest_weight),
				    .away = in_scope(maker, holding->away, holding->steady_away,
						     holding->slowest_away)};
	const uint64_t wait = holding->is_preempted ? PREEMPTED_IN_MPI : holding->wait;
	uint32_t first, behind;

	if (!added.weight)
		return 0;
	if (name_own_wait(maker, holding, &added) ||
	    verdict_find_place(maker->frames, holding->stack, &added.place) ||
	    find_behind_key(maker, holding, &behind))
		return -ENOMEM;
	if (!added.place.function && holding->wait)
		return 0;
	first = pair_map_find(&maker->waits, wait, behind);
	if (first != PAIR_MAP_NONE) {
		added.next = maker->counterparts[first].next;
		maker->counterparts[first].next = (uint32_t)maker->counterparts_count + 1;
	} else if (pair_map_put(&maker->waits, wait, behind, (uint32_t)maker->counterparts_count)) {
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

/* wait 0: for other ranks. */
static const struct counterpart *first_counterpart(const struct maker *maker, uint64_t wait,
						   uint32_t behind)
{
	const uint32_t first = pair_map_find(&maker->waits, wait, behind);

	return (wait || behind) && first != PAIR_MAP_NONE ? &maker->counterparts[first] : NULL;
}

static const struct counterpart *next_counterpart(const struct maker *maker,
						  const struct counterpart *one)
{
	return one->next ? &maker->counterparts[one->next - 1] : NULL;
}

/* The weight of those with a known place. *ret_all: that of all. */
static uint64_t weight_of(const struct maker *maker, const struct counterpart *first,
			  uint64_t *ret_all)
{
	uint64_t known = 0, all = 0;

	for (const struct counterpart *one = first; one; one = next_counterpart(maker, one)) {
		all = add_saturated(all, one->weight);
		known = add_saturated(known, one->place.function ? one->weight : 0);
	}
	*ret_all = all;
	return known;
}

static uint64_t part_of(uint64_t whole, uint64_t share, uint64_t all)
{
	return (uint64_t)((unsigned __int128)whole * smaller(share, all) / all);
}

/* The counterparts behind a thread that has no code of the user's; NULL: none of them has. Two
 * threads that wait in one stack are behind themselves. */
static const struct counterpart *find_behind(const struct maker *maker, uint32_t wait,
					     const struct counterpart *one, unsigned int depth)
{
	const struct counterpart *first =
		one->place.is_own || depth >= MAX_DEPTH
			? NULL
			: first_counterpart(maker, wait, one->place.stack);

	for (const struct counterpart *other = first; wait && other;
	     other = next_counterpart(maker, other))
		if (other->place.is_own || find_behind(maker, wait, other, depth + 1))
			return first;
	return NULL;
}

/* Divides the time of a wait among the places in which the other thread was meanwhile. other_ns of
 * the whole: as ns if the late rank is certain all the time, otherwise 0. */
static int divide_wait(struct maker *maker, struct verdict_cause cause, uint32_t wait,
		       const struct counterpart *first, unsigned int depth)
{
	const bool is_certain = cause.other_ns == cause.ns, is_preempted = cause.preempted_ns;
	const uint64_t whole_ns = cause.ns;
	uint64_t all, weight = weight_of(maker, first, &all), done = 0, given_ns = 0;
	int error = 0;

	if (weight <= all / MIN_CERTAIN)
		return add_cause(maker, &cause);
	for (const struct counterpart *one = first; one && !error;
	     one = next_counterpart(maker, one)) {
		const struct counterpart *behind = find_behind(maker, wait, one, depth);

		if (!one->place.function)
			continue;
		done = add_saturated(done, one->weight);
		cause.ns = part_of(whole_ns, done, weight) - given_ns;
		cause.preempted_ns = is_preempted ? cause.ns : 0;
		given_ns += cause.ns;
		cause.other = one->place;
		cause.other_ns = is_certain ? cause.ns : part_of(cause.ns, weight, all);
		cause.other_thread = one->thread;
		cause.other_away_ns = part_of(cause.ns, one->away, one->weight);
		cause.other_kind = one->kind;
		cause.other_what = one->what;
		error = behind ? divide_wait(maker, cause, wait, behind, depth + 1)
			       : add_cause(maker, &cause);
	}
	return error;
}

static int add_wait(struct maker *maker, const struct verdict_cause *cause, uint32_t wait)
{
	return divide_wait(maker, *cause, wait, first_counterpart(maker, wait, 0), 0);
}

static int add_rank_wait(struct maker *maker, const struct verdict_cause *cause)
{
	const uint32_t behind = rank_place(maker, &cause->place);

	return behind ? divide_wait(maker, *cause, 0, first_counterpart(maker, 0, behind), 0)
		      : -ENOMEM;
}

/* A thread that polls in MPI misses nothing if it is preempted while another rank is late. */
static int add_preempted_in_mpi(struct maker *maker, struct verdict_cause *cause)
{
	struct verdict_cause late = *cause, rest = *cause;
	const uint32_t behind = rank_place(maker, &cause->place);
	const struct counterpart *first = first_counterpart(maker, PREEMPTED_IN_MPI, behind);
	uint64_t all;
	const uint64_t weight = weight_of(maker, first, &all);
	int error;

	if (!behind)
		return -ENOMEM;
	cause->own_kind = rest.own_kind = late.own_kind = VERDICT_OTHER_RANK;
	if (weight <= all / MIN_CERTAIN)
		return add_cause(maker, cause);
	late.kind = VERDICT_OTHER_RANK;
	late.ns = late.other_ns = part_of(cause->ns, weight, all);
	late.preempted_ns = late.ns;
	late.other_thread = 0;
	late.what = "";
	rest.ns -= late.ns;
	rest.preempted_ns = rest.ns;
	error = divide_wait(maker, late, 0, first, 0);
	return error ? error : add_cause(maker, &rest);
}

/* ---- states and paths ------------------------------------------------------------------------ */

static uint64_t time_of(const struct maker *maker, const struct analysis_state *state)
{
	const bool is_host = state->cause == CAUSE_ON_CPU || state->cause == CAUSE_PREEMPTED ||
			     state->cause == CAUSE_BLOCKED;

	if (maker->verdict->scope == VERDICT_BESIDE && !is_host)
		return 0;
	return in_scope(maker, state->idle_ns, state->steady_ns, state->slowest_ns);
}

static uint32_t other_thread_of(const struct analysis *analysis, const struct analysis_state *state)
{
	if (state->doing == CAUSE_PREEMPTED)
		return state->is_own ? state->holder : 0;
	if (state->doing != CAUSE_BLOCKED)
		return 0;
	return analysis_awaited_thread(&analysis->cpu, state->holder, state->waker);
}

/* Only these kinds of waits end by the work of another thread of the program. */
static bool is_for_thread(enum verdict_kind kind)
{
	return kind == VERDICT_PYTHON_GIL || kind == VERDICT_LOCK || kind == VERDICT_THREAD_WAIT ||
	       kind == VERDICT_PIPE || kind == VERDICT_MESSAGE || kind == VERDICT_NETWORK ||
	       kind == VERDICT_EVENT_WAIT;
}

/* Whether the stack of a call is not its own, but was seen inside of it. */
static bool is_seen_inside(const struct analysis_state *state)
{
	return state->holder && (state->doing == CAUSE_API_CALL || state->doing == CAUSE_API_WAIT);
}

/* Whether a rank that alone is outside of MPI is the one that a thread in MPI waits for. In a
 * larger job it may have nothing to do with a message between two others. */
static bool is_for_all_ranks(const struct maker *maker, const struct analysis_state *state,
			     const struct frame_name *names, size_t count)
{
	const struct event_thread *thread =
		model_entity(maker->analysis->model, EVENT_THREAD, state->thread);
	const struct event_process *process =
		thread ? model_entity(maker->analysis->model, EVENT_PROCESS, thread->process)
		       : NULL;

	return (process && process->rank_count == 2) || verdict_is_collective(names, count);
}

static int add_state(struct maker *maker, const struct analysis_state *state, bool has_place)
{
	struct verdict_cause cause = {
		.cause = state->cause,
		.ns = time_of(maker, state),
		.thread = state->thread,
		.is_after = state->is_after,
		.other_device = state->awaited_device,
		.what = model_text(maker->analysis->model, state->wait_string, ""),
	};
	const struct frame_name *names = NULL;
	size_t count = 0;

	if (has_place && state->stack &&
	    frames_of_stack(maker->frames, state->stack, &names, &count))
		return -ENOMEM;
	if (state->doing == CAUSE_ON_CPU)
		cause.what = verdict_file_call(maker->frames, names, count);
	cause.kind = verdict_kind_of_state(maker->frames, state, cause.what, names, count);
	cause.own_kind = cause.kind == VERDICT_PREEMPTED
				 ? verdict_kind_of_computing(maker->frames, names, count)
				 : cause.kind;
	cause.preempted_ns = cause.kind == VERDICT_PREEMPTED ? cause.ns : 0;
	cause.place.stack = has_place ? state->stack : 0;
	if (is_seen_inside(state))
		count = count_callers(names, count, cause.what);
	name_place(maker->frames, names, count, &cause.place);
	if (is_for_thread(cause.kind) || cause.kind == VERDICT_PREEMPTED)
		cause.other_thread = other_thread_of(maker->analysis, state);
	if (cause.kind == VERDICT_PREEMPTED && verdict_is_rank_wait(names, count) &&
	    is_for_all_ranks(maker, state, names, count))
		return add_preempted_in_mpi(maker, &cause);
	if (cause.kind == VERDICT_OTHER_RANK)
		return is_for_all_ranks(maker, state, names, count) ? add_rank_wait(maker, &cause)
								    : add_cause(maker, &cause);
	if (!is_for_thread(cause.kind))
		return add_cause(maker, &cause);
	if (cause.kind == VERDICT_LOCK && !cause.other_thread && verdict_is_futex(cause.what))
		cause.kind = VERDICT_THREAD_WAIT;
	return add_wait(maker, &cause, state->wait);
}

static int add_path_part(struct maker *maker, const struct analysis_path *path,
			 enum account_cause cause, enum verdict_kind kind, uint64_t ns)
{
	struct verdict_cause added = {.kind = kind,
				      .own_kind = kind,
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
	uint64_t late_ns = is_whole(maker->verdict) && cause == CAUSE_UNKNOWN
				   ? smaller(path->not_started_ns, ns)
				   : 0;
	int error = add_path_part(maker, path, cause, VERDICT_LAUNCHED_NOT_STARTED, late_ns);

	return error ? error
		     : add_path_part(maker, path, cause, verdict_kind_of_path(cause), ns - late_ns);
}

/* A part of the time in which a path's commands waited, by the command or event that they awaited.
 */
static int add_dependency(struct maker *maker, const struct analysis_dependency *row, uint64_t ns)
{
	const struct analysis_path *path = &maker->analysis->paths[row->path];
	const bool is_other = row->device != path->device;
	const enum verdict_kind kind = is_other ? VERDICT_OTHER_DEVICE : VERDICT_DEPENDENCY;
	struct verdict_cause added = {.kind = kind,
				      .own_kind = kind,
				      .cause = CAUSE_DEPENDENCY,
				      .ns = ns,
				      .thread = path->whom.thread,
				      .what = path->function,
				      .other_thread = row->thread,
				      .other_device = is_other ? (uint32_t)row->device + 1 : 0,
				      .is_event = row->is_event};
	int error = verdict_find_place(maker->frames, path->stack, &added.place);

	if (!error)
		error = verdict_find_place(maker->frames, row->stack, &added.other);
	return error ? error : add_cause(maker, &added);
}

static int add_dependencies(struct maker *maker)
{
	const struct analysis *analysis = maker->analysis;
	const struct analysis_program *program = &analysis->program;
	int error = 0;

	maker->divided = calloc(analysis->paths_count + 1, sizeof(*maker->divided));
	if (!maker->divided)
		return -ENOMEM;
	for (size_t i = 0; i < program->dependencies_count && !error; i++) {
		const struct analysis_dependency *row = &program->dependencies[i];
		const struct analysis_path *path = &analysis->paths[row->path];
		const uint64_t ns = in_scope(maker, row->idle_ns, row->steady_ns, row->slowest_ns);

		if (path->device != maker->verdict->device || !path->name || !ns)
			continue;
		maker->divided[row->path] += ns;
		error = add_dependency(maker, row, ns);
	}
	return error;
}

static int add_path(struct maker *maker, const struct analysis_path *path)
{
	const uint64_t divided = maker->divided[path - maker->analysis->paths];
	int error = 0;

	if (path->device != maker->verdict->device || !path->name)
		return 0;
	for (unsigned int i = 0; i < CAUSE_COUNT && !error; i++) {
		const uint64_t ns =
			in_scope(maker, path->causes[i], path->steady[i], path->slowest[i]);

		if (ns && !analysis_has_states((enum account_cause)i))
			error = add_path_cause(maker, path, (enum account_cause)i,
					       ns - (i == CAUSE_DEPENDENCY ? divided : 0));
	}
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
	if (cause->preempted_ns == cause->ns && added->kind != VERDICT_PREEMPTED)
		cause->own_kind = added->kind;
	cause->ns += added->ns;
	cause->preempted_ns += added->preempted_ns;
	cause->other_ns += added->other_ns;
	cause->other_away_ns += added->other_away_ns;
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
		if (cause->own_kind == VERDICT_OTHER_RANK)
			cause->own_kind = VERDICT_COMPUTING;
		cause->kind = cause->own_kind;
		cause->cause = CAUSE_ON_CPU;
	}
}

/* The names of preemptors belong only to the time in which they had the processor. */
static void forget_preemptors(struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->count; i++) {
		struct verdict_cause *cause = &verdict->causes[i];

		if (!cause->preempted_ns || !is_on_processor(cause->kind) ||
		    cause->kind == VERDICT_PREEMPTED)
			continue;
		cause->what = "";
		cause->also = NULL;
		cause->whats = cause->others = (struct verdict_group){0};
		cause->other_thread = 0;
	}
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
			verdict->causes[count++] = verdict->causes[i];
		} else {
			join_cause(&verdict->causes[id - 1], &verdict->causes[i]);
		}
	}
	string_table_fini(&keys);
	verdict->count = count;
	for (size_t i = 0; i < count && !is_whole(verdict); i++)
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
	forget_preemptors(verdict);
	sort_causes(verdict);
	return error;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

int verdict_make(const struct analysis *analysis, struct frames *frames, size_t device,
		 enum verdict_scope scope, struct verdict *ret_verdict)
{
	const struct account *account = &analysis->devices[device].account;
	struct maker maker = {.analysis = analysis, .frames = frames, .verdict = ret_verdict};
	int error;

	*ret_verdict = (struct verdict){.device = device,
					.scope = scope,
					.steady = scope == VERDICT_SLOWEST ? &account->slowest
									   : &account->steady};
	error = list_counterparts(&maker);
	if (!error)
		error = add_states(&maker);
	if (!error)
		error = add_dependencies(&maker);
	for (size_t i = 0; i < analysis->paths_count && !error; i++)
		error = add_path(&maker, &analysis->paths[i]);
	if (!error)
		error = join_causes(&maker);
	string_table_fini(&maker.keys);
	verdict_parts_fini(&maker.parts);
	pair_map_fini(&maker.waits);
	string_table_fini(&maker.places);
	free(maker.counterparts);
	free(maker.divided);
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
