/* SPDX-License-Identifier: MIT
 *
 * cli/report_by.c - the rows of the table that --by asks for, as JSON
 *
 * Runs in:  our own process
 * Gets:     an analysis and its frames   Gives: the list "by" of the document
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why:      everything a person can read, a program can: each row has the key that the table shows, a count and times
 */
#include "cli/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"

static void begin_row(struct json_writer *json, const char *key)
{
	json_newline(json);
	json_object_begin(json);
	json_pair_text(json, "key", key);
}

static void write_device(const struct report *report, size_t device, struct json_writer *json)
{
	json_pair_text(json, "device", report_device_key(&report->analysis->devices[device]));
}

static int write_kernels(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	size_t shown = 0;

	for (size_t i = 0; i < analysis->kernels_count; i++) {
		const struct analysis_kernel *kernel = &analysis->kernels[i];
		const struct report_numbers numbers = {kernel->count, kernel->timed,
						       kernel->total_ns, kernel->share_ns};

		if (!report_shows_device(report, kernel->device) ||
		    report_is_over_top(report, shown))
			continue;
		shown++;
		begin_row(json, kernel->name);
		report_write_symbol(kernel, json);
		write_device(report, kernel->device, json);
		report_write_numbers(&numbers, json);
		json_object_end(json);
	}
	return 0;
}

static int write_stacks(const struct report *report, struct json_writer *json)
{
	static const char *const classes[ACCOUNT_CLASS_COUNT] = {
		[ACCOUNT_KERNEL] = "kernel", [ACCOUNT_COPY] = "copy", [ACCOUNT_OTHER] = "other"};
	const struct report_paths *paths = &report->paths;

	for (size_t i = 0; i < paths->count && !report_is_over_top(report, i); i++) {
		const struct analysis_path *path = paths->by_share[i];
		const struct report_numbers numbers = {path->count, path->timed, path->total_ns,
						       path->share_ns};

		begin_row(json, path->name[0] ? path->name : "[unknown command]");
		json_pair_text(json, "class", classes[path->class]);
		write_device(report, path->device, json);
		report_write_numbers(&numbers, json);
		report_write_frames(report, path->stack, json);
		json_object_end(json);
	}
	return 0;
}

static void write_place(const struct report_line *line, struct json_writer *json)
{
	json_pair_text(json, "function", line->function);
	if (line->file) {
		json_pair_text(json, "file", line->file);
		json_pair_u64(json, "line", line->line);
	}
}

static int write_lines(const struct report *report, struct json_writer *json)
{
	struct report_lines lines;

	if (report_find_lines(report, &lines))
		return -ENOMEM;
	for (size_t i = 0; i < lines.count && !report_is_over_top(report, i); i++) {
		const struct report_line *line = &lines.rows[i];
		char name[4096];

		report_name_line(line, name, sizeof(name));
		begin_row(json, name);
		write_place(line, json);
		write_device(report, line->device, json);
		report_write_numbers(&line->numbers, json);
		json_object_end(json);
	}
	report_lines_fini(&lines);
	return 0;
}

/* Times are of the host: they are no part of a device's busy time. */
static int write_waits(const struct report *report, struct json_writer *json)
{
	struct report_lines lines;

	if (report_find_waits(report, &lines))
		return -ENOMEM;
	for (size_t i = 0; i < lines.count && !report_is_over_top(report, i); i++) {
		const struct report_line *line = &lines.rows[i];
		char name[4096];

		report_name_line(line, name, sizeof(name));
		begin_row(json, name);
		json_pair_text(json, "call", line->call);
		write_place(line, json);
		json_pair_u64(json, "count", line->numbers.count);
		json_pair_u64(json, "total_ns", line->numbers.total_ns);
		json_object_end(json);
	}
	report_lines_fini(&lines);
	return 0;
}

static int write_queues(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	size_t all = analysis_queues_shown(analysis), shown = 0;

	for (size_t i = 0; i < all; i++) {
		const struct analysis_queue *queue = &analysis->queues[i];
		const struct report_numbers numbers = {queue->executions, queue->account.commands,
						       queue->zones[ZONE_STARTED_ENDED].sum,
						       queue->account.busy_ns};
		char name[256];

		if (!report_shows_device(report, queue->device) ||
		    report_is_over_top(report, shown))
			continue;
		shown++;
		report_name_queue(report, queue, name, sizeof(name));
		begin_row(json, name);
		if (queue->queue)
			json_pair_u64(json, "id", queue->queue->id);
		write_device(report, queue->device, json);
		report_write_numbers(&numbers, json);
		json_pair_u64(json, "wall_ns", queue->account.wall_ns);
		json_pair_u64(json, "idle_ns", queue->account.idle_ns);
		json_object_end(json);
	}
	return 0;
}

static int write_processes(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;

	size_t shown = 0;

	for (size_t i = 0; i < analysis->processes_count && !report_is_over_top(report, shown);
	     i++) {
		const struct analysis_process *process = &analysis->processes[i];

		const struct report_times times = report_process_times(process);

		if (!process->has_calls && !process->samples && !process->has_times)
			continue;
		shown++;
		begin_row(json, process->name);
		json_pair_u64(json, "pid", process->process->pid);
		report_write_rank(process->process, json);
		json_pair_u64(json, "count", process->executions);
		json_pair_u64(json, "launches", process->launches);
		json_pair_u64(json, "share_ns", process->share_ns);
		json_pair_u64(json, "calls", process->calls);
		json_pair_u64(json, "calls_ns", process->calls_ns);
		report_write_times(&times, json);
		json_object_end(json);
	}
	return 0;
}

static int write_instructions(const struct report *report, struct json_writer *json)
{
	return report_write_instructions(report, true, json);
}

static int write_ranges(const struct report *report, struct json_writer *json)
{
	return report_write_ranges(report, true, json);
}

int report_write_by(const struct report *report, struct json_writer *json)
{
	static const struct {
		const char *name;
		int (*write)(const struct report *report, struct json_writer *json);
	} tables[] = {{"kernel", write_kernels},      {"stack", write_stacks},
		      {"line", write_lines},          {"queue", write_queues},
		      {"process", write_processes},   {"thread", report_write_threads},
		      {"wait", write_waits},          {"instruction", write_instructions},
		      {"stall", report_write_stalls}, {"cpu", report_write_cpu},
		      {"range", write_ranges}};
	const char *by = report->values->by ? report->values->by : "kernel";
	int error = 0;

	json_newline(json);
	json_pair_text(json, "grouped_by", by);
	json_newline(json);
	json_key(json, "by");
	json_array_begin(json);
	for (size_t i = 0; i < ARRAY_COUNT(tables); i++)
		if (strcmp(by, tables[i].name) == 0)
			error = tables[i].write(report, json);
	json_array_end(json);
	return error;
}
