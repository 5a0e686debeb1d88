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
	diff_write_verdict(report, json);
	diff_write_total("wall", &comparison->wall, json);
	diff_write_total("iteration", &comparison->iteration, json);
	diff_write_devices(comparison, json);
	json_pair_i64(json, "change_ns", comparison->change_ns);
	json_line_array(json, "rows");
	write_rows(report, COMPARE_BUSY, json);
	write_rows(report, COMPARE_IDLE, json);
	json_array_end(json);
	json_object_end(json);
}
