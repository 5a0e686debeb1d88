/* SPDX-License-Identifier: MIT
 *
 * cli/report_problems.c - what is missing or wrong in a trace: the lines that begin with "!"
 *
 * Runs in:  our own process
 * Gets:     an analysis   Gives: text on stdout, nothing where all is well
 * Owns:     nothing
 * Fails:    never
 * Why:      what is missing comes before what is there: a total over 80 % of the launches, read as
 *           if it were one over all, is worse than none
 */
#include "cli/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/collectors.h"
#include "analyze/frames.h"
#include "base/array.h"
#include "cli/table.h"

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
	put_warning("INCOMPLETE: of %" PRIu64 " %s launched %" PRIu64 " (%s) %s in the trace;",
		    expected, table_noun(expected, "command", "commands"), ledger->matched,
		    format_percent(ledger->matched, expected).text,
		    table_noun(ledger->matched, "has its execution", "have their execution"));
	put_warning("  in flight at exit: %" PRIu64 ", dropped: %" PRIu64 ", rejected: %" PRIu64
		    ". Totals below are over the rest.",
		    ledger->in_flight_at_exit, ledger->dropped, ledger->rejected);
}

/* First of all: no number below is to be trusted where the device was seen at work while it idles there. */
static void put_contradictions(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	const uint64_t count = analysis->ledger.contradictions - analysis->inexact;

	if (analysis->inexact)
		put_warning("CONTRADICTION: a program wrote records that contradict each other, so "
			    "%" PRIu64 " %s not add up",
			    analysis->inexact,
			    table_noun(analysis->inexact, "account does", "accounts do"));
	if (!count)
		return;
	put_warning("CONTRADICTION: %" PRIu64
		    " %s in kernels while the account below has their device idle:",
		    count, table_noun(count, "sample was", "samples were"));
	put_warning("  commands ran that the runtime did not report, or reported with wrong times");
}

/* A runtime that gives a command buffer no times of its own: OpenCL's on PoCL. */
static void put_unmeasured_graphs(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	uint64_t count = 0;

	for (size_t i = 0; i < analysis->copies_count; i++)
		if (analysis->copies[i].command == COMMAND_GRAPH)
			count += analysis->copies[i].count - analysis->copies[i].timed;
	if (!count)
		return;
	put_warning("device time not measured: %" PRIu64
		    " %s; the runtime reports no times of the commands",
		    count,
		    table_noun(count, "command buffer or graph", "command buffers or graphs"));
	put_warning("  what the device did from their launch to their completion is 'unknown'");
}

/* One that hangs is the longest. Where executions were lost it may be one of theirs. */
static void put_in_flight(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	const struct analysis_in_flight *longest = &analysis->longest_in_flight;
	uint64_t count = analysis->ledger.in_flight_at_exit;
	struct report_culprit place;

	if (!count || !longest->name || analysis->ledger.lost_executions ||
	    analysis->ledger.commands_uncounted)
		return;
	put_warning("in flight at exit: %" PRIu64 " %s; longest %s, launched %s before the end",
		    count, table_noun(count, "command", "commands"), longest->name,
		    format_duration(analysis->end_ns - longest->enter).text);
	if (report_place_of(report, longest->stack, &place))
		put_warning("  in %s", place.function);
}

/* Losses of which nobody knows what they were, nor how many. */
static bool put_unknown_loss(const struct analysis_loss *loss)
{
	if (loss->reason == LOSS_RING_FULL)
		put_warning("INCOMPLETE: %" PRIu64 " %s not read to the end; what was left is not "
			    "known",
			    loss->count, table_noun(loss->count, "ring was", "rings were"));
	else if (loss->reason == LOSS_GAP)
		put_warning("INCOMPLETE: %" PRIu64 " %s sight of the recorder for a while; what "
			    "was done in between is not known",
			    loss->count, table_noun(loss->count, "process lost", "processes lost"));
	else if (loss->reason == LOSS_TRACKING)
		put_warning("INCOMPLETE: %" PRIu64 " %s into queues that are not followed; what "
			    "was launched so is in no total",
			    loss->count, table_noun(loss->count, "packet went", "packets went"));
	else
		return false;
	return true;
}

static void put_unseen_switches(const struct analysis_loss *loss)
{
	put_warning("lost: %" PRIu64
		    " %s that the kernel did not report; the time of such a thread "
		    "ends where it is known to have run last",
		    loss->count, table_noun(loss->count, "switch", "switches"));
}

/* Why rows are missing, and what helps. */
static const char *explain_loss(uint32_t reason)
{
	static const char *const texts[] = {
		[LOSS_RING_FULL] =
			"the recorder came too late; leave it a processor, or record less "
			"(--stacks none)",
		[LOSS_NO_RING] = "more threads were active at the same time than have a ring",
		[LOSS_NESTED] = "signal handlers called the runtime while another row was written",
		[LOSS_RING_BROKEN] = "the program wrote over its own ring",
		[LOSS_TRACKING] = "a limit of what is remembered was reached",
		[LOSS_DISK] = "the file could not be written. Make room on its disk",
	};

	return array_text(texts, ARRAY_COUNT(texts), reason, "what held them is damaged");
}

/* Nothing else of the report is less for it. */
static void put_lost_code(const struct analysis_loss *loss)
{
	put_warning("lost: %" PRIu64 " %s, %s not in the trace; times and counts are complete",
		    loss->count,
		    table_noun(loss->count, "source, build log or binary that was too large",
			       "sources, build logs or binaries that were too large"),
		    table_noun(loss->count, "is", "are"));
}

static void put_lost_rows(const struct analysis_loss *loss)
{
	const char *kind = analysis_kind_name(loss->kind);
	const char *reason = loss->reason ? analysis_loss_name(loss->reason) : "damaged chunk";
	char count[64] = "rows", more[96] = "";

	if (loss->count)
		snprintf(count, sizeof(count), "%" PRIu64 " %s", loss->count,
			 table_noun(loss->count, "row", "rows"));
	if (loss->uncounted)
		snprintf(more, sizeof(more), "%s %" PRIu64 " %s without a count",
			 loss->count ? " and" : "", loss->uncounted,
			 table_noun(loss->uncounted, "time", "times"));
	put_warning("lost: %s of kind %s (%s)%s", count, kind, reason, more);
	put_warning("  %s", explain_loss(loss->reason));
}

static void put_losses(const struct report *report)
{
	const struct analysis *analysis = report->analysis;

	for (size_t i = 0; i < analysis->losses_count; i++) {
		const struct analysis_loss *loss = &analysis->losses[i];

		if (loss->kind == EVENT_PADDING && put_unknown_loss(loss))
			continue;
		if (loss->reason == LOSS_UNSEEN)
			put_unseen_switches(loss);
		else if (loss->kind == EVENT_CODE && loss->reason == LOSS_RING_FULL &&
			 loss->count && !loss->uncounted)
			put_lost_code(loss);
		else
			put_lost_rows(loss);
	}
}

static void put_damage(const struct trace_damage *damage)
{
	if (damage->chunks || damage->bytes)
		put_warning("INCOMPLETE: the file is damaged: %" PRIu64
			    " %s left out (rows: %s), %" PRIu64 " %s skipped",
			    damage->chunks, table_noun(damage->chunks, "chunk", "chunks"),
			    format_damaged_rows(damage).text, damage->bytes,
			    table_noun(damage->bytes, "byte", "bytes"));
	if (damage->truncated)
		put_warning("INCOMPLETE: the file ends before its recording was closed; "
			    "what came later is in no total");
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

static void put_clock_warnings(const struct report *report)
{
	const struct clocks *clocks = report->model->clocks;

	for (size_t i = 0; i < clocks_count(clocks); i++) {
		const struct clocks_domain *domain = clocks_at(clocks, i);
		const char *name = clocks_name(clocks, report->model->reader, domain);

		if (domain->clock.type == CLOCK_TYPE_DEVICE && !is_used(report, domain->id))
			continue;
		if (domain->certificate.violations)
			put_warning("clock %s: %" PRIu64 " %s before %s cause", name,
				    domain->certificate.violations,
				    table_noun(domain->certificate.violations, "effect comes",
					       "effects come"),
				    table_noun(domain->certificate.violations, "its", "their"));
		if (domain->certificate.method == CLOCK_METHOD_NONE &&
		    domain->clock.type == CLOCK_TYPE_DEVICE)
			put_warning("clock of %s: no place in host time; its commands are not in "
				    "the account",
				    name);
	}
}

/* As its makers write it. */
static const char *title_of(const char *collector)
{
	return strcmp(collector, "opencl") == 0 ? "OpenCL" : collector;
}

static void put_collectors(const struct report *report)
{
	const struct event_collector *rows;
	const void *things = NULL;
	size_t rows_count = model_things(report->model, EVENT_COLLECTOR, &things);

	rows = things;
	for (size_t i = 0; i < rows_count; i++) {
		if (rows[i].state != COLLECTOR_PARTIAL && rows[i].state != COLLECTOR_REFUSED)
			continue;
		put_warning("%s was %s: %s",
			    title_of(model_text(report->model, rows[i].name_string, "a collector")),
			    collectors_state(rows, rows_count, i) == COLLECTOR_PARTIAL
				    ? "recorded in part"
				    : "not recorded",
			    model_text(report->model, rows[i].reason_string, "no reason given"));
	}
}

/* How many were checked at all, duet info tells. */
static void put_wrong_stacks(const struct report *report)
{
	const void *things = NULL;
	size_t count = model_things(report->model, EVENT_PROCESS, &things);
	const struct event_process *rows = things;
	uint64_t checked = 0, wrong = 0;

	for (size_t i = 0; i < count; i++) {
		checked += rows[i].stacks_checked;
		wrong += rows[i].stacks_wrong;
	}
	if (wrong)
		put_warning("stacks: %" PRIu64 " of %" PRIu64
			    " that were taken a second way too had "
			    "other callers: do not rely on those of launches and waits",
			    wrong, checked);
}

static void put_deaths(const struct report *report)
{
	const struct analysis *analysis = report->analysis;

	for (size_t i = 0; i < analysis->processes_count; i++) {
		const struct event_process *process = analysis->processes[i].process;

		if (process->status != -1 && WIFSIGNALED(process->status))
			put_warning("program killed by signal %s: %s, pid %" PRIu32,
				    format_signal(WTERMSIG(process->status)).text,
				    analysis->processes[i].name, process->pid);
	}
}

/* Names are looked up when a report is made: on another machine, or after the next build, they are gone. */
static void put_missing_files(const struct report *report)
{
	struct frames_files files = {0};
	int error = frames_check(report->frames, &files);

	if (error)
		report->state->error = error;
	if (!files.missing)
		return;
	put_warning("names: %zu of the %zu %s in stacks %s missing or changed since, such as",
		    files.missing, files.all, table_noun(files.all, "file", "files"),
		    table_noun(files.missing, "is", "are"));
	put_warning("  %.94s", files.example);
	put_warning("  (duet archive, or record --archive, keeps them with the trace while they "
		    "are there)");
}

/* What --keep and --max-size dropped was asked for: no problem, but good to know first. */
void report_put_kept(const struct report *report)
{
	const struct analysis *analysis = report->analysis;

	if (trace_reader_begin_ns(report->model->reader))
		printf("kept: the last %s; what came before was dropped as asked (--keep, "
		       "--max-size)\n",
		       format_duration(analysis->end_ns - analysis->begin_ns).text);
}

void report_put_problems(const struct report *report)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;

	put_contradictions(report);
	put_deaths(report);
	put_incomplete(report);
	put_in_flight(report);
	put_unmeasured_graphs(report);
	put_losses(report);
	if (ledger->orphaned)
		put_warning("%" PRIu64 " %s no launch in the trace", ledger->orphaned,
			    table_noun(ledger->orphaned, "execution has", "executions have"));
	put_damage(&report->analysis->damage);
	put_clock_warnings(report);
	put_collectors(report);
	put_wrong_stacks(report);
	if (report->values->by)
		put_missing_files(report);
}
