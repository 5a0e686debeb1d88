/* SPDX-License-Identifier: MIT
 *
 * report/waits.c - waits of launching threads while a device was idle, and their preemptors
 *
 * Runs in:  our own process
 * Gets:     an analysis and its frames
 * Gives:    idle_waits and idle_preempted as JSON; the longest wait and preemptor for findings
 * Owns:     the rows while they are printed
 * Fails:    -ENOMEM
 * Why by the lock holder's function: the name of the thread that holds a lock does not help the
 *           user, but the function that the thread executes does. The waiting time is divided among
 *           the functions in which the holder was found during the wait.
 */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/frames.h"
#include "analyze/verdict/verdict.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/pair_map.h"
#include "report/table.h"

/* A wait (or a preemption), and one function in which its holder was meanwhile. */
struct wait_row {
	uint32_t wait_string, holder;
	uint32_t waker;              /* number of the analysis's wakers; 0: not known */
	bool is_own;                 /* as of an analysis_state */
	const char *function, *file; /* the holder's; NULL: not known */
	uint32_t first_line;
	uint64_t ns;
};

struct wait_rows {
	struct wait_row *rows; /* owned; the longest first */
	size_t count, capacity;
};

/* A wait, summed over all functions of its holder. */
struct whole {
	uint32_t wait_string, holder, waker;
	bool is_own;
	uint64_t ns;
	uint64_t weight; /* sum over its helds; 0: nothing is known about the holder */
	uint64_t given;  /* part of weight that has rows already */
};

/* A function in which the holder of a wait was found. */
struct held {
	uint32_t whole; /* index */
	const char *function, *file;
	uint32_t first_line;
	uint64_t weight;
};

/* State while the time of waits is divided. */
struct division {
	const struct report *report;
	bool is_steady; /* only the time of the steady part */
	struct whole *wholes;
	size_t wholes_count, wholes_capacity;
	struct pair_map by_wait; /* (wait string << 32 | holder, waker) -> index of wholes */
	struct held *helds;
	size_t helds_count, helds_capacity;
	struct string_table keys; /* of helds: an id is an index + 1 */
};

static void division_fini(struct division *division)
{
	free(division->wholes);
	free(division->helds);
	pair_map_fini(&division->by_wait);
	string_table_fini(&division->keys);
}

static int add_state(struct division *division, const struct analysis_state *state)
{
	const uint64_t first = (uint64_t)state->wait_string << 32 | state->holder;
	const uint64_t second = (uint64_t)state->is_own << 32 | state->waker;
	uint32_t index = pair_map_add(&division->by_wait, first, second, division->wholes,
				      division->wholes_capacity, division->wholes_count,
				      (struct whole){.wait_string = state->wait_string,
						     .holder = state->holder,
						     .waker = state->waker,
						     .is_own = state->is_own});

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	division->wholes[index].ns += division->is_steady ? state->steady_ns : state->idle_ns;
	return 0;
}

/* Names the innermost Python function, or the innermost function if there is none of Python. */
static void name_held(const struct report *report, uint32_t stack, struct held *held)
{
	const struct frame_name *names;
	size_t count = report_frames(report, stack, &names);

	if (!count)
		return;
	held->function = names[count - 1].function;
	for (size_t i = count; i-- > 0;) {
		if (names[i].class != FRAME_CLASS_PYTHON)
			continue;
		held->function = names[i].function;
		held->file = names[i].file;
		held->first_line = names[i].first_line;
		break;
	}
}

static int find_held(struct division *division, const struct held *one, struct held **ret_held)
{
	char key[8192];
	int length = snprintf(key, sizeof(key), "%" PRIu32 " %" PRIu32 " %s %s", one->whole,
			      one->first_line, one->file ? one->file : "",
			      one->function ? one->function : "");
	size_t size = length < (int)sizeof(key) ? (size_t)length : sizeof(key) - 1;
	uint32_t id = string_table_add(&division->keys, key, size);

	if (!id || array_grow(division->helds, division->helds_capacity, id))
		return -ENOMEM;
	if (id > division->helds_count) {
		division->helds[id - 1] = *one;
		division->helds_count = id;
	}
	*ret_held = &division->helds[id - 1];
	return 0;
}

static int add_holding(struct division *division, const struct analysis_holding *holding)
{
	const uint64_t first = (uint64_t)holding->wait_string << 32 | holding->holder;
	uint32_t index = pair_map_find(&division->by_wait, first, 0);
	struct held one = {.whole = index}, *held;
	struct whole *whole;

	if (index == PAIR_MAP_NONE || !holding->holder)
		return 0;
	whole = &division->wholes[index];
	if (whole->weight + holding->weight <
	    whole->weight) /* overflow: a file may contain any weight */
		return 0;
	name_held(division->report, holding->stack, &one);
	if (find_held(division, &one, &held))
		return -ENOMEM;
	whole->weight += holding->weight;
	held->weight += holding->weight;
	return 0;
}

static int add_row(struct wait_rows *rows, const struct wait_row *row)
{
	if (!row->ns)
		return 0;
	return array_append(rows->rows, rows->capacity, rows->count, *row);
}

/* The part of a wait's time for its first functions with this weight together. With all functions
 * it is exactly the whole. */
static uint64_t part_of(const struct whole *whole, uint64_t weight)
{
	return (uint64_t)((unsigned __int128)whole->ns * weight / whole->weight);
}

static int add_held_row(struct division *division, const struct held *held, struct wait_rows *rows)
{
	struct whole *whole = &division->wholes[held->whole];
	uint64_t before_ns = part_of(whole, whole->given);

	whole->given += held->weight;
	return add_row(rows, &(struct wait_row){.wait_string = whole->wait_string,
						.holder = whole->holder,
						.waker = whole->waker,
						.is_own = whole->is_own,
						.function = held->function,
						.file = held->file,
						.first_line = held->first_line,
						.ns = part_of(whole, whole->given) - before_ns});
}

static int make_rows(struct division *division, struct wait_rows *rows)
{
	int error = 0;

	for (size_t i = 0; i < division->helds_count && !error; i++)
		error = add_held_row(division, &division->helds[i], rows);
	for (size_t i = 0; i < division->wholes_count && !error; i++) {
		const struct whole *whole = &division->wholes[i];

		if (!whole->weight)
			error = add_row(rows, &(struct wait_row){.wait_string = whole->wait_string,
								 .holder = whole->holder,
								 .waker = whole->waker,
								 .is_own = whole->is_own,
								 .ns = whole->ns});
	}
	return error;
}

static int compare_texts(const char *one, const char *other)
{
	return strcmp(one ? one : "", other ? other : "");
}

static int compare(const void *left, const void *right)
{
	const struct wait_row *a = left, *b = right;
	int order;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	if (a->wait_string != b->wait_string)
		return a->wait_string > b->wait_string ? 1 : -1;
	if (a->holder != b->holder)
		return a->holder > b->holder ? 1 : -1;
	if (a->waker != b->waker)
		return a->waker > b->waker ? 1 : -1;
	if (a->is_own != b->is_own)
		return a->is_own ? -1 : 1;
	order = compare_texts(a->function, b->function);
	return order ? order : compare_texts(a->file, b->file);
}

static int divide(struct division *division, size_t device, enum account_cause cause,
		  struct wait_rows *rows)
{
	const struct analysis *analysis = division->report->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis->cpu.states_count && !error; i++) {
		const struct analysis_state *state = &analysis->cpu.states[i];

		if (state->device == device && state->cause == cause)
			error = add_state(division, state);
	}
	for (size_t i = 0; i < analysis->cpu.holdings_count && cause == CAUSE_BLOCKED && !error;
	     i++)
		if (analysis->cpu.holdings[i].device == device)
			error = add_holding(division, &analysis->cpu.holdings[i]);
	return error ? error : make_rows(division, rows);
}

/* All rows add up to the account's time of this cause, in the steady part or in the window. */
static int find_rows(const struct report *report, size_t device, enum account_cause cause,
		     bool is_steady, struct wait_rows *ret_rows)
{
	struct division division = {.report = report, .is_steady = is_steady};
	struct wait_rows rows = {0};
	int error;

	error = divide(&division, device, cause, &rows);
	division_fini(&division);
	if (error) {
		free(rows.rows);
		return error;
	}
	if (rows.count)
		qsort(rows.rows, rows.count, sizeof(*rows.rows), compare);
	*ret_rows = rows;
	return 0;
}

static const struct event_thread *holder_of(const struct report *report, const struct wait_row *row)
{
	return model_entity(report->model, EVENT_THREAD, row->holder);
}

/* Whether `function` is the program's innermost function of a stack; NULL: always true. */
static bool is_below(const struct report *report, uint32_t stack, const char *function)
{
	struct verdict_place place;

	return !function ||
	       (report_place_of(report, stack, &place) && strcmp(place.function, function) == 0);
}

/* Sums up a device's waits by wait string or, if wait_string is given, that wait by holder. */
static int sum_waits(struct division *division, size_t device, const char *function,
		     uint32_t wait_string)
{
	const struct report *report = division->report;
	const struct analysis *analysis = report->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis->cpu.states_count && !error; i++) {
		struct analysis_state state = analysis->cpu.states[i];

		if (state.device != device || state.cause != CAUSE_BLOCKED || !state.wait_string ||
		    (wait_string && state.wait_string != wait_string) ||
		    !is_below(report, state.stack, function))
			continue;
		state.waker = 0;
		if (!wait_string)
			state.holder = 0;
		error = add_state(division, &state);
	}
	return error;
}

/* The wait with the longest time; NULL: there is none. */
static const struct whole *longest(const struct division *division)
{
	const struct whole *most = NULL;

	for (size_t i = 0; i < division->wholes_count; i++)
		if (division->wholes[i].ns && (!most || division->wholes[i].ns > most->ns))
			most = &division->wholes[i];
	return most;
}

static struct whole find_longest(const struct report *report, size_t device, const char *function,
				 uint32_t wait_string)
{
	struct division division = {.report = report, .is_steady = true};
	struct whole found = {0};

	if (sum_waits(&division, device, function, wait_string))
		report->state->error = -ENOMEM;
	if (longest(&division))
		found = *longest(&division);
	division_fini(&division);
	return found;
}

bool report_find_wait(const struct report *report, size_t device, const char *function,
		      struct report_wait *ret_wait)
{
	struct whole wait = find_longest(report, device, function, 0), held;

	if (!wait.ns)
		return false;
	held = find_longest(report, device, function, wait.wait_string);
	*ret_wait = (struct report_wait){
		.wait = model_text(report->model, wait.wait_string, ""),
		.wait_ns = wait.ns,
		.holder = model_entity(report->model, EVENT_THREAD, held.holder),
		.holder_ns = held.ns};
	return true;
}

bool report_find_preemptor(const struct report *report, size_t device, const char **ret_by,
			   uint64_t *ret_ns)
{
	struct wait_rows rows;
	size_t i = 0;
	bool is_known;

	if (find_rows(report, device, CAUSE_PREEMPTED, true, &rows)) {
		report->state->error = -ENOMEM;
		return false;
	}
	while (i < rows.count && !rows.rows[i].wait_string)
		i++;
	is_known = i < rows.count;
	if (is_known) {
		*ret_by = model_text(report->model, rows.rows[i].wait_string, "");
		*ret_ns = rows.rows[i].ns;
	}
	free(rows.rows);
	return is_known;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void report_write_thread(const struct report *report, const struct event_thread *thread,
			 struct json_writer *json)
{
	const struct event_process *process =
		model_entity(report->model, EVENT_PROCESS, thread->process);

	if (process)
		json_pair_u64(json, "pid", process->pid);
	json_pair_u64(json, "tid", thread->tid);
	json_pair_text(json, "name", model_text(report->model, thread->name_string, ""));
}

static void write_holder(const struct report *report, const char *key, const struct wait_row *row,
			 struct json_writer *json)
{
	const struct event_thread *holder = holder_of(report, row);

	if (!holder)
		return;
	json_pair_object(json, key);
	report_write_thread(report, holder, json);
	if (row->function)
		json_pair_text(json, "function", row->function);
	if (row->file)
		json_pair_text(json, "file", row->file);
	if (row->first_line)
		json_pair_u64(json, "first_line", row->first_line);
	json_object_end(json);
}

static void write_wakers(const struct report *report, uint32_t waker, struct json_writer *json)
{
	if (!waker)
		return;
	json_pair_array(json, "wakers");
	while (waker) {
		const struct analysis_waker *link = &report->analysis->cpu.wakers[waker - 1];
		const struct event_thread *thread =
			model_entity(report->model, EVENT_THREAD, link->thread);

		json_object_begin(json);
		if (thread)
			report_write_thread(report, thread, json);
		else
			json_pair_text(json, "name",
				       model_text(report->model, link->name_string, ""));
		json_object_end(json);
		waker = link->before;
	}
	json_array_end(json);
}

int report_write_idle_waits(const struct report *report, size_t device, enum account_cause cause,
			    struct json_writer *json)
{
	const bool is_preempted = cause == CAUSE_PREEMPTED;
	struct wait_rows rows;
	int error = find_rows(report, device, cause, false, &rows);

	if (error)
		return error;
	json_pair_array(json, is_preempted ? "idle_preempted" : "idle_waits");
	for (size_t i = 0; i < rows.count; i++) {
		const struct wait_row *row = &rows.rows[i];

		json_object_begin(json);
		if (row->wait_string)
			json_pair_text(json, is_preempted ? "by" : "wait",
				       model_text(report->model, row->wait_string, ""));
		write_holder(report, is_preempted ? "thread" : "holder", row, json);
		if (!is_preempted)
			write_wakers(report, row->waker, json);
		json_pair_u64(json, "ns", row->ns);
		json_object_end(json);
	}
	json_array_end(json);
	free(rows.rows);
	return 0;
}
