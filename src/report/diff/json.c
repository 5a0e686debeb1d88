/* SPDX-License-Identifier: MIT
 *
 * report/diff/json.c - prints a comparison as one JSON document, schema duet.diff/1
 *
 * Runs in:  our own process
 * Gets:     a comparison
 * Gives:    docs/diff.schema.json describes the document
 * Owns:     nothing
 * Fails:    -ENOMEM, -EIO
 * Why sums and means: sums are whole numbers, so a reader can check that the account adds up
 */
#include "report/diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "report/verdict/sentence.h"

static void write_side(const char *key, const struct comparison_sides *sides,
		       struct json_writer *json)
{
	json_line_array(json, key);
	for (size_t i = 0; i < sides->count; i++) {
		const struct compare_side *side = sides->runs[i];

		json_line_begin(json);
		json_pair_text(json, "path", side->path);
		json_pair_text(json, "command", side->facts.command);
		json_pair_u64(json, "wall_ns", side->wall_ns);
		json_pair_bool(json, "complete", side->facts.is_complete);
		json_pair_u64(json, "iterations", side->iterations.count);
		json_pair_u64(json, "iteration_ns", side->iterations.median_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static const char *weight_name(enum comparison_weight weight)
{
	return weight == NOTE_REFUSAL ? "refusal" : weight == NOTE_WARNING ? "warning" : "info";
}

void diff_write_sides(const struct comparison *comparison, struct json_writer *json)
{
	write_side("base", &comparison->base, json);
	write_side("new", &comparison->changed, json);
	json_pair_u64(json, "base_units", comparison->base.units);
	json_pair_u64(json, "new_units", comparison->changed.units);
	json_pair_bool(json, "paired", comparison->is_paired);
	json_pair_bool(json, "same", comparison->is_same);
	json_pair_bool(json, "comparable", !comparison->is_refused);
	json_line_array(json, "notes");
	for (size_t i = 0; i < comparison->notes_count; i++) {
		json_line_begin(json);
		json_pair_text(json, "weight", weight_name(comparison->notes[i].weight));
		json_pair_text(json, "text", comparison->notes[i].text);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_number(const char *key, double value, struct json_writer *json)
{
	if (!isnan(value))
		json_pair_double(json, key, value);
}

void diff_write_noise(const char *key, const struct compare_noise *noise, struct json_writer *json)
{
	json_pair_object(json, key);
	json_pair_text(json, "proof", compare_proof_name(noise->proof));
	json_pair_text(json, "values", compare_source_name(noise->source));
	if (noise->source != NOISE_UNKNOWN) {
		json_pair_bool(json, "constant", noise->is_constant);
		json_pair_u64(json, "base_values", noise->base_values);
		json_pair_u64(json, "new_values", noise->changed_values);
		write_number("estimate", noise->estimate, json);
		if (noise->has_interval) {
			json_pair_double(json, "low", noise->low);
			json_pair_double(json, "high", noise->high);
		}
		write_number("p", noise->p, json);
		write_number("p_adjusted", noise->p_adjusted, json);
		write_number("superiority", noise->superiority, json);
		write_number("detectable", noise->detectable, json);
	}
	json_object_end(json);
}

static void write_amount(const char *key, const struct comparison_amount *amount,
			 struct json_writer *json)
{
	json_pair_object(json, key);
	json_pair_u64(json, "count", amount->count);
	json_pair_u64(json, "value", amount->value);
	json_pair_u64(json, "runs", amount->runs);
	json_object_end(json);
}

void diff_write_row(const struct comparison_row *row, enum compare_table table,
		    struct json_writer *json)
{
	json_pair_text(json, "table", compare_table_name(table));
	json_pair_text(json, "name", row->name);
	if (row->base_name)
		json_pair_text(json, "base_name", row->base_name);
	if (strcmp(row->label, row->name) != 0)
		json_pair_text(json, "label", row->label);
	json_pair_text(json, "group", row->group);
	if (table == COMPARE_IDLE)
		json_pair_text(json, "cause", account_cause_name((enum account_cause)row->scope));
	if (row->device != SIDE_NO_DEVICE)
		json_pair_u64(json, "device", row->device);
	json_pair_text(json, "match", match_reason_name(row->reason));
	json_pair_double(json, "match_confidence", row->confidence);
	if (row->pattern)
		json_pair_text(json, "pattern", row->pattern);
	write_amount("base", &row->base, json);
	write_amount("new", &row->changed, json);
	json_pair_i64(json, "change", row->change.value);
	json_pair_i64(json, "more_often", row->change.more_often);
	json_pair_i64(json, "each_slower", row->change.each_slower);
	diff_write_noise("noise", &row->value_noise, json);
	if (row->base.count && row->changed.count) {
		diff_write_noise("count_noise", &row->count_noise, json);
		diff_write_noise("mean_noise", &row->mean_noise, json);
	}
}

void diff_write_total(const char *key, const struct comparison_total *total,
		      struct json_writer *json)
{
	json_newline(json);
	json_pair_object(json, key);
	json_pair_double(json, "base_ns", total->base);
	json_pair_double(json, "new_ns", total->changed);
	diff_write_noise("noise", &total->noise, json);
	json_object_end(json);
}

void diff_write_devices(const struct comparison *comparison, struct json_writer *json)
{
	json_line_array(json, "devices");
	for (size_t i = 0; i < comparison->devices_count; i++) {
		const struct comparison_device *device = &comparison->devices[i];

		json_line_begin(json);
		json_pair_text(json, "base_name", device->base_name);
		json_pair_text(json, "name", device->name);
		json_pair_u64(json, "base_wall_ns", device->base_wall_ns);
		json_pair_u64(json, "base_busy_ns", device->base_busy_ns);
		json_pair_u64(json, "base_idle_ns", device->base_idle_ns);
		json_pair_u64(json, "new_wall_ns", device->changed_wall_ns);
		json_pair_u64(json, "new_busy_ns", device->changed_busy_ns);
		json_pair_u64(json, "new_idle_ns", device->changed_idle_ns);
		json_pair_i64(json, "wall_change_ns", device->wall_change_ns);
		json_pair_i64(json, "busy_change_ns", device->busy_change_ns);
		json_pair_i64(json, "idle_change_ns", device->idle_change_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_table(const struct comparison *comparison, enum compare_table of,
			struct json_writer *json)
{
	const struct comparison_table *table = &comparison->tables[of];

	for (size_t i = 0; i < table->count; i++) {
		json_line_begin(json);
		diff_write_row(&table->rows[i], of, json);
		json_object_end(json);
	}
}

void diff_write_verdict(const struct diff_report *report, struct json_writer *json)
{
	const struct comparison_row *rows[DIFF_REASONS];
	const size_t count = comparison_reasons(report->comparison, rows, DIFF_REASONS);
	struct sentence verdict = {0};

	diff_say_verdict(report, &verdict);
	json_newline(json);
	json_pair_text(json, "verdict", verdict.text);
	json_pair_array(json, "reasons");
	for (size_t i = 0; i < count; i++) {
		struct sentence reason = {0};

		diff_say_reason(report, rows[i], &reason);
		json_string(json, reason.text);
	}
	json_array_end(json);
}

static void write_numbers(const struct diff_report *report, struct json_writer *json)
{
	const struct comparison *comparison = report->comparison;

	diff_write_verdict(report, json);
	diff_write_total("wall", &comparison->wall, json);
	diff_write_total("busy", &comparison->busy, json);
	diff_write_total("idle", &comparison->idle, json);
	if (comparison->iteration.base > 0 || comparison->iteration.noise.source != NOISE_UNKNOWN)
		diff_write_total("iteration", &comparison->iteration, json);
	if (comparison->need.runs)
		json_pair_u64(json, "runs_needed", comparison->need.runs);
	diff_write_devices(comparison, json);
	json_newline(json);
	json_pair_object(json, "account");
	json_pair_i64(json, "change_ns", comparison->change_ns);
	json_pair_bool(json, "exact", comparison->is_exact);
	json_line_array(json, "rows");
	write_table(comparison, COMPARE_BUSY, json);
	write_table(comparison, COMPARE_IDLE, json);
	json_array_end(json);
	json_object_end(json);
	if (report->by == COMPARE_TABLES || report->by <= COMPARE_IDLE)
		return;
	json_line_array(json, "by");
	write_table(comparison, report->by, json);
	json_array_end(json);
}

void diff_write_json(const struct diff_report *report, struct json_writer *json)
{
	const struct comparison *comparison = report->comparison;

	json_object_begin(json);
	json_pair_text(json, "schema", "duet.diff/1");
	if (report->range)
		json_pair_text(json, "range", report->range);
	json_pair_text(json, "per", comparison->options.is_per_iteration ? "iteration" : "run");
	json_pair_double(json, "confidence", comparison->options.confidence);
	json_pair_double(json, "min_effect", comparison->options.min_effect);
	diff_write_sides(comparison, json);
	if (!comparison->is_refused || report->is_forced)
		write_numbers(report, json);
	json_object_end(json);
}

int diff_print_json(const struct diff_report *report)
{
	struct json_writer json;

	json_init_file(&json, stdout);
	diff_write_json(report, &json);
	putchar('\n');
	return json_error(&json);
}
