/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_pm.c - PM sampling: options, triggers, what becomes of samples, and which
 * metrics fit into one pass of each chip
 *
 * The last is asked of the real libcupti, whose half of the metrics needs no driver, where a CUDA
 * toolkit is installed.
 */
#include "collect/nvidia/pm.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "collect/nvidia/pm_gpus.h"
#include "collect/nvidia/pm_samples.h"
#include "event/event.h"
#include "harness.h"

TEST(rates)
{
	static const struct {
		const char *option;
		int error;
		uint32_t hz;
	} cases[] = {{"pm", 0, 1000},
		     {"pm=2000", 0, 2000},
		     {"pm=2000Hz", 0, 2000},
		     {"pm=20kHz", 0, 20000},
		     {"pm=10", 0, 10},
		     {"pm=200kHz", 0, 200000},
		     {"pm=9", -EINVAL, 0},
		     {"pm=", -EINVAL, 0},
		     {"pm=0", -EINVAL, 0},
		     {"pm=201kHz", -EINVAL, 0},
		     {"pm=1MHz", -EINVAL, 0},
		     {"pm=-10", -EINVAL, 0},
		     {"pm=99999999999999999999999", -EINVAL, 0},
		     {"pmx", -ENOENT, 0},
		     {"p", -ENOENT, 0},
		     {"graphs", -ENOENT, 0},
		     {"pm=18446744073709552kHz", -EINVAL, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t hz = 0;

		CHECK_EQUAL(pm_option_read(cases[i].option, &hz), cases[i].error);
		CHECK_EQUAL(hz, cases[i].hz);
		if (cases[i].error == -EINVAL)
			CHECK(strstr(error_text(), "10 to 200000"));
	}
}

TEST(triggers)
{
	CHECK_EQUAL(pm_trigger_of(70), PM_TRIGGER_NONE);
	CHECK_EQUAL(pm_trigger_of(61), PM_TRIGGER_NONE);
	CHECK_EQUAL(pm_trigger_of(75), PM_TRIGGER_CYCLE);
	CHECK_EQUAL(pm_trigger_of(80), PM_TRIGGER_CYCLE);
	CHECK_EQUAL(pm_trigger_of(86), PM_TRIGGER_TIME);
	CHECK_EQUAL(pm_trigger_of(90), PM_TRIGGER_TIME);
	CHECK_EQUAL(pm_trigger_of(120), PM_TRIGGER_TIME);
	CHECK_EQUAL(pm_cycles_of(1410000000, 1000), 1410000);
	CHECK_EQUAL(pm_cycles_of(0, 1000), 1000000);
	CHECK_EQUAL(pm_cycles_of(100000000, 200000), 1000);
}

static size_t index_of(const char *name)
{
	for (size_t i = 0; i < PM_METRICS; i++)
		if (strcmp(pm_metrics[i].name, name) == 0)
			return i;
	abort();
}

TEST(values_are_whole_numbers_of_base_units)
{
	struct pm_value value;

	CHECK(pm_value_make(index_of("gpu.pm.sm.active"), 25, 1000000, &value));
	CHECK_EQUAL(value.value, 250000);
	CHECK_EQUAL(value.of, 1000000);
	CHECK(pm_value_make(index_of("gpu.pm.sm.active"), 100.5, 1000000, &value));
	CHECK_EQUAL(value.value, 1000000);
	CHECK(pm_value_make(index_of("gpu.pm.l2.bytes"), 3, 1000000, &value));
	CHECK_EQUAL(value.value, 96);
	CHECK_EQUAL(value.of, 0);
	CHECK(pm_value_make(index_of("gpu.pm.clock.gpc"), 1.98e9, 1000000, &value));
	CHECK_EQUAL(value.value, 1980000000);
	CHECK(!pm_value_make(index_of("gpu.pm.sm.active"), NAN, 1000000, &value));
	CHECK(!pm_value_make(index_of("gpu.pm.dispatches"), INFINITY, 1000000, &value));
	CHECK(!pm_value_make(index_of("gpu.pm.dispatches"), -1, 1000000, &value));
	CHECK(!pm_value_make(index_of("gpu.pm.sm.active"), 25, 0, &value));
}

/* ---- samples become rows ---- */

enum { US = 1000, INTERVAL = 100 * US, FIRST = 1000000 };

struct scene {
	struct series series;
	struct pm_set set;
	struct pm_samples samples;
	size_t rows[2], losses, ends;
	struct series_item loss[8];
};

static void begin(struct scene *scene)
{
	*scene = (struct scene){.set = {.indices = {0, 14}, .count = 2}};
	series_open(&scene->series, 16, 256);
	pm_samples_init(&scene->samples, &scene->series, &scene->set, INTERVAL);
	pm_samples_begin(&scene->samples, 3, 1);
}

static void put(struct scene *scene, uint64_t nth, double share, double count)
{
	const double values[2] = {share, count};

	pm_samples_put(&scene->samples, FIRST + nth * INTERVAL, FIRST + (nth + 1) * INTERVAL,
		       values);
}

static void take(struct scene *scene)
{
	struct series_item item;

	while (series_take(&scene->series, &item)) {
		if (item.what == SERIES_ROW)
			scene->rows[scene->series.slots[item.slot].metric == &pm_metrics[14]]++;
		if (item.what == SERIES_LOSS && scene->losses < 8)
			scene->loss[scene->losses++] = item;
		scene->ends += item.what == SERIES_END;
		if (item.what == SERIES_BEGIN)
			CHECK_EQUAL(scene->series.slots[item.slot].of.device, 3);
	}
}

static void end(struct scene *scene, uint64_t nth)
{
	pm_samples_end(&scene->samples, FIRST + nth * INTERVAL, 2);
	take(scene);
	series_close(&scene->series);
}

TEST(samples_without_a_break_lose_nothing)
{
	struct scene scene;

	begin(&scene);
	for (uint64_t i = 0; i < 10; i++)
		put(&scene, i, 50, 1);
	end(&scene, 14);
	CHECK_EQUAL(scene.rows[0], 10);
	CHECK_EQUAL(scene.rows[1], 10);
	CHECK_EQUAL(scene.losses, 0);
	CHECK_EQUAL(scene.ends, 2);
}

TEST(an_overflow_is_a_gap_of_so_many_rows)
{
	struct scene scene;

	begin(&scene);
	put(&scene, 0, 50, 1);
	pm_samples_overflow(&scene.samples);
	put(&scene, 5, 50, 1);
	put(&scene, 6, 50, 1);
	end(&scene, 7);
	CHECK_EQUAL(scene.rows[0], 3);
	REQUIRE(scene.losses == 1);
	CHECK_EQUAL(scene.loss[0].begin, FIRST + INTERVAL);
	CHECK_EQUAL(scene.loss[0].end, FIRST + 5 * INTERVAL);
	CHECK_EQUAL(scene.loss[0].value, 4 * 2);
	CHECK_EQUAL(scene.loss[0].of, LOSS_RING_FULL);
	CHECK_EQUAL(scene.samples.gaps, 1);
}

TEST(what_is_lost_at_the_end_is_lost)
{
	struct scene scene;

	begin(&scene);
	put(&scene, 0, 50, 1);
	pm_samples_overflow(&scene.samples);
	end(&scene, 11);
	REQUIRE(scene.losses == 1);
	CHECK_EQUAL(scene.loss[0].value, 10 * 2);
}

TEST(a_sample_that_is_missing_is_a_gap_without_an_overflow)
{
	struct scene scene;

	begin(&scene);
	put(&scene, 0, 50, 1);
	put(&scene, 2, 50, 1);
	end(&scene, 3);
	REQUIRE(scene.losses == 1);
	CHECK_EQUAL(scene.loss[0].value, 2);
	CHECK_EQUAL(scene.loss[0].of, LOSS_GAP);
}

TEST(no_number_is_no_row)
{
	struct scene scene;

	begin(&scene);
	put(&scene, 0, 50, 1);
	put(&scene, 1, NAN, 1);
	put(&scene, 2, NAN, NAN);
	put(&scene, 3, 50, 1);
	put(&scene, 4, 50, NAN);
	end(&scene, 5);
	CHECK_EQUAL(scene.rows[0], 3);
	CHECK_EQUAL(scene.rows[1], 3);
	REQUIRE(scene.losses == 3);
	CHECK_EQUAL(scene.loss[0].begin, FIRST + INTERVAL);
	CHECK_EQUAL(scene.loss[0].end, FIRST + 3 * INTERVAL);
	CHECK_EQUAL(scene.loss[0].value, 2);
	CHECK_EQUAL(scene.loss[1].value, 1);
	CHECK_EQUAL(scene.loss[2].begin, FIRST + 4 * INTERVAL);
	CHECK_EQUAL(scene.loss[2].of, LOSS_GAP);
}

TEST(neighbours_that_overlap_by_the_error_of_their_clock)
{
	const double values[2] = {100, 1};
	struct scene scene;

	begin(&scene);
	put(&scene, 0, 100, 1);
	pm_samples_put(&scene.samples, FIRST + INTERVAL - 40, FIRST + 2 * INTERVAL, values);
	pm_samples_put(&scene.samples, FIRST + INTERVAL, FIRST + 2 * INTERVAL, values); /* again */
	end(&scene, 3);
	CHECK_EQUAL(scene.rows[0], 2);
	CHECK_EQUAL(scene.losses, 0);
}

/* ---- the real library ---- */

/* libcupti loads its half of the metrics with RTLD_DEEPBIND, at which sanitizers end the
 * program. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#define HAS_SANITIZER (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define HAS_SANITIZER 0
#endif

static const struct chip {
	const char *name;
	size_t count;
	const char *without; /* one of those that are left out */
} chips[] = {
	/* GH100 is what an H200 is. */
	{"GH100", 15, "gpu.pm.instructions"},   {"GA100", 15, "gpu.pm.instructions"},
	{"GA102", 15, "gpu.pm.instructions"},   {"AD102", 13, "gpu.pm.nvlink.sent"},
	{"GB100", 13, "gpu.pm.pcie.read"},      {"GB202", 13, "gpu.pm.nvlink.sent"},
	{"TU102", 12, "gpu.pm.dram.bandwidth"},
};

static bool open_real(struct cupti *cupti)
{
	*cupti = (struct cupti){0};
	return cupti_open_library(cupti, CUPTI_WITH_PM_SAMPLING) == 0;
}

TEST(which_metrics_the_real_library_samples_together)
{
	static struct cupti cupti;

	if (!open_real(&cupti))
		SKIP("no libcupti of CUDA 12.6 or newer is installed");
	CHECK(cupti_major(cupti.version) >= 12);
	for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++) {
		struct pm_set set;

		CHECK(pm_set_open(&set, &cupti, chips[i].name, NULL, 0));
		CHECK_EQUAL(set.count, chips[i].count);
		CHECK(set.is_left_out[index_of(chips[i].without)]);
		CHECK(set.config && set.config_bytes);
		CHECK_TEXT(set.names[0], "gr__cycles_active.avg.pct_of_peak_sustained_elapsed");
		pm_set_close(&set, &cupti);
		pm_set_close(&set, &cupti); /* once more is no harm */
	}
}

TEST(a_chip_that_the_real_library_does_not_sample)
{
	static struct cupti cupti;
	struct pm_set set;
	char text[512];

	if (!open_real(&cupti))
		SKIP("no libcupti of CUDA 12.6 or newer is installed");
	CHECK(!pm_set_open(&set, &cupti, "GV100", NULL, 0));
	CHECK_TEXT(cupti.why, "cuptiProfilerHostInitialize");
	cupti_format_failure(&cupti, text, sizeof(text));
	CHECK(strstr(text, "cuptiProfilerHostInitialize returned "));
	CHECK(!pm_set_open(&set, &cupti, "no chip", NULL, 0));
	CHECK_EQUAL(set.count, 0);
}

/* Metrics' names, as the library has them, are where the series say they were read. */
TEST(every_metric_is_one_of_a_real_chip)
{
	static struct cupti cupti;

	if (!open_real(&cupti))
		SKIP("no libcupti of CUDA 12.6 or newer is installed");
	for (size_t i = 0; i < PM_METRICS; i++) {
		struct cupti_host_initialize_params host = {.struct_bytes = sizeof(host),
							    .profiler_type =
								    CUPTI_PROFILER_TYPE_PM_SAMPLING,
							    .chip_name = "GH100"};
		const char *name = pm_metrics[i].file;
		struct cupti_host_config_add_metrics_params add = {
			.struct_bytes = sizeof(add), .metric_names = &name, .metric_count = 1};
		struct pm_set set = {0};

		REQUIRE(CUPTI_CALL(&cupti, cuptiProfilerHostInitialize, &host));
		set.host = add.object = host.ret_object;
		CHECK(CUPTI_CALL(&cupti, cuptiProfilerHostConfigAddMetrics, &add));
		pm_set_close(&set, &cupti);
	}
}

int main(void)
{
	RUN(rates);
	RUN(triggers);
	RUN(values_are_whole_numbers_of_base_units);
	RUN(samples_without_a_break_lose_nothing);
	RUN(an_overflow_is_a_gap_of_so_many_rows);
	RUN(what_is_lost_at_the_end_is_lost);
	RUN(a_sample_that_is_missing_is_a_gap_without_an_overflow);
	RUN(no_number_is_no_row);
	RUN(neighbours_that_overlap_by_the_error_of_their_clock);
	if (!HAS_SANITIZER) {
		RUN(which_metrics_the_real_library_samples_together);
		RUN(a_chip_that_the_real_library_does_not_sample);
		RUN(every_metric_is_one_of_a_real_chip);
	}
	return harness_end();
}
