/* SPDX-License-Identifier: MIT
 *
 * report/gate/junit.c - writes the result of a gate as a JUnit report
 *
 * Runs in:  our own process
 * Gets:     a gate
 * Gives:    one test suite with a test case per check, as Jenkins and GitLab read it
 * Owns:     nothing after a call
 * Fails:    -ENOMEM, -EIO
 * Why an inconclusive check is skipped: it is neither a success nor a failure, and the formats have
 *           no third word
 */
#include "report/gate/gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"

/* XML 1.0 does not allow control characters, not even escaped. */
static void append_xml(struct string_builder *text, const char *value)
{
	static const struct byte_escape escapes[] = {
		{'&', "&amp;"},   {'<', "&lt;"},   {'>', "&gt;"},  {'"', "&quot;"},
		{'\'', "&apos;"}, {'\n', "&#10;"}, {'\t', "&#9;"}, {0, NULL},
	};
	char *bytes = gate_safe_text(value);

	if (!bytes) {
		text->error = -ENOMEM;
		return;
	}
	string_builder_append_escaped(text, bytes, strlen(bytes), escapes);
	free(bytes);
}

static void append_case(const char *name, const char *element, const char *message,
			struct string_builder *text)
{
	string_builder_append(text, "    <testcase classname=\"duet.gate\" name=\"");
	append_xml(text, name);
	if (!element) {
		string_builder_append(text, "\" time=\"0\">\n      <system-out>");
		append_xml(text, message);
		string_builder_append(text, "</system-out>\n    </testcase>\n");
		return;
	}
	string_builder_appendf(text, "\" time=\"0\">\n      <%s message=\"", element);
	append_xml(text, message);
	string_builder_append(text, strcmp(element, "failure") == 0 ? "\" type=\"regression\"/>\n"
								    : "\"/>\n");
	string_builder_append(text, "    </testcase>\n");
}

static void append_check(const struct gate_report *report, const struct gate_check *check,
			 struct string_builder *text)
{
	struct sentence name = {0}, message = {0}, doubt = {0};

	gate_say_name(report, check, &name);
	say(&name, " (limit %s)", gate_format_limit(check->limit).text);
	gate_say_doubt(report, check, &doubt);
	if (doubt.length)
		say(&message, "inconclusive: %s: ", doubt.text);
	gate_say_change(check, &message);
	append_case(name.text,
		    check->outcome == GATE_REGRESSION     ? "failure"
		    : check->outcome == GATE_INCONCLUSIVE ? "skipped"
							  : NULL,
		    message.text, text);
}

static size_t count_checks(const struct gate *gate, enum gate_outcome outcome)
{
	size_t count = 0;

	for (size_t i = 0; i < gate->count; i++)
		count += gate->checks[i].outcome == outcome;
	return count;
}

static void append_suite(const struct gate_report *report, struct string_builder *text)
{
	const struct gate *gate = report->gate;
	struct sentence result = {0};
	const size_t failures = count_checks(gate, GATE_REGRESSION);
	const bool has_no_base = report->no_base != NULL;
	const size_t skipped = count_checks(gate, GATE_INCONCLUSIVE) + gate->is_refused +
			       (has_no_base && gate->outcome != GATE_PASS);
	const size_t tests = gate->count + gate->is_refused + has_no_base;

	string_builder_appendf(text,
			       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			       "<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n"
			       "  <testsuite name=\"duet gate\" tests=\"%zu\" failures=\"%zu\" "
			       "errors=\"0\" skipped=\"%zu\" time=\"0\">\n",
			       tests, failures, tests, failures, skipped);
	gate_say_result(report, &result);
	if (gate->is_refused)
		append_case("the recordings are comparable", "skipped", result.text, text);
	if (has_no_base)
		append_case("accepted recordings", gate->outcome == GATE_PASS ? NULL : "skipped",
			    result.text, text);
	for (size_t i = 0; i < gate->count; i++)
		append_check(report, &gate->checks[i], text);
	string_builder_append(text, "    <system-out>");
	append_xml(text, result.text);
	string_builder_append(text, "</system-out>\n  </testsuite>\n</testsuites>\n");
}

int gate_write_junit(const struct gate_report *report, FILE *out)
{
	struct string_builder text = {0};
	int error;

	append_suite(report, &text);
	error = text.error;
	if (!error && fputs(string_builder_text(&text), out) < 0)
		error = -EIO;
	string_builder_fini(&text);
	return error;
}
