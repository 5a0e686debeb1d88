/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/gate/gate.c - checks the limits of a gate
 *
 * Runs in:  our own process
 * Gets:     a comparison and limits
 * Gives:    one check for each total, group or row that a limit names, and the result of all
 * Owns:     the checks
 * Fails:    -EINVAL for a limit that names nothing, with near names; -ENOMEM
 * Why each row of a pattern is a check of its own: a kernel that got faster must not hide another
 *           one that got slower. Their p values are corrected together (Benjamini-Hochberg).
 */
#include "analyze/compare/gate/gate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/stats/sample.h"
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "base/suggest.h"

enum { NAMES_SHOWN = 3 };

const char *gate_outcome_name(enum gate_outcome outcome)
{
	static const char *const names[] = {[GATE_PASS] = "pass",
					    [GATE_REGRESSION] = "regression",
					    [GATE_INCONCLUSIVE] = "inconclusive"};

	return array_text(names, ARRAY_COUNT(names), outcome, "unknown");
}

static enum compare_table table_of(enum gate_quantity quantity)
{
	static const enum compare_table tables[GATE_QUANTITIES] = {
		[GATE_WALL] = COMPARE_TABLES, [GATE_BUSY] = COMPARE_BUSY,
		[GATE_IDLE] = COMPARE_IDLE,   [GATE_ITERATION] = COMPARE_TABLES,
		[GATE_KERNEL] = COMPARE_BUSY, [GATE_COPY] = COMPARE_BUSY,
		[GATE_CAUSE] = COMPARE_IDLE,  [GATE_API] = COMPARE_API,
		[GATE_RANGE] = COMPARE_RANGE,
	};

	return tables[quantity];
}

uint32_t gate_tables(const struct gate_limit *limits, size_t count)
{
	uint32_t tables = 0;

	for (size_t i = 0; i < count; i++)
		if (table_of(limits[i].quantity) < COMPARE_TABLES)
			tables |= 1u << table_of(limits[i].quantity);
	return tables;
}

/* ---- one check ------------------------------------------------------------------------------- */

static double allowed_of(const struct gate_limit *limit, const struct compare_noise *noise)
{
	if (limit->unit != GATE_PERCENT)
		return limit->amount;
	return noise->base > 0 ? limit->amount / 100 * noise->base : 0;
}

static int add_check(struct gate *gate, struct gate_check check)
{
	check.allowed = allowed_of(check.limit, &check.noise);
	check.noise.p_adjusted = check.allowed >= 0 ? check.noise.p : NAN;
	return array_append(gate->checks, gate->capacity, gate->count, check);
}

/* Without noise, shows at least the means. */
static void copy_total(const struct comparison_total *total, struct compare_noise *ret_noise)
{
	*ret_noise = total->noise;
	if (total->noise.source != NOISE_UNKNOWN)
		return;
	ret_noise->base = total->base;
	ret_noise->changed = total->changed;
}

static bool has_one_run(const struct comparison *comparison)
{
	return comparison->base.count == 1 && comparison->changed.count == 1;
}

/* The noise of a side's only run is not known: other runs may differ by more than its iterations
 * do. The iterations show only how long one iteration or one execution takes. */
static void forget_noise(struct compare_noise *noise)
{
	*noise = (struct compare_noise){.p = NAN, .p_adjusted = NAN, .detectable = NAN};
}

static int add_total(struct gate *gate, const struct gate_limit *limit)
{
	const struct comparison *comparison = gate->comparison;
	struct gate_check check = {.limit = limit, .name = gate_quantity_name(limit->quantity)};
	int error = 0;

	if (limit->quantity == GATE_ITERATION) {
		copy_total(&comparison->iteration, &check.noise);
		check.is_iteration = has_one_run(comparison);
	} else if (limit->quantity == GATE_WALL) {
		copy_total(&comparison->wall, &check.noise);
	} else {
		error = gate_measure_sum(comparison, table_of(limit->quantity), NULL, &check.noise);
	}
	return error ? error : add_check(gate, check);
}

static double mean_of(uint64_t sum, size_t count)
{
	return count ? (double)sum / (double)count : 0;
}

static double mean_of_amount(const struct comparison_amount *amount)
{
	return amount->count ? (double)amount->value / (double)amount->count : 0;
}

/* The values as far as they are known without noise. */
static void fill_unknown(const struct comparison *comparison, const struct comparison_row *row,
			 enum gate_part part, struct compare_noise *noise)
{
	if (part == GATE_MEAN) {
		noise->base = mean_of_amount(&row->base);
		noise->changed = mean_of_amount(&row->changed);
	} else {
		noise->base = mean_of(part == GATE_COUNT ? row->base.count : row->base.value,
				      comparison->base.count);
		noise->changed =
			mean_of(part == GATE_COUNT ? row->changed.count : row->changed.value,
				comparison->changed.count);
	}
}

static int add_row(struct gate *gate, const struct gate_limit *limit,
		   const struct comparison_row *row)
{
	struct gate_check check = {
		.limit = limit,
		.name = row->name,
		.row = row,
		.noise = limit->part == GATE_MEAN    ? row->mean_noise
			 : limit->part == GATE_COUNT ? row->count_noise
						     : row->value_noise,
	};

	if (limit->part != GATE_MEAN && has_one_run(gate->comparison))
		forget_noise(&check.noise);
	if (check.noise.source == NOISE_UNKNOWN)
		fill_unknown(gate->comparison, row, limit->part, &check.noise);
	check.is_iteration = check.noise.source != NOISE_UNKNOWN && has_one_run(gate->comparison);
	return add_check(gate, check);
}

/* ---- rows of a limit --------------------------------------------------------------------------
 */

static bool is_of_quantity(const struct gate_limit *limit, const struct comparison_row *row)
{
	return limit->quantity == GATE_KERNEL ? row->is_kernel
	       : limit->quantity == GATE_COPY ? !row->is_kernel
					      : true;
}

static bool is_named(const struct gate_limit *limit, const struct comparison_row *row)
{
	const char *const names[] = {row->name, row->label, row->base_name, row->base_label};

	for (size_t i = 0; i < ARRAY_COUNT(names) && is_of_quantity(limit, row); i++)
		if (names[i] && gate_names_match(limit->name, names[i]))
			return true;
	return false;
}

/* Whether an earlier row has the group. */
static bool is_group_seen(const struct comparison_table *table, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(table->rows[i].group, table->rows[index].group) == 0)
			return true;
	return false;
}

/* Idle time of a cause, on all devices. */
static int add_groups(struct gate *gate, const struct gate_limit *limit)
{
	const struct comparison_table *table = &gate->comparison->tables[COMPARE_IDLE];
	int error = 0;

	for (size_t i = 0; i < table->count && !error; i++) {
		struct gate_check check = {.limit = limit, .name = table->rows[i].group};

		if (is_group_seen(table, i) || !gate_name_matches(limit->name, check.name))
			continue;
		error = gate_measure_sum(gate->comparison, COMPARE_IDLE, check.name, &check.noise);
		if (!error)
			error = add_check(gate, check);
	}
	return error;
}

/* A cause of idle time that no run has: a limit must be able to guard a program without it. */
static int add_absent_group(struct gate *gate, const struct gate_limit *limit)
{
	const bool has_runs =
		gate->comparison->base.count > 1 && gate->comparison->changed.count > 1;
	struct gate_check check = {.limit = limit,
				   .noise = {.source = has_runs ? NOISE_RUNS : NOISE_UNKNOWN,
					     .is_constant = true,
					     .has_interval = true,
					     .base_values = gate->comparison->base.count,
					     .changed_values = gate->comparison->changed.count,
					     .p = NAN,
					     .p_adjusted = NAN,
					     .detectable = NAN}};

	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++) {
		check.name = account_cause_text((enum account_cause)cause);
		if (gate_name_matches(limit->name, check.name))
			return add_check(gate, check);
	}
	return 0;
}

static int add_rows(struct gate *gate, const struct gate_limit *limit)
{
	const struct comparison_table *table = &gate->comparison->tables[table_of(limit->quantity)];
	int error = 0;

	for (size_t i = 0; i < table->count && !error; i++)
		if (is_named(limit, &table->rows[i]))
			error = add_row(gate, limit, &table->rows[i]);
	return error;
}

/* A near name, or the largest ones. */
static int refuse_name(const struct gate *gate, const struct gate_limit *limit)
{
	const struct comparison_table *table = &gate->comparison->tables[table_of(limit->quantity)];
	const char **names = calloc(table->count + 1, sizeof(*names)), *near;
	struct string_builder text = {0};
	size_t count = 0;
	int error;

	for (size_t i = 0; names && i < table->count; i++)
		if (is_of_quantity(limit, &table->rows[i]))
			names[count++] = table->rows[i].label;
	near = names ? suggest_name(limit->name, names, count, sizeof(*names)) : NULL;
	if (near)
		string_builder_appendf(&text, "; did you mean '%s'?", near);
	else if (count)
		for (size_t i = 0; i < count && i < NAMES_SHOWN; i++)
			string_builder_appendf(&text, "%s'%.100s'", i ? ", " : "; there is ",
					       names[i]);
	error = error_set(-EINVAL, "limit '%s': neither side has %s '%s'%s", limit->text,
			  gate_quantity_name(limit->quantity), limit->name,
			  string_builder_text(&text));
	string_builder_fini(&text);
	free(names);
	return error;
}

static int apply_limit(struct gate *gate, const struct gate_limit *limit)
{
	const size_t before = gate->count;
	int error = 0;

	if (limit->quantity < GATE_KERNEL)
		return add_total(gate, limit);
	if (limit->quantity == GATE_CAUSE)
		error = add_groups(gate, limit);
	if (!error && gate->count == before)
		error = add_rows(gate, limit);
	if (!error && gate->count == before && limit->quantity == GATE_CAUSE)
		error = add_absent_group(gate, limit);
	if (!error && gate->count == before)
		error = refuse_name(gate, limit);
	return error;
}

/* ---- the decision ---------------------------------------------------------------------------- */

static int adjust(struct gate *gate)
{
	double *p_values = malloc((gate->count + 1) * sizeof(*p_values));
	int error = p_values ? 0 : -ENOMEM;

	for (size_t i = 0; i < gate->count && !error; i++)
		p_values[i] = gate->checks[i].noise.p_adjusted;
	if (!error)
		error = stats_adjust(p_values, gate->count);
	for (size_t i = 0; i < gate->count && !error; i++)
		gate->checks[i].noise.p_adjusted = p_values[i];
	free(p_values);
	return error;
}

static bool is_weak_match(const struct gate_check *check)
{
	return check->row && check->row->reason != MATCH_NEW && check->row->reason != MATCH_GONE &&
	       check->row->reason != MATCH_MAP && check->row->confidence < GATE_MIN_MATCH;
}

/* A row that a side lacks has neither a mean nor a count there. */
static void decide(const struct gate *gate, struct gate_check *check)
{
	gate_decide(check, gate->comparison->options.confidence);
	if (check->row && check->limit->part != GATE_TOTAL && !check->row->base.count)
		check->doubt = GATE_ROW_IS_NEW;
	else if (check->row && check->limit->part != GATE_TOTAL && !check->row->changed.count)
		check->doubt = GATE_ROW_IS_GONE;
	else if (gate->is_same)
		check->doubt = GATE_NO_NOISE;
	else if (is_weak_match(check))
		check->doubt = GATE_WEAK_MATCH;
	if (check->doubt != GATE_CERTAIN)
		check->outcome = GATE_INCONCLUSIVE;
}

static bool can_runs_help(const struct gate_check *check)
{
	return check->outcome == GATE_INCONCLUSIVE && check->doubt != GATE_ROW_IS_NEW &&
	       check->doubt != GATE_WEAK_MATCH && check->doubt != GATE_ROW_IS_GONE;
}

/* Runs that a side has to few for a number of values; at least one side gets one more. */
static void need_runs(struct gate *gate, size_t needed)
{
	const size_t base = gate->comparison->base.count, changed = gate->comparison->changed.count;
	const size_t more_base = needed > base ? needed - base : 0;
	const size_t more_changed = needed > changed ? needed - changed : base >= needed;

	gate->more_base = more_base > gate->more_base ? more_base : gate->more_base;
	gate->more_changed = more_changed > gate->more_changed ? more_changed : gate->more_changed;
}

static void decide_all(struct gate *gate)
{
	for (size_t i = 0; i < gate->count; i++) {
		struct gate_check *check = &gate->checks[i];

		decide(gate, check);
		if (check->outcome == GATE_REGRESSION)
			gate->outcome = GATE_REGRESSION;
		else if (check->outcome == GATE_INCONCLUSIVE && gate->outcome == GATE_PASS)
			gate->outcome = GATE_INCONCLUSIVE;
		if (!can_runs_help(check))
			continue;
		check->needed = gate_values_needed(check, gate->comparison);
		if (check->needed)
			need_runs(gate, check->needed);
	}
}

static int check_limits(struct gate *gate, const struct gate_limit *limits, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = apply_limit(gate, &limits[i]);
	if (!error)
		error = adjust(gate);
	if (!error)
		decide_all(gate);
	return error;
}

int gate_new(const struct comparison *comparison, const struct gate_limit *limits, size_t count,
	     bool is_forced, struct gate **ret_gate)
{
	struct gate *gate = calloc(1, sizeof(*gate));
	int error = 0;

	if (!gate)
		return -ENOMEM;
	gate->comparison = comparison;
	gate->is_refused = comparison->is_refused && !is_forced;
	gate->is_same = comparison->is_same && !is_forced;
	if (gate->is_refused)
		gate->outcome = GATE_INCONCLUSIVE;
	else
		error = check_limits(gate, limits, count);
	if (error) {
		gate_free(gate);
		return error;
	}
	*ret_gate = gate;
	return 0;
}

void gate_free(struct gate *gate)
{
	if (!gate)
		return;
	free(gate->checks);
	free(gate);
}
