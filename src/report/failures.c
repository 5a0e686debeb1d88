/* SPDX-License-Identifier: MIT
 *
 * report/failures.c - findings of calls and commands that failed, as sentences and JSON
 *
 * Runs in:  our own process
 * Gets:     findings, logs of builds
 * Gives:    the function, its error and its place; for a build the line of its log that shows why
 * Owns:     nothing
 * Fails:    never
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/text/findings.h"
#include "base/json.h"
#include "report/verdict/cause.h"
#include "report/verdict/sentence.h"
#include "report/table.h"
#include "trace/reader.h"

enum { LOG_LINE = 200 };

/* The line of a build log that a user needs: the first with "error", otherwise the first. */
static void pick_line(const char *log, size_t size, char *ret_line, size_t room)
{
	const char *end = log + size, *chosen = "";
	size_t chosen_size = 0;

	for (const char *line = log, *next; line < end; line = next + 1) {
		bool is_error;

		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next : end;
		while (line < next && (*line == ' ' || *line == '\t'))
			line++;
		is_error = memmem(line, (size_t)(next - line), "error", 5) != NULL;
		if (line == next || (chosen_size && !is_error))
			continue;
		chosen = line;
		chosen_size = (size_t)(next - line);
		if (is_error)
			break;
	}
	snprintf(ret_line, room, "%.*s", (int)chosen_size, chosen);
}

/* The first kept log of a build with this result in a chosen process. NULL: none was kept, or it is
 * empty. */
static const struct event_code *find_log(const struct report *report, int32_t result,
					 char *ret_line, size_t room)
{
	const struct event_code *codes;
	size_t count = model_entities(report->model, EVENT_CODE, &codes), size;

	for (size_t i = 0; i < count; i++) {
		const char *log;

		if (codes[i].type != CODE_BUILD_LOG || codes[i].status != result ||
		    !model_has_process(report->model, codes[i].process))
			continue;
		log = trace_reader_content(report->model->reader, codes[i].hash_low,
					   codes[i].hash_high, &size);
		*ret_line = '\0';
		if (log)
			pick_line(log, size, ret_line, room);
		if (*ret_line)
			return &codes[i];
	}
	return NULL;
}

/* The place of a call: its own stack, otherwise the stack that was sampled inside of calls of this
 * function for the longest idle time. */
bool report_find_call_place(const struct report *report, const char *function, uint32_t stack,
			    struct verdict_place *ret_place)
{
	const struct analysis_cpu *cpu = &report->analysis->cpu;
	uint64_t longest_ns = 0;

	for (size_t i = 0; i < cpu->states_count && (!stack || longest_ns); i++) {
		const struct analysis_state *state = &cpu->states[i];

		if (state->cause != CAUSE_API_CALL || !state->stack ||
		    state->idle_ns <= longest_ns ||
		    strcmp(model_text(report->model, state->wait_string, ""), function) != 0)
			continue;
		longest_ns = state->idle_ns;
		stack = state->stack;
	}
	return report_place_of(report, stack, ret_place);
}

/* The program and the error in the log of a failed build. */
static void say_log(const struct report *report, const struct analysis_failure *failure,
		    struct sentence *sentence)
{
	char line[LOG_LINE];
	const struct event_code *log = find_log(report, failure->result, line, sizeof(line));

	if (log && log->parent)
		say(sentence, "; the log of program %" PRIu32 " has: %s", log->parent, line);
	else if (log)
		say(sentence, "; its log has: %s", line);
}

void report_say_failure(const struct report *report, const struct finding *finding,
			struct sentence *sentence)
{
	const struct analysis_failure *failure = finding->failure;
	bool is_command = failure->kind == FAILURE_COMMAND;
	const char *error = analysis_error_name(failure->name, failure->result);
	struct verdict_place place;

	say(sentence, "%.120s failed %" PRIu64 " %s%s: %s%s%" PRId32 "%s", failure->name,
	    failure->count, table_noun(failure->count, "time", "times"),
	    is_command ? " on its device" : "", *error ? error : "error ", *error ? " (" : "",
	    failure->result, *error ? ")" : "");
	if (!is_command && report_find_call_place(report, failure->name, failure->stack, &place)) {
		say(sentence, ", called");
		say_in(sentence, "by", &place);
	}
	if (finding->kind == FINDING_FAILED_BUILDS)
		say_log(report, failure, sentence);
}

static void write_log(const struct report *report, const struct analysis_failure *failure,
		      struct json_writer *json)
{
	char line[LOG_LINE];
	const struct event_code *log = find_log(report, failure->result, line, sizeof(line));

	if (log && log->parent)
		json_pair_u64(json, "program", log->parent);
	if (log)
		json_pair_text(json, "log", line);
}

void report_write_failure(const struct report *report, const struct finding *finding,
			  struct json_writer *json)
{
	const struct analysis_failure *failure = finding->failure;
	struct verdict_place place;

	json_pair_text(json, "name", failure->name);
	json_pair_u64(json, "count", failure->count);
	json_pair_i64(json, "result", failure->result);
	json_pair_text(json, "error", analysis_error_name(failure->name, failure->result));
	if (finding->kind == FINDING_FAILED_BUILDS)
		write_log(report, failure, json);
	if (failure->kind != FAILURE_COMMAND &&
	    report_find_call_place(report, failure->name, failure->stack, &place))
		report_write_culprit(report, &place, 0, json);
}
