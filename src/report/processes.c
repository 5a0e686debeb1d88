/* SPDX-License-Identifier: MIT
 *
 * report/processes.c - the tables of processes: launches, calls, times, and exit status
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    a table on stdout, lists of the document
 * Owns:     the groups of processes while they are printed
 * Fails:    -ENOMEM
 * Why:      the text shows only processes that called a runtime, because a shell starts dozens that
 *           do not. JSON lists all of them, and --by process those with calls, samples or switches.
 */
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

#include "analyze/text/cgroup.h"
#include "base/format.h"
#include "base/json.h"
#include "base/string.h"
#include "report/table.h"

static const struct event_process *process_of(const void *row)
{
	return ((const struct analysis_process *)row)->process;
}

/* The name with the rank, because all processes of a job have the same name. */
static void format_process_name(const struct report *report, const void *row, char *ret_name,
				size_t size)
{
	const struct event_process *process = process_of(row);
	const char *name = ((const struct analysis_process *)row)->name;
	char rank[48];

	analysis_rank_text(process, rank, sizeof(rank));
	snprintf(ret_name, size, "%.64s%s%s", name, *rank ? ", " : "", rank);
}

static struct table_cell process_pid(const struct report *report, const void *row)
{
	return (struct table_cell){.value = process_of(row)->pid};
}

static struct table_cell process_command(const struct report *report, const void *row)
{
	return (struct table_cell){
		.text = model_text(report->model, process_of(row)->command_string, "")};
}

static const char *cgroup_of(const struct report *report, const void *row)
{
	return cgroup_path_of(model_text(report->model, process_of(row)->cgroup_string, ""));
}

static void put_line(const struct report *report, struct string_builder *text)
{
	if (text->error)
		report->state->error = text->error;
	table_put_text(string_builder_text(text), report_columns(report));
	putchar('\n');
	string_builder_fini(text);
}

static void put_cgroup(const struct report *report, const void *row)
{
	const char *path = cgroup_of(report, row);
	struct string_builder text = {0};
	char container[64];

	if (!*path)
		return;
	cgroup_container(path, container, sizeof(container));
	string_builder_appendf(&text, "    %s%s%scgroup %s", *container ? "container " : "",
			       container, *container ? ", " : "", path);
	put_line(report, &text);
}

static const char *labels_of(const struct report *report, const void *row)
{
	return model_text(report->model, process_of(row)->labels_string, "");
}

/* The numbers of a process that was recorded in part are parts of its totals. */
static void put_sampled(const struct report *report, const void *row)
{
	const struct event_process *process = process_of(row);
	struct string_builder text = {0};

	if (!process->sampled_ns)
		return;
	string_builder_appendf(
		&text, "    sampled: %s of %s recorded; multiply by %.1f to estimate totals",
		format_duration(process->sampled_ns).text,
		format_duration(process->observed_ns).text,
		(double)process->observed_ns / (double)process->sampled_ns);
	put_line(report, &text);
}

static void put_facts(const struct report *report, const void *row)
{
	struct string_builder text = {0};

	put_cgroup(report, row);
	if (*labels_of(report, row)) {
		string_builder_appendf(&text, "    labels %s", labels_of(report, row));
		put_line(report, &text);
	}
	put_sampled(report, row);
}

/* The keys of duet agent. */
static void write_agent(const struct report *report, const void *row, struct json_writer *json)
{
	const struct event_process *process = process_of(row);

	if (*labels_of(report, row))
		json_pair_text(json, "labels", labels_of(report, row));
	if (!process->sampled_ns)
		return;
	json_pair_u64(json, "observed_ns", process->observed_ns);
	json_pair_u64(json, "sampled_ns", process->sampled_ns);
}

/* The keys "cgroup" and "container". */
static void write_cgroup(const struct report *report, const void *row, struct json_writer *json)
{
	const char *path = cgroup_of(report, row);
	char container[64];

	if (*path)
		json_pair_text(json, "cgroup", path);
	if (*cgroup_container(path, container, sizeof(container)))
		json_pair_text(json, "container", container);
}

static void write_rank(const struct report *report, const void *row, struct json_writer *json)
{
	const struct event_process *process = process_of(row);

	if (process->rank)
		json_pair_u64(json, "rank", process->rank - 1);
	if (process->local_rank)
		json_pair_u64(json, "local_rank", process->local_rank - 1);
	if (process->rank_count)
		json_pair_u64(json, "ranks", process->rank_count);
}

/* The exit status, or the signal, of a process that duet started. */
static void write_end(const struct report *report, const void *row, struct json_writer *json)
{
	const int32_t status = process_of(row)->status;

	if (status == -1)
		return;
	if (WIFSIGNALED(status))
		json_pair_u64(json, "signal", (uint64_t)WTERMSIG(status));
	else
		json_pair_u64(json, "exit_status", (uint64_t)WEXITSTATUS(status));
}

static void write_times(const struct report *report, const void *row, struct json_writer *json)
{
	const struct report_times times = report_process_times(row);

	report_write_times(&times, json);
}

static bool has_done_something(const void *row)
{
	const struct analysis_process *process = row;

	return process->is_chosen && (process->has_calls || process->samples || process->has_times);
}

#define PROCESS(member) TABLE_MEMBER(struct analysis_process, member)

static const struct table_column columns[] = {
	{NULL, NULL, TABLE_NAME},
	{"pid", "pid", TABLE_COUNT, .get = process_pid},
	{"name", NULL, TABLE_TEXT, .value = PROCESS(name)},
	{"command", NULL, TABLE_TEXT, .get = process_command},
	{.write = write_rank},
	{.write = write_cgroup},
	{.write = write_agent},
	{.write = write_end},
	{"launches", "launches", TABLE_COUNT, .value = PROCESS(launches)},
	{"executions", "executions", TABLE_COUNT, .value = PROCESS(executions)},
	{"device_ns", "busy", TABLE_TIME, .value = PROCESS(share_ns)},
	{"calls", "calls", TABLE_COUNT, .value = PROCESS(calls)},
	{"calls_ns", "in calls", TABLE_TIME, .value = PROCESS(calls_ns)},
	{.write = write_times},
	{0},
};

static const struct table called_table = {
	.title = "PROCESSES",
	.one = "process",
	.many = "processes",
	.width = 34,
	.needs = PROCESS(has_calls),
	.format_name = format_process_name,
	.put_below = put_facts,
	.columns = columns,
};

static const struct table all_table = {.needs = PROCESS(is_chosen), .columns = columns};

static const struct table by_process_table = {
	.is_shown = has_done_something,
	.columns =
		(const struct table_column[]){
			{"key", NULL, TABLE_NAME, .value = PROCESS(name)},
			{"pid", NULL, TABLE_COUNT, .get = process_pid},
			{.write = write_rank},
			{"count", NULL, TABLE_COUNT, .value = PROCESS(executions)},
			{"launches", NULL, TABLE_COUNT, .value = PROCESS(launches)},
			{"share_ns", NULL, TABLE_TIME, .value = PROCESS(share_ns)},
			{"calls", NULL, TABLE_COUNT, .value = PROCESS(calls)},
			{"calls_ns", NULL, TABLE_TIME, .value = PROCESS(calls_ns)},
			{.write = write_times},
			{0},
		},
};

static struct table_rows process_rows(const struct report *report)
{
	return TABLE_ROWS(report->analysis->processes, report->analysis->processes_count);
}

/* ---- processes of one program as one row ----------------------------------------------------- */

static int add_process(void *group, const void *row, bool is_first)
{
	const struct analysis_process *process = row;
	struct analysis_process *sum = group;

	if (is_first)
		sum->process = process->process;
	sum->has_calls = true;
	sum->launches += process->launches;
	sum->executions += process->executions;
	sum->share_ns += process->share_ns;
	sum->calls += process->calls;
	sum->calls_ns += process->calls_ns;
	return 0;
}

/* The longest busy time first. */
static int compare_sums(const void *left, const void *right)
{
	const struct analysis_process *a = left, *b = right;

	if (a->share_ns != b->share_ns)
		return a->share_ns < b->share_ns ? 1 : -1;
	return (a->calls_ns < b->calls_ns) - (a->calls_ns > b->calls_ns);
}

static const struct row_grouping by_program = {
	.size = sizeof(struct analysis_process), .add = add_process, .compare = compare_sums};

static int add_processes(const struct analysis *analysis, struct row_groups *groups)
{
	uint64_t sum_ns = 0;
	int error = 0;

	for (size_t i = 0; i < analysis->processes_count; i++)
		sum_ns += analysis->processes[i].share_ns;
	for (size_t i = 0; i < analysis->processes_count && !error; i++) {
		const struct analysis_process *process = &analysis->processes[i];
		const bool is_alone = row_groups_is_heavy(process->share_ns, sum_ns);

		if (process->has_calls)
			error = row_groups_add(groups, is_alone ? NULL : "", process->name,
					       process);
	}
	return error;
}

static void format_group_name(const struct report *report, const void *row, char *ret_name,
			      size_t size)
{
	name_group_label(row_grouping_names(&by_program, row), "processes", ret_name, size);
}

static struct table_cell group_pid(const struct report *report, const void *row)
{
	return (struct table_cell){.value = process_of(row)->pid,
				   .is_blank = row_grouping_names(&by_program, row)->count > 1};
}

static const struct table groups_table = {
	.title = "PROCESSES",
	.one = "program",
	.many = "programs",
	.width = 34,
	.format_name = format_group_name,
	.columns =
		(const struct table_column[]){
			{NULL, NULL, TABLE_NAME},
			{NULL, "pid", TABLE_COUNT, .get = group_pid},
			{NULL, "launches", TABLE_COUNT, .value = PROCESS(launches)},
			{NULL, "executions", TABLE_COUNT, .value = PROCESS(executions)},
			{NULL, "busy", TABLE_TIME, .value = PROCESS(share_ns)},
			{NULL, "calls", TABLE_COUNT, .value = PROCESS(calls)},
			{NULL, "in calls", TABLE_TIME, .value = PROCESS(calls_ns)},
			{0},
		},
};

/* More processes called a runtime than the table shows. Ranks of a job are compared by the user, so
 * they stay apart. */
static bool has_groups(const struct report *report)
{
	const struct analysis *analysis = report->analysis;

	for (size_t i = 0; i < analysis->processes_count; i++)
		if (analysis->processes[i].process && analysis->processes[i].process->rank)
			return false;
	return report->top && analysis->processes_called > report->top;
}

int report_put_processes(const struct report *report)
{
	struct row_groups groups = {.grouping = &by_program};
	int error;

	if (!has_groups(report)) {
		table_put(report, &called_table, process_rows(report));
		return 0;
	}
	error = add_processes(report->analysis, &groups);
	if (!error)
		table_put(report, &groups_table, row_groups_sort(&groups));
	row_groups_fini(&groups);
	return error;
}

void report_write_processes(const struct report *report, struct json_writer *json)
{
	table_write_list(report, "processes", &all_table, process_rows(report), json);
}

int report_by_process(const struct report *report, struct json_writer *json)
{
	if (json)
		return table_print(report, &called_table, &by_process_table, process_rows(report),
				   json);
	return report_put_processes(report) ? -ENOMEM : report_put_process_times(report);
}
