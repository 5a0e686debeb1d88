/* SPDX-License-Identifier: MIT
 *
 * report/problems.c - missing or wrong data of a trace: the lines that begin with "!"
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    text on stdout, nothing if the data is complete
 * Owns:     nothing
 * Fails:    never
 * Why in two parts: a total of 80 % of the launches that a reader takes for the total of all
 *           launches is worse than no total. So problems that change the result come first, and all
 *           others below the account.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/collectors.h"
#include "analyze/frames.h"
#include "analyze/verdict/verdict.h"
#include "base/array.h"
#include "base/json.h"
#include "report/table.h"

__attribute__((format(printf, 1, 2))) static void put_warning(const char *format, ...)
{
	va_list arguments;
	char text[1024];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	printf("! %s\n", format_text(text).text);
}

static void put_incomplete(const struct report *report)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;
	const uint64_t expected = ledger_expected(ledger);

	if (ledger->is_complete)
		return;
	put_warning("INCOMPLETE: totals cover %" PRIu64 " of %" PRIu64 " launched %s (%s): %" PRIu64
		    " in flight at exit, %" PRIu64 " dropped, %" PRIu64
		    " rejected by duet (failed, or impossible times)",
		    ledger->matched, expected, table_noun(expected, "command", "commands"),
		    format_percent(ledger->matched, expected).text, ledger->in_flight_at_exit,
		    ledger->dropped, ledger->rejected);
}

/* Comes before everything else, because a device that was sampled at work while the account has it
 * idle makes all numbers below unreliable. */
static void put_contradictions(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	const uint64_t count = analysis->ledger.contradictions - analysis->checks.inexact;

	if (analysis->checks.inexact)
		put_warning("CONTRADICTION: %" PRIu64
			    " %s not add up, because a program wrote records that contradict each "
			    "other",
			    analysis->checks.inexact,
			    table_noun(analysis->checks.inexact, "account does", "accounts do"));
	if (count)
		put_warning("CONTRADICTION: %" PRIu64
			    " %s in kernels while the account has their device idle, because the "
			    "runtime did not report commands or reported wrong times",
			    count, table_noun(count, "sample was", "samples were"));
}

/* Command buffers and graphs without times: OpenCL on PoCL reports none. */
static void put_unmeasured_graphs(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	uint64_t count = 0;

	for (size_t i = 0; i < analysis->copies_count; i++)
		if (analysis->copies[i].command == COMMAND_GRAPH)
			count += analysis->copies[i].count - analysis->copies[i].timed;
	if (count)
		put_warning(
			"device time not measured: %" PRIu64
			" %s; from launch to completion it counts as 'unknown', because the "
			"runtime reports no times of the commands in it",
			count,
			table_noun(count, "command buffer or graph", "command buffers or graphs"));
}

/* The longest command may hang. Prints nothing if executions were lost, because its own may be
 * among them. */
static void put_in_flight(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	const struct analysis_in_flight *longest = &analysis->longest_in_flight;
	uint64_t count = analysis->ledger.in_flight_at_exit;
	struct verdict_place place;
	struct model_part part;
	bool has_place;

	if (!count || model_find_part(report->model, &part) || !longest->name ||
	    analysis->ledger.lost_executions || analysis->ledger.commands_uncounted)
		return;
	has_place = report_place_of(report, longest->stack, &place);
	put_warning("in flight at exit: %" PRIu64
		    " %s; longest %.300s, launched %s before the end%s%.300s",
		    count, table_noun(count, "command", "commands"),
		    report_kernel_name(report, longest->name),
		    format_duration(analysis->end_ns - longest->enter).text,
		    has_place ? " in " : "", has_place ? place.function : "");
}

/* Losses of rows of unknown kind and number. */
static bool is_unknown_loss(const struct analysis_loss *loss)
{
	return loss->kind == EVENT_PADDING &&
	       (loss->reason == LOSS_RING_FULL || loss->reason == LOSS_GAP ||
		loss->reason == LOSS_TRACKING);
}

static void put_unknown_losses(const struct report *report)
{
	const struct analysis *analysis = report->analysis;

	for (size_t i = 0; i < analysis->losses_count; i++) {
		const struct analysis_loss *loss = &analysis->losses[i];

		if (!is_unknown_loss(loss))
			continue;
		if (loss->reason == LOSS_RING_FULL)
			put_warning("INCOMPLETE: %" PRIu64
				    " %s not read to the end; the rest is in no total",
				    loss->count, table_noun(loss->count, "ring was", "rings were"));
		else if (loss->reason == LOSS_GAP)
			put_warning("INCOMPLETE: %" PRIu64
				    " %s the recorder for a while; events of that time are in no "
				    "total",
				    loss->count,
				    table_noun(loss->count, "process lost", "processes lost"));
		else
			put_warning("INCOMPLETE: %" PRIu64
				    " %s into queues that duet does not follow; these launches "
				    "are in no total",
				    loss->count,
				    table_noun(loss->count, "packet went", "packets went"));
	}
}

static void put_unseen_switches(const struct analysis_loss *loss)
{
	put_warning("lost: %" PRIu64
		    " context %s; the running time of such a thread ends when it was last seen "
		    "running, because the kernel did not report more",
		    loss->count, table_noun(loss->count, "switch", "switches"));
}

/* The cause of a loss, and the remedy. */
static const char *explain_loss(uint32_t reason)
{
	static const char *const texts[] = {
		[LOSS_RING_FULL] = "the recorder was too slow; leave it a processor, or record "
				   "less (--stacks none)",
		[LOSS_NO_RING] = "more threads were active at the same time than have a ring",
		[LOSS_NESTED] = "signal handlers called the runtime while another row was written",
		[LOSS_RING_BROKEN] = "the program overwrote its own ring",
		[LOSS_TRACKING] = "a limit of tracked objects was reached",
		[LOSS_DISK] = "the file could not be written; free space on its disk",
		[LOSS_GAP] = "they could not be read for some time; the rows have gaps there",
	};

	return array_text(texts, ARRAY_COUNT(texts), reason,
			  "the part of the file that held them is damaged");
}

/* A lost code object changes nothing else in the report. */
static void put_lost_code(const struct analysis_loss *loss)
{
	put_warning("lost: %" PRIu64 " %s too large for the trace; times and counts are complete",
		    loss->count,
		    table_noun(loss->count, "source, build log or binary was",
			       "sources, build logs or binaries were"));
}

static void put_lost_rows(const struct analysis_loss *loss)
{
	const char *kind = analysis_kind_name(loss->kind);
	const char *reason = loss->reason ? analysis_loss_name(loss->reason) : "damaged chunk";
	const bool is_bounded = loss->kind == EVENT_SWITCH && !loss->is_unbounded;
	char count[64] = "rows", more[96] = "";

	if (loss->count)
		snprintf(count, sizeof(count), "%" PRIu64 " %s", loss->count,
			 table_noun(loss->count, "row", "rows"));
	if (loss->uncounted)
		snprintf(more, sizeof(more), "%s %" PRIu64 " %s without a count",
			 loss->count ? " and" : "", loss->uncounted,
			 table_noun(loss->uncounted, "time", "times"));
	put_warning("lost: %s of kind %s (%s)%s%s; %s", count, kind, reason, more,
		    is_bounded ? ", so the states of threads are not known for that time" : "",
		    explain_loss(loss->reason));
}

static void put_losses(const struct report *report)
{
	const struct analysis *analysis = report->analysis;

	for (size_t i = 0; i < analysis->losses_count; i++) {
		const struct analysis_loss *loss = &analysis->losses[i];

		if (is_unknown_loss(loss) || loss->reason == LOSS_LIMIT)
			continue; /* the line of the cost has the latter */
		if (loss->reason == LOSS_UNSEEN)
			put_unseen_switches(loss);
		else if (loss->kind == EVENT_CODE &&
			 (loss->reason == LOSS_RING_FULL || loss->reason == LOSS_TRACKING) &&
			 loss->count && !loss->uncounted)
			put_lost_code(loss);
		else
			put_lost_rows(loss);
	}
}

/* Holes and a missing end are the normal state of such a file. */
static void put_being_written(const struct report *report)
{
	const struct shown path = format_text(report->path);

	put_warning("INCOMPLETE: '%.300s' is still being written; duet top '%.300s' shows it, or "
		    "report a finished file",
		    path.text, path.text);
}

static void put_damage(const struct report *report)
{
	const struct trace_damage *damage = &report->analysis->damage;
	const struct number rows = format_count(damage->rows);
	const bool is_known = damage->rows || !damage->chunks;

	if (damage->is_being_written) {
		put_being_written(report);
		return;
	}
	if (damage->chunks || damage->bytes)
		put_warning("INCOMPLETE: the file is damaged: %" PRIu64
			    " %s with %s rows %s left out, and %" PRIu64
			    " %s between chunks %s skipped",
			    damage->chunks, table_noun(damage->chunks, "chunk", "chunks"),
			    is_known ? rows.text : "an unknown number of",
			    table_noun(damage->chunks, "was", "were"), damage->bytes,
			    table_noun(damage->bytes, "byte", "bytes"),
			    table_noun(damage->bytes, "was", "were"));
	if (damage->truncated)
		put_warning("INCOMPLETE: the file ends before its recording was closed; later "
			    "events are in no total");
}

/* Whether an execution has a start time of this clock. */
static bool is_used(const struct report *report, uint32_t clock)
{
	const struct trace_reader *reader = report->model->reader;
	size_t all = trace_reader_chunk_count(reader);

	for (size_t i = 0; i < all; i++) {
		const struct trace_chunk *chunk = trace_reader_chunk(reader, i);

		if (chunk->kind == EVENT_EXECUTION && chunk->clock == clock && !chunk->by_seen)
			return true;
	}
	return false;
}

/* Clocks whose commands are left out (is_left_out), or whose times contradict each other. */
static void put_clocks(const struct report *report, bool is_left_out)
{
	const struct clocks *clocks = report->model->clocks;

	for (size_t i = 0; i < clocks_count(clocks); i++) {
		const struct clocks_domain *domain = clocks_at(clocks, i);
		const struct clock_certificate *certificate = &domain->certificate;
		const char *name = clocks_name(clocks, report->model->reader, domain);
		const bool is_device = domain->clock.type == CLOCK_TYPE_DEVICE;

		if (is_device && !is_used(report, domain->id))
			continue;
		if (is_left_out && is_device && certificate->method == CLOCK_METHOD_NONE)
			put_warning(
				"INCOMPLETE: the commands of %s are not in the account, because "
				"its clock could not be related to the host's",
				name);
		if (!is_left_out && certificate->violations)
			put_warning("clock %s: %" PRIu64
				    " %s (such as \"started after its launch\") %s not fit its "
				    "conversion to host time; do not rely on its times",
				    name, certificate->violations,
				    table_noun(certificate->violations, "reading or time limit",
					       "readings or time limits"),
				    table_noun(certificate->violations, "does", "do"));
	}
}

/* The official spelling of the runtime. */
static const char *title_of(const char *collector)
{
	return strcmp(collector, "opencl") == 0 ? "OpenCL" : collector;
}

static void put_collectors(const struct report *report)
{
	const struct event_collector *rows;
	size_t rows_count = model_entities(report->model, EVENT_COLLECTOR, &rows);

	for (size_t i = 0; i < rows_count; i++) {
		if (rows[i].state != COLLECTOR_PARTIAL && rows[i].state != COLLECTOR_REFUSED)
			continue;
		put_warning("%s: %s: %s",
			    title_of(model_text(report->model, rows[i].name_string, "a collector")),
			    collectors_state(rows, rows_count, i) == COLLECTOR_PARTIAL
				    ? "partial"
				    : "not recorded",
			    model_text(report->model, rows[i].reason_string, "no reason given"));
	}
}

/* Names of the collectors that recorded and that no hardware has run yet. */
static void put_unverified(const struct report *report)
{
	const struct event_collector *rows;
	size_t count = model_entities(report->model, EVENT_COLLECTOR, &rows);
	char names[256] = "";
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		if (!collectors_is_first(rows, i) || !rows[i].unverified ||
		    collectors_state(rows, count, i) == COLLECTOR_REFUSED)
			continue;
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%.40s",
			 found++ ? ", " : "",
			 model_text(report->model, rows[i].name_string, "a collector"));
	}
	if (found)
		put_warning("unverified: %s; no hardware has run %s, so compare the results with "
			    "the vendor's tools",
			    names, table_noun(found, "this collector", "these collectors"));
}

/* Prints only wrong stacks; duet info prints the number of checked ones. */
static void put_wrong_stacks(const struct report *report)
{
	const struct event_process *rows;
	size_t count = model_entities(report->model, EVENT_PROCESS, &rows);
	uint64_t checked = 0, wrong = 0;

	for (size_t i = 0; i < count; i++) {
		checked += rows[i].stacks_checked;
		wrong += rows[i].stacks_wrong;
	}
	if (wrong)
		put_warning("stacks: do not rely on those of launches and waits; %" PRIu64
			    " of %" PRIu64
			    " had other callers when the compiler's unwinder checked them",
			    wrong, checked);
}

static void put_deaths(const struct report *report)
{
	const struct analysis *analysis = report->analysis;

	for (size_t i = 0; i < analysis->processes_count; i++) {
		const struct event_process *process = analysis->processes[i].process;

		if (analysis->processes[i].is_chosen && process->status != -1 &&
		    WIFSIGNALED(process->status))
			put_warning("program '%s' (pid %" PRIu32 ") was killed by signal %s",
				    analysis->processes[i].name, process->pid,
				    format_signal(WTERMSIG(process->status)).text);
	}
}

/* Names are looked up in the program's files when a report is made. On another machine or after the
 * next build the files are missing or different. */
static void put_missing_files(const struct report *report)
{
	struct frames_files files = {0};
	int error = frames_check(report->frames, &files);

	if (error)
		report->state->error = error;
	if (files.missing)
		put_warning(
			"names: %zu of the %zu %s in stacks %s missing or changed, such as "
			"%.300s; keep them with the trace by duet archive, or record --archive, "
			"while they are there",
			files.missing, files.all, table_noun(files.all, "file", "files"),
			table_noun(files.missing, "is", "are"), files.example);
}

static const char *describe_left(const struct model_part *part, uint64_t count)
{
	if (part->segment && part->continues)
		return table_noun(count, "continues in the next file", "continue in the next file");
	return table_noun(count, "was still running at its end", "were still running at its end");
}

/* Commands that are in two files of one recording are not lost. A command of a process that has
 * ended does not continue. */
static void put_crossing(const struct report *report, const struct model_part *part)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;
	const uint64_t open = ledger->in_flight_at_exit;
	const uint64_t ended = report->analysis->longest_in_flight.ended;
	const uint64_t left = open > ended ? open - ended : 0;

	if (left)
		printf("; %" PRIu64 " %s%s", left, table_noun(left, "command ", "commands "),
		       describe_left(part, left));
	if (open > left)
		printf("%s%" PRIu64 " %s not ended when %s process did", left ? ", " : "; ",
		       open - left, table_noun(open - left, "command had", "commands had"),
		       table_noun(open - left, "its", "their"));
	if (ledger->orphaned)
		printf("%s%" PRIu64 " began %s", open ? ", " : "; ", ledger->orphaned,
		       part->segment ? "in the one before" : "before its start");
}

static void put_part(const struct report *report, const struct model_part *part)
{
	const struct analysis *analysis = report->analysis;
	const char *host = analysis->host ? trace_reader_string(report->model->reader,
								analysis->host->name_string, NULL)
					  : "";

	if (part->segment)
		printf("segment %" PRIu32 " of the agent on %s", part->segment,
		       format_text(host).text);
	else
		printf("part of a longer recording: %s",
		       format_duration(analysis->end_ns - analysis->begin_ns).text);
	if (part->segment && !part->continues)
		printf(", the last one before it ended or its configuration changed");
	put_crossing(report, part);
	putchar('\n');
}

void report_write_part(const struct report *report, struct json_writer *json)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;
	struct model_part part;

	if (!model_find_part(report->model, &part))
		return;
	json_pair_object(json, "part");
	if (part.segment)
		json_pair_u64(json, "segment", part.segment);
	json_pair_bool(json, "continues", part.continues);
	json_pair_u64(json, "in_flight_at_end", ledger->in_flight_at_exit);
	json_pair_u64(json, "began_before", ledger->orphaned);
	json_object_end(json);
}

/* Data dropped by --keep or --max-size is not a problem, but the reader should know it first. */
void report_put_kept(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	struct model_part part;

	if (model_find_part(report->model, &part))
		put_part(report, &part);
	else if (trace_reader_begin_ns(report->model->reader))
		printf("kept: the last %s; older parts were dropped as requested (--keep, "
		       "--max-size)\n",
		       format_duration(analysis->end_ns - analysis->begin_ns).text);
}

void report_put_problems(const struct report *report)
{
	put_contradictions(report);
	put_incomplete(report);
	put_unknown_losses(report);
	put_damage(report);
	put_clocks(report, true);
}

void report_put_notes(const struct report *report)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;
	struct model_part part;

	put_deaths(report);
	put_in_flight(report);
	put_unmeasured_graphs(report);
	put_losses(report);
	if (ledger->orphaned && !model_find_part(report->model, &part))
		put_warning("%" PRIu64 " %s no launch in the trace", ledger->orphaned,
			    table_noun(ledger->orphaned, "execution has", "executions have"));
	put_clocks(report, false);
	put_collectors(report);
	put_unverified(report);
	put_wrong_stacks(report);
	if (report->values->by)
		put_missing_files(report);
}
