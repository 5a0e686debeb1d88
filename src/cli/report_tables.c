/* SPDX-License-Identifier: MIT
 *
 * cli/report_tables.c - kernels, copies, calls, queues, processes: one line each
 *
 * Runs in:  our own process
 * Gets:     an analysis   Gives: tables on stdout, at most --top lines of each
 * Owns:     nothing
 * Fails:    never
 * Why:      a table without a line has no heading either: who looks for copies in a program that
 *           makes none finds that out from their absence
 */
#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyze/occupancy.h"
#include "cli/table.h"

static void put_kernel_name(const struct report *report, const struct analysis_kernel *kernel)
{
	const struct analysis *analysis = report->analysis;
	char text[2 * REPORT_NAME_BYTES], label[REPORT_NAME_BYTES];

	if (report->device != ALL_DEVICES || analysis_devices_shown(analysis) < 2) {
		table_put_name(kernel->name, 34);
		return;
	}
	snprintf(text, sizeof(text), "%.*s on %s", REPORT_NAME_BYTES, kernel->name,
		 analysis_device_label(analysis, kernel->device, label, sizeof(label)));
	table_put_name(text, 34);
}

static void put_occupancy(const struct report *report, const struct analysis_kernel *kernel)
{
	struct occupancy occupancy;

	if (occupancy_of_kernel(report->analysis, kernel, &occupancy))
		printf("    a multiprocessor has room for %s%" PRIu64 " of %" PRIu64
		       " warps, by %s\n",
		       occupancy.is_at_most    ? "at most "
		       : occupancy.is_at_least ? "at least "
					       : "",
		       occupancy.warps, occupancy.of_warps, occupancy.limit);
}

void report_put_kernels(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"count", "total", "of busy", "mean",
					      "min",   "max",   NULL};
	size_t shown = 0, all = 0;

	for (size_t i = 0; i < analysis->kernels_count; i++) {
		const struct analysis_kernel *kernel = &analysis->kernels[i];

		if (!report_shows_device(report, kernel->device) ||
		    (all++, report_is_over_top(report, shown)))
			continue;
		if (!shown++)
			table_put_title("KERNELS", 34, columns);
		put_kernel_name(report, kernel);
		table_put_cell(format_count(kernel->count));
		if (kernel->timed) {
			table_put_cell(format_duration(kernel->total_ns));
			table_put_cell(
				format_percent(kernel->share_ns,
					       analysis->devices[kernel->device].account.busy_ns));
			table_put_cell(format_duration(kernel->total_ns / kernel->timed));
			table_put_cell(format_duration(kernel->min_ns));
			table_put_cell(format_duration(kernel->max_ns));
		} else {
			table_put_right("not timed", TABLE_CELL);
		}
		putchar('\n');
		put_occupancy(report, kernel);
	}
	table_put_rest(shown, all, "kernel", "kernels");
}

/* Processes of a job have one name. */
static void put_process_name(const struct analysis_process *process)
{
	const struct event_process *row = process->process;
	char name[96];

	snprintf(name, sizeof(name), "%.64s", process->name);
	if (row->rank && row->rank_count)
		snprintf(name, sizeof(name), "%.64s, rank %" PRIu32 " of %" PRIu32, process->name,
			 row->rank - 1, row->rank_count);
	else if (row->rank)
		snprintf(name, sizeof(name), "%.64s, rank %" PRIu32, process->name, row->rank - 1);
	table_put_name(name, 34);
}

void report_put_processes(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"pid",   "launches", "executions", "busy",
					      "calls", "in calls", NULL};
	size_t shown = 0;

	if (analysis->processes_called)
		table_put_title("PROCESSES", 34, columns);
	for (size_t i = 0; i < analysis->processes_count && !report_is_over_top(report, shown);
	     i++) {
		const struct analysis_process *process = &analysis->processes[i];

		if (!process->has_calls)
			continue;
		put_process_name(process);
		table_put_cell(format_count(process->process->pid));
		table_put_cell(format_count(process->launches));
		table_put_cell(format_count(process->executions));
		table_put_cell(format_duration(process->share_ns));
		table_put_cell(format_count(process->calls));
		table_put_cell(format_duration(process->calls_ns));
		putchar('\n');
		shown++;
	}
	table_put_rest(shown, analysis->processes_called, "process", "processes");
}

void report_name_queue(const struct report *report, const struct analysis_queue *queue,
		       char *ret_name, size_t size_of_name)
{
	char label[REPORT_NAME_BYTES];

	if (!queue->queue)
		snprintf(ret_name, size_of_name, "[unknown queue]");
	else
		snprintf(ret_name, size_of_name, "queue %" PRIu32 "%s%.64s%s of %s",
			 queue->queue->id, queue->queue->name_string ? " " : "",
			 model_text(report->analysis->model, queue->queue->name_string, ""),
			 queue->queue->flags & QUEUE_OUT_OF_ORDER ? " (out of order)" : "",
			 analysis_device_label(report->analysis, queue->device, label,
					       sizeof(label)));
}

void report_put_queues(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"executions", "busy", "of wall", "idle", NULL};
	size_t all = analysis_queues_shown(analysis), shown = 0, wanted = 0;

	for (size_t i = 0; i < all; i++) {
		const struct analysis_queue *queue = &analysis->queues[i];
		char name[96];

		if (!report_shows_device(report, queue->device) ||
		    (wanted++, report_is_over_top(report, shown)))
			continue;
		if (!shown++)
			table_put_title("QUEUES", 50, columns);
		report_name_queue(report, queue, name, sizeof(name));
		table_put_name(name, 50);
		table_put_cell(format_count(queue->executions));
		if (queue->executions && !queue->account.commands) {
			table_put_right("not timed", TABLE_CELL);
		} else {
			table_put_cell(format_duration(queue->account.busy_ns));
			table_put_cell(
				format_percent(queue->account.busy_ns, queue->account.wall_ns));
			table_put_cell(format_duration(queue->account.idle_ns));
		}
		putchar('\n');
	}
	table_put_rest(shown, wanted, "queue", "queues");
}

static void put_copy(const struct report *report, const struct analysis_copy *copy)
{
	double rate = report_copy_rate(report, copy);

	table_put_name(copy->command == COMMAND_READ    ? "read (device to host)"
		       : copy->command == COMMAND_WRITE ? "write (host to device)"
							: analysis_command_name(copy->command),
		       34);
	table_put_cell(format_count(copy->count));
	if (copy->timed) {
		table_put_cell(format_duration(copy->total_ns));
		table_put_cell(format_duration(copy->total_ns / copy->timed));
	} else {
		table_put_right("not timed", TABLE_CELL);
		table_put_right("-", TABLE_CELL);
	}
	table_put_cell(format_size((double)copy->bytes));
	if (copy->bytes)
		table_put_cell(format_size((double)copy->bytes / (double)copy->count));
	else
		table_put_right("-", TABLE_CELL);
	if (rate > 0)
		table_put_cell(format_size(rate));
	else
		table_put_right("-", TABLE_CELL);
	putchar('\n');
}

void report_put_copies(const struct report *report, enum account_class class, const char *title)
{
	static const char *const columns[] = {"count",     "total",   "mean", "bytes",
					      "mean size", "bytes/s", NULL};
	struct analysis_copy copies[ANALYSIS_COMMAND_COUNT];
	size_t all = report_list_copies(report, class, copies), shown = 0;

	if (all)
		table_put_title(title, 34, columns);
	for (; shown < all && !report_is_over_top(report, shown); shown++)
		put_copy(report, &copies[shown]);
	table_put_rest(shown, all, "kind", "kinds");
}

void report_put_calls(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"count", "total", "mean", "failed", NULL};
	size_t shown = 0;

	if (analysis->calls_count)
		table_put_title("API CALLS", 40, columns);
	for (; shown < analysis->calls_count && !report_is_over_top(report, shown); shown++) {
		const struct analysis_call *call = &analysis->calls[shown];

		table_put_name(call->name, 40);
		table_put_cell(format_count(call->count));
		table_put_cell(format_duration(call->total_ns));
		table_put_cell(format_duration(call->total_ns / call->count));
		if (call->failed)
			table_put_cell(format_count(call->failed));
		else
			table_put_right("-", TABLE_CELL);
		if (call->is_wait)
			fputs("  waits", stdout);
		putchar('\n');
	}
	table_put_rest(shown, analysis->calls_count, "function", "functions");
}

void report_put_depths(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"mean", "most", "empty", "to start",
					      "p99",  "max",  NULL};
	size_t all = analysis_queues_shown(analysis), shown = 0, wanted = 0;

	for (size_t i = 0; i < all; i++) {
		const struct analysis_queue *queue = &analysis->queues[i];
		struct quantile *latency = (struct quantile *)&queue->latency; /* as in put_zone */
		char name[96];

		if (!report_shows_device(report, queue->device) || !queue->has_depth ||
		    (wanted++, report_is_over_top(report, shown)))
			continue;
		if (!shown++)
			table_put_title("QUEUE DEPTH, LAUNCH LATENCY", 34, columns);
		report_name_queue(report, queue, name, sizeof(name));
		table_put_name(name, 34);
		printf("%*.2f", TABLE_CELL, depth_mean(&queue->depth));
		table_put_cell(format_count(queue->depth.max));
		table_put_cell(format_percent(queue->depth.empty_ns, queue->account.wall_ns));
		table_put_cell(format_duration(quantile_get(latency, 50, 100)));
		table_put_cell(format_duration(quantile_get(latency, 99, 100)));
		table_put_cell(format_duration(latency->max));
		putchar('\n');
	}
	table_put_rest(shown, wanted, "queue", "queues");
}

static void put_zone(const struct quantile *zone, unsigned int numerator)
{
	/* Quantiles sort what they hold; that is no change anyone can see. */
	struct quantile *writable = (struct quantile *)zone;

	if (zone->count)
		table_put_cell(format_duration(quantile_get(writable, numerator, 100)));
	else
		table_put_right("-", TABLE_CELL);
}

void report_put_zones(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"to submit", "p99", "to start", "p99",
					      "to end",    "p99", NULL};
	size_t all = analysis_queues_shown(analysis), shown = 0, wanted = 0;

	for (size_t i = 0; i < all; i++) {
		const struct analysis_queue *queue = &analysis->queues[i];
		char name[96];

		if (!report_shows_device(report, queue->device) || !queue->executions ||
		    (wanted++, report_is_over_top(report, shown)))
			continue;
		if (!shown++)
			table_put_title("WAITING TIMES (p50 and p99)", 34, columns);
		report_name_queue(report, queue, name, sizeof(name));
		table_put_name(name, 34);
		for (unsigned int zone = 0; zone < ZONE_COUNT; zone++) {
			put_zone(&queue->zones[zone], 50);
			put_zone(&queue->zones[zone], 99);
		}
		putchar('\n');
	}
	table_put_rest(shown, wanted, "queue", "queues");
}
