/* SPDX-License-Identifier: MIT
 *
 * report/threads.c - the times of threads and processes on a processor, blocked and preempted
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    tables on stdout, rows as JSON
 * Owns:     the rows while they are printed
 * Fails:    -ENOMEM
 * Why groups: with more threads than rows, those whose names differ only in their numbers are one
 *           row; otherwise a thousand threads would be "990 more". A thread with a tenth of all
 *           time stays a row. JSON has each thread.
 * Why from switches and not from samples: switches are exact, and a waiting thread has no samples
 */
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "report/table.h"

/* A thread or a process, or a group of them. */
struct row {
	const char *name;
	const char *scope; /* thread: the name of its process */
	uint32_t pid;      /* 0: a group of several processes */
	/* thread: its tid, 0 for a group; process: the number of its threads */
	uint64_t number;
	struct report_times times;
	const struct name_group *group; /* NULL: the rows are not grouped */
};

struct rows {
	struct row *rows; /* owned; the longest on a processor first */
	size_t count;
	struct name_groups groups;
};

static void rows_fini(struct rows *rows)
{
	free(rows->rows);
	name_groups_fini(&rows->groups);
}

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

	return (struct row){.name = thread->name,
			    .scope = analysis->processes[thread->process].name,
			    .pid = process ? process->pid : 0,
			    .number = thread->thread->tid,
			    .times = times_of(thread)};
}

static struct row process_row(const struct analysis *analysis, size_t index)
{
	const struct analysis_process *process = &analysis->processes[index];

	return (struct row){.name = process->name,
			    .scope = "",
			    .pid = process->process->pid,
			    .number = process->threads,
			    .times = report_process_times(process)};
}

static void add_times(struct report_times *sum, const struct report_times *times)
{
	sum->is_known |= times->is_known;
	sum->on_cpu_ns += times->on_cpu_ns;
	sum->blocked_ns += times->blocked_ns;
	sum->preempted_ns += times->preempted_ns;
	sum->samples += times->samples;
}

static void add_to_group(struct row *sum, const struct row *row, bool is_process)
{
	add_times(&sum->times, &row->times);
	sum->number = is_process ? sum->number + row->number : 0;
	if (sum->pid != row->pid)
		sum->pid = 0;
}

/* The time by which rows are compared: on processors, or samples where no switches are known. */
static uint64_t weight_of(const struct row *row)
{
	return row->times.is_known ? row->times.on_cpu_ns : row->times.samples;
}

/* Joins the rows with one name in their place: a group's first row stays. */
static int group_rows(struct rows *rows, bool is_process)
{
	uint64_t sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++)
		sum += weight_of(&rows->rows[i]);
	for (size_t i = 0; i < rows->count; i++) {
		struct row *row = &rows->rows[i];
		const bool is_alone = name_groups_is_heavy(weight_of(row), sum);
		size_t index;

		if (name_groups_add(&rows->groups, is_alone ? NULL : row->scope, row->name, &index))
			return -ENOMEM;
		if (index == count)
			rows->rows[count++] = *row;
		else
			add_to_group(&rows->rows[index], row, is_process);
	}
	for (size_t i = 0; i < count; i++)
		rows->rows[i].group = &rows->groups.list[i];
	rows->count = count;
	return 0;
}

/* Rows of the text are grouped if there are more of them than the table shows. */
static int list_rows(const struct report *report, bool is_process, bool is_text,
		     struct rows *ret_rows)
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
	if (is_text && report_is_over_top(report, rows.count - 1) &&
	    group_rows(&rows, is_process)) {
		rows_fini(&rows);
		return -ENOMEM;
	}
	qsort(rows.rows, rows.count, sizeof(*rows.rows), compare);
	*ret_rows = rows;
	return 0;
}

static void format_name(const struct row *row, const char *noun, char *ret_name, size_t size)
{
	if (row->group)
		name_group_label(row->group, noun, ret_name, size);
	else
		snprintf(ret_name, size, "%s", row->name);
}

static void format_thread_name(const struct report *report, const void *row, char *ret_name,
			       size_t size)
{
	format_name(row, "threads", ret_name, size);
}

static void format_process_name(const struct report *report, const void *row, char *ret_name,
				size_t size)
{
	format_name(row, "processes", ret_name, size);
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
	.format_name = format_thread_name,
	.columns =
		(const struct table_column[]){
			{"key", NULL, TABLE_NAME, .value = ROW(name)},
			{"pid", "pid", TABLE_COUNT, .value = ROW(pid), .needs = ROW(pid),
			 .in_json = BLANK_HAS_VALUE},
			{"tid", "tid", TABLE_COUNT, .value = ROW(number), .needs = ROW(number),
			 .in_json = BLANK_HAS_VALUE},
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
	.format_name = format_process_name,
	.columns =
		(const struct table_column[]){
			{NULL, NULL, TABLE_NAME},
			{NULL, "pid", TABLE_COUNT, .value = ROW(pid), .needs = ROW(pid)},
			{NULL, "threads", TABLE_COUNT, .value = ROW(number)},
			TIME_COLUMNS,
			{0},
		},
};

int report_by_thread(const struct report *report, struct json_writer *json)
{
	struct rows rows;

	if (list_rows(report, false, !json, &rows))
		return -ENOMEM;
	table_print(report, &threads_table, &threads_table, TABLE_ROWS(rows.rows, rows.count),
		    json);
	if (!rows.count && !json && !model_imported_from(report->model))
		report_put_note(report, "no threads were recorded; the collector cpu records them "
					"(duet record --collect cpu)");
	rows_fini(&rows);
	return 0;
}

int report_put_process_times(const struct report *report)
{
	struct rows rows;

	if (list_rows(report, true, true, &rows))
		return -ENOMEM;
	table_put(report, &processes_table, TABLE_ROWS(rows.rows, rows.count));
	rows_fini(&rows);
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
