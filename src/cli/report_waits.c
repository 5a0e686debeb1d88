/* SPDX-License-Identifier: MIT
 *
 * cli/report_waits.c - what launching threads waited for while a device idled
 *
 * Runs in:  our own process
 * Gets:     an analysis and its frames   Gives: lines below "blocked" on stdout, idle_waits as JSON
 * Owns:     the rows while they are printed
 * Fails:    without memory by leaving rows out
 * Why by function: a thread that holds a lock is no answer, what it does with it is. The time that others waited for it is
 *           divided by where it was found meanwhile.
 */
#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/frames.h"
#include "base/array.h"
#include "base/json.h"
#include "cli/table.h"

enum { ROWS_SHOWN = 8, NAME_BYTES = 512 };

/* A function that had what was waited for. */
struct held {
	const char *function, *file; /* NULL: not known */
	uint32_t first_line;
	uint64_t weight;
};

struct wait_row {
	uint32_t wait_string, holder;
	struct held held;
	uint64_t ns;
};

struct wait_rows {
	struct wait_row *rows; /* owned; the longest first */
	size_t count, capacity;
};

/* Innermost first: what Python runs; else what runs. */
static struct held held_by(const struct report *report, const struct analysis_holding *holding)
{
	struct held held = {.weight = holding->weight};
	const struct frame_name *names;
	size_t count;

	if (frames_of_stack(report->frames, holding->stack, &names, &count) || !count)
		return held;
	held.function = names[count - 1].function;
	for (size_t i = count; i-- > 0;) {
		if (names[i].class != FRAME_CLASS_PYTHON)
			continue;
		held.function = names[i].function;
		held.file = names[i].file;
		held.first_line = names[i].first_line;
		break;
	}
	return held;
}

static bool is_same_text(const char *one, const char *other)
{
	return one == other || (one && other && strcmp(one, other) == 0);
}

static void add_held(struct held **held, size_t *count, size_t *capacity, const struct held *one)
{
	for (size_t i = 0; i < *count; i++) {
		struct held *other = &(*held)[i];

		if (is_same_text(one->function, other->function) &&
		    is_same_text(one->file, other->file) && one->first_line == other->first_line) {
			other->weight += one->weight;
			return;
		}
	}
	if (array_grow(*held, *capacity, *count + 1) == 0)
		(*held)[(*count)++] = *one;
}

static void add_row(struct wait_rows *rows, const struct wait_row *row)
{
	if (row->ns && array_grow(rows->rows, rows->capacity, rows->count + 1) == 0)
		rows->rows[rows->count++] = *row;
}

/* The time that was waited for one holder, by what that did; what rounding leaves goes to the first. */
static void divide(const struct report *report, size_t device, const struct wait_row *row,
		   struct wait_rows *rows)
{
	const struct analysis *analysis = report->analysis;
	struct held *held = NULL;
	size_t count = 0, capacity = 0;
	uint64_t weight = 0, rest = row->ns;

	for (size_t i = 0; row->holder && i < analysis->holdings_count; i++) {
		const struct analysis_holding *holding = &analysis->holdings[i];
		struct held one;

		if (holding->device != device || holding->wait_string != row->wait_string ||
		    holding->holder != row->holder || weight + holding->weight < weight)
			continue;
		one = held_by(report, holding);
		weight += holding->weight;
		add_held(&held, &count, &capacity, &one);
	}
	for (size_t i = count; i-- > 0;) {
		struct wait_row part = *row;

		part.held = held[i];
		part.ns =
			i ? (uint64_t)((unsigned __int128)row->ns * held[i].weight / weight) : rest;
		rest -= part.ns;
		add_row(rows, &part);
	}
	if (!count)
		add_row(rows, row);
	free(held);
}

static int compare(const void *left, const void *right)
{
	const struct wait_row *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return a->wait_string != b->wait_string ? (a->wait_string > b->wait_string ? 1 : -1)
						: (a->holder > b->holder) - (a->holder < b->holder);
}

/* One row for each thing and holder; all add up to what the account has as blocked. */
static struct wait_rows find_rows(const struct report *report, size_t device)
{
	const struct analysis *analysis = report->analysis;
	struct wait_rows whole = {0}, rows = {0};

	for (size_t i = 0; i < analysis->states_count; i++) {
		const struct analysis_state *state = &analysis->states[i];
		const struct wait_row row = {.wait_string = state->wait_string,
					     .holder = state->holder,
					     .ns = state->idle_ns};
		size_t k = 0;

		if (state->device != device || state->cause != CAUSE_BLOCKED)
			continue;
		while (k < whole.count && (whole.rows[k].wait_string != row.wait_string ||
					   whole.rows[k].holder != row.holder))
			k++;
		if (k < whole.count)
			whole.rows[k].ns += row.ns;
		else
			add_row(&whole, &row);
	}
	for (size_t i = 0; i < whole.count; i++)
		divide(report, device, &whole.rows[i], &rows);
	free(whole.rows);
	if (rows.count)
		qsort(rows.rows, rows.count, sizeof(*rows.rows), compare);
	return rows;
}

static const struct event_thread *holder_of(const struct report *report, const struct wait_row *row)
{
	return model_thing(report->model, EVENT_THREAD, row->holder);
}

/* ---- text -------------------------------------------------------------------------------------- */

static void name_row(const struct report *report, const struct wait_row *row, char *name,
		     size_t size)
{
	const struct event_thread *holder = holder_of(report, row);
	size_t length =
		(size_t)snprintf(name, size, "    %s",
				 model_text(report->model, row->wait_string, "not known what for"));

	if (row->held.function && length < size)
		length +=
			(size_t)snprintf(name + length, size - length, ": %s", row->held.function);
	if (holder && length < size)
		snprintf(name + length, size - length, "%s%s (%" PRIu32 ")",
			 row->held.function ? ", " : ", held by ",
			 model_text(report->model, holder->name_string, "thread"), holder->tid);
}

void report_put_idle_waits(const struct report *report, size_t device,
			   void (*put)(const char *name, uint64_t part, uint64_t wall))
{
	const uint64_t wall = report->analysis->devices[device].account.wall_ns;
	struct wait_rows rows = find_rows(report, device);
	char name[NAME_BYTES];
	uint64_t rest = 0;

	/* that nobody looked is no news where it is all there is to say */
	if (rows.count == 1 && !rows.rows[0].wait_string)
		rows.count = 0;
	for (size_t i = 0; i < rows.count; i++) {
		if (i >= ROWS_SHOWN) {
			rest += rows.rows[i].ns;
			continue;
		}
		name_row(report, &rows.rows[i], name, sizeof(name));
		put(name, rows.rows[i].ns, wall);
	}
	if (rest)
		put("    others", rest, wall);
	free(rows.rows);
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static void write_holder(const struct report *report, const struct wait_row *row,
			 struct json_writer *json)
{
	const struct event_thread *holder = holder_of(report, row);
	const struct event_process *process =
		holder ? model_thing(report->model, EVENT_PROCESS, holder->process) : NULL;

	if (!holder)
		return;
	json_key(json, "holder");
	json_object_begin(json);
	if (process)
		json_pair_u64(json, "pid", process->pid);
	json_pair_u64(json, "tid", holder->tid);
	json_pair_text(json, "name", model_text(report->model, holder->name_string, ""));
	if (row->held.function)
		json_pair_text(json, "function", row->held.function);
	if (row->held.file)
		json_pair_text(json, "file", row->held.file);
	if (row->held.first_line)
		json_pair_u64(json, "first_line", row->held.first_line);
	json_object_end(json);
}

void report_write_idle_waits(const struct report *report, size_t device, struct json_writer *json)
{
	struct wait_rows rows = find_rows(report, device);

	json_key(json, "idle_waits");
	json_array_begin(json);
	for (size_t i = 0; i < rows.count; i++) {
		const struct wait_row *row = &rows.rows[i];

		json_object_begin(json);
		if (row->wait_string)
			json_pair_text(json, "wait",
				       model_text(report->model, row->wait_string, ""));
		write_holder(report, row, json);
		json_pair_u64(json, "ns", row->ns);
		json_object_end(json);
	}
	json_array_end(json);
	free(rows.rows);
}
