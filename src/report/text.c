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
#include "base/string.h"
#include "report/verdict/sentence.h"
#include "report/table.h"

enum { PROCESSES_NAMED = 4, LEDGER_INDENT = 8 };

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

	return !analysis->processes_called &&
	       (report->model->choice || !analysis_devices_shown(analysis)) &&
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

/* Appends nothing for 0: a recording of the machine's counters alone does not look at processes. */
static void append_number(struct string_builder *line, size_t count, const char *one,
			  const char *many)
{
	if (count)
		string_builder_appendf(line, ", %zu %s", count, table_noun(count, one, many));
}

static void append_numbers(const struct report *report, struct string_builder *line)
{
	const struct analysis *analysis = report->analysis;
	const size_t queues = analysis_queues_chosen(analysis);
	char runtimes[64];

	if (is_cpu_only(report)) {
		append_number(line, analysis_processes_chosen(analysis), "process", "processes");
		append_number(line, analysis_threads_chosen(analysis), "thread", "threads");
		if (!model_imported_from(report->model) && !report->model->choice)
			string_builder_appendf(line, ", no %s", name_wanted(report));
		return;
	}
	name_runtimes(analysis, runtimes, sizeof(runtimes));
	string_builder_appendf(line, ", %zu %s with %s", analysis->processes_called,
			       table_noun(analysis->processes_called, "process", "processes"),
			       runtimes);
	string_builder_appendf(line, ", %zu %s, %zu %s", analysis->devices_count,
			       table_noun(analysis->devices_count, "device", "devices"), queues,
			       table_noun(queues, "queue", "queues"));
}

/* Prints and frees a line, wrapped. `first`: columns that are used already. */
static void put_wrapped(const struct report *report, size_t first, size_t indent,
			struct string_builder *line)
{
	if (line->error)
		report->state->error = line->error;
	sentence_put_wrapped(string_builder_text(line), first, indent, report_columns(report));
	putchar('\n');
	string_builder_fini(line);
}

/* Prints a line of the head. */
static void put_line(const struct report *report, struct string_builder *line)
{
	put_wrapped(report, 0, 2, line);
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
	return !report->model->choice && !report->analysis->processes_called &&
	       !is_cpu_only(report) && !is_counters_of_nvidia(report) &&
	       !model_imported_from(report->model);
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

/* Names the processes of --pid and --rank: "shown: process 4242 (python3, rank 2 of 4)". */
static void put_choice(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	const size_t chosen = analysis_processes_chosen(analysis);
	struct string_builder text = {0};
	size_t named = 0;

	if (!report->model->choice)
		return;
	string_builder_append(&text, chosen == 1 ? "shown: process" : "shown: processes");
	for (size_t i = 0; i < analysis->processes_count && named < PROCESSES_NAMED; i++) {
		const struct analysis_process *row = &analysis->processes[i];
		char rank[48];

		if (!row->is_chosen)
			continue;
		analysis_rank_text(row->process, rank, sizeof(rank));
		string_builder_appendf(&text, "%s %" PRIu32 " (%s%s%s)", named++ ? "," : "",
				       row->process->pid, format_text(row->name).text,
				       *rank ? ", " : "", rank);
	}
	if (named < chosen)
		string_builder_appendf(&text, " and %zu more", chosen - named);
	string_builder_append(&text, "; the time in which a device ran only commands of other "
				     "processes counts as idle");
	put_line(report, &text);
}

/* The program, or what was recorded instead of one. */
static void put_recorded(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	struct string_builder line = {0};

	if (lacks_calls(report)) {
		string_builder_appendf(&line, "no %s call was recorded%s", name_wanted(report),
				       has_reason(report) ? ""
				       : report_is_of_all(report)
					       ? " (programs load duet's library only if they "
						 "start after duet install --system)"
					       : " (run duet doctor to see what is missing)");
		put_line(report, &line);
	} else if (report_is_of_all(report) && !analysis->processes_called) {
		const size_t count = analysis_processes_chosen(analysis);

		string_builder_appendf(&line, "%zu %s", count,
				       table_noun(count, "process", "processes"));
		put_line(report, &line);
	} else {
		table_put_text(*report_command(report) ? report_command(report) : report->path,
			       report_columns(report) - (is_one_of_several(report) ? 20 : 0));
		if (is_one_of_several(report))
			printf(" and %zu more", analysis->processes_called - 1);
		putchar('\n');
	}
}

static void put_head(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	uint64_t wall = analysis->to_ns - analysis->from_ns;
	bool is_part =
		analysis->from_ns != analysis->begin_ns || analysis->to_ns != analysis->end_ns;
	struct string_builder line = {0};

	put_recorded(report);
	string_builder_appendf(&line, "recorded %s",
			       format_duration(analysis->end_ns - analysis->begin_ns).text);
	if (analysis->host)
		string_builder_appendf(
			&line, " on %s",
			format_text(
				model_text(report->model, analysis->host->name_string, "a host"))
				.text);
	if (*format_date(report->model, analysis->begin_ns).text)
		string_builder_appendf(&line, ", %s",
				       format_date(report->model, analysis->begin_ns).text);
	if (is_part)
		string_builder_appendf(
			&line, ", shown: %s from %s on", format_duration(wall).text,
			format_duration(analysis->from_ns - analysis->begin_ns).text);
	append_numbers(report, &line);
	put_line(report, &line);
	put_choice(report);
	put_import(report);
}

enum {
	ACCOUNT_COLUMNS = 40,
	ACCOUNT_MORE = 40,
	ACCOUNT_NUMBERS = 2 * TABLE_CELL,
	ORIGIN_INDENT = 10
};

/* Columns of the names of the account. Half of what a terminal has above the usual width is for
 * names, and half for meanings. A narrow terminal loses the meanings first. */
static size_t account_width(const struct report *report)
{
	const size_t columns = report_columns(report), used = 4 + ACCOUNT_NUMBERS;

	if (columns >= REPORT_COLUMNS)
		return ACCOUNT_COLUMNS + smaller((columns - REPORT_COLUMNS) / 2, ACCOUNT_MORE);
	return smaller(columns - used, ACCOUNT_COLUMNS);
}

/* Columns of a line of the account that are left after its numbers. A text that does not go to a
 * terminal is never cut. */
static size_t account_room(const struct report *report)
{
	const size_t used = 4 + account_width(report) + ACCOUNT_NUMBERS;

	return report->columns ? report_columns(report) - used : SIZE_MAX;
}

static void put_numbers(const struct report *report, const char *name, uint64_t part, uint64_t wall)
{
	fputs("    ", stdout);
	table_put_left(name, account_width(report));
	table_put_cell(format_duration(part));
	table_put_cell(format_percent(part, wall));
}

/* meaning: at most 32 columns, left out where it has no room; "": the name needs none. */
static void put_account_line(const struct report *report, const char *name, uint64_t part,
			     uint64_t wall, const char *meaning)
{
	put_numbers(report, name, part, wall);
	if (*meaning && table_width(meaning) + 2 <= account_room(report))
		printf("  %s", meaning);
	putchar('\n');
}

/* Without room beside the numbers, the origin has a line of its own. */
static void put_place(const struct report *report, const char *name, uint64_t part, uint64_t wall,
		      const char *origin)
{
	const bool has_room = table_width(origin) + 2 <= account_room(report);
	char text[1100];

	snprintf(text, sizeof(text), "    %s", name);
	put_numbers(report, text, part, wall);
	if (*origin)
		printf("%s%*s", has_room ? "" : "\n", has_room ? 2 : ORIGIN_INDENT, "");
	table_put_text(origin, has_room ? SIZE_MAX : report_columns(report) - ORIGIN_INDENT);
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
	int error = verdict_make(report->analysis, report->frames, index, VERDICT_WHOLE, &verdict);

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
	char name[REPORT_NAME_BYTES];

	if (report_has_many_devices(report) && index < report->analysis->devices_count)
		analysis_device_numbered(report->analysis, index, name, sizeof(name));
	else
		analysis_device_label(report->analysis, index, name, sizeof(name));
	fputs("  ", stdout);
	table_put_left(name, account_width(report) + 2);
	table_put_cell(format_duration(wall));
	table_put_cell(format_percent(wall, wall));
	if (account_room(report) < 2 * TABLE_CELL)
		fputs("\n ", stdout);
	printf("%11" PRIu64 " %s\n", device->executions,
	       table_noun(device->executions, "execution", "executions"));
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

/* With --pid or --rank: these processes ran nothing on the device. */
static bool is_of_others(const struct report *report, size_t index)
{
	const struct analysis *analysis = report->analysis;
	const struct analysis_device *device = &analysis->devices[index];

	return report->device == ALL_DEVICES && !device->all_executions && !device->all_launches &&
	       analysis_processes_chosen(analysis) < analysis->processes_count;
}

static int put_devices(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"time", "of wall", NULL};
	size_t shown = analysis_devices_shown(analysis), others = 0;
	int error = 0;

	table_put_title("DEVICES", 4 + account_width(report), columns);
	for (size_t i = 0; i < shown && !error; i++) {
		if (is_of_others(report, i))
			others++;
		else if (report_shows_device(report, i))
			error = put_device(report, i);
	}
	if (others)
		printf("  %zu %s%s ran nothing for %s\n", others, others < shown ? "more " : "",
		       table_noun(others, "device", "devices"),
		       analysis_processes_chosen(analysis) == 1 ? "this process"
								: "these processes");
	if (!shown)
		printf("  no device was seen\n");
	return error;
}

enum { CLOCK_NAME = 40, MIN_CLOCK_NAME = 20, METHOD_COLUMNS = 16, CLOCK_NUMBERS = 40 };

struct clock_widths {
	size_t name;
	bool has_method;
};

/* The other columns are numbers. A narrow terminal loses the method. */
static struct clock_widths clock_widths(const struct report *report)
{
	const size_t room = report_columns(report) - CLOCK_NUMBERS;
	const bool has_method = room >= MIN_CLOCK_NAME + METHOD_COLUMNS;

	return (struct clock_widths){smaller(room - (has_method ? METHOD_COLUMNS : 0), CLOCK_NAME),
				     has_method};
}

static void put_clock(const struct report *report, const struct clocks_domain *domain,
		      const struct clock_widths *widths)
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
	table_put_name(clocks_name(clocks, report->model->reader, domain), widths->name);
	if (widths->has_method)
		table_put_right(method, METHOD_COLUMNS);
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
	const struct clock_widths widths = clock_widths(report);

	putchar('\n');
	table_put_left("CLOCKS", widths.name);
	if (widths.has_method)
		table_put_right("method", METHOD_COLUMNS);
	table_put_right("error below", 12);
	table_put_right("drift", 16);
	table_put_right("violations", 12);
	putchar('\n');
	for (size_t i = 0; i < clocks_count(clocks); i++) {
		if (clocks_at(clocks, i)->clock.type != CLOCK_TYPE_MONOTONIC)
			put_clock(report, clocks_at(clocks, i), &widths);
	}
	printf("  times are %s\n", model_imported_from(report->model) ? "those of the imported file"
								      : "CLOCK_MONOTONIC");
}

/* Prints a line below the heading of the ledger, or with it. */
static void put_ledger_line(const struct report *report, const char *heading,
			    struct string_builder *line)
{
	printf("%-*s", LEDGER_INDENT, heading);
	put_wrapped(report, LEDGER_INDENT, LEDGER_INDENT, line);
}

static void put_ledger(const struct report *report)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;
	struct string_builder line = {0};
	struct model_part part;
	const bool is_part = model_find_part(report->model, &part);

	string_builder_appendf(
		&line,
		"%" PRIu64 " launched = %" PRIu64 " matched + %" PRIu64 " not executed + %" PRIu64
		" in flight at %s + %" PRIu64 " dropped + %" PRIu64 " rejected",
		ledger->launched, ledger->matched, ledger->not_executed, ledger->in_flight_at_exit,
		is_part ? "the file's end" : "exit", ledger->dropped, ledger->rejected);
	if (ledger->left_out)
		string_builder_appendf(&line, " + %" PRIu64 " left out by --max-overhead",
				       ledger->left_out);
	putchar('\n');
	put_ledger_line(report, "LEDGER", &line);
	if (ledger->not_executed) {
		string_builder_append(&line, "not executed: a later command of the same queue ran "
					     "(usually stream capture, a call without device work, "
					     "or a missing record of the runtime)");
		put_ledger_line(report, "", &line);
	}
	if (ledger->in_flight_at_exit && analysis_ends_early(report->analysis)) {
		string_builder_append(&line, "some in flight at exit may be lost rows, because the "
					     "file ends early");
		put_ledger_line(report, "", &line);
	}
	string_builder_appendf(&line, "%" PRIu64 " executed", ledger->executed);
	if (ledger->untimed)
		string_builder_appendf(&line, ", %" PRIu64 " matched without device times",
				       ledger->untimed);
	string_builder_appendf(&line, "; every account adds up to its wall time%s",
			       report->analysis->checks.is_exact ? ", to the nanosecond" : ": NO");
	put_ledger_line(report, "", &line);
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
	error = report_put_triggers(report);
	if (error)
		return error;
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
		error = report_put_ranks(report);
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
	if (!error)
		error = report_put_cost(report);
	return error;
}
