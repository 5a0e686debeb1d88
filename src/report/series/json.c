/* SPDX-License-Identifier: MIT
 *
 * report/series/json.c - writes the history of a program as JSON, schema duet.series/1
 *
 * Runs in:  our own process
 * Gets:     a history
 * Gives:    docs/series.schema.json describes the document
 * Owns:     nothing
 * Fails:    as the writer
 * Why an array of all recordings for each line: value i belongs to recording i, null is a gap. A
 *           script needs no join.
 */
#include <string.h>

#include "analyze/compare/history/history.h"
#include "base/format.h"
#include "base/json.h"
#include "report/series/series.h"

static void write_record(const struct history_record *record, struct json_writer *json)
{
	json_line_begin(json);
	json_pair_text(json, "path", record->path);
	if (record->realtime_ns) {
		json_pair_text(json, "date", format_realtime(record->realtime_ns).text);
		json_pair_u64(json, "realtime_ns", record->realtime_ns);
	}
	json_pair_text(json, "command", record->command);
	json_pair_bool(json, "complete", record->is_complete);
	json_object_end(json);
}

static void write_values(const struct history *history, const struct history_line *line,
			 struct json_writer *json)
{
	size_t at = 0;

	json_pair_array(json, "values");
	for (size_t i = 0; i < history->count; i++) {
		if (at < line->count && line->values[at].recording == i)
			json_double(json, line->values[at++].value);
		else
			json_null(json);
	}
	json_array_end(json);
}

static void write_changes(const struct history *history, const struct history_line *line,
			  struct json_writer *json)
{
	json_pair_array(json, "changes");
	for (size_t i = 0; i < line->changes_count; i++) {
		const struct change_point *change = &line->changes[i];
		const uint32_t recording = line->values[change->index].recording;

		json_object_begin(json);
		json_pair_u64(json, "recording", recording);
		json_pair_text(json, "path", history->records[recording].path);
		json_pair_double(json, "before", change->before);
		json_pair_double(json, "after", change->after);
		json_pair_double(json, "p", change->p);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_namings(const struct history_item *item, struct json_writer *json)
{
	if (!item->namings_count)
		return;
	json_pair_array(json, "names");
	for (size_t i = 0; i < item->namings_count; i++) {
		const struct history_naming *naming = &item->namings[i];

		json_object_begin(json);
		json_pair_u64(json, "recording", naming->recording);
		json_pair_text(json, "name", naming->name);
		json_pair_text(json, "was", naming->was);
		json_pair_text(json, "match", match_reason_name(naming->reason));
		json_pair_double(json, "match_confidence", naming->confidence);
		json_object_end(json);
	}
	json_array_end(json);
}

/* item: NULL for a quantity of the whole run. */
static void write_line(const struct history *history, const char *kind,
		       const struct history_item *item, const struct history_line *line,
		       struct json_writer *json)
{
	if (!line->count)
		return;
	json_line_begin(json);
	json_pair_text(json, "kind", kind);
	json_pair_text(json, "unit", strcmp(kind, "executions") == 0 ? "executions" : "ns");
	if (item) {
		json_pair_text(json, "name", item->name);
		if (strcmp(item->label, item->name) != 0)
			json_pair_text(json, "label", item->label);
		json_pair_text(json, "group", item->group);
		json_pair_u64(json, "total_ns", item->total_ns);
	}
	json_pair_double(json, "first", line->values[0].value);
	json_pair_double(json, "last", line->values[line->count - 1].value);
	json_pair_bool(json, "tested", line->is_tested);
	write_changes(history, line, json);
	if (item && strcmp(kind, "executions") != 0)
		write_namings(item, json);
	write_values(history, line, json);
	json_object_end(json);
}

static void write_lines(const struct history *history, struct json_writer *json)
{
	write_line(history, "wall", NULL, &history->wall, json);
	write_line(history, "iteration", NULL, &history->iteration, json);
	write_line(history, "busy", NULL, &history->busy, json);
	write_line(history, "idle", NULL, &history->idle, json);
	for (size_t i = 0; i < history->kernels_count; i++) {
		write_line(history, "kernel", &history->kernels[i], &history->kernels[i].value,
			   json);
		write_line(history, "executions", &history->kernels[i],
			   &history->kernels[i].executions, json);
	}
	for (size_t i = 0; i < history->causes_count; i++)
		write_line(history, "cause", &history->causes[i], &history->causes[i].value, json);
}

void series_write_json(const struct series_report *report, struct json_writer *json)
{
	const struct history *history = report->history;

	json_object_begin(json);
	json_pair_text(json, "schema", "duet.series/1");
	json_pair_text(json, "per", history->options.is_per_iteration ? "iteration" : "run");
	if (report->range)
		json_pair_text(json, "range", report->range);
	json_pair_double(json, "alpha", history->options.alpha);
	json_pair_u64(json, "tests", history->tests);
	json_pair_double(json, "threshold", history->threshold);
	json_line_array(json, "recordings");
	for (size_t i = 0; i < history->count; i++)
		write_record(&history->records[i], json);
	json_array_end(json);
	json_line_array(json, "skipped");
	for (size_t i = 0; i < report->skipped_count; i++)
		json_string(json, report->skipped[i]);
	json_array_end(json);
	json_line_array(json, "lines");
	write_lines(history, json);
	json_array_end(json);
	json_object_end(json);
}
