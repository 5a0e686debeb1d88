/* SPDX-License-Identifier: MIT
 *
 * report/threads.c - the times of threads and processes on a processor, blocked and preempted
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    tables on stdout, rows as JSON
 * Owns:     the groups while they are printed
 * Fails:    -ENOMEM
 * Why groups: with more threads than rows, those whose names differ only in their numbers are one
 *           row; otherwise a thousand threads would be "990 more". A thread with a tenth of all
 *           time stays a row. JSON has each thread.
 * Why from switches and not from samples: switches are exact, and a waiting thread has no samples
 */
#include "report/report.h"

#include <stdio.h>

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
};

static struct report_times times_of(const struct analysis_thread *thread)
{
	return (struct report_times){thread->has_times,    thread->on_cpu_ns,  thread->blocked_ns,
				     thread->preempted_ns, thread->unknown_ns, thread->samples};
}

struct report_times report_process_times(const struct analysis_process *process)
{
	return (struct report_times){process->has_times,  process->on_cpu_ns,
				     process->blocked_ns, process->preempted_ns,
				     process->unknown_ns, process->samples};
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
	sum->unknown_ns += times->unknown_ns;
	sum->samples += times->samples;
}

static void add_row(struct row *sum, const struct row *row, uint64_t number)
{
	add_times(&sum->times, &row->times);
	sum->number = number;
	if (sum->pid != row->pid)
		sum->pid = 0;
}

static int add_thread(void *sum, const void *row, bool is_first)
{
	if (is_first)
		*(struct row *)sum = *(const struct row *)row;
	else
		add_row(sum, row, 0);
	return 0;
}

static int add_process(void *sum, const void *row, bool is_first)
{
	const uint64_t number = ((const struct row *)row)->number;

	if (is_first)
		*(struct row *)sum = *(const struct row *)row;
	else
		add_row(sum, row, ((const struct row *)sum)->number + number);
	return 0;
}

static const struct row_grouping by_thread = {
	.size = sizeof(struct row), .add = add_thread, .compare = compare};
static const struct row_grouping by_process = {
	.size = sizeof(struct row), .add = add_process, .compare = compare};

/* The time by which rows are compared: on processors, or samples where no switches are known. */
static uint64_t weight_of(const struct row *row)
{
	return row->times.is_known ? row->times.on_cpu_ns : row->times.samples;
}

/* False: the thread or process is not chosen, or has no times. */
static bool make_row(const struct analysis *analysis, bool is_process, size_t index,
		     struct row *ret_row)
{
	const size_t process = is_process ? index : analysis->cpu.threads[index].process;

	*ret_row = is_process ? process_row(analysis, index) : thread_row(analysis, index);
	return analysis->processes[process].is_chosen && !is_empty(&ret_row->times);
}

/* Rows of the text are grouped if there are more of them than the table shows. */
static int add_rows(const struct report *report, bool is_text, struct row_groups *groups)
{
	const struct analysis *analysis = report->analysis;
	const bool is_process = groups->grouping == &by_process;
	const size_t count = is_process ? analysis->processes_count : analysis->cpu.threads_count;
	uint64_t sum = 0;
	size_t shown = 0;
	bool is_grouped;
	struct row row;
	int error = 0;

	for (size_t i = 0; i < count; i++) {
		if (!make_row(analysis, is_process, i, &row))
			continue;
		shown++;
		sum += weight_of(&row);
	}
	is_grouped = is_text && shown && report_is_over_top(report, shown - 1);
	for (size_t i = 0; i < count && !error; i++) {
		if (!make_row(analysis, is_process, i, &row))
			continue;
		if (!is_grouped || row_groups_is_heavy(weight_of(&row), sum))
			error = row_groups_add(groups, NULL, row.name, &row);
		else
			error = row_groups_add(groups, row.scope, row.name, &row);
	}
	return error;
}

static void format_thread_name(const struct report *report, const void *row, char *ret_name,
			       size_t size)
{
	name_group_label(row_grouping_names(&by_thread, row), "threads", ret_name, size);
}

static void format_process_name(const struct report *report, const void *row, char *ret_name,
				size_t size)
{
	name_group_label(row_grouping_names(&by_process, row), "processes", ret_name, size);
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
	struct row_groups groups = {.grouping = &by_thread};
	int error = add_rows(report, !json, &groups);

	if (!error)
		table_print(report, &threads_table, &threads_table, row_groups_sort(&groups), json);
	if (!error && !groups.count && !json && !model_imported_from(report->model))
		report_put_note(report, "no threads were recorded; the collector cpu records them "
					"(duet record --collect cpu)");
	row_groups_fini(&groups);
	return error;
}

int report_put_process_times(const struct report *report)
{
	struct row_groups groups = {.grouping = &by_process};
	int error = add_rows(report, true, &groups);

	if (!error)
		table_put(report, &processes_table, row_groups_sort(&groups));
	row_groups_fini(&groups);
	return error;
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
	if (times->unknown_ns)
		json_pair_u64(json, "unknown_ns", times->unknown_ns);
}
