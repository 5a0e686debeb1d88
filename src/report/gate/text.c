/* SPDX-License-Identifier: MIT
 *
 * report/gate/text.c - prints the result of a gate as text
 *
 * Runs in:  our own process
 * Gets:     a gate
 * Gives:    the result, a line per check, reasons and conditions on stdout
 * Owns:     nothing
 * Fails:    never
 * Why the result first: the log of a CI job is read from its last lines, and of these the first one
 *           that is in capitals
 */
#include "report/gate/gate.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 100, INDENT = 4 };

static void put(const struct gate_report *report, const char *begin, const char *text)
{
	printf("%s", begin);
	sentence_put_wrapped(text, strlen(begin), INDENT,
			     report->columns ? report->columns : COLUMNS);
	printf("\n");
}

static void put_check(const struct gate_report *report, const struct gate_check *check)
{
	struct sentence sentence = {0}, doubt = {0};
	char begin[32];

	snprintf(begin, sizeof(begin), "  %-14s", gate_outcome_name(check->outcome));
	gate_say_name(report, check, &sentence);
	say(&sentence, ": ");
	gate_say_change(check, &sentence);
	gate_say_doubt(report, check, &doubt);
	if (doubt.length)
		say(&sentence, "; %s", doubt.text);
	put(report, begin, sentence.text);
}

static void put_reasons(const struct gate_report *report)
{
	for (size_t i = 0; i < GATE_REASONS; i++) {
		struct sentence reason = {0};

		if (!gate_say_reason(report, i, &reason))
			return;
		put(report, i ? "Next: " : "Largest reason: ", reason.text);
	}
}

static void put_notes(const struct gate_report *report)
{
	const struct comparison *comparison = report->gate->comparison;

	if (report->is_same_command)
		put(report, "! ", "both sides ran the same command: an A/A test");
	for (size_t i = 0; i < comparison->notes_count; i++)
		if (comparison->notes[i].weight != NOTE_INFO)
			put(report, "! ", comparison->notes[i].text);
	if (report->range) {
		struct sentence range = {0};

		say(&range, "only the range %s of each run", report->range);
		put(report, "  ", range.text);
	}
	if (report->baseline)
		put(report, "  ", report->baseline);
}

void gate_print_text(const struct gate_report *report)
{
	struct sentence result = {0}, basis = {0};

	gate_say_result(report, &result);
	if (!report->gate->is_refused && !report->no_base) {
		gate_say_basis(report, &basis);
		say(&result, " (%s).", basis.text);
	}
	put(report, "", result.text);
	for (size_t i = 0; i < report->gate->count; i++)
		put_check(report, &report->gate->checks[i]);
	if (report->gate->outcome == GATE_REGRESSION)
		put_reasons(report);
	put_notes(report);
}
