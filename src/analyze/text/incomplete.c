/* SPDX-License-Identifier: MIT
 *
 * analyze/text/incomplete.c - one line about the missing parts of a trace
 *
 * Runs in:  our own process
 * Gets:     an analysis or a model
 * Gives:    text
 * Owns:     nothing
 * Fails:    never; a text that is too long is cut
 * Why not only in the report: a picture or an exported file is passed on without the report, which
 *           prints "INCOMPLETE"
 */
#include "analyze/text/incomplete.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/format.h"

__attribute__((format(printf, 2, 3))) static void append_note(struct incomplete *incomplete,
							      const char *format, ...)
{
	size_t used = strlen(incomplete->text), size = sizeof(incomplete->text);
	va_list arguments;

	if (used)
		used += (size_t)snprintf(incomplete->text + used, size - used, "; ");
	if (used >= size)
		return;
	va_start(arguments, format);
	vsnprintf(incomplete->text + used, size - used, format, arguments);
	va_end(arguments);
}

static void add_commands(struct incomplete *incomplete, uint64_t count, const char *what)
{
	if (count)
		append_note(incomplete, "%" PRIu64 " %s %s", count,
			    format_noun(count, "command", "commands"), what);
}

static void add_damage(struct incomplete *incomplete, const struct trace_damage *damage,
		       uint64_t lost, bool is_more, bool ends_early)
{
	if (damage->is_being_written) {
		append_note(incomplete, "the file is still being written");
		return;
	}
	if (is_more && !lost)
		append_note(incomplete, "an unknown number of rows lost");
	else if (is_more)
		append_note(incomplete, "more than %" PRIu64 " %s lost", lost,
			    format_noun(lost, "row", "rows"));
	else if (lost)
		append_note(incomplete, "%" PRIu64 " %s lost", lost,
			    format_noun(lost, "row", "rows"));
	if (damage->chunks)
		append_note(incomplete, "%" PRIu64 " damaged %s left out", damage->chunks,
			    format_noun(damage->chunks, "chunk", "chunks"));
	else if (damage->bytes)
		append_note(incomplete, "%" PRIu64 " damaged %s skipped", damage->bytes,
			    format_noun(damage->bytes, "byte", "bytes"));
	if (ends_early)
		append_note(incomplete, "the file ends early, later rows are missing");
}

struct incomplete incomplete_analysis(const struct analysis *analysis)
{
	const struct analysis_ledger *ledger = &analysis->ledger;
	const uint64_t samples = ledger->contradictions - analysis->checks.inexact;
	struct incomplete incomplete = {""};
	struct model_part part;
	bool is_more = false;
	uint64_t lost = 0;

	for (size_t i = 0; i < analysis->losses_count; i++) {
		if (analysis->losses[i].reason == LOSS_LIMIT)
			continue;
		lost += analysis->losses[i].count;
		is_more |= analysis->losses[i].uncounted;
	}
	if (samples)
		append_note(&incomplete, "%" PRIu64 " %s the account", samples,
			    format_noun(samples, "sample contradicts", "samples contradict"));
	if (analysis->checks.inexact)
		append_note(&incomplete, "%" PRIu64 " %s not add up", analysis->checks.inexact,
			    format_noun(analysis->checks.inexact, "account does", "accounts do"));
	if (ledger->in_flight_at_exit && !model_find_part(analysis->model, &part))
		add_commands(&incomplete, ledger->in_flight_at_exit,
			     model_imported_from(analysis->model)
				     ? "without times in the imported file"
				     : "in flight at exit");
	add_commands(&incomplete, ledger->dropped, "dropped");
	add_commands(&incomplete, ledger->left_out, "left out by --max-overhead");
	add_commands(&incomplete, ledger->stacks_carried, "with an estimated stack");
	add_damage(&incomplete, &analysis->damage, lost, is_more, analysis_ends_early(analysis));
	return incomplete;
}

struct incomplete incomplete_model(const struct model *model)
{
	const struct event_loss *losses;
	size_t count = trace_reader_losses(model->reader, &losses);
	struct incomplete incomplete = {""};
	struct trace_damage damage;
	bool ends_early, is_more = false;
	uint64_t lost = 0;

	trace_reader_damage(model->reader, &damage);
	ends_early = damage.truncated;
	for (size_t i = 0; i < count; i++) {
		if (losses[i].reason == LOSS_LIMIT)
			continue;
		lost += losses[i].count;
		is_more |= losses[i].count == LOSS_COUNT_UNKNOWN;
		ends_early |= losses[i].reason == LOSS_DISK;
	}
	add_damage(&incomplete, &damage, lost + damage.rows, is_more, ends_early);
	return incomplete;
}

/* The reason depends on the API that launched the device's commands, because each API has its own
 * way to omit device times. */
static const char *untimed_text(const struct analysis *analysis, size_t device)
{
	for (size_t i = 0; i < analysis->launches_count; i++) {
		const struct analysis_launches *row = &analysis->launches[i];

		if (row->device != device)
			continue;
		if (strncmp(row->function, "ze", 2) == 0)
			return "no device times were recorded (level_zero:host, or commands whose "
			       "events take none)";
		if (strncmp(row->function, "cl", 2) == 0)
			return "no device times were recorded (opencl:host, or queues created "
			       "without profiling: DUET_OPENCL_PROFILING=1 adds it)";
		if (strncmp(row->function, "cu", 2) == 0)
			return "no device times were recorded, only the launching calls";
	}
	return "no device times were recorded (opencl:host, level_zero:host, or queues without "
	       "profiling)";
}

const char *incomplete_unmeasured(const struct analysis *analysis, size_t index)
{
	const struct analysis_device *device = &analysis->devices[index];

	if (!device->all_executions && !device->all_launches)
		return "no commands to it were recorded, only its counters or samples";
	if (!device->all_executions)
		return "no execution was recorded, its commands are in flight, lost or not "
		       "executed";
	if (!device->all_timed)
		return untimed_text(analysis, index);
	return "no successful command has times that can be aligned with host time";
}
