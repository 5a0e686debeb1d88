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
	char text[256];
};

static struct sentence describe(const struct report *report, const struct finding *finding)
{
	const struct analysis *analysis = report->analysis;
	struct sentence sentence;
	size_t used;

	used = (size_t)snprintf(sentence.text, sizeof(sentence.text),
				"%" PRIu64 " transfers of at most %s each took %s of %s copy time",
				finding->small.count, format_size(ANALYSIS_SMALL_BYTES).text,
				format_duration(finding->small.total_ns).text,
				format_duration(finding->copies_ns).text);
	if (analysis_devices_shown(analysis) > 1)
		used += (size_t)snprintf(sentence.text + used, sizeof(sentence.text) - used,
					 " on device %zu", finding->device);
	snprintf(sentence.text + used, sizeof(sentence.text) - used, "; batch them");
	return sentence;
}

void report_put_findings(const struct report *report)
{
	struct finding finding;
	size_t cursor = 0, shown = 0;

	while (findings_next(report->analysis, &cursor, &finding)) {
		if (!report_shows_device(report, finding.device))
			continue;
		if (!shown++)
			printf("\nFINDINGS\n");
		printf("  %s\n", describe(report, &finding).text);
	}
}

static void write_pair(struct json_writer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void write_evidence(const struct report *report, const struct finding *finding,
			   struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;

	json_key(json, "evidence");
	json_object_begin(json);
	json_key(json, "device");
	json_string(json, report_device_key(&analysis->devices[finding->device]));
	write_pair(json, "limit_bytes", ANALYSIS_SMALL_BYTES);
	write_pair(json, "count", finding->small.count);
	write_pair(json, "bytes", finding->small.bytes);
	write_pair(json, "total_ns", finding->small.total_ns);
	write_pair(json, "calls_ns", finding->small.calls_ns);
	write_pair(json, "copies_ns", finding->copies_ns);
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
		if (!report_shows_device(report, finding.device))
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
