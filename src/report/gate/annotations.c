/* SPDX-License-Identifier: MIT
 *
 * report/gate/annotations.c - prints the result of a gate as annotations of GitHub and GitLab
 *
 * Runs in:  our own process
 * Gets:     a gate
 * Gives:    workflow commands of GitHub, or a Code Quality report of GitLab
 * Owns:     nothing
 * Fails:    -EIO, -ENOMEM
 * Why no line of a source file: a recording has places of calls, and a slower kernel is seldom
 *           slower because of the line that launches it
 * Source:   "Workflow commands for GitHub Actions" and "Code Quality", GitHub's and GitLab's docs
 */
#include "report/gate/gate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/string.h"

/* GitHub's escapes: values of properties also escape their separators. */
static void put_escaped(const char *value, const char *separators)
{
	auto_free char *text = gate_safe_text(value); /* NULL: finish_output reports it */

	for (const char *at = text; at && *at; at++) {
		if (strchr("%\r\n", *at) || strchr(separators, *at))
			printf("%%%02X", (unsigned char)*at);
		else
			putchar((unsigned char)*at < ' ' ? ' ' : *at);
	}
}

static void put_command(const char *command, const char *title, const char *message)
{
	printf("::%s title=", command);
	put_escaped(title, ":,");
	printf("::");
	put_escaped(message, "");
	printf("\n");
}

static void say_message(const struct gate_report *report, const struct gate_check *check,
			struct sentence *sentence)
{
	struct sentence doubt = {0};

	gate_say_name(report, check, sentence);
	say(sentence, ": ");
	gate_say_change(check, sentence);
	gate_say_doubt(report, check, &doubt);
	if (doubt.length)
		say(sentence, "; inconclusive: %s", doubt.text);
}

static bool lacks_base(const struct gate_report *report)
{
	return report->no_base && report->gate->outcome != GATE_PASS;
}

void gate_print_github(const struct gate_report *report)
{
	struct sentence result = {0};

	if (report->gate->is_refused || lacks_base(report)) {
		gate_say_result(report, &result);
		put_command("warning",
			    lacks_base(report) ? "duet gate: inconclusive"
					       : "duet gate: not comparable",
			    result.text);
		return;
	}
	for (size_t i = 0; i < report->gate->count; i++) {
		const struct gate_check *check = &report->gate->checks[i];
		struct sentence message = {0}, title = {0};

		if (check->outcome == GATE_PASS)
			continue;
		say(&title, "duet gate: %s", gate_outcome_name(check->outcome));
		say_message(report, check, &message);
		put_command(check->outcome == GATE_REGRESSION ? "error" : "warning", title.text,
			    message.text);
	}
}

/* ---- GitLab ---------------------------------------------------------------------------------- */

/* FNV-1a: equal for the same check in every job, so that GitLab finds what is new. */
static uint64_t hash_name(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return hash;
}

/* The program of the command: GitLab wants a path for each line. */
static void append_program(const struct gate_report *report, struct string_builder *text)
{
	const char *command = report->gate->comparison->changed.runs[0]->facts.command;
	const size_t length = strcspn(command, " ");

	if (length)
		string_builder_append_bytes(text, command, length);
	else
		string_builder_append(text, "duet");
}

static void write_issue(const struct gate_report *report, const char *name, const char *message,
			const char *severity, struct json_writer *json)
{
	struct string_builder program = {0};
	char fingerprint[17];

	append_program(report, &program);
	snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64, hash_name(name));
	json_line_begin(json);
	json_pair_text(json, "description", message);
	json_pair_text(json, "check_name", "duet gate");
	json_pair_text(json, "fingerprint", fingerprint);
	json_pair_text(json, "severity", severity);
	json_pair_object(json, "location");
	json_pair_text(json, "path", string_builder_text(&program));
	json_pair_object(json, "lines");
	json_pair_u64(json, "begin", 1);
	json_object_end(json);
	json_object_end(json);
	json_object_end(json);
	if (program.error)
		json->error = program.error;
	string_builder_fini(&program);
}

int gate_write_gitlab(const struct gate_report *report, FILE *out)
{
	struct json_writer json;
	struct sentence result = {0};

	json_init_file(&json, out);
	json_array_begin(&json);
	if (report->gate->is_refused || lacks_base(report)) {
		gate_say_result(report, &result);
		write_issue(report, lacks_base(report) ? "accepted" : "comparable", result.text,
			    "minor", &json);
	}
	for (size_t i = 0; i < report->gate->count; i++) {
		const struct gate_check *check = &report->gate->checks[i];
		struct sentence name = {0}, message = {0};

		if (check->outcome == GATE_PASS)
			continue;
		gate_say_name(report, check, &name);
		say_message(report, check, &message);
		write_issue(report, name.text, message.text,
			    check->outcome == GATE_REGRESSION ? "major" : "minor", &json);
	}
	json_array_end(&json);
	fputc('\n', out);
	return json_error(&json);
}
