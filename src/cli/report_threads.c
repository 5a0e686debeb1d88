/* SPDX-License-Identifier: MIT
 *
 * cli/report_threads.c - where threads and processes were: on a processor, blocked, preempted
 *
 * Runs in:  our own process
 * Gets:     an analysis   Gives: tables on stdout, rows as JSON
 * Owns:     the order of the rows while they are printed
 * Fails:    -ENOMEM
 * Why from switches and not from samples: these are exact, and a thread that waits has no samples
 */
#include "cli/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/table.h"

enum { NAME_WIDTH = 34 };

/* A thread or a process. */
struct row {
	const char *name;
	uint32_t pid;
	uint64_t number; /* of a thread its id, of a process how many threads it has */
	struct report_times times;
};

struct rows {
	struct row *rows; /* owned; the longest on a processor first */
	size_t count;
};

static struct report_times times_of(const struct analysis_thread *thread)
{
	return (struct report_times){thread->has_times, thread->on_cpu_ns, thread->blocked_ns,
				     thread->preempted_ns, thread->samples};
}

struct report_times report_process_times(const struct analysis_process *process)
{
	return (struct report_times){process->has_times, process->on_cpu_ns, process->blocked_ns,
				     process->preempted_ns, process->samples};
}

static bool is_empty(const struct report_times *times)
{
	return !times->is_known && !times->samples;
}

static int compare(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->times.on_cpu_ns != b->times.on_cpu_ns)
		return a->times.on_cpu_ns < b->times.on_cpu_ns ? 1 : -1;
	if (a->times.samples != b->times.samples)
		return a->times.samples < b->times.samples ? 1 : -1;
	if (a->pid != b->pid)
		return a->pid > b->pid ? 1 : -1;
	return (a->number > b->number) - (a->number < b->number);
}

static struct row thread_row(const struct analysis *analysis, size_t index)
{
	const struct analysis_thread *thread = &analysis->threads[index];
	const struct event_process *process = analysis->processes[thread->process].process;

	return (struct row){thread->name, process ? process->pid : 0, thread->thread->tid,
			    times_of(thread)};
}

static struct row process_row(const struct analysis *analysis, size_t index)
{
	const struct analysis_process *process = &analysis->processes[index];

	return (struct row){process->name, process->process->pid, process->threads,
			    report_process_times(process)};
}

static int list_rows(const struct report *report, bool is_process, struct rows *ret_rows)
{
	const struct analysis *analysis = report->analysis;
	size_t count = is_process ? analysis->processes_count : analysis->threads_count;
	struct rows rows = {.rows = calloc(count + 1, sizeof(*rows.rows))};

	if (!rows.rows)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct row row = is_process ? process_row(analysis, i) : thread_row(analysis, i);

		if (!is_empty(&row.times))
			rows.rows[rows.count++] = row;
	}
	qsort(rows.rows, rows.count, sizeof(*rows.rows), compare);
	*ret_rows = rows;
	return 0;
}

/* ---- text -------------------------------------------------------------------------------------- */

static void put_time(const struct report_times *times, uint64_t time_ns)
{
	if (times->is_known)
		table_put_cell(format_duration(time_ns));
	else
		table_put_right("-", TABLE_CELL);
}

static int put_rows(const struct report *report, bool is_process)
{
	static const char *const columns[2][7] = {
		{"pid", "tid", "on CPU", "blocked", "preempted", "samples", NULL},
		{"pid", "threads", "on CPU", "blocked", "preempted", "samples", NULL}};
	struct rows rows;
	size_t shown = 0;

	if (list_rows(report, is_process, &rows))
		return -ENOMEM;
	for (; shown < rows.count && !report_is_over_top(report, shown); shown++) {
		const struct row *row = &rows.rows[shown];

		if (!shown)
			table_put_title(is_process ? "PROCESSOR TIME BY PROCESS" : "THREADS",
					NAME_WIDTH, columns[is_process]);
		table_put_name(row->name, NAME_WIDTH);
		table_put_cell(format_count(row->pid));
		table_put_cell(format_count(row->number));
		put_time(&row->times, row->times.on_cpu_ns);
		put_time(&row->times, row->times.blocked_ns);
		put_time(&row->times, row->times.preempted_ns);
		table_put_cell(format_count(row->times.samples));
		putchar('\n');
	}
	table_put_rest(shown, rows.count, is_process ? "process" : "thread",
		       is_process ? "processes" : "threads");
	if (!shown && !is_process && !model_imported_from(report->model))
		printf("\nnothing of threads was recorded: the collector cpu does that (duet "
		       "record)\n");
	free(rows.rows);
	return 0;
}

int report_put_threads(const struct report *report)
{
	return put_rows(report, false);
}

int report_put_process_times(const struct report *report)
{
	return put_rows(report, true);
}

/* ---- JSON -------------------------------------------------------------------------------------- */

void report_write_times(const struct report_times *times, struct json_writer *json)
{
	if (is_empty(times))
		return;
	json_pair_u64(json, "samples", times->samples);
	if (!times->is_known)
		return;
	json_pair_u64(json, "on_cpu_ns", times->on_cpu_ns);
	json_pair_u64(json, "blocked_ns", times->blocked_ns);
	json_pair_u64(json, "preempted_ns", times->preempted_ns);
}

int report_write_threads(const struct report *report, struct json_writer *json)
{
	struct rows rows;

	if (list_rows(report, false, &rows))
		return -ENOMEM;
	for (size_t i = 0; i < rows.count && !report_is_over_top(report, i); i++) {
		const struct row *row = &rows.rows[i];

		json_newline(json);
		json_object_begin(json);
		json_pair_text(json, "key", row->name);
		json_pair_u64(json, "pid", row->pid);
		json_pair_u64(json, "tid", row->number);
		json_pair_u64(json, "count", row->times.samples);
		report_write_times(&row->times, json);
		json_object_end(json);
	}
	free(rows.rows);
	return 0;
}
