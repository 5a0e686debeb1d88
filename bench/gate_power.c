/* SPDX-License-Identifier: MIT
 *
 * bench/gate_power.c - how often a gate is wrong, with runs drawn from a pool of recordings
 *
 *	gate_power FOLDER GATES RUNS
 *
 * FOLDER has base-NNN.duet and the same of slower variants, recorded in rounds NNN. Each gate draws
 * RUNS runs a side in the order of time: of base alone for false regressions, of base and of a
 * variant from the same rounds for the power. bench/gate_power.py records the pool.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/gate/gate.h"
#include "base/array.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/compare/sides.h"

enum { MAX_RUNS = 100 };

struct tally {
	size_t outcomes[3], paired;
	double width; /* sum of the widths of the intervals, parts of the base */
};

struct draw {
	const struct compare_side *base[MAX_RUNS], *changed[MAX_RUNS];
	size_t runs;
};

static uint64_t next_random(uint64_t *state)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
	return mixed ^ mixed >> 31;
}

/* Draws `count` of `total` indices in ascending order. */
static void draw_indices(uint64_t *state, size_t total, size_t count, size_t *ret_indices)
{
	size_t found = 0;

	for (size_t i = 0; i < total && found < count; i++)
		if (next_random(state) % (total - i) < count - found)
			ret_indices[found++] = i;
}

/* Two neighbours of the drawn runs are a pair; which of them is new is drawn. */
static void draw_equal(uint64_t *state, const struct compare_sides *base, struct draw *draw)
{
	size_t indices[2 * MAX_RUNS];

	draw_indices(state, base->count, 2 * draw->runs, indices);
	for (size_t i = 0; i < draw->runs; i++) {
		const size_t swap = next_random(state) & 1;

		draw->base[i] = base->runs[indices[2 * i + swap]];
		draw->changed[i] = base->runs[indices[2 * i + 1 - swap]];
	}
}

static void draw_slow(uint64_t *state, const struct compare_sides *base,
		      const struct compare_sides *slow, struct draw *draw)
{
	size_t indices[MAX_RUNS];

	draw_indices(state, smaller(base->count, slow->count), draw->runs, indices);
	for (size_t i = 0; i < draw->runs; i++) {
		draw->base[i] = base->runs[indices[i]];
		draw->changed[i] = slow->runs[indices[i]];
	}
}

static int judge(const struct draw *draw, const char *expression, struct tally *tally)
{
	const struct comparison_sides base = {draw->base, draw->runs};
	const struct comparison_sides changed = {draw->changed, draw->runs};
	const struct comparison_options options = {.confidence = GATE_CONFIDENCE};
	struct comparison *comparison;
	struct gate_limit limit;
	struct gate *gate;

	if (gate_limit_parse(expression, &limit) ||
	    comparison_new(&base, &changed, &options, &comparison) ||
	    gate_new(comparison, &limit, 1, true, &gate))
		return -1;
	tally->outcomes[gate->outcome]++;
	tally->paired += comparison->is_paired;
	tally->width += (gate->checks[0].noise.high - gate->checks[0].noise.low) /
			gate->checks[0].noise.base;
	gate_free(gate);
	comparison_free(comparison);
	gate_limit_fini(&limit);
	return 0;
}

static void print_quartiles(const char *name, const char *quantity,
			    const struct compare_sides *sides, bool is_iteration)
{
	double values[1000];
	size_t count = 0;

	for (; count < sides->count && count < ARRAY_COUNT(values); count++) {
		const struct compare_side *run = sides->runs[count];

		values[count] =
			(double)(is_iteration ? run->iterations.median_ns : run->wall_ns) / 1e6;
	}
	qsort(values, count, sizeof(*values), compare_doubles);
	printf("%s: %zu runs, %s: median %.3f ms, quartiles %.3f and %.3f ms\n", name, count,
	       quantity, values[count / 2], values[count / 4], values[count * 3 / 4]);
}

static int read_pool(const char *folder, const char *name, struct compare_sides *ret_sides)
{
	static const struct cli_command command = {.name = "gate_power"};
	const struct sides_request request = {0};
	char pattern[4096];
	glob_t found;
	int status;

	snprintf(pattern, sizeof(pattern), "%s/%s-*.duet", folder, name);
	if (glob(pattern, 0, NULL, &found))
		return -1;
	status = compare_sides_read(&command, (const char *const *)found.gl_pathv, found.gl_pathc,
				    &request, ret_sides);
	globfree(&found);
	if (status == STATUS_DONE) {
		print_quartiles(name, "wall", ret_sides, false);
		print_quartiles(name, "iteration", ret_sides, true);
	}
	return status;
}

static int measure(const char *limit, const struct compare_sides *base,
		   const struct compare_sides *slow, size_t gates, size_t runs)
{
	static struct draw draw;
	struct tally tally = {{0}};
	uint64_t state = 1;

	draw.runs = runs;
	for (size_t i = 0; i < gates; i++) {
		if (slow)
			draw_slow(&state, base, slow, &draw);
		else
			draw_equal(&state, base, &draw);
		if (judge(&draw, limit, &tally))
			return -1;
	}
	printf("  limit '%s': %zu gates of %zu runs a side: pass %.1f %%, regression %.1f %%, "
	       "inconclusive "
	       "%.1f %%; %zu in pairs; mean width of the interval %.2f %%\n",
	       limit, gates, runs, (double)tally.outcomes[GATE_PASS] * 100 / (double)gates,
	       (double)tally.outcomes[GATE_REGRESSION] * 100 / (double)gates,
	       (double)tally.outcomes[GATE_INCONCLUSIVE] * 100 / (double)gates, tally.paired,
	       tally.width * 100 / (double)gates);
	return 0;
}

static int measure_limits(const struct compare_sides *base, const struct compare_sides *slow,
			  size_t gates, size_t runs)
{
	return measure("wall +2 %", base, slow, gates, runs) ||
	       measure("iteration +2 %", base, slow, gates, runs);
}

int main(int argc, char **argv)
{
	static const char *const slower[] = {"slow2", "slow5"};
	const size_t gates = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
	const size_t runs = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	struct compare_sides base, slow;

	if (!gates || !runs || runs > MAX_RUNS) {
		fprintf(stderr, "usage: gate_power FOLDER GATES RUNS\n");
		return 2;
	}
	if (read_pool(argv[1], "base", &base) || base.count < 2 * runs ||
	    measure_limits(&base, NULL, gates, runs))
		return 1;
	for (size_t i = 0; i < ARRAY_COUNT(slower); i++) {
		if (read_pool(argv[1], slower[i], &slow) || slow.count < runs ||
		    measure_limits(&base, &slow, gates, runs))
			return 1;
		compare_sides_fini(&slow);
	}
	compare_sides_fini(&base);
	return 0;
}
