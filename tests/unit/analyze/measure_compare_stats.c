/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/measure_compare_stats.c - coverage, power and false reports of comparisons
 *
 * Usage: measure_compare_stats [ROUNDS]; the tables of docs/design/compare-statistics.md, from
 * simulated runs. The seed is fixed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyze/compare/stats/change_points.h"
#include "analyze/compare/stats/sample.h"
#include "base/array.h"
#include "compare_noise.h"

enum { MAX_COUNT = 100 };

/* Interleaved runs of two versions. Units: percent of the wall time. */
struct plan {
	enum noise_kind kind;
	double noise; /* standard deviation between runs */
	double drift; /* growth from the first run to the last, linear */
	double walk;  /* standard deviation of the random step from one run to the next */
	double shift; /* planted */
	size_t count; /* per side */
	bool is_paired;
	bool is_fixed; /* base runs first in each pair; otherwise the first side alternates */
	double confidence;
};

struct outcome {
	double covered, significant, proved; /* shares of the rounds */
	double detectable;                   /* median */
};

static void run_plan(const struct plan *plan, uint64_t *state, double *ret_base,
		     double *ret_changed)
{
	double level = 100, step = plan->drift / (2 * (double)plan->count - 1);

	for (size_t i = 0; i < 2 * plan->count; i++) {
		bool is_changed = (i % 2) ^ (!plan->is_fixed && i / 2 % 2);
		double value = level + plan->noise * noise_value(plan->kind, state);

		if (is_changed)
			ret_changed[i / 2] = value + plan->shift;
		else
			ret_base[i / 2] = value;
		level += step + plan->walk * noise_normal(state);
	}
}

static int compare_values(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static struct outcome simulate(const struct plan *plan, size_t rounds)
{
	double *detectable = calloc(rounds, sizeof(*detectable)), share = 1 / (double)rounds;
	struct outcome outcome = {0};
	uint64_t state = 1;

	for (size_t round = 0; detectable && round < rounds; round++) {
		struct stats_options options = {plan->confidence, plan->is_paired};
		double base[MAX_COUNT], changed[MAX_COUNT];
		struct stats_result result;

		run_plan(plan, &state, base, changed);
		if (stats_compare((struct stats_sample){base, plan->count},
				  (struct stats_sample){changed, plan->count}, &options, &result))
			break;
		outcome.covered +=
			share * (result.low <= plan->shift && plan->shift <= result.high);
		outcome.significant += share * (result.p_two_sided <= 1 - plan->confidence);
		outcome.proved += share * (result.has_interval && result.low > 0 &&
					   result.estimate > 0.02 * result.base);
		detectable[round] = result.detectable;
	}
	if (detectable) {
		qsort(detectable, rounds, sizeof(*detectable), compare_values);
		outcome.detectable = detectable[rounds / 2];
	}
	free(detectable);
	return outcome;
}

static void print_coverage(size_t rounds)
{
	static const struct {
		const char *name;
		bool is_paired, is_fixed;
		double drift;
	} designs[] = {
		{"independent", false, false, 0},
		{"independent, drift", false, false, 5},
		{"pairs, drift", true, false, 5},
		{"pairs, drift, base always first", true, true, 5},
	};

	printf("coverage and false reports at 99 %%, 10 runs a side, noise 1, drift 5\n");
	for (int kind = 0; kind < NOISE_KINDS; kind++) {
		for (size_t i = 0; i < ARRAY_COUNT(designs); i++) {
			struct plan plan = {.kind = kind,
					    .noise = 1,
					    .drift = designs[i].drift,
					    .count = 10,
					    .is_paired = designs[i].is_paired,
					    .is_fixed = designs[i].is_fixed,
					    .confidence = 0.99};
			struct outcome outcome = simulate(&plan, rounds);

			printf("| %s | %s | %.4f | %.4f |\n", noise_names[kind], designs[i].name,
			       outcome.covered, outcome.significant);
		}
	}
}

/* A shift of the detectable size is to be proved in 80 % of the rounds. */
static void print_detectable(size_t rounds)
{
	static const size_t counts[] = {5, 6, 8, 10, 20, 40};

	printf("detectable shift at 99 %%, and its power; noise 1\n");
	for (int kind = 0; kind < NOISE_KINDS; kind++) {
		for (size_t i = 0; i < ARRAY_COUNT(counts); i++) {
			for (int paired = 0; paired < 2; paired++) {
				struct plan plan = {.kind = kind,
						    .noise = 1,
						    .count = counts[i],
						    .is_paired = paired,
						    .confidence = 0.99};
				double shift = simulate(&plan, rounds / 4).detectable;

				if (isnan(shift))
					continue;
				plan.shift = shift;
				printf("| %s | %s | %zu | %.2f | %.3f |\n", noise_names[kind],
				       paired ? "pairs" : "independent", counts[i], shift,
				       simulate(&plan, rounds).significant);
			}
		}
	}
}

static void print_gate_row(enum noise_kind kind, double noise, double drift, size_t rounds)
{
	printf("| %s | %.0f | %.1f |", noise_names[kind], drift, noise);
	for (int paired = 1; paired >= 0; paired--) {
		struct plan plan = {.kind = kind,
				    .noise = noise,
				    .drift = drift,
				    .walk = 0.2,
				    .shift = 5,
				    .count = 10,
				    .is_paired = paired,
				    .confidence = 0.98};

		printf(" %.3f |", simulate(&plan, rounds).proved);
		plan.shift = 0;
		printf(" %.4f |", simulate(&plan, rounds).proved);
	}
	printf("\n");
}

/* Power and false reports of the gate's rule: the lower end of the interval at 98 % is above 0, and
 * the estimate is above 2 %. */
static void print_gate(size_t rounds)
{
	static const double noises[] = {0.5, 1, 1.5, 2, 2.5, 3, 4};

	printf("gate at 98 %%, 10 runs a side, random steps of 0.2 %%; drift, noise; pairs: power "
	       "at "
	       "+5 %%, false reports at 0; independent: the same\n");
	for (double drift = 5; drift < 25; drift += 15) {
		for (int kind = 0; kind < NOISE_KINDS; kind++) {
			for (size_t i = 0; i < ARRAY_COUNT(noises); i++)
				print_gate_row(kind, noises[i], drift, rounds);
		}
	}
}

/* Iterations of one run: each depends on the one before (correlation). The values are the means of
 * contiguous batches. */
static void fill_batches(double correlation, size_t iterations, size_t batches, uint64_t *state,
			 double *ret_values)
{
	double value = noise_normal(state), fresh = sqrt(1 - correlation * correlation);
	size_t length = iterations / batches;

	for (size_t i = 0; i < batches; i++) {
		ret_values[i] = 0;
		for (size_t j = 0; j < length; j++) {
			ret_values[i] += value / (double)length;
			value = correlation * value + fresh * noise_normal(state);
		}
	}
}

static double find_false_batches(double correlation, size_t iterations, size_t batches,
				 size_t rounds)
{
	struct stats_options options = {.confidence = 0.99};
	double base[MAX_COUNT], changed[MAX_COUNT];
	struct stats_result result;
	uint64_t state = 1;
	size_t found = 0;

	for (size_t round = 0; round < rounds; round++) {
		fill_batches(correlation, iterations, batches, &state, base);
		fill_batches(correlation, iterations, batches, &state, changed);
		if (!stats_compare((struct stats_sample){base, batches},
				   (struct stats_sample){changed, batches}, &options, &result))
			found += result.p_two_sided <= 0.01;
	}
	return (double)found / (double)rounds;
}

static void print_batches(size_t rounds)
{
	static const double correlations[] = {0, 0.5, 0.9};
	static const size_t counts[] = {400, 4000, 40000};

	printf("batches: correlation, iterations; false reports at 99 %% of 20 batches, of 40\n");
	for (size_t i = 0; i < ARRAY_COUNT(correlations); i++) {
		for (size_t j = 0; j < ARRAY_COUNT(counts); j++)
			printf("| %.1f | %zu | %.4f | %.4f |\n", correlations[i], counts[j],
			       find_false_batches(correlations[i], counts[j], 20, rounds),
			       find_false_batches(correlations[i], counts[j], 40, rounds));
	}
}

static bool finds_change(const double *values, size_t count, double alpha, size_t place)
{
	struct change_point *points = NULL;
	size_t found = 0;
	bool is_found = false;

	if (change_points_find(values, count, alpha, &points, &found))
		return false;
	for (size_t i = 0; i < found; i++)
		is_found |= place == SIZE_MAX || points[i].index - place + 1 <= 2;
	free(points);
	return is_found;
}

/* Shares of series with a false change, and of series whose step is found within one value. */
static void print_changes(size_t rounds)
{
	static const struct {
		size_t count, place;
	} series[] = {{12, 6}, {20, 10}, {50, 25}, {50, 45}, {100, 50}, {100, 95}};

	printf("change points at alpha 0.01: count, place, false, step of 2, of 3, of 5\n");
	for (int kind = 0; kind < NOISE_KINDS; kind++) {
		for (size_t i = 0; i < ARRAY_COUNT(series); i++) {
			static const double steps[] = {0, 2, 3, 5};

			printf("| %s | %zu | %zu |", noise_names[kind], series[i].count,
			       series[i].place);
			for (size_t j = 0; j < ARRAY_COUNT(steps); j++) {
				size_t place = series[i].place, found = 0;
				double values[MAX_COUNT];
				uint64_t state = 1;

				for (size_t round = 0; round < rounds; round++) {
					noise_fill(kind, &state, 0, place, values);
					noise_fill(kind, &state, steps[j], series[i].count - place,
						   values + place);
					found += finds_change(values, series[i].count, 0.01,
							      j ? place : SIZE_MAX);
				}
				printf(" %.3f |", (double)found / (double)rounds);
			}
			printf("\n");
		}
	}
}

/* Shares of series of 60 values whose level rises by 5 in the middle and returns, with both changes
 * found. */
static void print_returns(size_t rounds)
{
	static const size_t lengths[] = {5, 10, 20, 30};

	printf("returning levels at alpha 0.01: number of values above, found\n");
	for (size_t i = 0; i < ARRAY_COUNT(lengths); i++) {
		size_t first = 30 - lengths[i] / 2, end = first + lengths[i], found = 0;
		double values[60];
		uint64_t state = 1;

		for (size_t round = 0; round < rounds; round++) {
			noise_fill(NOISE_NORMAL, &state, 0, 60, values);
			for (size_t j = first; j < end; j++)
				values[j] += 5;
			found += finds_change(values, 60, 0.01, first) &&
				 finds_change(values, 60, 0.01, end);
		}
		printf("| %zu | %.3f |\n", lengths[i], (double)found / (double)rounds);
	}
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void print_times(void)
{
	static const size_t counts[] = {10, 30, 40, 1000, 100000};
	double *base = calloc(100000, sizeof(*base)), *changed = calloc(100000, sizeof(*changed));
	struct stats_options options = {.confidence = 0.99};
	uint64_t state = 1;

	printf("times: values per side; comparison, ms; series without and with 19 steps, ms\n");
	for (size_t i = 0; base && changed && i < ARRAY_COUNT(counts); i++) {
		size_t count = counts[i];
		struct stats_result result;
		double start, compared, without;

		noise_fill(NOISE_NORMAL, &state, 0, count, base);
		noise_fill(NOISE_NORMAL, &state, 0, count, changed);
		start = now_ms();
		stats_compare((struct stats_sample){base, count},
			      (struct stats_sample){changed, count}, &options, &result);
		compared = now_ms();
		finds_change(base, count, 0.01, 0);
		without = now_ms();
		for (size_t j = 0; j < count; j++)
			base[j] += j * 20 / count % 2 ? 2 : 0;
		finds_change(base, count, 0.01, 0);
		printf("| %zu | %.2f | %.2f | %.2f |\n", count, compared - start,
		       without - compared, now_ms() - without);
	}
	free(base);
	free(changed);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 4000;

	print_coverage(rounds);
	print_detectable(rounds);
	print_gate(rounds);
	print_changes(rounds / 4);
	print_returns(rounds / 4);
	print_batches(rounds / 4);
	print_times();
	return 0;
}
