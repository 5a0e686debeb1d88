/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_ranges.c - what was launched and sampled in which of the program's ranges
 */
#include <unistd.h>

#include "../../checker/description.h"
#include "analyze/model.h"
#include "harness.h"

/* Thread 1: step twice, the second time with load and compute in it; thread 2 launches within what
 * the process has started, and once outside of everything. */
static const char text[] =
	"window 0 10000\ndevice 1 gpu\nthread 1 1\nthread 2 1\nqueue 1 1\n"
	"range 1 100 1000 step domain=app\n"
	"range 1 2000 2500 load domain=io\n" /* written when it ended, and so before what is around
						it */
	"range 1 2000 5000 step domain=app\n"
	"range 1 2500 4500 compute domain=app\n"
	"range 1 2600 2600 here domain=app type=mark\n"
	"range 1 3000 8000 epoch type=start domain=app\n"
	"range 2 3100 3200 epoch type=start domain=app\n"
	"range 1 6000 9000 rest open=1\n"
	"range 2 50 50 lost unbegun=1\n"
	"launch 1 1 1 200 210 kernel name=k\nexecution 1 1 1 220 230 300 400\n"
	"launch 2 1 1 2550 2560 kernel name=k\nexecution 1 2 1 2570 2580 2600 2800\n"
	"launch 3 1 1 2000 2010 kernel name=k\nexecution 1 3 1 2020 2030 2900 2950\n"
	"launch 4 2 1 3150 3160 kernel name=k\nexecution 1 4 1 3170 3180 4000 5000\n"
	"launch 5 2 1 9500 9510 kernel name=k\nexecution 1 5 1 9520 9530 9600 9610\n"
	"sample 1 150 1000\nsample 1 2100 2000\nsample 1 3500 4000\nsample 2 3500 500\nsample 1 "
	"9500 30\n"
	"sample 1 3501 77 source=page-faults\n";

static struct analysis *analyze(const struct analysis_options *options, struct model **ret_model)
{
	char path[] = "/tmp/duet-ranges-XXXXXX";
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	struct analysis *analysis = NULL;

	close(mkstemp(path));
	CHECK_EQUAL(description_write(file, path), 0);
	fclose(file);
	CHECK_EQUAL(model_open(path, ret_model), 0);
	unlink(path);
	CHECK_EQUAL(analysis_new(*ret_model, options, &analysis), 0);
	return analysis;
}

/* "DOMAIN:NAME<PARENT count open total self idle | launches device | samples cpu" of a row; "":
 * there is none. */
static const char *row_of(const struct analysis *analysis, const char *name)
{
	static char line[200];

	line[0] = '\0';
	for (size_t i = 0; i < analysis->program.ranges_count; i++) {
		const struct analysis_range *row = &analysis->program.ranges[i];
		const struct analysis_within *within = &row->within;

		if (strcmp(row->name, name) != 0)
			continue;
		snprintf(line, sizeof(line), "%s:%s<%s %d %d %d %d %d | %d %d | %d %d", row->domain,
			 row->name,
			 row->parent == ANALYSIS_NO_RANGE
				 ? ""
				 : analysis->program.ranges[row->parent].name,
			 (int)row->count, (int)row->open, (int)row->total_ns, (int)row->self_ns,
			 (int)row->idle_ns, (int)within->launches, (int)within->device_ns,
			 (int)within->samples, (int)within->cpu_ns);
	}
	return line;
}

TEST(sums)
{
	struct model *model;
	struct analysis *analysis = analyze(NULL, &model);

	REQUIRE(analysis != NULL);
	CHECK_EQUAL(analysis->program.ranges_count, 6);
	CHECK_TEXT(row_of(analysis, "step"), "app:step< 2 0 3900 1400 2550 | 3 350 | 3 7000");
	CHECK_TEXT(row_of(analysis, "load"), "io:load<step 1 0 500 500 500 | 1 50 | 1 2000");
	CHECK_TEXT(row_of(analysis, "compute"),
		   "app:compute<step 1 0 2000 2000 1250 | 1 200 | 1 4000");
	CHECK_TEXT(row_of(analysis, "here"), "app:here<compute 1 0 0 0 0 | 0 0 | 0 0");
	/* two were started when thread 2 launched: it counts once */
	CHECK_TEXT(row_of(analysis, "epoch"), "app:epoch< 2 0 5100 5100 4100 | 1 1000 | 2 4500");
	CHECK_TEXT(row_of(analysis, "rest"), ":rest< 1 1 3000 3000 3000 | 0 0 | 0 0");
	CHECK_EQUAL(analysis->program.ranges_unbegun, 1);
	CHECK(analysis->program.has_range_idle);
	CHECK(analysis->checks.is_exact);
	analysis_free(analysis);
	model_close(model);
}

TEST(a_part)
{
	const struct analysis_options options = {.has_from = true, .from_ns = 2400};
	struct model *model;
	struct analysis *analysis = analyze(&options, &model);

	REQUIRE(analysis != NULL);
	CHECK_TEXT(row_of(analysis, "step"), "app:step< 1 0 3000 500 1750 | 1 250 | 1 4000");
	CHECK_TEXT(row_of(analysis, "load"), "io:load<step 1 0 500 500 500 | 0 50 | 0 0");
	analysis_free(analysis);
	model_close(model);
}

int main(void)
{
	RUN(sums);
	RUN(a_part);
	return harness_end();
}
