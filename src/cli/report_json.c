/* SPDX-License-Identifier: MIT
 *
 * cli/report_json.c - a report for a program: the document "duet.report/1"
 *
 * Runs in:  our own process
 * Gets:     an analysis   Gives: one JSON document on stdout
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why:      numbers are whole nanoseconds and bytes, as they were added up: a script that checks the
 *           account needs the parts that were checked here
 */
#include "cli/report.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

#include "analyze/occupancy.h"
#include "base/json.h"
#include "cli/table.h"
#include "export/json_about.h"

static void json_list(struct json_writer *json, const char *key)
{
	json_newline(json);
	json_key(json, key);
	json_array_begin(json);
}

static void json_item(struct json_writer *json)
{
	json_newline(json);
	json_object_begin(json);
}

/* How a process ended that duet started. */
static void write_end(const struct event_process *process, struct json_writer *json)
{
	if (process->status == -1)
		return;
	if (WIFSIGNALED(process->status))
		json_pair_u64(json, "signal", (uint64_t)WTERMSIG(process->status));
	else
		json_pair_u64(json, "exit_status", (uint64_t)WEXITSTATUS(process->status));
}

void report_write_rank(const struct event_process *process, struct json_writer *json)
{
	if (process->rank)
		json_pair_u64(json, "rank", process->rank - 1);
	if (process->local_rank)
		json_pair_u64(json, "local_rank", process->local_rank - 1);
	if (process->rank_count)
		json_pair_u64(json, "ranks", process->rank_count);
}

static void write_processes(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;

	json_list(json, "processes");
	for (size_t i = 0; i < analysis->processes_count && !report_is_over_top(report, i); i++) {
		const struct analysis_process *process = &analysis->processes[i];
		const struct report_times times = report_process_times(process);

		json_item(json);
		json_pair_u64(json, "pid", process->process->pid);
		json_pair_text(json, "name", process->name);
		json_pair_text(json, "command",
			       model_text(report->model, process->process->command_string, ""));
		report_write_rank(process->process, json);
		write_end(process->process, json);
		json_pair_u64(json, "launches", process->launches);
		json_pair_u64(json, "executions", process->executions);
		json_pair_u64(json, "device_ns", process->share_ns);
		json_pair_u64(json, "calls", process->calls);
		json_pair_u64(json, "calls_ns", process->calls_ns);
		report_write_times(&times, json);
		json_object_end(json);
	}
	json_array_end(json);
}

static int write_device(const struct report *report, struct json_writer *json, size_t index)
{
	const struct analysis_device *device = &report->analysis->devices[index];
	int error;

	json_item(json);
	json_pair_u64(json, "index", index);
	json_pair_text(json, "key", report_device_key(device));
	json_pair_text(json, "name", device->name);
	json_pair_text(json, "vendor", device->vendor);
	json_about_account(json, &device->account);
	error = report_write_idle_waits(report, index, json);
	if (!error)
		error = report_write_idle_preempted(report, index, json);
	if (!error)
		error = report_write_idle_calls(report, index, json);
	json_pair_u64(json, "launches", device->launches);
	json_pair_u64(json, "executions", device->executions);
	json_pair_bool(json, "measured", device->is_measured);
	json_object_end(json);
	return error;
}

static int write_devices(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	size_t shown = analysis_devices_shown(analysis);
	int error = 0;

	json_list(json, "devices");
	for (size_t i = 0; i < shown && !error; i++) {
		if (report_shows_device(report, i))
			error = write_device(report, json, i);
	}
	json_array_end(json);
	return error;
}

static void write_occupancy(const struct report *report, const struct analysis_kernel *kernel,
			    struct json_writer *json)
{
	struct occupancy occupancy;

	if (!occupancy_of_kernel(report->analysis, kernel, &occupancy))
		return;
	json_key(json, "occupancy");
	json_object_begin(json);
	json_pair_u64(json, "warps", occupancy.warps);
	json_pair_u64(json, "of_warps", occupancy.of_warps);
	json_pair_text(json, "limit", occupancy.limit);
	json_key(json, "is_at_most");
	json_bool(json, occupancy.is_at_most);
	json_key(json, "is_at_least");
	json_bool(json, occupancy.is_at_least);
	json_object_end(json);
}

static void write_kernels(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	size_t shown = 0;

	json_list(json, "kernels");
	for (size_t i = 0; i < analysis->kernels_count; i++) {
		const struct analysis_kernel *kernel = &analysis->kernels[i];
		const struct analysis_device *device = &analysis->devices[kernel->device];

		if (!report_shows_device(report, kernel->device) ||
		    report_is_over_top(report, shown))
			continue;
		shown++;
		json_item(json);
		json_pair_text(json, "name", kernel->name);
		report_write_symbol(kernel, json);
		json_pair_text(json, "device", report_device_key(device));
		json_pair_u64(json, "count", kernel->count);
		json_pair_u64(json, "timed", kernel->timed);
		json_pair_u64(json, "total_ns", kernel->total_ns);
		if (kernel->timed) {
			json_pair_u64(json, "min_ns", kernel->min_ns);
			json_pair_u64(json, "max_ns", kernel->max_ns);
		} else {
			json_pair_text(json, "min_ns", NULL);
			json_pair_text(json, "max_ns", NULL);
		}
		json_pair_u64(json, "share_ns", kernel->share_ns);
		json_key(json, "percent");
		json_double(json, device->account.busy_ns ? 100.0 * (double)kernel->share_ns /
								    (double)device->account.busy_ns
							  : 0);
		write_occupancy(report, kernel, json);
		json_key(json, "stacks");
		report_write_stacks(report, ACCOUNT_KERNEL, kernel->name, kernel->device, json);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_copies(const struct report *report, struct json_writer *json,
			 enum account_class class)
{
	bool is_copy = class == ACCOUNT_COPY;
	struct analysis_copy copies[ANALYSIS_COMMAND_COUNT];
	size_t all = report_list_copies(report, class, copies);

	json_list(json, is_copy ? "copies" : "other_commands");
	for (size_t i = 0; i < all && !report_is_over_top(report, i); i++) {
		const struct analysis_copy *copy = &copies[i];

		json_item(json);
		json_pair_text(json, is_copy ? "direction" : "command",
			       analysis_command_name(copy->command));
		json_pair_u64(json, "count", copy->count);
		json_pair_u64(json, "timed", copy->timed);
		json_pair_u64(json, "bytes", copy->bytes);
		json_pair_u64(json, "total_ns", copy->total_ns);
		json_pair_u64(json, "share_ns", copy->share_ns);
		json_key(json, "mean_bytes");
		json_double(json, (double)copy->bytes / (double)copy->count);
		json_key(json, "bytes_per_s");
		if (report_copy_rate(report, copy) > 0)
			json_double(json, report_copy_rate(report, copy));
		else
			json_null(json);
		json_key(json, "stacks");
		report_write_stacks(report, class, analysis_command_name(copy->command),
				    report->device, json);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_zones(const struct analysis_queue *queue, struct json_writer *json)
{
	json_key(json, "zones");
	json_object_begin(json);
	for (unsigned int i = 0; i < ZONE_COUNT; i++) {
		struct quantile *zone = (struct quantile *)&queue->zones[i];

		json_key(json, analysis_zone_name(i));
		json_object_begin(json);
		json_pair_u64(json, "count", zone->count);
		json_pair_u64(json, "sum", zone->sum);
		json_pair_u64(json, "p50", quantile_get(zone, 50, 100));
		json_pair_u64(json, "p99", quantile_get(zone, 99, 100));
		json_object_end(json);
	}
	json_object_end(json);
}

/* Null where it is not known when its commands ended. */
static void write_depth(const struct analysis_queue *queue, struct json_writer *json)
{
	json_key(json, "depth");
	if (!queue->has_depth) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	json_key(json, "mean");
	json_double(json, depth_mean(&queue->depth));
	json_pair_u64(json, "max", queue->depth.max);
	json_pair_u64(json, "empty_ns", queue->depth.empty_ns);
	json_object_end(json);
}

static void write_latency(const char *key, const struct quantile *quantile,
			  struct json_writer *json)
{
	struct quantile *latency = (struct quantile *)quantile;

	json_key(json, key);
	json_object_begin(json);
	json_pair_u64(json, "count", latency->count);
	json_pair_u64(json, "sum", latency->sum);
	json_pair_u64(json, "p50", quantile_get(latency, 50, 100));
	json_pair_u64(json, "p99", quantile_get(latency, 99, 100));
	json_pair_u64(json, "max", latency->max);
	json_object_end(json);
}

static void write_queue(const struct report *report, const struct analysis_queue *queue,
			struct json_writer *json)
{
	const struct event_queue *row = queue->queue;

	json_item(json);
	json_pair_text(json, "device",
		       report_device_key(&report->analysis->devices[queue->device]));
	json_pair_u64(json, "context", row ? row->context : 0);
	json_pair_u64(json, "id", row ? row->id : 0);
	json_pair_u64(json, "process", row ? row->process : 0);
	json_pair_bool(json, "out_of_order", row && (row->flags & QUEUE_OUT_OF_ORDER));
	json_pair_bool(json, "timed", row && (row->flags & QUEUE_TIMED));
	json_pair_bool(json, "timing_forced", row && (row->flags & QUEUE_TIMING_FORCED));
	json_pair_u64(json, "launches", queue->launches);
	json_pair_u64(json, "executions", queue->executions);
	json_pair_u64(json, "wall_ns", queue->account.wall_ns);
	json_pair_u64(json, "busy_ns", queue->account.busy_ns);
	json_pair_u64(json, "idle_ns", queue->account.idle_ns);
	write_zones(queue, json);
	write_depth(queue, json);
	write_latency("latency", &queue->latency, json);
	write_latency("idle_latency", &queue->prompt, json);
	json_object_end(json);
}

static void write_queues(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	size_t all = analysis_queues_shown(analysis), shown = 0;

	json_list(json, "queues");
	for (size_t i = 0; i < all && !report_is_over_top(report, shown); i++) {
		if (!report_shows_device(report, analysis->queues[i].device))
			continue;
		write_queue(report, &analysis->queues[i], json);
		shown++;
	}
	json_array_end(json);
	json_list(json, "contexts");
	for (size_t i = 0; i < analysis->contexts_count && !report_is_over_top(report, i); i++) {
		const struct analysis_context *context = &analysis->contexts[i];

		json_item(json);
		json_pair_u64(json, "id", context->context->id);
		json_pair_u64(json, "process", context->context->process);
		json_pair_u64(json, "wall_ns", context->account.wall_ns);
		json_pair_u64(json, "busy_ns", context->account.busy_ns);
		json_pair_u64(json, "idle_ns", context->account.idle_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_calls(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;

	json_list(json, "api");
	for (size_t i = 0; i < analysis->calls_count && !report_is_over_top(report, i); i++) {
		const struct analysis_call *call = &analysis->calls[i];

		json_item(json);
		json_pair_text(json, "name", call->name);
		json_pair_u64(json, "count", call->count);
		json_pair_u64(json, "failed", call->failed);
		json_pair_u64(json, "total_ns", call->total_ns);
		json_pair_bool(json, "launches", call->is_launch);
		json_pair_bool(json, "waits", call->is_wait);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_clock(const struct report *report, const struct clocks_domain *domain,
			struct json_writer *json)
{
	const struct clock_certificate *certificate = &domain->certificate;
	const struct clocks *clocks = report->model->clocks;

	json_item(json);
	json_pair_text(json, "domain", clocks_name(clocks, report->model->reader, domain));
	json_pair_u64(json, "id", domain->id);
	json_pair_text(json, "method", clocks_method_name(certificate->method));
	if (certificate->candidate >= 0)
		json_pair_text(json, "is",
			       clocks_name(clocks, report->model->reader,
					   clocks_at(clocks, (size_t)certificate->candidate)));
	json_key(json, "offset_ns");
	json_i64(json, certificate->offset_ns);
	if (certificate->has_drift) {
		json_key(json, "drift_ppb");
		json_i64(json, certificate->drift_ppb);
	}
	json_key(json, "error_ns");
	if (certificate->error_ns == UINT64_MAX)
		json_null(json);
	else
		json_u64(json, certificate->error_ns);
	json_pair_u64(json, "bounds", certificate->bounds);
	json_pair_u64(json, "violations", certificate->violations);
	json_object_end(json);
}

static void write_clocks(const struct report *report, struct json_writer *json)
{
	const struct clocks *clocks = report->model->clocks;

	json_list(json, "clocks");
	for (size_t i = 0; i < clocks_count(clocks); i++)
		write_clock(report, clocks_at(clocks, i), json);
	json_array_end(json);
}

static void write_ledger(const struct report *report, struct json_writer *json)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;

	json_newline(json);
	json_key(json, "ledger");
	json_object_begin(json);
	json_about_ledger(json, ledger);
	json_pair_u64(json, "samples", ledger->instructions);
	json_pair_u64(json, "samples_estimated", ledger->instructions_estimated);
	json_pair_u64(json, "samples_divided", ledger->instructions_divided);
	json_pair_u64(json, "samples_unsized", ledger->instructions_unsized);
	json_pair_u64(json, "samples_early", ledger->instructions_early);
	json_pair_u64(json, "samples_unknown", ledger->instructions_unknown);
	json_pair_u64(json, "samples_unknown_code", ledger->instructions_unknown_code);
	json_pair_u64(json, "samples_no_device", ledger->instructions_no_device);
	json_pair_u64(json, "samples_late", ledger->instructions_late);
	json_pair_u64(json, "samples_lost", ledger->instructions_lost);
	if (ledger->instructions_uncounted)
		json_pair_u64(json, "samples_lost_uncounted", ledger->instructions_uncounted);
	json_pair_u64(json, "cpu_samples", ledger->samples);
	json_pair_u64(json, "cpu_samples_lost", ledger->samples_lost);
	json_pair_u64(json, "ranges_unbegun", report->analysis->ranges_unbegun);
	json_object_end(json);
}

static void write_losses(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;

	json_list(json, "losses");
	for (size_t i = 0; i < analysis->losses_count; i++) {
		const struct analysis_loss *loss = &analysis->losses[i];

		json_item(json);
		json_pair_text(json, "kind", analysis_kind_name(loss->kind));
		json_pair_text(json, "reason",
			       loss->reason ? analysis_loss_name(loss->reason) : "damage");
		if (loss->count)
			json_pair_u64(json, "count", loss->count);
		if (loss->uncounted)
			json_pair_u64(json, "uncounted", loss->uncounted);
		json_object_end(json);
	}
	json_array_end(json);
	json_newline(json);
	json_key(json, "damage");
	json_object_begin(json);
	json_pair_u64(json, "chunks", analysis->damage.chunks);
	json_pair_u64(json, "rows", analysis->damage.rows);
	json_pair_u64(json, "bytes", analysis->damage.bytes);
	json_pair_bool(json, "truncated", analysis->damage.truncated);
	json_object_end(json);
}

static void write_code(const struct report *report, struct json_writer *json)
{
	const struct analysis_code *code = &report->analysis->code;

	json_newline(json);
	json_key(json, "code_objects");
	json_object_begin(json);
	json_pair_u64(json, "sources", code->sources);
	json_pair_u64(json, "binaries", code->binaries);
	json_pair_u64(json, "il", code->il);
	json_pair_u64(json, "build_logs", code->build_logs);
	json_pair_u64(json, "kernels", code->kernels);
	json_object_end(json);
}

static void write_cost(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	uint64_t forced = 0;

	for (size_t i = 0; i < analysis->queues_count; i++)
		forced += (analysis->queues[i].queue->flags & QUEUE_TIMING_FORCED) != 0;
	json_newline(json);
	json_key(json, "cost");
	json_object_begin(json);
	json_pair_u64(json, "rows", analysis->rows);
	json_pair_u64(json, "file_bytes", trace_reader_size_bytes(report->model->reader));
	json_pair_u64(json, "queues_timing_forced", forced);
	report_write_own_time(report, json);
	json_object_end(json);
}

int report_write_json(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	int error;

	json_object_begin(json);
	json_pair_text(json, "schema", "duet.report/1");
	json_pair_bool(json, "complete", analysis_is_complete(analysis));
	json_pair_text(json, "command", report_command(report));
	if (*format_date(report->model, analysis->begin_ns).text)
		json_pair_text(json, "recorded_at",
			       format_date(report->model, analysis->begin_ns).text);
	json_pair_u64(json, "start_ns", analysis->from_ns);
	json_pair_u64(json, "wall_ns", analysis->to_ns - analysis->from_ns);
	json_pair_bool(json, "exact", analysis->is_exact);
	if (analysis->dropped_before_ns)
		json_pair_u64(json, "dropped_before_ns", analysis->dropped_before_ns);
	write_processes(report, json);
	error = write_devices(report, json);
	write_kernels(report, json);
	write_copies(report, json, ACCOUNT_COPY);
	write_copies(report, json, ACCOUNT_OTHER);
	write_queues(report, json);
	write_calls(report, json);
	if (!error)
		error = report_write_by(report, json);
	json_newline(json);
	json_key(json, "instructions");
	json_array_begin(json);
	if (!error)
		error = report_write_instructions(report, false, json);
	json_array_end(json);
	report_write_sources(report, json);
	json_newline(json);
	json_key(json, "metrics");
	json_array_begin(json);
	if (!error)
		error = report_write_metrics(report, json);
	json_array_end(json);
	json_newline(json);
	json_key(json, "ranges");
	json_array_begin(json);
	if (!error)
		error = report_write_ranges(report, false, json);
	json_array_end(json);
	if (!error)
		error = report_write_layers(report, json);
	if (!error)
		error = report_write_findings(report, json);
	write_clocks(report, json);
	write_ledger(report, json);
	write_losses(report, json);
	json_newline(json);
	json_key(json, "collectors");
	json_about_collectors(json, report->model);
	write_code(report, json);
	write_cost(report, json);
	json_newline(json);
	json_object_end(json);
	return error;
}

int report_print_json(const struct report *report)
{
	struct json_writer json;
	int error;

	json_init_file(&json, stdout);
	error = report_write_json(report, &json);
	putchar('\n');
	if (json_error(&json) == -EIO)
		return 0; /* finish_output says what became of stdout */
	return error ? error : json_error(&json);
}
