/* SPDX-License-Identifier: MIT
 *
 * cli/compare/gate_result.c - compares the recordings of a gate and writes the result
 *
 * Runs in:  our own process
 * Gets:     the recordings of both sides and the limits
 * Gives:    the result on stdout and in files, accepted recordings, the exit status
 * Owns:     the comparison and the gate
 * Fails:    with status 2 and a message: a fault must not look like a regression
 * Why recordings are accepted last: if a file of the result cannot be written, the job fails, and
 *           must not have changed the base of the next one
 */
#include "cli/compare/gate_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "cli/command.h"
#include "report/gate/gate.h"
#include "report/terminal.h"

#define LOOP_LIMIT "iteration +2 %" /* too, for programs with a main loop */

int gate_job_no_memory(const struct gate_job *job)
{
	print_error(job->command->name, "out of memory");
	return STATUS_USAGE;
}

int gate_job_print_reason(const struct gate_job *job)
{
	print_error(job->command->name, NULL);
	return STATUS_USAGE;
}

/* The sentence is written before: only a result that was written as a whole is accepted. */
static int accept_runs(struct gate_job *job)
{
	struct baseline_accepted accepted;

	if (fflush(stdout) != 0 && errno == EPIPE)
		clearerr(stdout); /* a reader may stop early */
	if (ferror(stdout))
		return STATUS_USAGE; /* finish_output says it */
	if (baseline_accept(&job->baseline, &job->changed, job->values.keep, &accepted))
		return gate_job_print_reason(job);
	return STATUS_DONE;
}

static void say_accepted(const struct gate_job *job, struct string_builder *text)
{
	string_builder_appendf(text, "accepted %zu new %s into %s, which keeps the newest %" PRIu64,
			       job->changed.count,
			       format_noun(job->changed.count, "recording", "recordings"),
			       job->baseline.folder, job->values.keep);
}

static int status_of(const struct gate *gate)
{
	return gate->outcome == GATE_PASS         ? STATUS_DONE
	       : gate->outcome == GATE_REGRESSION ? STATUS_REGRESSION
						  : STATUS_INCONCLUSIVE;
}

static int write_result(struct gate_job *job, struct gate_report *report, bool is_accepted)
{
	int written;

	report->range = job->values.range;
	report->columns = terminal_columns();
	report->is_forced = job->values.force;
	report->is_same_command = job->values.run != OPTION_UNSET && !job->values.baseline &&
				  !gate_job_has_own_base(&job->values);
	report->status = status_of(report->gate);
	if (job->values.bisect && report->status == STATUS_INCONCLUSIVE)
		report->status = STATUS_SKIP;
	written = gate_outputs_write(job->command, &job->values.outputs, report);
	if (written == STATUS_DONE && is_accepted)
		written = accept_runs(job);
	return written == STATUS_DONE ? report->status : written;
}

/* Incomplete recordings must not become a base. */
static const struct compare_side *find_incomplete(const struct compare_sides *sides)
{
	for (size_t i = 0; i < sides->count; i++)
		if (!sides->runs[i]->facts.is_complete || sides->runs[i]->facts.is_damaged ||
		    !sides->runs[i]->devices_count)
			return sides->runs[i];
	return NULL;
}

/* There is nothing to compare with: accepts the first recordings, or says how. */
int gate_job_report_no_base(struct gate_job *job)
{
	const struct comparison none = {.changed = compare_sides_of(&job->changed),
					.options.confidence = job->confidence};
	const struct compare_side *incomplete = find_incomplete(&job->changed);
	struct gate gate = {.comparison = &none, .outcome = GATE_INCONCLUSIVE};
	struct gate_report report = {.gate = &gate};
	struct string_builder text = {0};
	const bool is_one_key = baseline_is_one_key(&job->changed);
	const bool is_accepted =
		job->values.accept && !incomplete && !job->baseline.damaged && is_one_key;
	int status;

	if (!is_one_key)
		string_builder_append(&text, "the new recordings have different devices or "
					     "commands, so they have no common baseline");
	else if (job->baseline.damaged)
		string_builder_appendf(&text,
				       "all accepted recordings in %s are damaged; remove this "
				       "folder, then accept new ones",
				       job->baseline.folder);
	else if (incomplete)
		string_builder_appendf(&text,
				       "%s is incomplete, and there is no accepted recording; "
				       "record it again",
				       incomplete->path);
	else if (!job->values.accept)
		string_builder_appendf(&text,
				       "no recording of this device and command is accepted in "
				       "%s; accept one first: add --accept",
				       job->values.baseline);
	else
		say_accepted(job, &text);
	if (is_accepted)
		gate.outcome = GATE_PASS;
	report.no_base = string_builder_text(&text);
	status = write_result(job, &report, is_accepted);
	string_builder_fini(&text);
	return status;
}

static int report_gate(struct gate_job *job, const struct gate *gate)
{
	const bool is_accepted =
		job->values.accept && gate->outcome == GATE_PASS && !find_incomplete(&job->changed);
	struct gate_report report = {.gate = gate};
	struct string_builder text = {0};
	int status;

	if (is_accepted)
		say_accepted(job, &text);
	else if (job->values.accept)
		string_builder_append(&text, "the new recordings were not accepted");
	report.baseline = text.length ? string_builder_text(&text) : NULL;
	status = write_result(job, &report, is_accepted);
	string_builder_fini(&text);
	return status;
}

/* The default judges a main loop too: the start of a program often varies more than a regression of
 * its loop does, and hides it in the wall time. */
int gate_job_add_default(struct gate_job *job)
{
	if (!job->has_default || !compare_sides_iterations(&job->base) ||
	    !compare_sides_iterations(&job->changed))
		return STATUS_DONE;
	if (gate_limit_parse(LOOP_LIMIT, &job->limits[job->limits_count]))
		return gate_job_print_reason(job);
	job->limits_count++;
	return STATUS_DONE;
}

/* min_effect 0: a limit may name a row of any size. */
int gate_job_judge(struct gate_job *job)
{
	const struct comparison_sides base = compare_sides_of(&job->base);
	const struct comparison_sides changed = compare_sides_of(&job->changed);
	const struct comparison_options options = {
		.map = job->map,
		.confidence = job->confidence,
		.tables = gate_tables(job->limits, job->limits_count)};
	struct comparison *comparison = NULL;
	struct gate *gate = NULL;
	int status;

	if (comparison_new(&base, &changed, &options, &comparison))
		return gate_job_no_memory(job);
	if (gate_new(comparison, job->limits, job->limits_count, job->values.force, &gate))
		status = *error_text() ? gate_job_print_reason(job) : gate_job_no_memory(job);
	else
		status = report_gate(job, gate);
	gate_free(gate);
	comparison_free(comparison);
	return status;
}
