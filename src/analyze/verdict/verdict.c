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
#include "analyze/verdict/counterparts.h"
#include "analyze/verdict/launch_bound.h"
#include "analyze/verdict/parts.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/number.h"

enum { MAX_STACKS = 4096 }; /* the longest states get a function; the others are joined */

/* Waits for one list of counterparts in one line of code. */
struct waiting {
	struct verdict_cause cause;
	uint32_t wait; /* 0: for other ranks */
	const struct counterpart *first;
};

struct maker {
	const struct analysis *analysis;
	struct frames *frames;
	struct verdict *verdict;
	struct string_table keys; /* keys of causes: an id is an index + 1 */
	struct verdict_parts parts;
	struct counterparts counterparts;
	struct string_table waiting_keys; /* keys of waits: an id is an index + 1 */
	struct waiting *waiting;          /* owned */
	size_t waiting_count, waiting_capacity;
	uint64_t *divided; /* owned; by path: its dependency time that add_dependencies has added */
	struct launch_bound bound;
};

static bool is_whole(const struct verdict *verdict)
{
	return verdict->scope == VERDICT_WHOLE;
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

/* The function that was called, or the program that ran instead. "": the key does not have it. */
static void write_what(const struct verdict *verdict, const struct verdict_cause *cause,
		       bool has_line, char ret_what[NAME_PATTERN_BYTES])
{
	const bool is_finest = is_whole(verdict) || has_line;

	ret_what[0] = '\0';
	if (cause->kind == VERDICT_PREEMPTED && is_finest)
		name_pattern(cause->what, ret_what);
	else if (cause->kind == VERDICT_CALL || cause->kind == VERDICT_DEVICE_WAIT ||
		 cause->kind == VERDICT_LAUNCH_BOUND || cause->kind == VERDICT_HOST_FUNCTION ||
		 cause->kind == VERDICT_STREAM_CAPTURE ||
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
	const bool is_joined = verdict_is_on_processor(cause->kind) && !is_whole(verdict) &&
			       !has_line && cause->place.function;
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

/* The other thread's wait with most time gives the name. */
static void join_other(struct verdict_cause *cause, const struct verdict_cause *added)
{
	cause->other_away_ns += added->other_away_ns;
	if (added->other_named_ns && cause->other_named_ns &&
	    cause->other_kind == added->other_kind) {
		cause->other_named_ns += added->other_named_ns;
		if (strcmp(cause->other_what, added->other_what) != 0)
			cause->other_what = "";
	} else if (added->other_named_ns > cause->other_named_ns) {
		cause->other_named_ns = added->other_named_ns;
		cause->other_kind = added->other_kind;
		cause->other_what = added->other_what;
	}
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
		verdict->causes[id - 1].times += cause->times;
		join_other(&verdict->causes[id - 1], cause);
	}
	return verdict_parts_add(&maker->parts, id, cause);
}

/* ---- waits, divided among the places of the other threads ------------------------------------ */

/* The larger cause comes first: its place and its texts stay. */
static void join_cause(struct verdict_cause *cause, const struct verdict_cause *added)
{
	if (cause->preempted_ns == cause->ns && added->kind != VERDICT_PREEMPTED)
		cause->own_kind = added->kind;
	cause->ns += added->ns;
	cause->preempted_ns += added->preempted_ns;
	cause->other_ns += added->other_ns;
	cause->times += added->times;
	join_other(cause, added);
	if (!*cause->what)
		cause->what = added->what;
}

static uint64_t part_of(uint64_t whole, uint64_t share, uint64_t all)
{
	return (uint64_t)((unsigned __int128)whole * smaller(share, all) / all);
}

/* Divides the time of a wait among the places in which the other thread was meanwhile. other_ns of
 * the whole: as ns if the late rank is certain all the time, otherwise 0. */
static int divide_wait(struct maker *maker, struct verdict_cause cause, uint32_t wait,
		       const struct counterpart *first, unsigned int depth)
{
	const struct counterparts *all = &maker->counterparts;
	const bool is_certain = cause.other_ns == cause.ns, is_preempted = cause.preempted_ns;
	const uint64_t whole_ns = cause.ns;
	uint64_t done = 0, given_ns = 0;
	int error = 0;

	if (!counterparts_are_certain(first))
		return add_cause(maker, &cause);
	for (const struct counterpart *one = first; one && !error;
	     one = counterparts_next(all, one)) {
		const struct counterpart *behind = counterparts_behind(all, wait, one, depth);

		if (!one->place.function)
			continue;
		done = add_saturated(done, one->weight);
		cause.ns = part_of(whole_ns, done, first->known) - given_ns;
		cause.preempted_ns = is_preempted ? cause.ns : 0;
		given_ns += cause.ns;
		cause.other = one->place;
		cause.other_ns =
			is_certain ? cause.ns : part_of(cause.ns, first->known, first->all);
		cause.other_thread = one->thread;
		cause.other_away_ns = part_of(cause.ns, one->away, one->weight);
		cause.other_named_ns = cause.other_away_ns;
		cause.other_kind = one->kind;
		cause.other_what = one->what;
		error = behind ? divide_wait(maker, cause, wait, behind, depth + 1)
			       : add_cause(maker, &cause);
	}
	return error;
}

/* As write_key, as if the counterpart's place were known. Waits of different threads, and for
 * different objects, stay apart. */
static uint32_t add_waiting_key(const struct maker *maker, struct string_table *keys,
				const struct waiting *waiting, bool has_line)
{
	struct verdict_cause cause = waiting->cause;
	char key[8192 + 128];
	int length = snprintf(key, 128, "%zu %" PRIu32 " %" PRIu32 " %p ",
			      (size_t)(waiting->first - maker->counterparts.list), cause.thread,
			      cause.other_thread, (const void *)cause.what);

	cause.other.function = "";
	write_key(maker->verdict, &cause, has_line, key + length, sizeof(key) - (size_t)length);
	return string_table_add(keys, key, strlen(key));
}

/* Adds a wait, to be divided with the others for the same counterparts. */
static int add_wait(struct maker *maker, const struct verdict_cause *cause, uint32_t wait,
		    const struct counterpart *first)
{
	const struct waiting added = {.cause = *cause, .wait = wait, .first = first};
	uint32_t id;

	if (!counterparts_are_certain(first) || !cause->ns)
		return add_cause(maker, cause);
	id = add_waiting_key(maker, &maker->waiting_keys, &added, true);
	if (!id)
		return -ENOMEM;
	if (id > maker->waiting_count)
		return array_append(maker->waiting, maker->waiting_capacity, maker->waiting_count,
				    added);
	join_cause(&maker->waiting[id - 1].cause, cause);
	return 0;
}

static int compare_waiting(const void *left, const void *right)
{
	const struct waiting *a = left, *b = right;

	if (a->cause.ns != b->cause.ns)
		return a->cause.ns < b->cause.ns ? 1 : -1;
	if (a->cause.place.stack != b->cause.place.stack)
		return a->cause.place.stack > b->cause.place.stack ? 1 : -1;
	return (a->first > b->first) - (a->first < b->first);
}

/* Joins the lines that wait for the same counterparts; the longest line stays. */
static int join_waiting(struct maker *maker)
{
	struct string_table keys = {0};
	size_t count = 0;
	int error = 0;

	if (maker->waiting_count)
		qsort(maker->waiting, maker->waiting_count, sizeof(*maker->waiting),
		      compare_waiting);
	for (size_t i = 0; i < maker->waiting_count && !error; i++) {
		const uint32_t id = add_waiting_key(maker, &keys, &maker->waiting[i], false);

		if (!id)
			error = -ENOMEM;
		else if (id > count)
			maker->waiting[count++] = maker->waiting[i];
		else
			join_cause(&maker->waiting[id - 1].cause, &maker->waiting[i].cause);
	}
	string_table_fini(&keys);
	maker->waiting_count = count;
	return error;
}

/* Twenty thousand stacks that wait for a lock with two hundred places of its holder would be four
 * million parts. So their sum is divided. */
static int divide_waits(struct maker *maker)
{
	int error = join_waiting(maker);

	for (size_t i = 0; i < maker->waiting_count && !error; i++) {
		const struct waiting *waiting = &maker->waiting[i];

		error = divide_wait(maker, waiting->cause, waiting->wait, waiting->first, 0);
	}
	return error;
}

static int add_thread_wait(struct maker *maker, const struct verdict_cause *cause, uint32_t wait)
{
	return add_wait(maker, cause, wait, counterparts_first(&maker->counterparts, wait, 0));
}

static int add_rank_wait(struct maker *maker, const struct verdict_cause *cause)
{
	const uint32_t behind = counterparts_rank_place(&maker->counterparts, &cause->place);

	return behind ? add_wait(maker, cause, 0,
				 counterparts_first(&maker->counterparts, 0, behind))
		      : -ENOMEM;
}

/* A thread that polls in MPI misses nothing if it is preempted while another rank is late. */
static int add_preempted_in_mpi(struct maker *maker, struct verdict_cause *cause)
{
	struct verdict_cause late = *cause, rest = *cause;
	const uint32_t behind = counterparts_rank_place(&maker->counterparts, &cause->place);
	const struct counterpart *first =
		counterparts_first(&maker->counterparts, PREEMPTED_IN_MPI, behind);
	int error;

	if (!behind)
		return -ENOMEM;
	cause->own_kind = rest.own_kind = late.own_kind = VERDICT_OTHER_RANK;
	if (!counterparts_are_certain(first))
		return add_cause(maker, cause);
	late.kind = VERDICT_OTHER_RANK;
	late.ns = late.other_ns = part_of(cause->ns, first->known, first->all);
	late.preempted_ns = late.ns;
	late.other_thread = 0;
	late.what = "";
	rest.ns -= late.ns;
	rest.preempted_ns = rest.ns;
	error = add_wait(maker, &late, 0, first);
	return error ? error : add_cause(maker, &rest);
}

/* ---- states and paths ------------------------------------------------------------------------ */

static uint64_t time_of(const struct maker *maker, const struct analysis_state *state)
{
	const bool is_host = state->cause == CAUSE_ON_CPU || state->cause == CAUSE_PREEMPTED ||
			     state->cause == CAUSE_BLOCKED;

	if (maker->verdict->scope == VERDICT_BESIDE && !is_host)
		return 0;
	return verdict_in_scope(maker->verdict, state->idle_ns, state->steady_ns,
				state->slowest_ns);
}

static uint32_t other_thread_of(const struct analysis *analysis, const struct analysis_state *state)
{
	if (state->doing == CAUSE_PREEMPTED)
		return state->is_own ? state->holder : 0;
	if (state->doing != CAUSE_BLOCKED)
		return 0;
	return analysis_awaited_thread(&analysis->cpu, state->holder, state->waker);
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

/* A capture has one place: that of the call which began it, if its stack is known. */
static int add_capture(struct maker *maker, const struct analysis_state *state,
		       struct verdict_cause *cause)
{
	struct verdict_place begun;

	if (verdict_find_place(maker->frames, state->capture - 1, &begun))
		return -ENOMEM;
	if (begun.function)
		cause->place = begun;
	cause->what = "";
	return add_cause(maker, cause);
}

/* The function that a thread called, if a tracer recorded its functions. */
static const char *called_in(const struct maker *maker, const struct frame_name *names,
			     size_t count)
{
	const char *loader = verdict_data_loader(names, count);

	return loader ? loader : verdict_called_function(maker->frames, names, count);
}

/* Whether the time outside of recorded functions is that of threads without any. */
static bool is_untraced(const struct maker *maker, const struct analysis_state *state)
{
	return state->doing == CAUSE_HOST && !state->stack && !state->wait &&
	       maker->analysis->devices[state->device].has_unrecorded;
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

	cause.ns -= launch_bound_take(&maker->bound, state, cause.ns);
	if (has_place && state->stack &&
	    frames_of_stack(maker->frames, state->stack, &names, &count))
		return -ENOMEM;
	if (state->doing == CAUSE_ON_CPU)
		cause.what = verdict_file_call(maker->frames, names, count);
	if (state->doing == CAUSE_HOST)
		cause.what = state->is_dropped ? "more functions than duet keeps"
					       : called_in(maker, names, count);
	cause.kind = verdict_kind_of_state(maker->frames, state, cause.what, names, count);
	if (is_untraced(maker, state))
		cause.kind = VERDICT_UNKNOWN;
	cause.own_kind = cause.kind == VERDICT_PREEMPTED
				 ? verdict_kind_of_computing(maker->frames, names, count)
				 : cause.kind;
	cause.preempted_ns = cause.kind == VERDICT_PREEMPTED ? cause.ns : 0;
	cause.place.stack = has_place ? state->stack : 0;
	if (is_seen_inside(state))
		count = count_callers(names, count, cause.what);
	verdict_name_place(maker->frames, names, count, &cause.place);
	if (cause.kind == VERDICT_STREAM_CAPTURE && state->capture)
		return add_capture(maker, state, &cause);
	if (verdict_is_for_thread(cause.kind) || cause.kind == VERDICT_PREEMPTED)
		cause.other_thread = other_thread_of(maker->analysis, state);
	if (cause.kind == VERDICT_PREEMPTED && verdict_is_rank_wait(names, count) &&
	    is_for_all_ranks(maker, state, names, count))
		return add_preempted_in_mpi(maker, &cause);
	if (cause.kind == VERDICT_OTHER_RANK)
		return is_for_all_ranks(maker, state, names, count) ? add_rank_wait(maker, &cause)
								    : add_cause(maker, &cause);
	if (!verdict_is_for_thread(cause.kind))
		return add_cause(maker, &cause);
	if (cause.kind == VERDICT_LOCK && !cause.other_thread && verdict_is_futex(cause.what))
		cause.kind = VERDICT_THREAD_WAIT;
	return add_thread_wait(maker, &cause, state->wait);
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

static uint64_t full_of(const struct maker *maker, const struct analysis_path *path)
{
	return verdict_in_scope(maker->verdict, path->full.ns, path->full.steady_ns,
				path->full.slowest_ns);
}

/* In the whole window, a part of the unknown time follows a launch without a known submission; in
 * the steady part that time is CAUSE_LATENCY. */
static int add_path_cause(struct maker *maker, const struct analysis_path *path,
			  enum account_cause cause, uint64_t ns)
{
	uint64_t late_ns = is_whole(maker->verdict) && cause == CAUSE_UNKNOWN
				   ? smaller(path->not_started_ns, ns)
				   : 0;
	const uint64_t full_ns = cause == CAUSE_RUNTIME ? full_of(maker, path) : 0;
	int error = add_path_part(maker, path, cause, VERDICT_LAUNCHED_NOT_STARTED, late_ns);

	if (!error)
		error = add_path_part(maker, path, cause, VERDICT_COMMAND_BUFFER_FULL, full_ns);
	return error ? error
		     : add_path_part(maker, path, cause, verdict_kind_of_path(cause),
				     ns - late_ns - full_ns);
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
		const uint64_t ns = verdict_in_scope(maker->verdict, row->idle_ns, row->steady_ns,
						     row->slowest_ns);

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
		const uint64_t ns = verdict_in_scope(maker->verdict, path->causes[i],
						     path->steady[i], path->slowest[i]);

		if (ns && !analysis_has_states(maker->analysis, (enum account_cause)i))
			error = add_path_cause(
				maker, path, (enum account_cause)i,
				ns - (i == CAUSE_DEPENDENCY ? divided : 0) -
					launch_bound_of_path(
						&maker->bound,
						(size_t)(path - maker->analysis->paths),
						(enum account_cause)i));
	}
	return error;
}

static int add_paths(struct maker *maker)
{
	int error = add_dependencies(maker);

	for (size_t i = 0; i < maker->analysis->paths_count && !error; i++)
		error = add_path(maker, &maker->analysis->paths[i]);
	return error;
}

/* The place is that of the wait, because the program is to wait less often. */
static int add_launch_bound(struct maker *maker)
{
	const struct analysis *analysis = maker->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis->program.waited_count && maker->bound.count && !error;
	     i++) {
		const struct analysis_waited *row = &analysis->program.waited[i];
		const struct analysis_path *path = &analysis->paths[row->path];
		struct verdict_cause cause = {
			.kind = VERDICT_LAUNCH_BOUND,
			.own_kind = VERDICT_LAUNCH_BOUND,
			.thread = row->thread,
			.what = model_text(analysis->model, row->function_string, ""),
			.times = maker->verdict->scope == VERDICT_SLOWEST ? row->slowest_count
									  : row->count};

		if (path->device != maker->verdict->device)
			continue;
		cause.ns = launch_bound_of_row(&maker->bound, maker->verdict, row, &cause.cause);
		error = verdict_find_place(maker->frames, row->stack ? row->stack : path->stack,
					   &cause.place);
		if (!error)
			error = add_cause(maker, &cause);
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

/* A place is preempted if that takes more time than its own code. */
static void name_kind(struct verdict_cause *cause)
{
	if (!verdict_is_on_processor(cause->kind))
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

		if (!cause->preempted_ns || !verdict_is_on_processor(cause->kind) ||
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
	error = counterparts_find(&maker.counterparts, analysis, frames, ret_verdict);
	if (!error)
		error = launch_bound_find(&maker.bound, analysis, ret_verdict);
	if (!error)
		error = add_states(&maker);
	if (!error)
		error = divide_waits(&maker);
	if (!error && scope != VERDICT_BESIDE)
		error = add_paths(&maker);
	if (!error)
		error = add_launch_bound(&maker);
	if (!error)
		error = join_causes(&maker);
	string_table_fini(&maker.keys);
	verdict_parts_fini(&maker.parts);
	counterparts_fini(&maker.counterparts);
	launch_bound_fini(&maker.bound);
	string_table_fini(&maker.waiting_keys);
	free(maker.waiting);
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
