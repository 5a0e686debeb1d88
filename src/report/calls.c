/* SPDX-License-Identifier: MIT
 *
 * report/calls.c - the calls in which launching threads were while a device was idle
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    lines below "waiting in a call" and "in another call" on stdout, idle_calls as JSON
 * Owns:     the rows while they are printed
 * Fails:    -ENOMEM
 * Why by function: clBuildProgram and clFinish need different remedies, so the cause "in a call"
 *           without a function does not help
 */
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/json.h"

enum { ROWS_SHOWN = 4, NAME_BYTES = 128 };

struct row {
	const char *function;
	uint64_t idle_ns;
};

struct rows {
	struct row *rows; /* the longest first */
	size_t count, capacity;
	struct string_table functions; /* an id is an index + 1 before they are sorted */
};

static int add_state(const struct report *report, const struct analysis_state *state,
		     struct rows *rows)
{
	const char *function = model_text(report->model, state->wait_string, "[unknown call]");
	uint32_t id = string_table_add(&rows->functions, function, strlen(function));

	if (!id || array_grow(rows->rows, rows->capacity, id))
		return -ENOMEM;
	if (id > rows->count) {
		rows->rows[id - 1] = (struct row){.function = function};
		rows->count = id;
	}
	rows->rows[id - 1].idle_ns += state->idle_ns;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->idle_ns != b->idle_ns)
		return a->idle_ns < b->idle_ns ? 1 : -1;
	return strcmp(a->function, b->function);
}

static void rows_fini(struct rows *rows)
{
	string_table_fini(&rows->functions);
	free(rows->rows);
}

/* The rows add up to the account's time of this cause. */
static int find_rows(const struct report *report, size_t device, enum account_cause cause,
		     struct rows *ret_rows)
{
	const struct analysis *analysis = report->analysis;
	struct rows rows = {0};
	int error = 0;

	for (size_t i = 0; i < analysis->cpu.states_count && !error; i++) {
		const struct analysis_state *state = &analysis->cpu.states[i];

		if (state->device == device && state->cause == cause && state->idle_ns)
			error = add_state(report, state, &rows);
	}
	if (error) {
		rows_fini(&rows);
		return error;
	}
	if (rows.count)
		qsort(rows.rows, rows.count, sizeof(*rows.rows), compare);
	*ret_rows = rows;
	return 0;
}

static int write_cause(const struct report *report, size_t device, enum account_cause cause,
		       struct json_writer *json)
{
	struct rows rows;
	int error = find_rows(report, device, cause, &rows);

	if (error)
		return error;
	for (size_t i = 0; i < rows.count; i++) {
		json_object_begin(json);
		json_pair_text(json, "call", rows.rows[i].function);
		json_pair_text(json, "cause", account_cause_name(cause));
		json_pair_u64(json, "ns", rows.rows[i].idle_ns);
		json_object_end(json);
	}
	rows_fini(&rows);
	return 0;
}

int report_write_idle_calls(const struct report *report, size_t device, struct json_writer *json)
{
	int error;

	json_pair_array(json, "idle_calls");
	error = write_cause(report, device, CAUSE_API_WAIT, json);
	if (!error)
		error = write_cause(report, device, CAUSE_API_CALL, json);
	json_array_end(json);
	return error;
}
