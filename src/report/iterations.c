/* SPDX-License-Identifier: MIT
 *
 * report/iterations.c - the iterations of the program's main loop: count, median, p95, the slowest
 *
 * Runs in:  our own process
 * Gets:     an analysis with iterations
 * Gives:    a table on stdout, the key "iterations"
 * Owns:     the iterations, the slowest first, while they are printed
 * Fails:    -ENOMEM
 * Why not mean and standard deviation: one slow iteration in a thousand moves both, so they
 * describe neither the usual iteration nor the slow one
 */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "base/string.h"
#include "report/table.h"

enum { NAME_WIDTH = 44, MIN_NAME = 16, NUMBERS = 5, SLOWEST_SHOWN = 3 };

/* An iteration of the window. */
struct timed_iteration {
	uint64_t ns;
	size_t index; /* among all iterations of the trace */
};

struct timed_iterations {
	struct timed_iteration *rows; /* owned; the slowest first */
	size_t count;
};

/* Slowest first; of equal ones, the first in the trace. */
static int compare_rows(const void *left, const void *right)
{
	const struct timed_iteration *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return (a->index > b->index) - (a->index < b->index);
}

static int timed_iterations_init(struct timed_iterations *timed, const struct analysis *analysis)
{
	const struct iterations *iterations = &analysis->iterations;

	*timed = (struct timed_iterations){
		.rows = calloc(iterations->count + 1, sizeof(*timed->rows))};
	if (!timed->rows)
		return -ENOMEM;
	for (size_t i = 0; i < iterations->count; i++) {
		const struct iteration *row = &iterations->list[i];

		if (analysis_shows(analysis, row->begin, row->end))
			timed->rows[timed->count++] =
				(struct timed_iteration){row->end - row->begin, i};
	}
	qsort(timed->rows, timed->count, sizeof(*timed->rows), compare_rows);
	return 0;
}

/* The value of nearest rank. */
static uint64_t quantile_of(const struct timed_iterations *timed, size_t percent)
{
	size_t rank = (timed->count * percent + 99) / 100;

	return timed->count ? timed->rows[timed->count - rank].ns : 0;
}

/* "ProfilerStep# in MainThread", "repeated launches in python3" */
static void format_loop(const struct report *report, struct string_builder *text)
{
	const struct iterations *iterations = &report->analysis->iterations;
	const struct analysis_thread *thread =
		analysis_find_thread(report->analysis, iterations->thread);

	string_builder_append(text, iterations->name ? iterations->name : "repeated launches");
	if (thread && thread->thread && !thread->thread->name_string)
		string_builder_appendf(text, " in thread %u", thread->thread->tid);
	else if (thread)
		string_builder_appendf(text, " in %s%s",
				       strncmp(thread->name, "thread ", 7) == 0 ? "" : "thread ",
				       thread->name);
}

static struct number loop_number(const struct report *report, const struct timed_iterations *timed,
				 size_t index)
{
	switch (index) {
	case 0:
		return format_count(timed->count);
	case 1:
		return format_count(report->analysis->iterations.period);
	case 2:
		return format_duration(quantile_of(timed, 50));
	case 3:
		return format_duration(quantile_of(timed, 95));
	default:
		return format_duration(timed->rows[0].ns);
	}
}

/* The title and its row. */
static void put_loop(const struct report *report, const struct timed_iterations *timed)
{
	static const char *const titles[NUMBERS] = {"count", "launches", "median", "p95", "max"};
	const struct report_widths widths =
		report_find_widths(report, (struct report_widths){NAME_WIDTH, NUMBERS}, MIN_NAME);
	const char *columns[NUMBERS + 1] = {NULL};
	struct string_builder name = {0};

	memcpy(columns, titles, widths.numbers * sizeof(*columns));
	table_put_title("ITERATIONS", widths.name, columns);
	format_loop(report, &name);
	table_put_name(string_builder_text(&name), widths.name);
	string_builder_fini(&name);
	for (size_t i = 0; i < widths.numbers; i++)
		table_put_cell(loop_number(report, timed, i));
	putchar('\n');
}

static int put_slow_row(const struct report *report, const struct timed_iteration *row)
{
	const struct iteration *iteration = &report->analysis->iterations.list[row->index];
	uint64_t begin = iteration->begin - smaller(iteration->begin, report->analysis->begin_ns);

	printf("    iteration %zu: %s, from %s on, %" PRIu64 " %s\n", row->index,
	       format_duration(row->ns).text, format_duration(begin).text, iteration->launches,
	       table_noun(iteration->launches, "launch", "launches"));
	return row->index == report->analysis->iterations.slowest ? report_put_slowest_cause(report)
								  : 0;
}

static int put_slow_rows(const struct report *report, const struct timed_iterations *timed)
{
	const bool is_by = report->values->by != NULL;
	size_t shown = 0;
	int error = 0;

	while (shown < timed->count && !error &&
	       (is_by ? !report_is_over_top(report, shown) : shown < SLOWEST_SHOWN))
		error = put_slow_row(report, &timed->rows[shown++]);
	if (is_by)
		table_put_rest(shown, timed->count, "iteration", "iterations");
	return error;
}

int report_put_iterations(const struct report *report)
{
	struct timed_iterations timed;
	int error;

	if (timed_iterations_init(&timed, report->analysis))
		return -ENOMEM;
	if (timed.count) {
		put_loop(report, &timed);
	} else if (report->values->by) {
		report_put_note(report, "no iterations were found: no range and no sequence of "
					"launches repeats three times");
	}
	error = put_slow_rows(report, &timed);
	if (timed.count && report->analysis->iterations.is_cut)
		printf("    the first %d launches of the thread were searched\n",
		       ITERATIONS_MAX_LAUNCHES);
	free(timed.rows);
	return error;
}

static int write_row(const struct report *report, const struct timed_iteration *row,
		     struct json_writer *json)
{
	const struct iteration *iteration = &report->analysis->iterations.list[row->index];

	json_pair_u64(json, "index", row->index);
	json_pair_u64(json, "begin_ns", iteration->begin);
	json_pair_u64(json, "ns", row->ns);
	json_pair_u64(json, "launches", iteration->launches);
	return row->index == report->analysis->iterations.slowest
		       ? report_write_slowest_cause(report, json)
		       : 0;
}

static void write_summary(const struct report *report, const struct timed_iterations *timed,
			  struct json_writer *json)
{
	const struct iterations *iterations = &report->analysis->iterations;

	json_pair_text(json, "method", iterations_method_name(iterations->method));
	if (iterations->name)
		json_pair_text(json, "name", iterations->name);
	json_pair_u64(json, "thread", iterations->thread);
	json_pair_u64(json, "period", iterations->period);
	json_pair_bool(json, "cut", iterations->is_cut);
	json_pair_u64(json, "count", timed->count);
	json_pair_u64(json, "begin_ns", iterations->list[0].begin);
	json_pair_u64(json, "end_ns", iterations->list[iterations->count - 1].end);
	json_pair_u64(json, "median_ns", quantile_of(timed, 50));
	json_pair_u64(json, "p95_ns", quantile_of(timed, 95));
}

int report_write_iterations(const struct report *report, struct json_writer *json)
{
	struct timed_iterations timed;
	int error = 0;

	if (!report->analysis->iterations.count)
		return 0;
	if (timed_iterations_init(&timed, report->analysis))
		return -ENOMEM;
	json_newline(json);
	json_pair_object(json, "iterations");
	write_summary(report, &timed, json);
	json_pair_array(json, "slowest");
	for (size_t i = 0; i < timed.count && i < SLOWEST_SHOWN && !error; i++) {
		json_object_begin(json);
		error = write_row(report, &timed.rows[i], json);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
	free(timed.rows);
	return error;
}

int report_by_iteration(const struct report *report, struct json_writer *json)
{
	const struct iteration *list = report->analysis->iterations.list;
	struct timed_iterations timed;
	char key[64];
	int error = 0;

	if (!json)
		return report_put_iterations(report);
	if (timed_iterations_init(&timed, report->analysis))
		return -ENOMEM;
	for (size_t i = 0; i < timed.count && !report_is_over_top(report, i) && !error; i++) {
		snprintf(key, sizeof(key), "iteration %zu", timed.rows[i].index);
		json_line_begin(json);
		json_pair_text(json, "key", key);
		json_pair_u64(json, "count", list[timed.rows[i].index].launches);
		error = write_row(report, &timed.rows[i], json);
		json_object_end(json);
	}
	free(timed.rows);
	return error;
}
