/* SPDX-License-Identifier: MIT
 *
 * report/threads.c - the times of threads and processes on a processor, blocked and preempted
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    tables on stdout, rows as JSON
 * Owns:     the rows while they are printed
 * Fails:    -ENOMEM
 * Why from switches and not from samples: switches are exact, and a waiting thread has no samples
 */
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "report/table.h"

/* A thread or a process. */
struct row {
	const char *name;
	uint32_t pid;
	uint64_t number; /* thread: its tid; process: the number of its threads */
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
	const struct analysis_thread *thread = &analysis->cpu.threads[index];
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
	size_t count = is_process ? analysis->processes_count : analysis->cpu.threads_count;
	struct rows rows = {.rows = calloc(count + 1, sizeof(*rows.rows))};

	if (!rows.rows)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		size_t process = is_process ? i : analysis->cpu.threads[i].process;
		struct row row = is_process ? process_row(analysis, i) : thread_row(analysis, i);

		if (analysis->processes[process].is_chosen && !is_empty(&row.times))
			rows.rows[rows.count++] = row;
	}
	qsort(rows.rows, rows.count, sizeof(*rows.rows), compare);
	*ret_rows = rows;
	return 0;
}

/* ---- the tables ------------------------------------------------------------------------------ */

static void write_row_times(const struct report *report, const void *row, struct json_writer *json)
{
	report_write_times(&((const struct row *)row)->times, json);
}

#define ROW(member) TABLE_MEMBER(struct row, member)

/* The columns that the tables of threads and of processes share. */
#define TIME_COLUMNS                                                                               \
	{NULL, "on CPU", TABLE_TIME, .value = ROW(times.on_cpu_ns), .needs = ROW(times.is_known)}, \
		{NULL, "blocked", TABLE_TIME, .value = ROW(times.blocked_ns),                      \
		 .needs = ROW(times.is_known)},                                                    \
		{NULL, "preempted", TABLE_TIME, .value = ROW(times.preempted_ns),                  \
		 .needs = ROW(times.is_known)},                                                    \
	{                                                                                          \
		NULL, "samples", TABLE_COUNT, .value = ROW(times.samples)                          \
	}

static const struct table threads_table = {
	.title = "THREADS",
	.one = "thread",
	.many = "threads",
	.width = 34,
	.columns =
		(const struct table_column[]){
			{"key", NULL, TABLE_NAME, .value = ROW(name)},
			{"pid", "pid", TABLE_COUNT, .value = ROW(pid)},
			{"tid", "tid", TABLE_COUNT, .value = ROW(number)},
			{"count", NULL, TABLE_COUNT, .value = ROW(times.samples)},
			{.write = write_row_times},
			TIME_COLUMNS,
			{0},
		},
};

static const struct table processes_table = {
	.title = "PROCESSOR TIME BY PROCESS",
	.one = "process",
	.many = "processes",
	.width = 34,
	.columns =
		(const struct table_column[]){
			{NULL, NULL, TABLE_NAME, .value = ROW(name)},
			{NULL, "pid", TABLE_COUNT, .value = ROW(pid)},
			{NULL, "threads", TABLE_COUNT, .value = ROW(number)},
			TIME_COLUMNS,
			{0},
		},
};

int report_by_thread(const struct report *report, struct json_writer *json)
{
	struct rows rows;

	if (list_rows(report, false, &rows))
		return -ENOMEM;
	table_print(report, &threads_table, &threads_table, TABLE_ROWS(rows.rows, rows.count),
		    json);
	if (!rows.count && !json && !model_imported_from(report->model))
		printf("\nno threads were recorded; the collector cpu records them (duet record "
		       "--collect cpu)\n");
	free(rows.rows);
	return 0;
}

int report_put_process_times(const struct report *report)
{
	struct rows rows;

	if (list_rows(report, true, &rows))
		return -ENOMEM;
	table_put(report, &processes_table, TABLE_ROWS(rows.rows, rows.count));
	free(rows.rows);
	return 0;
}

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
