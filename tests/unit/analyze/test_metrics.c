/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_metrics.c - what counters say of a part of a recording
 */
#include <math.h>
#include <unistd.h>

#include "../../checker/description.h"
#include "analyze/text/metrics.h"
#include "harness.h"

#define ALL UINT64_MAX

static void open_model(const char *text, struct model **ret_model)
{
	char path[] = "/tmp/duet-metrics-XXXXXX";
	FILE *file = fmemopen((char *)text, strlen(text), "r");

	close(mkstemp(path));
	CHECK_EQUAL(description_write(file, path), 0);
	fclose(file);
	CHECK_EQUAL(model_open(path, ret_model), 0);
	unlink(path);
}

/* "NAME readings covered: min mean p95 max sum" of a series; "": it has no reading. */
static const char *line_of(const struct model *model, const char *name, uint64_t from, uint64_t to)
{
	static char line[200];
	const struct metric_summary *row;
	struct metrics metrics;
	size_t index = 0;

	line[0] = '\0';
	CHECK_EQUAL(metrics_new(model, from, to, &metrics), 0);
	row = metrics_find(model, &metrics, name, &index);
	if (row)
		snprintf(line, sizeof(line), "%s %d %d: %g %g %g %g %g", name, (int)row->readings,
			 (int)row->covered_ns, row->min, row->mean, row->p95, row->max, row->sum);
	metrics_fini(&metrics);
	return line;
}

static const char text[] =
	"window 0 1000\n"
	/* most of the time 10, shortly 90; first a reading without a time before it */
	"series 1 level level bytes interval=100\n"
	"counter 1 0 0 50\ncounter 1 0 100 10\ncounter 1 100 960 10\ncounter 1 960 1000 90\n"
	/* the second reading is eight times as long: its rate is the lesser, its sum the larger */
	"series 2 amount amount bytes interval=100\n"
	"counter 2 0 100 500\ncounter 2 100 900 800\n"
	"series 3 ratio ratio ns interval=100\n"
	"counter 3 0 100 100 100\ncounter 3 100 900 0 300\n"
	/* one that came early at the end: 10 in 1 ns is no rate to speak of */
	"series 4 early amount ns interval=100\n"
	"counter 4 0 100 10\ncounter 4 100 101 10\n"
	"series 5 cold level mC\ncounter 5 500 500 -1500\n"
	"series 6 nothing level bytes\n"
	"counter 99 0 100 7\n"
	"series 7 gap amount bytes interval=100\ncounter 7 0 100 100\ncounter 7 300 400 300\n"
	"series 8 bad ratio ns\ncounter 8 0 100 5 0\n";

TEST(by_time)
{
	struct model *model = NULL;

	open_model(text, &model);
	REQUIRE(model);
	CHECK_TEXT(line_of(model, "level", 0, ALL), "level 4 1000: 10 13.2 10 90 0");
	CHECK_TEXT(line_of(model, "amount", 0, ALL),
		   "amount 2 900: 1e+09 1.44444e+09 5e+09 5e+09 1300");
	CHECK_TEXT(line_of(model, "ratio", 0, ALL), "ratio 2 900: 0 0.25 1 1 0");
	CHECK_TEXT(line_of(model, "early", 0, ALL), "early 2 101: 1e+08 1.9802e+08 1e+08 1e+08 20");
	CHECK_TEXT(line_of(model, "cold", 0, ALL), "cold 1 0: -1500 -1500 -1500 -1500 0");
	CHECK_TEXT(line_of(model, "nothing", 0, ALL), "");
	/* of the time between the two readings nobody knows */
	CHECK_TEXT(line_of(model, "gap", 0, ALL), "gap 2 200: 1e+09 2e+09 3e+09 3e+09 400");
	CHECK_TEXT(line_of(model, "bad", 0, ALL), "");
	model_close(model);
}

TEST(a_part_of_it)
{
	struct model *model = NULL;

	open_model(text, &model);
	REQUIRE(model);
	CHECK_TEXT(line_of(model, "amount", 500, 1000),
		   "amount 1 400: 1e+09 1e+09 1e+09 1e+09 400");
	CHECK_TEXT(line_of(model, "amount", 50, 200),
		   "amount 2 150: 1e+09 2.33333e+09 5e+09 5e+09 350");
	CHECK_TEXT(line_of(model, "level", 0, 0), "level 1 0: 50 50 50 50 0");
	CHECK_TEXT(line_of(model, "cold", 0, 499), "");
	CHECK_TEXT(line_of(model, "gap", 150, 250), "");
	model_close(model);
}

/* The only series of a model with readings of 100 ns each. */
static void measure_levels(int count, int (*level)(int index), struct metric_summary *ret_summary)
{
	static char many[1 << 20];
	struct metrics metrics;
	struct model *model = NULL;
	size_t used = (size_t)snprintf(many, sizeof(many), "window 0 %d\nseries 1 m level bytes\n",
				       count * 100);

	for (int i = 0; i < count; i++)
		used += (size_t)snprintf(many + used, sizeof(many) - used, "counter 1 %d %d %d\n",
					 i * 100, (i + 1) * 100, level(i));
	open_model(many, &model);
	REQUIRE(model);
	REQUIRE(metrics_new(model, 0, ALL, &metrics) == 0 && metrics.count == 1);
	*ret_summary = metrics.all[0];
	metrics_fini(&metrics);
	model_close(model);
}

static int shuffled(int index)
{
	return index * 7919 % 10000;
}

/* More readings than are kept: what was merged is still there in sums and extremes, and nearly in
 * the 95th of 100. */
TEST(many_readings)
{
	struct metric_summary summary = {0};

	measure_levels(10000, shuffled, &summary);
	CHECK_EQUAL(summary.readings, 10000);
	CHECK(summary.min == 0 && summary.max == 9999);
	CHECK(summary.mean == 4999.5);
	CHECK(fabs(summary.p95 - 9500) < 9500 * 0.002);
}

static int falling(int index)
{
	return index < 2000 ? 1000000 - index * 400 : -5000 - index;
}

/* A tenth of the time at the begin is high and falls, all that comes after it is low: the first
 * values are among many others at the end. */
TEST(many_readings_that_fall)
{
	struct metric_summary summary = {0};

	measure_levels(20000, falling, &summary);
	CHECK(fabs(summary.p95 - 600000) < 600000 * 0.002);
}

/* The sums of these, in any order of their products, are rounded to one that is above its value and
 * one below. */
TEST(what_never_changes_is_its_own_mean)
{
	struct model *model = NULL;

	open_model("window 0 8000000000\n"
		   "series 1 above level bytes\ncounter 1 0 968469571 25276502016\n"
		   "counter 1 968469571 1900123131 25276502016\n"
		   "counter 1 1900123131 2933115474 25276502016\n"
		   "series 2 below level bytes\ncounter 2 0 1020659338 25276502016\n"
		   "counter 2 1020659338 2047426704 25276502016\n"
		   "counter 2 2047426704 3122337361 25276502016\n"
		   "counter 2 3122337361 4124239546 25276502016\n"
		   "counter 2 4124239546 5080598860 25276502016\n"
		   "counter 2 5080598860 6005794100 25276502016\n"
		   "counter 2 6005794100 7036752124 25276502016\n",
		   &model);
	REQUIRE(model);
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "above" : "below";
		struct metric_summary summary = {0};
		struct metrics metrics;
		size_t index = 0;
		const struct metric_summary *row;

		REQUIRE(metrics_new(model, 0, ALL, &metrics) == 0);
		row = metrics_find(model, &metrics, name, &index);
		if (row)
			summary = *row;
		CHECK(summary.mean == 25276502016.0);
		metrics_fini(&metrics);
	}
	model_close(model);
}

int main(void)
{
	RUN(what_never_changes_is_its_own_mean);
	RUN(by_time);
	RUN(a_part_of_it);
	RUN(many_readings);
	RUN(many_readings_that_fall);
	return harness_end();
}
