/* SPDX-License-Identifier: MIT
 *
 * report/json.c - the report as JSON: the document "duet.report/1"
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    one JSON document on stdout
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why no rounding: numbers are whole nanoseconds and bytes, so that a script can check that the
 *           parts of the account add up
 */
#include "report/report.h"

#include <errno.h>
#include <stdio.h>

#include "analyze/text/about_json.h"
#include "base/json.h"
#include "report/table.h"

static int write_device(const struct report *report, struct json_writer *json, size_t index)
{
	const struct analysis_device *device = &report->analysis->devices[index];
	int error;

	json_line_begin(json);
	json_pair_u64(json, "index", index);
	json_pair_text(json, "key", report_device_key(device));
	json_pair_text(json, "name", device->name);
	json_pair_text(json, "vendor", device->vendor);
	json_about_account(json, &device->account);
	error = report_write_idle_kinds(report, index, json);
	if (!error)
		error = report_write_idle_waits(report, index, CAUSE_BLOCKED, json);
	if (!error)
		error = report_write_idle_waits(report, index, CAUSE_PREEMPTED, json);
	if (!error)
		error = report_write_idle_calls(report, index, json);
	report_write_overlap(&device->overlap, json);
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

	json_line_array(json, "devices");
	for (size_t i = 0; i < shown && !error; i++) {
		if (report_shows_device(report, i))
			error = write_device(report, json, i);
	}
	json_array_end(json);
	return error;
}

static void write_clock(const struct report *report, const struct clocks_domain *domain,
			struct json_writer *json)
{
	const struct clock_certificate *certificate = &domain->certificate;
	const struct clocks *clocks = report->model->clocks;

	json_line_begin(json);
	json_pair_text(json, "domain", clocks_name(clocks, report->model->reader, domain));
	json_pair_u64(json, "id", domain->id);
	json_pair_text(json, "method", clocks_method_name(certificate->method));
	if (certificate->candidate >= 0)
		json_pair_text(json, "is",
			       clocks_name(clocks, report->model->reader,
					   clocks_at(clocks, (size_t)certificate->candidate)));
	json_pair_i64(json, "offset_ns", certificate->offset_ns);
	if (certificate->has_drift)
		json_pair_i64(json, "drift_ppb", certificate->drift_ppb);
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

	json_line_array(json, "clocks");
	for (size_t i = 0; i < clocks_count(clocks); i++)
		write_clock(report, clocks_at(clocks, i), json);
	json_array_end(json);
}

static void write_ledger(const struct report *report, struct json_writer *json)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;

	json_newline(json);
	json_pair_object(json, "ledger");
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
	json_pair_u64(json, "ranges_unbegun", report->analysis->program.ranges_unbegun);
	json_object_end(json);
}

static void write_losses(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;

	json_line_array(json, "losses");
	for (size_t i = 0; i < analysis->losses_count; i++) {
		const struct analysis_loss *loss = &analysis->losses[i];

		json_line_begin(json);
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
	json_pair_object(json, "damage");
	json_pair_u64(json, "chunks", analysis->damage.chunks);
	json_pair_u64(json, "rows", analysis->damage.rows);
	json_pair_u64(json, "bytes", analysis->damage.bytes);
	json_pair_bool(json, "truncated", analysis->damage.truncated);
	if (analysis->damage.is_being_written)
		json_pair_bool(json, "being_written", true);
	json_object_end(json);
}

static void write_code(const struct report *report, struct json_writer *json)
{
	const struct analysis_code *code = &report->analysis->code;

	json_newline(json);
	json_pair_object(json, "code_objects");
	json_pair_u64(json, "sources", code->sources);
	json_pair_u64(json, "binaries", code->binaries);
	json_pair_u64(json, "il", code->il);
	json_pair_u64(json, "build_logs", code->build_logs);
	json_pair_u64(json, "kernels", code->kernels);
	json_object_end(json);
}

static int write_cost(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	uint64_t forced = 0;
	int error;

	for (size_t i = 0; i < analysis->queues_count; i++)
		forced += (analysis->queues[i].queue->flags & QUEUE_TIMING_FORCED) != 0;
	json_newline(json);
	json_pair_object(json, "cost");
	json_pair_u64(json, "rows", analysis->checks.rows);
	json_pair_u64(json, "file_bytes", trace_reader_size_bytes(report->model->reader));
	json_pair_u64(json, "queues_timing_forced", forced);
	report_write_own_time(report, json);
	error = report_write_cost(report, json);
	json_object_end(json);
	return error;
}

static int write_list(const struct report *report, const char *key,
		      int (*write)(const struct report *report, struct json_writer *json),
		      struct json_writer *json)
{
	int error;

	json_line_array(json, key);
	error = write(report, json);
	json_array_end(json);
	return error;
}

/* The key "pids": the processes of --pid and --rank. */
static void write_pids(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;

	if (!report->model->choice)
		return;
	json_pair_array(json, "pids");
	for (size_t i = 0; i < analysis->processes_count; i++)
		if (analysis->processes[i].is_chosen)
			json_u64(json, analysis->processes[i].process->pid);
	json_array_end(json);
}

int report_write_json(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	int error;

	json_object_begin(json);
	json_pair_text(json, "schema", "duet.report/1");
	json_pair_bool(json, "complete", analysis_is_complete(analysis));
	json_pair_text(json, "command", report_command(report));
	write_pids(report, json);
	if (*format_date(report->model, analysis->begin_ns).text)
		json_pair_text(json, "recorded_at",
			       format_date(report->model, analysis->begin_ns).text);
	json_pair_u64(json, "start_ns", analysis->from_ns);
	json_pair_u64(json, "wall_ns", analysis->to_ns - analysis->from_ns);
	json_pair_bool(json, "exact", analysis->checks.is_exact);
	if (analysis->dropped_before_ns)
		json_pair_u64(json, "dropped_before_ns", analysis->dropped_before_ns);
	report_write_part(report, json);
	report_write_triggers(report, json);
	error = report_write_verdict(report, json);
	report_write_processes(report, json);
	report_write_collectives(report, json);
	if (!error)
		error = write_devices(report, json);
	report_write_kernels(report, json);
	report_write_copies(report, ACCOUNT_COPY, json);
	report_write_copies(report, ACCOUNT_OTHER, json);
	report_write_queues(report, json);
	report_write_calls(report, json);
	report_write_full(report, json);
	report_write_profiler(report, json);
	if (!error)
		error = report_write_by(report, json);
	if (!error)
		error = write_list(report, "instructions", report_write_instructions, json);
	report_write_sources(report, json);
	if (!error)
		error = write_list(report, "metrics", report_write_metrics, json);
	if (!error)
		error = write_list(report, "ranges", report_write_ranges, json);
	if (!error)
		error = report_write_iterations(report, json);
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
	if (!error)
		error = write_cost(report, json);
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
		return 0; /* finish_output reports errors of stdout */
	return error ? error : json_error(&json);
}
