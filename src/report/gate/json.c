/* SPDX-License-Identifier: MIT
 *
 * report/gate/json.c - prints the result of a gate as one JSON document, schema duet.gate/1
 *
 * Runs in:  our own process
 * Gets:     a gate
 * Gives:    docs/gate.schema.json describes the document
 * Owns:     nothing
 * Fails:    -ENOMEM, -EIO
 * Why the status is in the document: a program that reads the document through a pipe does not see
 *           the exit status
 */
#include "report/gate/gate.h"

#include "base/json.h"
#include "report/diff/diff.h"

static void write_limit(const struct gate_limit *limit, struct json_writer *json)
{
	static const char *const units[] = {
		[GATE_PERCENT] = "percent", [GATE_NS] = "ns", [GATE_TIMES] = "count"};

	json_pair_object(json, "limit");
	json_pair_text(json, "text", limit->text);
	json_pair_text(json, "quantity", gate_quantity_name(limit->quantity));
	if (limit->name)
		json_pair_text(json, "name", limit->name);
	json_pair_text(json, "part", gate_part_name(limit->part));
	json_pair_double(json, "amount", limit->amount);
	json_pair_text(json, "unit", units[limit->unit]);
	json_object_end(json);
}

static const char *match_word(const struct gate_check *check)
{
	return match_reason_name(check->row->reason);
}

static void write_check(const struct gate_report *report, const struct gate_check *check,
			struct json_writer *json)
{
	struct sentence name = {0}, change = {0}, doubt = {0};

	gate_say_name(report, check, &name);
	gate_say_change(check, &change);
	gate_say_doubt(report, check, &doubt);
	json_line_begin(json);
	json_pair_text(json, "name", name.text);
	json_pair_text(json, "result", gate_outcome_name(check->outcome));
	if (doubt.length)
		json_pair_text(json, "why", doubt.text);
	json_pair_text(json, "text", change.text);
	write_limit(check->limit, json);
	if (check->row) {
		json_pair_text(json, "match", match_word(check));
		if (check->row->device != SIDE_NO_DEVICE)
			json_pair_u64(json, "device", check->row->device);
	}
	json_pair_double(json, "base", check->noise.base);
	json_pair_double(json, "new", check->noise.changed);
	json_pair_double(json, "allowed", check->allowed);
	json_pair_text(json, "per",
		       check->limit->part == GATE_MEAN ? "execution"
		       : check->is_iteration           ? "iteration"
						       : "run");
	diff_write_noise("noise", &check->noise, json);
	if (check->needed)
		json_pair_u64(json, "values_needed", check->needed);
	json_object_end(json);
}

static void write_reasons(const struct gate_report *report, struct json_writer *json)
{
	json_line_array(json, "reasons");
	for (size_t i = 0; i < GATE_REASONS && report->gate->outcome == GATE_REGRESSION; i++) {
		struct sentence reason = {0};

		if (!gate_say_reason(report, i, &reason))
			break;
		json_newline(json);
		json_string(json, reason.text);
	}
	json_array_end(json);
}

static void write_head(const struct gate_report *report, struct json_writer *json)
{
	struct sentence result = {0};

	gate_say_result(report, &result);
	json_pair_text(json, "schema", "duet.gate/1");
	json_pair_text(json, "result", gate_result_word(report));
	json_pair_i64(json, "status", report->status);
	json_pair_text(json, "text", result.text);
	json_pair_double(json, "confidence", report->gate->comparison->options.confidence);
	if (report->range)
		json_pair_text(json, "range", report->range);
	if (report->baseline)
		json_pair_text(json, "baseline", report->baseline);
	json_pair_bool(json, "same_command", report->is_same_command);
	if (report->gate->more_base || report->gate->more_changed) {
		json_pair_object(json, "more_runs");
		json_pair_u64(json, "base", report->gate->more_base);
		json_pair_u64(json, "new", report->gate->more_changed);
		json_object_end(json);
	}
}

int gate_print_json(const struct gate_report *report)
{
	struct json_writer json;

	json_init_file(&json, stdout);
	json_object_begin(&json);
	write_head(report, &json);
	diff_write_sides(report->gate->comparison, &json);
	json_line_array(&json, "checks");
	for (size_t i = 0; i < report->gate->count; i++)
		write_check(report, &report->gate->checks[i], &json);
	json_array_end(&json);
	write_reasons(report, &json);
	json_object_end(&json);
	putchar('\n');
	return json_error(&json);
}
