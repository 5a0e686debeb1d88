/* SPDX-License-Identifier: MIT
 *
 * cli/report_findings.c - findings in words, for a person and as JSON
 *
 * Runs in:  our own process
 * Gets:     findings   Gives: one line each, or the list "findings" of the document
 * Owns:     nothing
 * Fails:    never
 * Why:      both outputs have the same sentence, which ends in what to do; a program takes the
 *           numbers from "evidence" and does not read the sentence
 */
#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyze/findings.h"
#include "base/json.h"
#include "cli/table.h"

struct sentence {
	char text[320];
};

static void describe_failure(const struct analysis_failure *failure, struct sentence *sentence)
{
	bool is_command = failure->kind == FAILURE_COMMAND;
	const char *error = analysis_error_name(failure->result);

	snprintf(sentence->text, sizeof(sentence->text),
		 "%.120s failed %" PRIu64 " %s%s: %s%s%" PRId32 "%s", failure->name, failure->count,
		 table_noun(failure->count, "time", "times"), is_command ? " on its device" : "",
		 *error ? error : "error ", *error ? " (" : "", failure->result, *error ? ")" : "");
}

static void describe_transfers(const struct report *report, const struct finding *finding,
			       struct sentence *sentence)
{
	const struct analysis_transfers *small = &finding->small;
	char device[32] = "";

	if (analysis_devices_shown(report->analysis) > 1)
		snprintf(device, sizeof(device), " (device %zu)", finding->device);
	snprintf(sentence->text, sizeof(sentence->text),
		 "%" PRIu64 " transfers up to %s: %s of %s copy time, %s in their calls; batch "
		 "them%s",
		 small->count, format_size(ANALYSIS_SMALL_BYTES).text,
		 format_duration(small->total_ns).text, format_duration(finding->copies_ns).text,
		 format_duration(small->calls_ns).text, device);
}

static struct sentence describe(const struct report *report, const struct finding *finding)
{
	struct sentence sentence;

	if (finding->failure)
		describe_failure(finding->failure, &sentence);
	else
		describe_transfers(report, finding, &sentence);
	return sentence;
}

static bool is_shown(const struct report *report, const struct finding *finding)
{
	return finding->device == FINDING_NO_DEVICE || report_shows_device(report, finding->device);
}

void report_put_findings(const struct report *report)
{
	struct finding finding;
	size_t cursor = 0, shown = 0, all = 0;

	while (findings_next(report->analysis, &cursor, &finding)) {
		if (!is_shown(report, &finding) || (all++, report_is_over_top(report, shown)))
			continue;
		if (!shown++)
			printf("\nFINDINGS\n");
		fputs("  ", stdout);
		table_put_text(describe(report, &finding).text, 98);
		putchar('\n');
	}
	table_put_rest(shown, all, "finding", "findings");
}

static void write_evidence(const struct report *report, const struct finding *finding,
			   struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;

	json_key(json, "evidence");
	json_object_begin(json);
	if (finding->failure) {
		json_key(json, "name");
		json_string(json, finding->failure->name);
		json_pair_u64(json, "count", finding->failure->count);
		json_key(json, "result");
		json_i64(json, finding->failure->result);
		json_key(json, "error");
		json_string(json, analysis_error_name(finding->failure->result));
		json_object_end(json);
		return;
	}
	json_key(json, "device");
	json_string(json, report_device_key(&analysis->devices[finding->device]));
	json_pair_u64(json, "limit_bytes", ANALYSIS_SMALL_BYTES);
	json_pair_u64(json, "count", finding->small.count);
	json_pair_u64(json, "bytes", finding->small.bytes);
	json_pair_u64(json, "total_ns", finding->small.total_ns);
	json_pair_u64(json, "calls_ns", finding->small.calls_ns);
	json_pair_u64(json, "copies_ns", finding->copies_ns);
	json_object_end(json);
}

void report_write_findings(const struct report *report, struct json_writer *json)
{
	struct finding finding;
	size_t cursor = 0;

	json_newline(json);
	json_key(json, "findings");
	json_array_begin(json);
	while (findings_next(report->analysis, &cursor, &finding)) {
		if (!is_shown(report, &finding))
			continue;
		json_newline(json);
		json_object_begin(json);
		json_key(json, "id");
		json_string(json, finding_id(finding.kind));
		json_key(json, "severity");
		json_string(json, "warning");
		json_key(json, "text");
		json_string(json, describe(report, &finding).text);
		write_evidence(report, &finding, json);
		json_object_end(json);
	}
	json_array_end(json);
}
