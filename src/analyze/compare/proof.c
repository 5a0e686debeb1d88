/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/proof.c - which changes are proved, and how certain the others are
 *
 * Runs in:  our own process
 * Gets:     the values of each row per run, or per batch of iterations if each side is one run
 * Gives:    estimates with intervals, p values corrected for many tests, and what is proved
 * Owns:     nothing after a call
 * Fails:    -ENOMEM
 * Why a minimum effect: with many runs a change of 0.01 % is proved too, and no user acts on it.
 *           Rows that are too small on both sides are not tested at all, which leaves more power
 *           for the others.
 */
#include "analyze/compare/proof.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/stats/sample.h"
#include "base/array.h"

const char *compare_proof_name(enum compare_proof proof)
{
	static const char *const names[] = {[PROOF_UNPROVED] = "unproved",
					    [PROOF_PROVED] = "proved",
					    [PROOF_SMALL] = "small",
					    [PROOF_NO_CHANGE] = "no_change",
					    [PROOF_WITHIN] = "within"};

	return array_text(names, ARRAY_COUNT(names), proof, "unknown");
}

const char *compare_source_name(enum compare_source source)
{
	static const char *const names[] = {
		[NOISE_UNKNOWN] = "none", [NOISE_RUNS] = "runs", [NOISE_ITERATIONS] = "iterations"};

	return array_text(names, ARRAY_COUNT(names), source, "unknown");
}

/* ---- values ---------------------------------------------------------------------------------- */

/* One list per quantity. A run or batch without an execution has no mean. */
struct value_lists {
	double *values, *counts, *means;
	size_t count, means_count;
};

static int make_lists(struct value_lists *lists, size_t count)
{
	*lists = (struct value_lists){.values = calloc(3 * count + 1, sizeof(*lists->values)),
				      .count = count};
	if (!lists->values)
		return -ENOMEM;
	lists->counts = lists->values + count;
	lists->means = lists->counts + count;
	return 0;
}

static void finish_lists(struct value_lists *lists)
{
	for (size_t i = 0; i < lists->count; i++)
		if (lists->counts[i] > 0)
			lists->means[lists->means_count++] = lists->values[i] / lists->counts[i];
}

/* A run without the row has 0: the row is then really absent. */
static int list_runs(const struct comparison *comparison, const struct comparison_sides *sides,
		     const struct gathered *gathered, const uint32_t *members, size_t count,
		     struct value_lists *lists)
{
	if (make_lists(lists, gathered->runs))
		return -ENOMEM;
	for (size_t run = 0; run < gathered->runs; run++) {
		const double units = (double)comparison_units(comparison, sides->runs[run]);

		for (size_t i = 0; i < count; i++) {
			const struct side_row *cell = gathered_cell(gathered, members[i], run);

			lists->values[run] += cell ? (double)cell->value / units : 0;
			lists->counts[run] += cell ? (double)cell->count / units : 0;
		}
	}
	finish_lists(lists);
	return 0;
}

/* Whether nearly all of a row's time is in the batches; otherwise they do not show its change. */
static bool is_in_batches(const struct side_row *row)
{
	return row->batches && row->batched_ns * 10 >= (double)row->value * 9;
}

/* -ENODATA: a member has no batches, or time outside of the iterations. */
static int list_batches(const struct compare_side *side, const struct gathered *gathered,
			const uint32_t *members, size_t count, struct value_lists *lists)
{
	const size_t batches = side->iterations.batches;

	if (make_lists(lists, batches))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct side_row *cell = gathered_cell(gathered, members[i], 0);

		if (!is_in_batches(cell))
			return -ENODATA;
		for (size_t k = 0; k < batches; k++) {
			lists->values[k] += cell->batches[k];
			lists->counts[k] += cell->batch_counts ? cell->batch_counts[k] : 0;
		}
	}
	finish_lists(lists);
	return 0;
}

static enum compare_source source_of(const struct comparison *comparison)
{
	if (comparison->base.count > 1 && comparison->changed.count > 1)
		return NOISE_RUNS;
	if (comparison->base.count == 1 && comparison->changed.count == 1 &&
	    comparison->base.runs[0]->iterations.batches &&
	    comparison->changed.runs[0]->iterations.batches)
		return NOISE_ITERATIONS;
	return NOISE_UNKNOWN;
}

/* ---- one quantity ---------------------------------------------------------------------------- */

static bool is_constant(const double *values, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (values[i] != values[0])
			return false;
	return count > 0;
}

static void copy_result(const struct stats_result *result, struct compare_noise *noise)
{
	noise->has_interval = result->has_interval;
	noise->base = result->base;
	noise->changed = result->changed;
	noise->estimate = result->estimate;
	noise->low = result->low;
	noise->high = result->high;
	noise->p = result->p_two_sided;
	noise->superiority = result->superiority;
	noise->detectable = result->detectable;
}

int proof_measure(const struct comparison *comparison, enum compare_source source,
		  struct stats_sample base, struct stats_sample changed,
		  struct compare_noise *ret_noise)
{
	const struct stats_options options = {
		.confidence = comparison->options.confidence,
		.is_paired = comparison->is_paired && source == NOISE_RUNS &&
			     base.count == comparison->base.count &&
			     changed.count == comparison->changed.count};
	struct stats_result result;
	int error;

	*ret_noise = (struct compare_noise){.p = NAN, .p_adjusted = NAN, .detectable = NAN};
	if (source == NOISE_UNKNOWN)
		return 0;
	error = stats_compare(base, changed, &options, &result);
	if (error)
		return error == -ENOMEM ? error : 0;
	copy_result(&result, ret_noise);
	ret_noise->source = source;
	ret_noise->is_constant =
		is_constant(base.values, base.count) && is_constant(changed.values, changed.count);
	ret_noise->base_values = base.count;
	ret_noise->changed_values = changed.count;
	return 0;
}

static int measure_lists(const struct comparison *comparison, enum compare_source source,
			 const struct value_lists *base, const struct value_lists *changed,
			 struct comparison_row *row)
{
	const size_t n = base->count, m = changed->count;
	int error = proof_measure(comparison, source, (struct stats_sample){base->values, n},
				  (struct stats_sample){changed->values, m}, &row->value_noise);

	if (!error && row->base.count && row->changed.count)
		error = proof_measure(comparison, source, (struct stats_sample){base->counts, n},
				      (struct stats_sample){changed->counts, m}, &row->count_noise);
	if (!error && row->base.count && row->changed.count)
		error = proof_measure(comparison, source,
				      (struct stats_sample){base->means, base->means_count},
				      (struct stats_sample){changed->means, changed->means_count},
				      &row->mean_noise);
	return error;
}

static void clear_noise(struct comparison_row *row)
{
	const struct compare_noise unknown = {.p = NAN, .p_adjusted = NAN, .detectable = NAN};

	row->value_noise = row->count_noise = row->mean_noise = unknown;
}

/* Wall time of the base's mean run, or of its mean iteration. */
static double wall_of(const struct comparison *comparison, enum compare_source source)
{
	const struct compare_side *first = comparison->base.runs[0];
	double sum = 0;

	if (source == NOISE_ITERATIONS) {
		for (size_t i = 0; i < first->iterations.batches; i++)
			sum += first->iterations.wall_ns[i];
		return sum / (double)first->iterations.batches;
	}
	for (size_t i = 0; i < comparison->base.count; i++)
		sum += (double)comparison->base.runs[i]->wall_ns;
	return sum / (double)comparison->base.units;
}

/* The larger mean of both sides is at least the minimum effect. */
static bool is_tested(const struct comparison *comparison, const struct comparison_row *row)
{
	const double base = (double)row->base.value / (double)comparison->base.units;
	const double changed = (double)row->changed.value / (double)comparison->changed.units;

	return fmax(base, changed) >=
	       comparison->options.min_effect * wall_of(comparison, NOISE_RUNS);
}

int proof_measure_row(const struct comparison *comparison, enum compare_table table,
		      const struct proof_rows *rows, struct comparison_row *row)
{
	const struct match_row *match = rows->match;
	enum compare_source source = source_of(comparison);
	struct value_lists base = {0}, changed = {0};
	int error;

	clear_noise(row);
	if (source == NOISE_UNKNOWN || (table <= COMPARE_IDLE && !is_tested(comparison, row)) ||
	    (source == NOISE_ITERATIONS && table > COMPARE_IDLE))
		return 0;
	if (source == NOISE_RUNS) {
		error = list_runs(comparison, &comparison->base, rows->base, match->base,
				  match->base_count, &base);
		if (!error)
			error = list_runs(comparison, &comparison->changed, rows->changed,
					  match->changed, match->changed_count, &changed);
	} else {
		error = list_batches(comparison->base.runs[0], rows->base, match->base,
				     match->base_count, &base);
		if (!error)
			error = list_batches(comparison->changed.runs[0], rows->changed,
					     match->changed, match->changed_count, &changed);
	}
	if (!error)
		error = measure_lists(comparison, source, &base, &changed, row);
	free(base.values);
	free(changed.values);
	return error == -ENODATA ? 0 : error;
}

/* ---- proofs ------------------------------------------------------------------------------------
 */

static bool is_certain(const struct compare_noise *noise, double p, double level)
{
	return noise->has_interval && p <= level && (noise->low > 0 || noise->high < 0);
}

/* whole: the minimum effect is a part of it. Two runs of one program differ by more than their
 * iterations do, so iterations prove nothing about the programs. */
static void decide(const struct comparison *comparison, struct compare_noise *noise, double whole)
{
	const double effect = comparison->options.min_effect * whole;
	const double level = 1 - comparison->options.confidence;
	const double p = isnan(noise->p_adjusted) ? noise->p : noise->p_adjusted;

	noise->proof = PROOF_UNPROVED;
	if (noise->source == NOISE_UNKNOWN || isnan(p))
		return;
	if (noise->source == NOISE_ITERATIONS) {
		if (is_certain(noise, p, level) && fabs(noise->estimate) >= effect)
			noise->proof = PROOF_WITHIN;
		return;
	}
	if (is_certain(noise, p, level))
		noise->proof = fabs(noise->estimate) >= effect ? PROOF_PROVED : PROOF_SMALL;
	else if (noise->has_interval && fmax(fabs(noise->low), fabs(noise->high)) <= effect)
		noise->proof = PROOF_NO_CHANGE;
}

/* The time of a row counts against the wall time, its count and mean against themselves: a kernel
 * that is 3 % slower is slower, however little it runs. */
static void decide_row(const struct comparison *comparison, struct comparison_row *row)
{
	decide(comparison, &row->value_noise, wall_of(comparison, source_of(comparison)));
	decide(comparison, &row->count_noise, row->count_noise.base);
	decide(comparison, &row->mean_noise, row->mean_noise.base);
}

enum { QUANTITIES = 3 };

static struct compare_noise *noise_at(struct comparison_row *row, size_t index)
{
	return index == 0 ? &row->value_noise : index == 1 ? &row->count_noise : &row->mean_noise;
}

/* A quantity without any difference between its values cannot be proved: leaving it out of the
 * family gives the others more power, and no false proof more. */
static double p_of(const struct compare_noise *noise)
{
	return noise->is_constant && noise->low == 0 && noise->high == 0 ? NAN : noise->p;
}

/* Adjusts one quantity of the rows of some tables as a family. */
static int adjust(struct comparison_table *const *tables, size_t count, size_t quantity)
{
	size_t size = 0, at = 0;
	double *p_values;
	int error;

	for (size_t i = 0; i < count; i++)
		size += tables[i]->count;
	p_values = malloc((size + 1) * sizeof(*p_values));
	if (!p_values)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < tables[i]->count; k++)
			p_values[at++] = p_of(noise_at(&tables[i]->rows[k], quantity));
	error = stats_adjust(p_values, size);
	at = 0;
	for (size_t i = 0; i < count && !error; i++)
		for (size_t k = 0; k < tables[i]->count; k++)
			noise_at(&tables[i]->rows[k], quantity)->p_adjusted = p_values[at++];
	free(p_values);
	return error;
}

/* The times of busy and idle rows are one family, their counts another, their means the third. Each
 * other table is a family of its own. */
static int adjust_all(struct comparison *comparison)
{
	struct comparison_table *account[] = {&comparison->tables[COMPARE_BUSY],
					      &comparison->tables[COMPARE_IDLE]};
	int error = 0;

	for (size_t quantity = 0; quantity < QUANTITIES && !error; quantity++)
		error = adjust(account, ARRAY_COUNT(account), quantity);
	for (size_t i = 0; i < QUANTITIES * COMPARE_TABLES && !error; i++) {
		struct comparison_table *table = &comparison->tables[i / QUANTITIES];

		if (i / QUANTITIES > COMPARE_IDLE)
			error = adjust(&table, 1, i % QUANTITIES);
	}
	return error;
}

/* ---- totals ---------------------------------------------------------------------------------- */

static double run_wall(const struct compare_side *side)
{
	return (double)side->wall_ns;
}

static double run_busy(const struct compare_side *side)
{
	double sum = 0;

	for (size_t i = 0; i < side->devices_count; i++)
		sum += (double)side->devices[i].busy_ns;
	return sum;
}

static double run_idle(const struct compare_side *side)
{
	double sum = 0;

	for (size_t i = 0; i < side->devices_count; i++)
		sum += (double)side->devices[i].idle_ns;
	return sum;
}

static double run_iteration(const struct compare_side *side)
{
	return (double)side->iterations.median_ns;
}

/* *ret_mean: per run or iteration. */
static double *list_total(const struct comparison *comparison, const struct comparison_sides *sides,
			  double (*get)(const struct compare_side *side), double *ret_mean)
{
	double *values = malloc((sides->count + 1) * sizeof(*values)), sum = 0;

	for (size_t i = 0; values && i < sides->count; i++) {
		values[i] = get(sides->runs[i]);
		sum += values[i];
		values[i] /= (double)comparison_units(comparison, sides->runs[i]);
	}
	*ret_mean = sum / (double)sides->units;
	return values;
}

static int measure_total(const struct comparison *comparison,
			 double (*get)(const struct compare_side *side),
			 struct comparison_total *total)
{
	double *base = list_total(comparison, &comparison->base, get, &total->base);
	double *changed = list_total(comparison, &comparison->changed, get, &total->changed);
	int error = -ENOMEM;

	if (base && changed)
		error = proof_measure(
			comparison,
			source_of(comparison) == NOISE_RUNS ? NOISE_RUNS : NOISE_UNKNOWN,
			(struct stats_sample){base, comparison->base.count},
			(struct stats_sample){changed, comparison->changed.count}, &total->noise);
	if (!error)
		decide(comparison, &total->noise, total->base);
	free(base);
	free(changed);
	return error;
}

/* With one run a side, the batches of iterations are the values. */
static int measure_batches(struct comparison *comparison)
{
	const struct side_iterations *base = &comparison->base.runs[0]->iterations;
	const struct side_iterations *changed = &comparison->changed.runs[0]->iterations;
	int error;

	if (source_of(comparison) != NOISE_ITERATIONS)
		return 0;
	error = proof_measure(comparison, NOISE_ITERATIONS,
			      (struct stats_sample){base->wall_ns, base->batches},
			      (struct stats_sample){changed->wall_ns, changed->batches},
			      &comparison->iteration.noise);
	comparison->iteration.base = comparison->iteration.noise.base;
	comparison->iteration.changed = comparison->iteration.noise.changed;
	decide(comparison, &comparison->iteration.noise, wall_of(comparison, NOISE_ITERATIONS));
	return error;
}

/* Whether all runs have iterations. */
static bool has_iterations(const struct comparison *comparison)
{
	bool has = true;

	for (size_t i = 0; i < comparison->base.count; i++)
		has = has && comparison->base.runs[i]->iterations.count;
	for (size_t i = 0; i < comparison->changed.count; i++)
		has = has && comparison->changed.runs[i]->iterations.count;
	return has;
}

/* Runs that would prove the change that was seen, or one of 1 %. */
static int find_need(struct comparison *comparison)
{
	const struct stats_options options = {.confidence = comparison->options.confidence,
					      .is_paired = comparison->is_paired};
	double mean;
	double *base = list_total(comparison, &comparison->base, run_wall, &mean);
	double *changed = list_total(comparison, &comparison->changed, run_wall, &mean);
	const double effect = fmax(fabs(comparison->wall.changed - comparison->wall.base),
				   comparison->wall.base / 100);

	if (base && changed)
		comparison->need.runs = stats_values_needed(
			(struct stats_sample){base, comparison->base.count},
			(struct stats_sample){changed, comparison->changed.count}, &options,
			effect);
	free(base);
	free(changed);
	return base && changed ? 0 : -ENOMEM;
}

int comparison_prove(struct comparison *comparison)
{
	int error = adjust_all(comparison);

	for (unsigned int i = 0; i < COMPARE_TABLES; i++)
		for (size_t k = 0; k < comparison->tables[i].count; k++)
			decide_row(comparison, &comparison->tables[i].rows[k]);
	if (!error)
		error = measure_total(comparison, run_wall, &comparison->wall);
	if (!error)
		error = measure_total(comparison, run_busy, &comparison->busy);
	if (!error)
		error = measure_total(comparison, run_idle, &comparison->idle);
	if (!error && !comparison->options.is_per_iteration && has_iterations(comparison))
		error = measure_total(comparison, run_iteration, &comparison->iteration);
	if (!error)
		error = measure_batches(comparison);
	return error ? error : find_need(comparison);
}
