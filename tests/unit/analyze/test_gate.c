/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_gate.c - limits of a gate: the grammar, and the decision of each check
 */
#include "analyze/compare/gate/gate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "harness.h"

/* ---- grammar --------------------------------------------------------------------------------- */

struct accepted {
	const char *text;
	enum gate_quantity quantity;
	const char *name;
	enum gate_part part;
	double amount;
	enum gate_unit unit;
};

static const struct accepted accepted[] = {
	{"wall +2 %", GATE_WALL, NULL, GATE_TOTAL, 2, GATE_PERCENT},
	{"wall+2%", GATE_WALL, NULL, GATE_TOTAL, 2, GATE_PERCENT},
	{"  wall total  +  2.5  %  ", GATE_WALL, NULL, GATE_TOTAL, 2.5, GATE_PERCENT},
	{"busy -5 %", GATE_BUSY, NULL, GATE_TOTAL, -5, GATE_PERCENT},
	{"idle +1 %", GATE_IDLE, NULL, GATE_TOTAL, 1, GATE_PERCENT},
	{"iteration +300us", GATE_ITERATION, NULL, GATE_TOTAL, 300e3, GATE_NS},
	{"iteration +1.5 ms", GATE_ITERATION, NULL, GATE_TOTAL, 1.5e6, GATE_NS},
	{"wall +2s", GATE_WALL, NULL, GATE_TOTAL, 2e9, GATE_NS},
	{"wall +0", GATE_WALL, NULL, GATE_TOTAL, 0, GATE_NS},
	{"kernel:gemm* mean +5 %", GATE_KERNEL, "gemm*", GATE_MEAN, 5, GATE_PERCENT},
	{"kernel:step count +0", GATE_KERNEL, "step", GATE_COUNT, 0, GATE_TIMES},
	{"kernel:step count +3 %", GATE_KERNEL, "step", GATE_COUNT, 3, GATE_PERCENT},
	{"kernel:count +1 %", GATE_KERNEL, "count", GATE_TOTAL, 1, GATE_PERCENT},
	{"kernel:x count total +1 %", GATE_KERNEL, "x count", GATE_TOTAL, 1, GATE_PERCENT},
	{"kernel:void f<int, -1>(a + b) +1ns", GATE_KERNEL, "void f<int, -1>(a + b)", GATE_TOTAL, 1,
	 GATE_NS},
	{"kernel:a:b +1 %", GATE_KERNEL, "a:b", GATE_TOTAL, 1, GATE_PERCENT},
	{"copy:write +10 %", GATE_COPY, "write", GATE_TOTAL, 10, GATE_PERCENT},
	{"idle:lock in main +1ms", GATE_CAUSE, "lock in main", GATE_TOTAL, 1e6, GATE_NS},
	{"api: clFinish mean +1us", GATE_API, "clFinish", GATE_MEAN, 1e3, GATE_NS},
	{"range:epoch 1 total +1 %", GATE_RANGE, "epoch 1", GATE_TOTAL, 1, GATE_PERCENT},
};

TEST(grammar_accepts)
{
	for (size_t i = 0; i < ARRAY_COUNT(accepted); i++) {
		const struct accepted *want = &accepted[i];
		struct gate_limit limit;

		REQUIRE(gate_limit_parse(want->text, &limit) == 0);
		CHECK_EQUAL(limit.quantity, want->quantity);
		CHECK_EQUAL(limit.part, want->part);
		CHECK_EQUAL(limit.unit, want->unit);
		CHECK(fabs(limit.amount - want->amount) < 1e-6);
		CHECK_TEXT(limit.text, want->text);
		CHECK_TEXT(limit.name ? limit.name : "", want->name ? want->name : "");
		gate_limit_fini(&limit);
	}
}

static const char *const refused[] = {
	"",
	"wall",
	"wall 2 %",
	"wall +",
	"wall +x %",
	"wall +2 kg",
	"wall +2",
	"wall +1e3 %",
	"wall +inf %",
	"wall +0x10 %",
	"wall mean +2 %",
	"wall:x +2 %",
	"walls +2 %",
	"+2 %",
	"kernel +2 %",
	"kernel: +2 %",
	"kernel:  mean +2 %",
	"kernel:x count +1ms",
	"kernel:x mean +3",
	"idle:x mean +2 %",
	"wall +2 % %",
	"wall +1..5 %",
};

TEST(grammar_refuses)
{
	for (size_t i = 0; i < ARRAY_COUNT(refused); i++) {
		struct gate_limit limit = {0};
		char quoted[64];

		snprintf(quoted, sizeof(quoted), "'%s'", refused[i]);
		CHECK_EQUAL(gate_limit_parse(refused[i], &limit), -EINVAL);
		CHECK(strstr(error_text(), quoted) != NULL);
		CHECK(strchr(error_text(), '%') || strstr(error_text(), "count"));
		CHECK(!limit.text && !limit.name);
		error_clear();
	}
}

TEST(patterns)
{
	CHECK(gate_name_matches("gemm", "gemm"));
	CHECK(!gate_name_matches("gemm", "gemm2"));
	CHECK(gate_name_matches("gemm*", "gemm"));
	CHECK(gate_name_matches("*gemm*", "void gemm<int>(float *)"));
	CHECK(gate_name_matches("a*b*c", "aXbYbZc"));
	CHECK(!gate_name_matches("a*b*c", "aXbYbZ"));
	CHECK(gate_name_matches("f(float*)", "f(float*)"));
	CHECK(gate_name_matches("*", ""));
	CHECK(!gate_name_matches("", "x"));
	CHECK(!gate_name_matches("[ab]", "a"));
	CHECK(gate_names_match("a", "a") && !gate_names_match("b", "a"));
	CHECK(gate_names_match("a", "a + bc + d"));
	CHECK(gate_names_match("b*", "a + bc + d"));
	CHECK(gate_names_match("d", "a + bc + d"));
	CHECK(gate_names_match("a + bc + d", "a + bc + d"));
	CHECK(!gate_names_match("b", "a + bc + d"));
	CHECK(!gate_names_match("a*c", "a + bd + c2"));
}

/* ---- decision -------------------------------------------------------------------------------- */

struct decided {
	const char *limit;
	enum compare_source source;
	bool has_interval;
	double base, estimate, low, high, p;
	enum gate_outcome outcome;
	enum gate_doubt doubt;
};

static const struct decided decided[] = {
	/* within the limit */
	{"wall +2 %", NOISE_RUNS, true, 1000, 5, -3, 13, 0.3, GATE_PASS, GATE_CERTAIN},
	{"wall +2 %", NOISE_RUNS, true, 1000, 12, 8, 20, 0.001, GATE_PASS, GATE_CERTAIN},
	{"wall +2 %", NOISE_RUNS, true, 1000, -50, -60, -40, 0.001, GATE_PASS, GATE_CERTAIN},
	/* proved */
	{"wall +2 %", NOISE_RUNS, true, 1000, 50, 40, 60, 0.001, GATE_REGRESSION, GATE_CERTAIN},
	{"wall +2 %", NOISE_RUNS, true, 1000, 25, 1, 60, 0.01, GATE_REGRESSION, GATE_CERTAIN},
	{"wall +10ns", NOISE_RUNS, true, 1000, 25, 1, 60, 0.01, GATE_REGRESSION, GATE_CERTAIN},
	/* a large estimate, but the interval contains 0 */
	{"wall +2 %", NOISE_RUNS, true, 1000, 50, -1, 90, 0.03, GATE_INCONCLUSIVE, GATE_STRADDLES},
	/* a slow-down below the limit is proved, but it may be above */
	{"wall +2 %", NOISE_RUNS, true, 1000, 15, 5, 25, 0.01, GATE_INCONCLUSIVE, GATE_STRADDLES},
	/* not after the correction for many checks */
	{"wall +2 %", NOISE_RUNS, true, 1000, 50, 10, 90, 0.021, GATE_INCONCLUSIVE,
	 GATE_MANY_TESTS},
	{"wall +2 %", NOISE_RUNS, true, 1000, 50, 10, 90, NAN, GATE_INCONCLUSIVE, GATE_MANY_TESTS},
	/* nothing is known */
	{"wall +2 %", NOISE_UNKNOWN, false, 1000, 0, 0, 0, NAN, GATE_INCONCLUSIVE, GATE_NO_NOISE},
	{"wall +2 %", NOISE_RUNS, false, 1000, 0, NAN, NAN, 0.3, GATE_INCONCLUSIVE,
	 GATE_FEW_VALUES},
	/* an improvement is demanded */
	{"wall -5 %", NOISE_RUNS, true, 1000, -70, -80, -60, 0.001, GATE_PASS, GATE_CERTAIN},
	{"wall -5 %", NOISE_RUNS, true, 1000, -20, -30, -10, 0.001, GATE_REGRESSION, GATE_CERTAIN},
	{"wall -5 %", NOISE_RUNS, true, 1000, -40, -60, -20, 0.001, GATE_INCONCLUSIVE,
	 GATE_STRADDLES},
	/* counts that do not vary */
	{"kernel:x count +0", NOISE_RUNS, true, 100, 0, 0, 0, 1, GATE_PASS, GATE_CERTAIN},
	{"kernel:x count +0", NOISE_RUNS, true, 100, 1, 1, 1, 0.001, GATE_REGRESSION, GATE_CERTAIN},
	{"kernel:x count +1", NOISE_RUNS, true, 100, 1, 1, 1, 0.001, GATE_PASS, GATE_CERTAIN},
	/* of nothing there is no percentage */
	{"kernel:x +5 %", NOISE_RUNS, true, 0, 100, 90, 110, 0.001, GATE_INCONCLUSIVE,
	 GATE_ROW_IS_NEW},
	{"kernel:x +50ns", NOISE_RUNS, true, 0, 100, 90, 110, 0.001, GATE_REGRESSION, GATE_CERTAIN},
	{"kernel:x +500ns", NOISE_RUNS, true, 0, 100, 90, 110, 0.001, GATE_PASS, GATE_CERTAIN},
};

static struct gate_check make_check(const struct gate_limit *limit, const struct decided *from,
				    double scale)
{
	const double unit = limit->unit == GATE_PERCENT ? from->base / 100 : 1;

	return (struct gate_check){
		.limit = limit,
		.allowed = limit->amount * unit * scale,
		.noise = {.source = from->source,
			  .has_interval = from->has_interval,
			  .base = from->base * scale,
			  .estimate = from->estimate * scale,
			  .low = from->low * scale,
			  .high = from->high * scale,
			  .p = from->p,
			  .p_adjusted = from->p},
	};
}

TEST(decisions)
{
	for (size_t i = 0; i < ARRAY_COUNT(decided); i++) {
		struct gate_limit limit;
		struct gate_check check;

		REQUIRE(gate_limit_parse(decided[i].limit, &limit) == 0);
		check = make_check(&limit, &decided[i], 1);
		gate_decide(&check, GATE_CONFIDENCE);
		CHECK_EQUAL(check.outcome, decided[i].outcome);
		CHECK_EQUAL(check.doubt, decided[i].doubt);
		if (check.outcome != decided[i].outcome || check.doubt != decided[i].doubt)
			printf("#   case %zu: %s\n", i, decided[i].limit);
		gate_limit_fini(&limit);
	}
}

/* Another unit of time changes nothing: a limit in percent is a part of the base. */
TEST(scaling_changes_nothing)
{
	static const double scales[] = {1e-9, 1e-3, 2, 1e6, 1e12};

	for (size_t i = 0; i < ARRAY_COUNT(decided); i++)
		for (size_t k = 0; k < ARRAY_COUNT(scales); k++) {
			struct gate_limit limit;
			struct gate_check check;

			REQUIRE(gate_limit_parse(decided[i].limit, &limit) == 0);
			check = make_check(&limit, &decided[i], scales[k]);
			gate_decide(&check, GATE_CONFIDENCE);
			CHECK_EQUAL(check.outcome, decided[i].outcome);
			gate_limit_fini(&limit);
		}
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *state >> 33;
}

static double uniform(uint64_t *state, double low, double high)
{
	return low + (high - low) * (double)next_random(state) / (double)(UINT64_C(1) << 31);
}

/* A pass has the whole interval within the limit, a regression an estimate above it. */
TEST(random_intervals_obey)
{
	uint64_t state = 7;
	size_t seen[3] = {0};

	for (int i = 0; i < 200000; i++) {
		struct gate_limit limit = {.unit = GATE_NS};
		struct gate_check check = {.limit = &limit};
		const double one = uniform(&state, -10, 10), other = uniform(&state, -10, 10);

		check.allowed = limit.amount = uniform(&state, -3, 5);
		check.noise = (struct compare_noise){.source = next_random(&state) % 4,
						     .has_interval = next_random(&state) % 8 != 0,
						     .base = 100,
						     .low = fmin(one, other),
						     .high = fmax(one, other),
						     .p_adjusted = uniform(&state, 0, 0.04)};
		check.noise.estimate = uniform(&state, check.noise.low, check.noise.high);
		gate_decide(&check, GATE_CONFIDENCE);
		seen[check.outcome]++;
		if (check.outcome != GATE_INCONCLUSIVE)
			CHECK(check.noise.source != NOISE_UNKNOWN && check.noise.has_interval);
		if (check.outcome == GATE_PASS)
			CHECK(check.noise.high <= check.allowed);
		if (check.outcome == GATE_REGRESSION)
			CHECK(check.noise.estimate > check.allowed &&
			      check.noise.low > fmin(check.allowed, 0));
		CHECK((check.outcome == GATE_INCONCLUSIVE) == (check.doubt != GATE_CERTAIN));
	}
	CHECK(seen[GATE_PASS] > 1000 && seen[GATE_REGRESSION] > 1000 &&
	      seen[GATE_INCONCLUSIVE] > 1000);
}

/* ---- a gate of a comparison ------------------------------------------------------------------ */

enum { RUNS = 10 };

struct runs {
	struct compare_side sides[RUNS];
	const struct compare_side *pointers[RUNS];
	struct side_row idle[RUNS][2];
};

/* wall: ns of a run; each run has one more ns than the one before. */
static void fill_runs(struct runs *runs, uint64_t wall, uint64_t blocked)
{
	memset(runs, 0, sizeof(*runs));
	for (size_t i = 0; i < RUNS; i++) {
		struct side_row *idle = runs->idle[i];

		idle[0] = (struct side_row){.group = "blocked", .value = blocked + i % 3};
		idle[1] = (struct side_row){.group = "blocked", .value = blocked / 2};
		runs->sides[i].wall_ns = wall + i;
		runs->sides[i].tables[COMPARE_IDLE] = (struct side_table){.rows = idle, .count = 2};
		runs->pointers[i] = &runs->sides[i];
	}
}

static struct compare_noise noise_of(double base, double estimate)
{
	return (struct compare_noise){.source = NOISE_RUNS,
				      .base_values = RUNS,
				      .changed_values = RUNS,
				      .has_interval = true,
				      .base = base,
				      .changed = base + estimate,
				      .estimate = estimate,
				      .low = estimate - 10,
				      .high = estimate + 10,
				      .p = fabs(estimate) > 10 ? 1e-4 : 0.5,
				      .detectable = 12};
}

struct scene {
	struct runs base, changed;
	struct comparison comparison;
	struct comparison_row busy[3], idle[1];
};

static void fill_scene(struct scene *scene)
{
	fill_runs(&scene->base, 10000, 1000);
	fill_runs(&scene->changed, 10000, 2000);
	scene->busy[0] = (struct comparison_row){.name = "gemm_a",
						 .label = "gemm_a",
						 .group = "kernels",
						 .is_kernel = true,
						 .reason = MATCH_EXACT,
						 .confidence = 1,
						 .device = SIDE_NO_DEVICE,
						 .base.count = RUNS,
						 .changed.count = RUNS,
						 .value_noise = noise_of(1000, 200),
						 .mean_noise = noise_of(1000, 0)};
	scene->busy[1] = scene->busy[0];
	scene->busy[1].name = scene->busy[1].label = "gemm_b";
	scene->busy[1].value_noise = noise_of(1000, 0);
	scene->busy[2] = scene->busy[1];
	scene->busy[2].name = scene->busy[2].label = "write";
	scene->busy[2].is_kernel = false;
	scene->idle[0] = (struct comparison_row){.name = "lock in f",
						 .label = "lock in f",
						 .group = "blocked",
						 .reason = MATCH_EXACT,
						 .confidence = 1,
						 .device = SIDE_NO_DEVICE};
	memset(&scene->comparison, 0, sizeof(scene->comparison));
	scene->comparison.base = (struct comparison_sides){scene->base.pointers, RUNS};
	scene->comparison.changed = (struct comparison_sides){scene->changed.pointers, RUNS};
	scene->comparison.options.confidence = GATE_CONFIDENCE;
	scene->comparison.wall.noise = noise_of(10000, 0);
	scene->comparison.tables[COMPARE_BUSY] = (struct comparison_table){scene->busy, 3};
	scene->comparison.tables[COMPARE_IDLE] = (struct comparison_table){scene->idle, 1};
}

/* The gate of one limit; NULL: it was refused. */
static struct gate *gate_of(const struct scene *scene, const char *text, struct gate_limit *limit)
{
	struct gate *gate = NULL;

	if (gate_limit_parse(text, limit) == 0 &&
	    gate_new(&scene->comparison, limit, 1, false, &gate))
		return NULL;
	return gate;
}

static void check_gate(const struct scene *scene, const char *text, size_t count,
		       enum gate_outcome outcome)
{
	struct gate_limit limit = {0};
	struct gate *gate = gate_of(scene, text, &limit);

	REQUIRE(gate != NULL);
	CHECK_EQUAL(gate->count, count);
	CHECK_EQUAL(gate->outcome, outcome);
	if (gate->count != count || gate->outcome != outcome)
		printf("#   %s\n", text);
	gate_free(gate);
	gate_limit_fini(&limit);
}

TEST(limits_find_rows)
{
	static struct scene scene;

	fill_scene(&scene);
	check_gate(&scene, "wall +2 %", 1, GATE_PASS);
	check_gate(&scene, "kernel:gemm_a +5 %", 1, GATE_REGRESSION);
	check_gate(&scene, "kernel:gemm_a mean +5 %", 1, GATE_PASS);
	check_gate(&scene, "kernel:gemm_b +5 %", 1, GATE_PASS);
	check_gate(&scene, "kernel:gemm* +5 %", 2, GATE_REGRESSION);
	check_gate(&scene, "kernel:* +50 %", 2, GATE_PASS);
	check_gate(&scene, "copy:* +5 %", 1, GATE_PASS);
	check_gate(&scene, "idle:blocked +50 %", 1, GATE_REGRESSION);
	check_gate(&scene, "idle:blocked +2us", 1, GATE_PASS);
	check_gate(&scene, "idle +50 %", 1, GATE_REGRESSION);
	check_gate(&scene, "idle:lock* +50 %", 1, GATE_INCONCLUSIVE);
	check_gate(&scene, "wall +0.01 %", 1, GATE_INCONCLUSIVE);
}

TEST(limits_find_members_of_both_sides)
{
	static const char *const limits[] = {"kernel:alpha +5 %", "kernel:be* +5 %",
					     "kernel:gamma +5 %", "kernel:old_l* +5 %",
					     "kernel:label +5 %"};
	static struct scene scene;

	fill_scene(&scene);
	scene.busy[0].base_name = "alpha + beta";
	scene.busy[0].base_label = "alpha + old_label";
	scene.busy[0].name = "gamma + delta";
	scene.busy[0].label = "label + delta";
	for (size_t i = 0; i < ARRAY_COUNT(limits); i++)
		check_gate(&scene, limits[i], 1, GATE_REGRESSION);
}

TEST(weak_matches_decide_nothing)
{
	static struct scene scene;

	fill_scene(&scene);
	scene.busy[0].reason = scene.busy[1].reason = MATCH_RENAMED;
	scene.busy[0].confidence = scene.busy[1].confidence = 0.49;
	check_gate(&scene, "kernel:gemm_a +5 %", 1, GATE_INCONCLUSIVE);
	check_gate(&scene, "kernel:gemm_b +5 %", 1, GATE_INCONCLUSIVE);
	scene.busy[0].confidence = scene.busy[1].confidence = 0.5;
	check_gate(&scene, "kernel:gemm_a +5 %", 1, GATE_REGRESSION);
	check_gate(&scene, "kernel:gemm_b +5 %", 1, GATE_PASS);
}

TEST(one_run_a_side_decides_nothing)
{
	static struct scene scene;

	fill_scene(&scene);
	scene.comparison.base.count = scene.comparison.changed.count = 1;
	scene.busy[0].value_noise.source = scene.busy[0].mean_noise.source = NOISE_ITERATIONS;
	scene.busy[0].count_noise = noise_of(100, 0);
	scene.busy[0].count_noise.source = NOISE_RUNS;
	scene.comparison.iteration.noise = noise_of(10000, 0);
	scene.comparison.iteration.noise.source = NOISE_ITERATIONS;
	scene.comparison.wall.noise = (struct compare_noise){.p = NAN};
	check_gate(&scene, "wall +2 %", 1, GATE_INCONCLUSIVE);
	check_gate(&scene, "idle +5000 %", 1, GATE_INCONCLUSIVE);
	check_gate(&scene, "idle:blocked +1 s", 1, GATE_INCONCLUSIVE);
	check_gate(&scene, "kernel:gemm_a +5 %", 1, GATE_INCONCLUSIVE);
	check_gate(&scene, "kernel:gemm_a +1 s", 1, GATE_INCONCLUSIVE);
	check_gate(&scene, "kernel:gemm_a count +0", 1, GATE_INCONCLUSIVE);
	check_gate(&scene, "kernel:gemm_a mean +5 %", 1, GATE_INCONCLUSIVE);
	check_gate(&scene, "iteration +2 %", 1, GATE_INCONCLUSIVE);
}

TEST(a_limit_that_names_nothing_is_refused)
{
	static struct scene scene;
	struct gate_limit limit = {0};

	fill_scene(&scene);
	CHECK(gate_of(&scene, "kernel:gemn_a +5 %", &limit) == NULL);
	CHECK(strstr(error_text(), "'gemm_a'") != NULL);
	error_clear();
	gate_limit_fini(&limit);
	CHECK(gate_of(&scene, "kernel:write +5 %", &limit) == NULL);
	CHECK(strstr(error_text(), "'write'") != NULL);
	error_clear();
	gate_limit_fini(&limit);
}

TEST(rows_of_one_side)
{
	static struct scene scene;

	fill_scene(&scene);
	scene.busy[0].base.count = 0;
	scene.busy[0].reason = MATCH_NEW;
	scene.busy[0].value_noise = noise_of(0, 100);
	check_gate(&scene, "kernel:gemm_a +5 %", 1, GATE_INCONCLUSIVE);
	check_gate(&scene, "kernel:gemm_a mean +5 %", 1, GATE_INCONCLUSIVE);
	check_gate(&scene, "kernel:gemm_a +1us", 1, GATE_PASS);
	check_gate(&scene, "kernel:gemm_a +50ns", 1, GATE_REGRESSION);
	fill_scene(&scene);
	scene.busy[0].changed.count = 0;
	scene.busy[0].reason = MATCH_GONE;
	scene.busy[0].value_noise = noise_of(1000, -1000);
	check_gate(&scene, "kernel:gemm_a +5 %", 1, GATE_PASS);
	check_gate(&scene, "kernel:gemm_a mean +5 %", 1, GATE_INCONCLUSIVE);
	check_gate(&scene, "kernel:gemm_a count +0", 1, GATE_INCONCLUSIVE);
}

TEST(nothing_is_decided_without_comparison)
{
	static struct scene scene;
	struct gate_limit limit;
	struct gate *gate;

	fill_scene(&scene);
	scene.comparison.is_refused = true;
	gate = gate_of(&scene, "kernel:no_such +5 %", &limit);
	REQUIRE(gate != NULL);
	CHECK(gate->is_refused && gate->count == 0);
	CHECK_EQUAL(gate->outcome, GATE_INCONCLUSIVE);
	gate_free(gate);
	gate_limit_fini(&limit);
	scene.comparison.is_refused = false;
	scene.comparison.is_same = true;
	check_gate(&scene, "wall +2 %", 1, GATE_INCONCLUSIVE);
}

/* One of 20 checks is hardly proved; beside 19 others without a change it is not. */
TEST(many_checks_are_corrected)
{
	static struct scene scene;
	static struct comparison_row rows[20];
	struct gate_limit limit;
	struct gate *gate;

	fill_scene(&scene);
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		rows[i] = scene.busy[1];
		rows[i].value_noise.p = 0.5;
	}
	rows[3].value_noise = noise_of(1000, 100);
	rows[3].value_noise.p = 0.015;
	scene.comparison.tables[COMPARE_BUSY] = (struct comparison_table){rows, ARRAY_COUNT(rows)};
	gate = gate_of(&scene, "kernel:* +2 %", &limit);
	REQUIRE(gate != NULL);
	CHECK_EQUAL(gate->checks[3].outcome, GATE_INCONCLUSIVE);
	CHECK_EQUAL(gate->checks[3].doubt, GATE_MANY_TESTS);
	gate_free(gate);
	gate_limit_fini(&limit);
	scene.comparison.tables[COMPARE_BUSY] = (struct comparison_table){&rows[3], 1};
	check_gate(&scene, "kernel:* +2 %", 1, GATE_REGRESSION);
}

TEST(more_runs_are_proposed)
{
	static struct scene scene;
	struct gate_limit limit;
	struct gate *gate;

	fill_scene(&scene);
	gate = gate_of(&scene, "wall +0.05 %", &limit); /* 5 ns; 12 ns are found by 10 runs */
	REQUIRE(gate != NULL);
	CHECK_EQUAL(gate->outcome, GATE_INCONCLUSIVE);
	CHECK(gate->checks[0].needed > 40 && gate->checks[0].needed < 80);
	CHECK_EQUAL(gate->more_base, gate->checks[0].needed - RUNS);
	CHECK_EQUAL(gate->more_changed, gate->checks[0].needed - RUNS);
	gate_free(gate);
	scene.comparison.changed.count = 1;
	scene.comparison.wall.noise.source = NOISE_UNKNOWN;
	REQUIRE(gate_new(&scene.comparison, &limit, 1, false, &gate) == 0);
	CHECK_EQUAL(gate->more_base, 0);
	CHECK_EQUAL(gate->more_changed, 4); /* 5 against 5 is the least for 98 % */
	gate_free(gate);
	gate_limit_fini(&limit);
}

int main(void)
{
	RUN(grammar_accepts);
	RUN(grammar_refuses);
	RUN(patterns);
	RUN(decisions);
	RUN(scaling_changes_nothing);
	RUN(random_intervals_obey);
	RUN(limits_find_rows);
	RUN(limits_find_members_of_both_sides);
	RUN(weak_matches_decide_nothing);
	RUN(one_run_a_side_decides_nothing);
	RUN(a_limit_that_names_nothing_is_refused);
	RUN(rows_of_one_side);
	RUN(nothing_is_decided_without_comparison);
	RUN(many_checks_are_corrected);
	RUN(more_runs_are_proposed);
	return harness_end();
}
