/* SPDX-License-Identifier: MIT
 *
 * report/gate/markdown.c - writes the result of a gate as a comment for a pull request
 *
 * Runs in:  our own process
 * Gets:     a gate
 * Gives:    Markdown with a table, as GitHub and GitLab show it
 * Owns:     nothing after a call
 * Fails:    -ENOMEM, -EIO
 * Why names are escaped byte by byte: a kernel's name may contain any of Markdown's marks, and a
 *           bar would shift the columns
 */
#include "report/gate/gate.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string.h"

static void append_markdown(struct string_builder *text, const char *value)
{
	auto_free char *bytes = gate_safe_text(value);

	if (!bytes)
		text->error = -ENOMEM;
	for (const char *at = bytes; at && *at; at++) {
		if (strchr("\\`*_{}[]<>#|~$@", *at))
			string_builder_append_char(text, '\\');
		string_builder_append_char(text, (unsigned char)*at < ' ' ? ' ' : *at);
	}
}

static void append_interval(const struct gate_check *check, struct string_builder *text)
{
	const struct compare_noise *noise = &check->noise;

	if (noise->source == NOISE_UNKNOWN || !noise->has_interval) {
		string_builder_append(text, "not known");
		return;
	}
	string_builder_appendf(text, "%s to ", gate_format_change(check, noise->low).text);
	string_builder_append(text, gate_format_change(check, noise->high).text);
}

static void append_row(const struct gate_report *report, const struct gate_check *check,
		       struct string_builder *text)
{
	static const char *const words[] = {[GATE_PASS] = "pass",
					    [GATE_REGRESSION] = "**regression**",
					    [GATE_INCONCLUSIVE] = "inconclusive"};
	const struct compare_noise *noise = &check->noise;
	const double change =
		noise->source != NOISE_UNKNOWN ? noise->estimate : noise->changed - noise->base;
	struct sentence name = {0}, doubt = {0};

	gate_say_name(report, check, &name);
	gate_say_doubt(report, check, &doubt);
	string_builder_append(text, "| ");
	append_markdown(text, name.text);
	string_builder_appendf(text, " | %s", gate_format_amount(check, noise->base).text);
	string_builder_appendf(text, " | %s", gate_format_amount(check, noise->changed).text);
	string_builder_appendf(text, " | %s | ", gate_format_change(check, change).text);
	append_interval(check, text);
	string_builder_appendf(text, " | %s | %s", gate_format_limit(check->limit).text,
			       words[check->outcome]);
	if (doubt.length) {
		string_builder_append(text, ": ");
		append_markdown(text, doubt.text);
	}
	string_builder_append(text, " |\n");
}

static void append_table(const struct gate_report *report, struct string_builder *text)
{
	const struct gate *gate = report->gate;
	struct sentence basis = {0};

	if (gate->is_refused || report->no_base)
		return;
	gate_say_basis(report, &basis);
	string_builder_appendf(text, "| check | base | new | change | interval | limit | result |\n"
				     "|---|--:|--:|--:|--:|--:|---|\n");
	for (size_t i = 0; i < gate->count; i++)
		append_row(report, &gate->checks[i], text);
	string_builder_append(text, "\n");
	append_markdown(text, basis.text);
	string_builder_append(text, ".\n");
}

static void append_list(const struct gate_report *report, struct string_builder *text)
{
	const struct comparison *comparison = report->gate->comparison;

	string_builder_append(text, "\n");
	for (size_t i = 0; i < GATE_REASONS && report->gate->outcome == GATE_REGRESSION; i++) {
		struct sentence reason = {0};

		if (!gate_say_reason(report, i, &reason))
			break;
		string_builder_append(text, "- ");
		append_markdown(text, reason.text);
		string_builder_append(text, "\n");
	}
	for (size_t i = 0; i < comparison->notes_count; i++) {
		if (comparison->notes[i].weight == NOTE_INFO)
			continue;
		string_builder_append(text, "- Note: ");
		append_markdown(text, comparison->notes[i].text);
		string_builder_append(text, "\n");
	}
}

int gate_write_markdown(const struct gate_report *report, FILE *out)
{
	struct string_builder text = {0};
	struct sentence result = {0};
	int error;

	gate_say_result(report, &result);
	string_builder_append(&text, "### duet gate\n\n");
	append_markdown(&text, result.text);
	string_builder_append(&text, "\n\n");
	append_table(report, &text);
	append_list(report, &text);
	error = text.error;
	if (!error && fputs(string_builder_text(&text), out) < 0)
		error = -EIO;
	string_builder_fini(&text);
	return error;
}
