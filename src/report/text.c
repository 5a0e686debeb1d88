/* SPDX-License-Identifier: MIT
 *
 * report/text.c - the text report: order of its parts, head, devices, clocks, ledger
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    text of at most 100 columns
 * Owns:     nothing
 * Fails:    never; finish_output checks that stdout was written
 * Why this order: it is that of a reader's questions. Is the data complete, how was the device's
 *           time spent, on which kernels, and how exact are the numbers?
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/text/incomplete.h"
#include "analyze/verdict/verdict.h"
#include "base/array.h"
#include "base/number.h"
#include "report/sentence.h"
#include "report/table.h"

/* Several programs that call a runtime were recorded, and duet started none of them. */
static bool is_one_of_several(const struct report *report)
{
	return report_is_of_all(report) && report->analysis->processes_called > 1;
}

/* Whether a function has a runtime's prefix: "clFinish" has "cl", "close" has not. */
static bool is_call_of(const char *name, const char *prefix)
{
	size_t length = strlen(prefix);
	bool is_word = prefix[length - 1] == '_' || prefix[length - 1] == ' ';

	return strncmp(name, prefix, length) == 0 &&
	       (is_word || (name[length] >= 'A' && name[length] <= 'Z'));
}

static bool is_called(const struct analysis *analysis, const char *prefix)
{
	for (size_t i = 0; i < analysis->program.calls_count; i++)
		if (is_call_of(analysis->program.calls[i].name, prefix))
			return true;
	return false;
}

/* The names of the runtimes that were called, in the order of the table; "calls" if no prefix
 * matches. */
static void name_runtimes(const struct analysis *analysis, char *text, size_t size)
{
	static const struct {
		const char *prefix, *runtime;
	} prefixes[] = {{"cl", "OpenCL"}, {"hip", "HIP"},  {"cuda", "CUDA"},
			{"cu", "CUDA"},   {"hsa_", "HSA"}, {"AQL ", "HSA"}};
	const char *last = "";
	size_t length = 0;

	snprintf(text, size, "calls");
	for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++) {
		if (strcmp(prefixes[i].runtime, last) == 0 ||
		    !is_called(analysis, prefixes[i].prefix))
			continue;
		last = prefixes[i].runtime;
		length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "",
					   last);
	}
}

/* The recording has only samples, switches, ranges or counters, and no runtime calls. */
static bool is_cpu_only(const struct report *report)
{
	const struct analysis *analysis = report->analysis;

	return !analysis->processes_called && !analysis_devices_shown(analysis) &&
	       (model_has(report->model, EVENT_CPU_SAMPLE) ||
		model_has(report->model, EVENT_SWITCH) || model_has(report->model, EVENT_RANGE) ||
		model_has(report->model, EVENT_COUNTER));
}

/* Only counters were recorded, so the report does not mention missing samples. */
static bool is_metrics_only(const struct report *report)
{
	return model_has(report->model, EVENT_COUNTER) &&
	       !model_has(report->model, EVENT_CPU_SAMPLE) &&
	       !model_has(report->model, EVENT_SWITCH);
}

static bool has_collector(const struct report *report, const char *name)
{
	const struct event_collector *rows;
	size_t count = model_entities(report->model, EVENT_COLLECTOR, &rows);

	for (size_t i = 0; i < count; i++)
		if (strcmp(model_text(report->model, rows[i].name_string, ""), name) == 0)
			return true;
	return false;
}

/* The collector nvidia recorded counters, and no other runtime was to be recorded. The trace does
 * not contain whether CUDA calls were requested too. */
static bool is_counters_of_nvidia(const struct report *report)
{
	return has_collector(report, "nvidia") && !has_collector(report, "opencl") &&
	       !has_collector(report, "amd") && model_has(report->model, EVENT_COUNTER);
}

/* The runtimes whose calls the user requested. */
static const char *name_wanted(const struct report *report)
{
	const bool opencl = has_collector(report, "opencl"), amd = has_collector(report, "amd");

	if (has_collector(report, "nvidia"))
		return opencl && amd ? "OpenCL, ROCm or CUDA"
		       : opencl      ? "OpenCL or CUDA"
		       : amd         ? "ROCm or CUDA"
				     : "CUDA";
	if (!amd)
		return "OpenCL";
	return opencl ? "OpenCL or ROCm" : "ROCm";
}

/* Prints nothing for 0: a recording of the machine's counters alone does not look at processes. */
static void put_number(size_t count, const char *one, const char *many)
{
	if (count)
		printf(", %zu %s", count, table_noun(count, one, many));
}

static void put_numbers(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	const void *entities = NULL;
	size_t threads = model_entities(report->model, EVENT_THREAD, &entities);
	char runtimes[64];

	name_runtimes(analysis, runtimes, sizeof(runtimes));
	if (is_cpu_only(report)) {
		put_number(analysis->processes_count, "process", "processes");
		put_number(threads, "thread", "threads");
		if (model_imported_from(report->model))
			printf("\n");
		else
			printf(", no %s\n", name_wanted(report));
	} else {
		printf(", %zu %s with %s, %zu %s, %zu %s\n", analysis->processes_called,
		       table_noun(analysis->processes_called, "process", "processes"), runtimes,
		       analysis->devices_count,
		       table_noun(analysis->devices_count, "device", "devices"),
		       analysis->queues_count,
		       table_noun(analysis->queues_count, "queue", "queues"));
	}
}

/* Names the file that an imported trace comes from. */
static void put_import(const struct report *report)
{
	const char *from = model_imported_from(report->model);

	if (from)
		printf("imported %s\n", format_text(from).text);
}

/* Runtime calls were requested, but none was recorded. Imported traces may lack them. */
static bool lacks_calls(const struct report *report)
{
	return !report->analysis->processes_called && !is_cpu_only(report) &&
	       !is_counters_of_nvidia(report) && !model_imported_from(report->model);
}

/* Whether a line with "!" already prints the reason: a collector was refused. */
static bool has_reason(const struct report *report)
{
	const struct event_collector *rows;
	size_t count = model_entities(report->model, EVENT_COLLECTOR, &rows);

	for (size_t i = 0; i < count; i++)
		if (rows[i].state == COLLECTOR_REFUSED)
			return true;
	return false;
}

static void put_head(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	uint64_t wall = analysis->to_ns - analysis->from_ns;
	bool is_part =
		analysis->from_ns != analysis->begin_ns || analysis->to_ns != analysis->end_ns;

	if (lacks_calls(report))
		printf("no %s call was recorded%s", name_wanted(report),
		       has_reason(report)         ? ""
		       : report_is_of_all(report) ? " (programs load duet's library only if they "
						    "start after duet install --system)"
						  : " (run duet doctor to see what is missing)");
	else if (report_is_of_all(report) && !analysis->processes_called)
		printf("%zu processes", analysis->processes_count);
	else
		table_put_text(*report_command(report) ? report_command(report) : report->path,
			       is_one_of_several(report) ? 80 : 100);
	if (is_one_of_several(report))
		printf(" and %zu more", analysis->processes_called - 1);
	printf("\nrecorded %s", format_duration(analysis->end_ns - analysis->begin_ns).text);
	if (analysis->host)
		printf(" on %s",
		       format_text(model_text(report->model, analysis->host->name_string, "a host"))
			       .text);
	if (*format_date(report->model, analysis->begin_ns).text)
		printf(", %s", format_date(report->model, analysis->begin_ns).text);
	if (is_part)
		printf(", shown: %s from %s on", format_duration(wall).text,
		       format_duration(analysis->from_ns - analysis->begin_ns).text);
	put_numbers(report);
	put_import(report);
}

enum {
	ACCOUNT_COLUMNS = 40,
	ACCOUNT_MORE = 40,   /* columns that a name may gain from a wide terminal */
	ACCOUNT_REMARK = 20, /* a remark with less room is on a line of its own */
	ACCOUNT_BELOW = 12   /* the indent of such a line */
};

/* Columns of the names in the account. */
static size_t account_columns(const struct report *report)
{
	const size_t columns = report_columns(report);

	return ACCOUNT_COLUMNS + (columns > REPORT_COLUMNS
					  ? smaller((columns - REPORT_COLUMNS) / 2, ACCOUNT_MORE)
					  : 0);
}

/* Columns before a remark. */
static size_t remark_indent(const struct report *report)
{
	return 4 + account_columns(report) + 2 * TABLE_CELL + 2;
}

static bool has_remarks(const struct report *report)
{
	return report_columns(report) >= remark_indent(report) + ACCOUNT_REMARK;
}

static void put_account_cells(const struct report *report, const char *name, uint64_t part,
			      uint64_t wall)
{
	fputs("    ", stdout);
	table_put_left(name, account_columns(report));
	table_put_cell(format_duration(part));
	table_put_cell(format_percent(part, wall));
}

/* meaning: an explanation, which a narrow terminal leaves out; "": the name needs none. */
static void put_account_line(const struct report *report, const char *name, uint64_t part,
			     uint64_t wall, const char *meaning)
{
	put_account_cells(report, name, part, wall);
	if (*meaning && has_remarks(report)) {
		fputs("  ", stdout);
		sentence_put_wrapped(meaning, remark_indent(report), remark_indent(report),
				     report_columns(report));
	}
	putchar('\n');
}

/* A row below a cause. A narrow terminal has its origin in the next line. */
static void put_place(const struct report *report, const char *name, uint64_t part, uint64_t wall,
		      const char *origin)
{
	const size_t indent = has_remarks(report) ? remark_indent(report) : ACCOUNT_BELOW;
	char text[1100];

	snprintf(text, sizeof(text), "    %s", name);
	put_account_cells(report, text, part, wall);
	if (*origin) {
		if (has_remarks(report))
			fputs("  ", stdout);
		else
			printf("\n%*s", ACCOUNT_BELOW, "");
		sentence_put_wrapped(origin, indent, indent, report_columns(report));
	}
	putchar('\n');
}

static void put_causes(const struct report *report, const struct verdict *verdict)
{
	const struct account *account = &report->analysis->devices[verdict->device].account;

	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++) {
		char name[64];

		if (!account->causes[cause])
			continue;
		snprintf(name, sizeof(name), "  %s%s",
			 account_cause_is_thread(cause) ? "launching thread " : "",
			 account_cause_text(cause));
		put_account_line(report, name, account->causes[cause], account->wall_ns,
				 account_cause_meaning(cause));
		report_put_idle_places(report, verdict, (enum account_cause)cause, put_place);
	}
}

static int put_idle(const struct report *report, size_t index)
{
	struct verdict verdict;
	int error = verdict_make(report->analysis, report->frames, index, true, &verdict);

	if (error)
		return error;
	put_causes(report, &verdict);
	verdict_fini(&verdict);
	return 0;
}

static int put_device(const struct report *report, size_t index)
{
	const struct analysis_device *device = &report->analysis->devices[index];
	const struct account *account = &device->account;
	uint64_t wall = account->wall_ns;
	char label[REPORT_NAME_BYTES];

	fputs("  ", stdout);
	table_put_left(analysis_device_label(report->analysis, index, label, sizeof(label)),
		       account_columns(report) + 2);
	table_put_cell(format_duration(wall));
	table_put_cell(format_percent(wall, wall));
	printf(has_remarks(report) ? "%11" PRIu64 " %s\n" : "\n    %" PRIu64 " %s\n",
	       device->executions, table_noun(device->executions, "execution", "executions"));
	if (!device->is_measured) {
		printf("    not measured: %s\n", incomplete_unmeasured(report->analysis, index));
		return 0;
	}
	if (account->busy_ns)
		put_account_line(report, "busy", account->busy_ns, wall, "a command was executed");
	if (account->classes[ACCOUNT_KERNEL])
		put_account_line(report, "  kernels", account->classes[ACCOUNT_KERNEL], wall, "");
	if (account->classes[ACCOUNT_COPY])
		put_account_line(report, "  copies", account->classes[ACCOUNT_COPY], wall, "");
	if (account->classes[ACCOUNT_OTHER])
		put_account_line(report, "  other commands", account->classes[ACCOUNT_OTHER], wall,
				 "barriers, native functions, …");
	put_account_line(report, "idle", account->idle_ns, wall, "no command was executed:");
	return put_idle(report, index);
}

static int put_devices(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"time", "of wall", NULL};
	size_t shown = analysis_devices_shown(analysis);
	int error = 0;

	table_put_title("DEVICES", account_columns(report) + 4, columns);
	for (size_t i = 0; i < shown && !error; i++) {
		if (report_shows_device(report, i))
			error = put_device(report, i);
	}
	if (!shown)
		printf("  no device was seen\n");
	return error;
}

static void put_clock(const struct report *report, const struct clocks_domain *domain)
{
	const struct clock_certificate *certificate = &domain->certificate;
	const struct clocks *clocks = report->model->clocks;
	const char *method = clocks_method_name(certificate->method);
	char text[64];

	if (certificate->candidate >= 0) {
		const struct clocks_domain *host =
			clocks_at(clocks, (size_t)certificate->candidate);

		snprintf(text, sizeof(text), "is %s",
			 clocks_name(clocks, report->model->reader, host));
		method = text;
	}
	table_put_name(clocks_name(clocks, report->model->reader, domain), 40);
	table_put_right(method, 16);
	if (certificate->method == CLOCK_METHOD_NONE) {
		table_put_right("not placed", 12);
		putchar('\n');
		return;
	}
	table_put_right(certificate->error_ns == UINT64_MAX
				? "unknown"
				: format_duration(certificate->error_ns).text,
			12);
	if (certificate->has_drift)
		printf("%12.3f ppm", (double)certificate->drift_ppb / 1000);
	else
		table_put_right("-", 16);
	printf("%12" PRIu64 "\n", certificate->violations);
}

static void put_clocks(const struct report *report)
{
	const struct clocks *clocks = report->model->clocks;

	putchar('\n');
	table_put_left("CLOCKS", 40);
	table_put_right("method", 16);
	table_put_right("error below", 12);
	table_put_right("drift", 16);
	table_put_right("violations", 12);
	putchar('\n');
	for (size_t i = 0; i < clocks_count(clocks); i++) {
		if (clocks_at(clocks, i)->clock.type != CLOCK_TYPE_MONOTONIC)
			put_clock(report, clocks_at(clocks, i));
	}
	printf("  times are %s\n", model_imported_from(report->model) ? "those of the imported file"
								      : "CLOCK_MONOTONIC");
}

static void put_ledger(const struct report *report)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;

	printf("\nLEDGER  %" PRIu64 " launched = %" PRIu64 " matched + %" PRIu64
	       " not executed + %" PRIu64 " in flight at exit + %" PRIu64 " dropped + %" PRIu64
	       " rejected\n",
	       ledger->launched, ledger->matched, ledger->not_executed, ledger->in_flight_at_exit,
	       ledger->dropped, ledger->rejected);
	if (ledger->not_executed)
		printf("        not executed: a later command of the same queue ran (usually "
		       "stream capture, a call without device work, or a missing record of the "
		       "runtime)\n");
	if (ledger->in_flight_at_exit && analysis_ends_early(report->analysis))
		printf("        some in flight at exit may be lost rows, because the file ends "
		       "early\n");
	printf("        %" PRIu64 " executed", ledger->executed);
	if (ledger->untimed)
		printf(", %" PRIu64 " matched without device times", ledger->untimed);
	printf("; every account adds up to its wall time%s\n",
	       report->analysis->checks.is_exact ? ", to the nanosecond" : ": NO");
}

/* Whether two or more ranks of a job called a runtime: then the processes are compared to find a
 * slow one. */
static bool has_ranks(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	size_t count = 0;

	for (size_t i = 0; i < analysis->processes_count; i++)
		count += analysis->processes[i].has_calls && analysis->processes[i].process->rank;
	return count > 1;
}

int report_print_text(const struct report *report)
{
	const char *by = report->values->by;
	int error = 0;

	report_put_kept(report);
	report_put_problems(report);
	put_head(report);
	if (by) {
		report_put_notes(report);
		return report_by_find(by)->print(report, NULL);
	}
	if (is_cpu_only(report)) {
		report_put_notes(report);
		error = is_metrics_only(report) ? 0 : report_by_cpu(report, NULL);
		if (!error && !is_metrics_only(report))
			error = report_by_thread(report, NULL);
		if (!error)
			error = report_put_ranges(report);
		if (!error)
			error = report_put_metrics(report);
		return error ? error : report_put_layers(report);
	}
	error = report_put_verdict(report);
	if (!error)
		error = report_put_findings(report);
	if (!error)
		error = put_devices(report);
	report_put_notes(report);
	if (!error)
		error = report_put_iterations(report);
	if (!error)
		error = report_by_kernel(report, NULL);
	if (!error && has_ranks(report))
		error = report_put_processes(report);
	if (!error)
		error = report_put_ranges(report);
	if (!error)
		error = report_put_instructions(report);
	report_put_copies(report, ACCOUNT_COPY);
	report_put_copies(report, ACCOUNT_OTHER);
	report_put_calls(report);
	if (!error)
		error = report_put_waiting_times(report);
	if (!error)
		error = report_put_metrics(report);
	if (!error)
		error = report_put_layers(report);
	report_put_own_time(report);
	put_clocks(report);
	put_ledger(report);
	return error;
}
