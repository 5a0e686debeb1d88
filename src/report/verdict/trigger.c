/* SPDX-License-Identifier: MIT
 *
 * report/verdict/trigger.c - the firings of triggers, and why the device was idle in them
 *
 * Runs in:  our own process
 * Gets:     rows of EVENT_TRIGGER
 * Gives:    the first section of the text, the key "triggers"
 * Owns:     an analysis of the firing's time while it is printed
 * Fails:    -ENOMEM and the errors of the reader
 * Why first: a file of a trigger was written for one moment. The causes of the whole file are
 *           usually those of the normal time around it
 */
#include "report/report.h"

#include <math.h>
#include <stdio.h>

#include "analyze/verdict/verdict.h"
#include "base/json.h"
#include "base/number.h"
#include "base/string.h"
#include "report/verdict/sentence.h"

enum { FIRINGS_SHOWN = 3, CAUSES_SHOWN = 3, INDENT = 2 };

static bool is_in_file(const struct report *report, const struct event_trigger *row)
{
	return row->end_ns >= report->analysis->begin_ns &&
	       row->begin_ns <= report->analysis->end_ns;
}

/* The causes with at least 1 % of the time. */
static void put_causes(const struct report *part, const struct verdict *verdict, uint64_t wall_ns)
{
	for (size_t i = 0; i < verdict->count && i < CAUSES_SHOWN; i++) {
		if (verdict->causes[i].ns < wall_ns / 100)
			break;
		report_put_cause(part, &verdict->causes[i], wall_ns, INDENT);
	}
}

/* The account of the device that idled longest in that time. */
static int put_account(const struct report *part)
{
	const struct analysis *analysis = part->analysis;
	const size_t device = part->device == ALL_DEVICES ? verdict_device(analysis) : part->device;
	const struct account *account;
	char label[REPORT_NAME_BYTES];
	struct verdict verdict;
	int error;

	if (device >= analysis_devices_shown(analysis) || !analysis->devices[device].is_measured)
		return 0;
	account = &analysis->devices[device].account;
	error = verdict_make(analysis, part->frames, device, VERDICT_WHOLE, &verdict);
	if (error)
		return error;
	analysis_device_label(analysis, device, label, sizeof(label));
	printf("%*s%.60s was busy %s of that time%s\n", INDENT, "", label,
	       format_percent(account->busy_ns, account->wall_ns).text,
	       verdict.count ? "; idle, longest first:" : "");
	put_causes(part, &verdict, account->wall_ns);
	verdict_fini(&verdict);
	return 0;
}

/* The command that shows the time, with 2 % more at both ends and whole milliseconds. */
static void put_command(const struct report *report, const struct event_trigger *row)
{
	const uint64_t begin_ns = report->analysis->begin_ns;
	const double from = (double)(larger(row->begin_ns, begin_ns) - begin_ns) / 1e9;
	const double to = (double)(larger(row->end_ns, begin_ns) - begin_ns) / 1e9;
	const double more = (to - from) / 50;
	const struct event_process *process =
		model_entity(report->model, EVENT_PROCESS, row->process);
	char text[400], pid[32] = "";

	if (process && report->analysis->processes_called > 1)
		snprintf(pid, sizeof(pid), "--pid %u ", process->pid);
	snprintf(text, sizeof(text), "duet report --from %.3f --to %.3f %s%.200s shows that time",
		 fmax(0, floor((from - more) * 1000) / 1000), ceil((to + more) * 1000) / 1000, pid,
		 report->path);
	report_put_hint(report, text);
}

static int put_window(const struct report *report, const struct event_trigger *row)
{
	const uint64_t begin_ns = report->analysis->begin_ns;
	const struct analysis_options options = {.has_from = true,
						 .from_ns =
							 larger(row->begin_ns, begin_ns) - begin_ns,
						 .has_to = true,
						 .to_ns = row->end_ns - begin_ns};
	struct report part = *report;
	struct process_choice *choice = NULL;
	struct model model = *report->model;
	struct analysis *analysis = NULL;
	int error = 0;

	if (row->process && !model.choice)
		error = model_choose_one(&model, row->process, &choice);
	part.model = &model;
	if (!error)
		error = analysis_new(&model, &options, &analysis);
	part.analysis = analysis;
	if (!error)
		error = put_account(&part);
	analysis_free(analysis);
	process_choice_free(choice);
	if (!error)
		put_command(report, row);
	return error;
}

static int put_firing(const struct report *report, const struct event_trigger *row)
{
	const uint64_t begin_ns = report->analysis->begin_ns;
	struct sentence sentence = {0};

	say(&sentence, "'%.200s': %.400s, %s %s after the start",
	    model_text(report->model, row->expression_string, "?"),
	    model_text(report->model, row->reason_string, "no reason"),
	    row->end_ns > row->begin_ns ? "from" : "at",
	    format_duration(larger(row->begin_ns, begin_ns) - begin_ns).text);
	printf("%*s", INDENT, "");
	sentence_put_wrapped(sentence.text, INDENT, INDENT + INDENT, report_columns(report));
	putchar('\n');
	return row->end_ns > row->begin_ns && row->end_ns <= report->analysis->end_ns
		       ? put_window(report, row)
		       : 0;
}

int report_put_triggers(const struct report *report)
{
	const struct event_trigger *rows;
	const size_t count = model_entities(report->model, EVENT_TRIGGER, &rows);
	const struct analysis *analysis = report->analysis;
	size_t shown = 0;
	int error = 0;

	if (analysis->from_ns != analysis->begin_ns || analysis->to_ns != analysis->end_ns)
		return 0;
	for (size_t i = count; i-- > 0 && shown < FIRINGS_SHOWN && !error;) {
		if (!is_in_file(report, &rows[i]))
			continue;
		if (!shown++)
			printf("\nTRIGGER\n");
		error = put_firing(report, &rows[i]);
	}
	return error;
}

void report_write_triggers(const struct report *report, struct json_writer *json)
{
	const struct event_trigger *rows;
	const size_t count = model_entities(report->model, EVENT_TRIGGER, &rows);
	const struct event_process *process;

	if (!count)
		return;
	json_line_array(json, "triggers");
	for (size_t i = 0; i < count; i++) {
		json_line_begin(json);
		json_pair_text(json, "expression",
			       model_text(report->model, rows[i].expression_string, ""));
		json_pair_text(json, "reason",
			       model_text(report->model, rows[i].reason_string, ""));
		json_pair_u64(json, "begin_ns", rows[i].begin_ns);
		json_pair_u64(json, "end_ns", rows[i].end_ns);
		process = model_entity(report->model, EVENT_PROCESS, rows[i].process);
		if (process)
			json_pair_u64(json, "pid", process->pid);
		json_object_end(json);
	}
	json_array_end(json);
}
