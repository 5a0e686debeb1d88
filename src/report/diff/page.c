/* SPDX-License-Identifier: MIT
 *
 * report/diff/page.c - a comparison as JSON for the page with two timelines
 *
 * Runs in:  our own process
 * Gets:     a comparison
 * Gives:    rows as in duet.diff/1, each with its remark as a sentence
 * Owns:     nothing
 * Fails:    the JSON writer keeps its error
 * Why not duet.diff/1 itself: the page shows the account and its sentences only, and the sentences
 *           must be those of duet diff, which the viewer cannot make
 */
#include "report/diff/page.h"

#include <string.h>

#include "base/json.h"
#include "report/diff/diff.h"
#include "report/verdict/sentence.h"

static void write_total(const char *key, const struct comparison_total *total,
			struct json_writer *json)
{
	json_pair_object(json, key);
	json_pair_double(json, "base_ns", total->base);
	json_pair_double(json, "new_ns", total->changed);
	diff_write_noise("noise", &total->noise, json);
	json_object_end(json);
}

static void write_sentences(const struct diff_report *report, struct json_writer *json)
{
	const struct comparison_row *rows[DIFF_REASONS];
	const size_t count = comparison_reasons(report->comparison, rows, DIFF_REASONS);
	struct sentence verdict = {0};

	diff_say_verdict(report, &verdict);
	json_pair_text(json, "verdict", verdict.text);
	json_pair_array(json, "reasons");
	for (size_t i = 0; i < count; i++) {
		struct sentence reason = {0};

		diff_say_reason(report, rows[i], &reason);
		json_string(json, reason.text);
	}
	json_array_end(json);
}

static void write_devices(const struct comparison *comparison, struct json_writer *json)
{
	json_line_array(json, "devices");
	for (size_t i = 0; i < comparison->devices_count; i++) {
		const struct comparison_device *device = &comparison->devices[i];

		json_line_begin(json);
		json_pair_text(json, "base_name", device->base_name);
		json_pair_text(json, "name", device->name);
		json_pair_u64(json, "base_busy_ns", device->base_busy_ns);
		json_pair_u64(json, "base_idle_ns", device->base_idle_ns);
		json_pair_u64(json, "base_wall_ns", device->base_wall_ns);
		json_pair_u64(json, "new_busy_ns", device->changed_busy_ns);
		json_pair_u64(json, "new_idle_ns", device->changed_idle_ns);
		json_pair_u64(json, "new_wall_ns", device->changed_wall_ns);
		json_pair_i64(json, "busy_change_ns", device->busy_change_ns);
		json_pair_i64(json, "idle_change_ns", device->idle_change_ns);
		json_pair_i64(json, "wall_change_ns", device->wall_change_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_rows(const struct diff_report *report, enum compare_table of,
		       struct json_writer *json)
{
	const struct comparison_table *table = &report->comparison->tables[of];

	for (size_t i = 0; i < table->count; i++) {
		struct sentence how = {0};

		diff_say_how(report, &table->rows[i], &how);
		json_line_begin(json);
		diff_write_row(&table->rows[i], of, json);
		json_pair_text(json, "how", how.text);
		json_object_end(json);
	}
}

void diff_write_page(const struct diff_report *report, struct json_writer *json)
{
	const struct comparison *comparison = report->comparison;

	json_object_begin(json);
	json_pair_text(json, "schema", "duet.view-diff/1");
	diff_write_sides(comparison, json);
	write_sentences(report, json);
	write_total("wall", &comparison->wall, json);
	write_total("iteration", &comparison->iteration, json);
	write_devices(comparison, json);
	json_pair_i64(json, "change_ns", comparison->change_ns);
	json_line_array(json, "rows");
	write_rows(report, COMPARE_BUSY, json);
	write_rows(report, COMPARE_IDLE, json);
	json_array_end(json);
	json_object_end(json);
}
