/* SPDX-License-Identifier: MIT
 *
 * report/cost.c - what recording cost the programs, and what was left out to hold the limit
 *
 * Runs in:  our own process
 * Gets:     costs that `duet record --max-overhead` measured; losses with LOSS_LIMIT
 * Gives:    lines on stdout, keys of the JSON
 * Owns:     the costs while they are printed
 * Fails:    -ENOMEM, errors of the reader
 * Why:      A cost without its interval would look exact. So it is printed with the half-width of
 *           its 95 % interval, or with the reason why there is none.
 */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "analyze/cost.h"
#include "base/json.h"
#include "base/string.h"
#include "report/table.h"
#include "report/verdict/sentence.h"

enum { COST_INDENT = 8 };

static uint64_t left_out(const struct report *report, uint32_t kind)
{
	const struct analysis *analysis = report->analysis;
	uint64_t count = 0;

	for (size_t i = 0; i < analysis->losses_count; i++)
		if (analysis->losses[i].reason == LOSS_LIMIT && analysis->losses[i].kind == kind)
			count += analysis->losses[i].count;
	return count;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_line(const struct report *report, const char *heading, struct string_builder *line)
{
	if (line->error)
		report->state->error = line->error;
	printf("%-*s", COST_INDENT, heading);
	sentence_put_wrapped(string_builder_text(line), COST_INDENT, COST_INDENT,
			     report_columns(report));
	putchar('\n');
	string_builder_fini(line);
	*line = (struct string_builder){0};
}

/* Wider than a point and than half of the cost. */
static bool is_uncertain(const struct cost_process *cost)
{
	return cost->half_width > 0.01 && cost->half_width > fabs(cost->cost) / 2;
}

static void append_cost(const struct cost_process *cost, struct string_builder *line)
{
	const uint64_t all = cost_all_ns(cost), known_ns = cost->measured_ns + cost->own_ns;
	const uint64_t counted_ns = all > known_ns ? all - known_ns : 0;

	if (cost->measured_ns)
		string_builder_appendf(line, "cost %.1f %% ± %.1f %%%s", cost->cost * 100,
				       cost->half_width * 100,
				       is_uncertain(cost) ? ", inconclusive: the launches per "
							    "second vary too much"
							  : "");
	if (cost->measured_ns && cost->own_ns)
		string_builder_append(line, ", and ");
	if (cost->own_ns)
		string_builder_appendf(line,
				       "%.1f %% by duet's own time for %s, in which launches per "
				       "second could not be compared",
				       cost->own_cost * 100, format_duration(cost->own_ns).text);
	if (counted_ns && (cost->measured_ns || cost->own_ns))
		string_builder_appendf(line, "; %s with counts only, without a measured cost",
				       format_duration(counted_ns).text);
	if (!cost->measured_ns && !cost->own_ns)
		string_builder_append(line, "cost not measured");
}

/* "; limit 1 %: held" */
static void append_limit(const struct cost_process *cost, struct string_builder *line)
{
	static const char *const texts[] = {[COST_LIMIT_UNKNOWN] = "held or not, not certain",
					    [COST_LIMIT_HELD] = "held",
					    [COST_LIMIT_NOT_HELD] = "not held"};

	if (cost->limit > 0)
		string_builder_appendf(line, "; limit %g %%: %s", cost->limit * 100,
				       texts[cost_limit_of(cost)]);
}

static void append_levels(const struct cost_process *cost, struct string_builder *line)
{
	const char *separator = "";

	for (uint32_t i = 0; i < COST_LEVELS; i++) {
		if (!cost->level_ns[i])
			continue;
		string_builder_appendf(line, "%s%s with %s", separator,
				       format_duration(cost->level_ns[i]).text, cost_level_text(i));
		separator = ", ";
	}
}

static void put_cost(const struct report *report, const struct cost_process *cost,
		     const char *heading)
{
	struct string_builder line = {0};

	append_cost(cost, &line);
	append_limit(cost, &line);
	if (cost->process)
		string_builder_appendf(&line, " (process %u, %s)", cost->process->pid, cost->guest);
	put_line(report, heading, &line);
	append_levels(cost, &line);
	if (line.length)
		put_line(report, "", &line);
}

static void put_left_out(const struct report *report)
{
	const uint64_t launches = left_out(report, EVENT_LAUNCH);
	const uint64_t calls = left_out(report, EVENT_API);
	const uint64_t carried = report->analysis->ledger.stacks_carried;
	struct string_builder line = {0};

	if (launches || calls) {
		string_builder_appendf(&line,
				       "%" PRIu64 " %s and %" PRIu64
				       " other %s left out by --max-overhead; they are counted, "
				       "and in no other total",
				       launches, table_noun(launches, "launch", "launches"), calls,
				       table_noun(calls, "call was", "calls were"));
		put_line(report, "", &line);
	}
	if (carried) {
		string_builder_appendf(&line,
				       "%" PRIu64 " %s an estimated stack: the last one of the "
				       "same call site",
				       carried, table_noun(carried, "launch has", "launches have"));
		put_line(report, "", &line);
	}
}

int report_put_cost(const struct report *report)
{
	struct costs costs;
	int error = costs_new(report->model, &costs);

	if (error)
		return error;
	if (costs.count)
		putchar('\n');
	for (size_t i = 0; i < costs.count; i++)
		put_cost(report, &costs.all[i], i ? "" : "COST");
	if (costs.count)
		put_left_out(report);
	costs_fini(&costs);
	return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_cost(const struct cost_process *cost, struct json_writer *json)
{
	json_line_begin(json);
	if (cost->process)
		json_pair_u64(json, "pid", cost->process->pid);
	json_pair_text(json, "collector", cost->guest);
	if (cost->measured_ns) {
		json_pair_double(json, "ratio", cost->cost);
		json_pair_double(json, "half_width", cost->half_width);
	}
	json_pair_u64(json, "measured_ns", cost->measured_ns);
	if (cost->own_ns)
		json_pair_double(json, "own_ratio", cost->own_cost);
	json_pair_u64(json, "own_ns", cost->own_ns);
	if (cost->limit > 0)
		json_pair_double(json, "limit", cost->limit);
	if (cost_limit_of(cost) != COST_LIMIT_UNKNOWN)
		json_pair_bool(json, "held", cost_limit_of(cost) == COST_LIMIT_HELD);
	json_pair_u64(json, "steps", cost->steps);
	json_pair_object(json, "levels_ns");
	for (uint32_t i = 0; i < COST_LEVELS; i++)
		json_pair_u64(json, cost_level_name(i), cost->level_ns[i]);
	json_object_end(json);
	json_object_end(json);
}

int report_write_cost(const struct report *report, struct json_writer *json)
{
	struct costs costs;
	int error = costs_new(report->model, &costs);

	if (error || !costs.count)
		return error;
	json_pair_array(json, "measured");
	for (size_t i = 0; i < costs.count; i++)
		write_cost(&costs.all[i], json);
	json_array_end(json);
	json_pair_u64(json, "left_out_launches", left_out(report, EVENT_LAUNCH));
	json_pair_u64(json, "left_out_calls", left_out(report, EVENT_API));
	json_pair_u64(json, "stacks_estimated", report->analysis->ledger.stacks_carried);
	costs_fini(&costs);
	return 0;
}
