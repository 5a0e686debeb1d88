/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_by_thread.c - an analysis by thread: finer rows, the same sums
 */
#include <unistd.h>

#include "../../checker/description.h"
#include "analyze/model.h"
#include "harness.h"

/* Two threads launch one kernel from one stack; one of them into two queues; a third is sampled in
 * that stack. */
static const char text[] =
	"window 0 1000\ndevice 1 gpu\nthread 1 1\nthread 2 1\nthread 3 2\n"
	"queue 1 1\nqueue 2 1\nframe 1 jit f\nstack 1 1\n"
	"launch 1 1 1 10 20 kernel name=k stack=1\nexecution 1 1 1 15 18 20 100\n"
	"launch 2 2 1 30 40 kernel name=k stack=1\nexecution 1 2 1 45 48 50 120\n"
	"launch 3 2 2 50 60 kernel name=k stack=1\nexecution 1 3 2 65 68 200 300\n"
	"launch 4 2 2 400 410 kernel name=k stack=1\n"
	"switch 1 600 blocked stack=1\nswitch 1 650 in\n"
	"switch 3 600 blocked stack=1\nswitch 3 670 in\n"
	"sample 1 500 7 stack=1\nsample 2 510 5 stack=1\nsample 3 520 3 stack=1\n";

static struct model *open_model(void)
{
	char path[] = "/tmp/duet-by-thread-XXXXXX";
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	struct model *model = NULL;

	close(mkstemp(path));
	CHECK_EQUAL(description_write(file, path), 0);
	fclose(file);
	CHECK_EQUAL(model_open(path, &model), 0);
	unlink(path);
	return model;
}

struct sums {
	size_t paths, launches, samples, aways; /* rows */
	uint64_t count, total_ns, share_ns, launched, weight, away_ns;
	uint64_t threads, queues; /* bit sets */
};

static struct sums add_up(const struct analysis *analysis)
{
	struct sums sums = {0};

	for (size_t i = 0; i < analysis->paths_count; i++) {
		const struct analysis_path *path = &analysis->paths[i];

		sums.paths += path->name != NULL;
		sums.count += path->count;
		sums.total_ns += path->total_ns;
		sums.share_ns += path->share_ns;
		sums.threads |= path->name ? 1u << path->whom.thread : 0;
		sums.queues |= path->name ? 1u << path->whom.queue : 0;
	}
	sums.launches = analysis->launches_count;
	for (size_t i = 0; i < analysis->launches_count; i++)
		sums.launched += analysis->launches[i].launched;
	sums.samples = analysis->samples_count;
	for (size_t i = 0; i < analysis->samples_count; i++)
		sums.weight += analysis->samples[i].weight;
	sums.aways = analysis->cpu.aways_count;
	for (size_t i = 0; i < analysis->cpu.aways_count; i++)
		sums.away_ns += analysis->cpu.aways[i].away_ns;
	return sums;
}

static struct sums analyze(const struct model *model, bool by_thread)
{
	const struct analysis_options options = {.by_thread = by_thread};
	struct analysis *analysis = NULL;
	struct sums sums = {0};

	CHECK_EQUAL(analysis_new(model, &options, &analysis), 0);
	CHECK(analysis && analysis->checks.is_exact);
	if (analysis)
		sums = add_up(analysis);
	analysis_free(analysis);
	return sums;
}

TEST(finer_rows_same_sums)
{
	struct model *model = open_model();
	struct sums coarse = analyze(model, false), fine = analyze(model, true);

	CHECK_EQUAL(coarse.paths, 1);
	CHECK_EQUAL(fine.paths, 3);
	CHECK_EQUAL(coarse.launches, 1);
	CHECK_EQUAL(fine.launches, 3);
	CHECK_EQUAL(coarse.samples, 2); /* threads that launch, and of another process */
	CHECK_EQUAL(fine.samples, 3);
	CHECK_EQUAL(fine.count, coarse.count);
	CHECK_EQUAL(fine.total_ns, 80 + 70 + 100);
	CHECK_EQUAL(coarse.total_ns, fine.total_ns);
	CHECK_EQUAL(fine.share_ns, 200);
	CHECK_EQUAL(coarse.share_ns, fine.share_ns);
	CHECK_EQUAL(fine.launched, 4);
	CHECK_EQUAL(coarse.launched, fine.launched);
	CHECK_EQUAL(fine.weight, 15);
	CHECK_EQUAL(coarse.weight, fine.weight);
	CHECK_EQUAL(coarse.aways, 1);
	CHECK_EQUAL(fine.aways, 2);
	CHECK_EQUAL(coarse.away_ns, 50 + 70);
	CHECK_EQUAL(fine.away_ns, coarse.away_ns);
	model_close(model);
}

TEST(rows_say_whose_they_are)
{
	struct model *model = open_model();
	struct sums coarse = analyze(model, false), fine = analyze(model, true);

	CHECK_EQUAL(coarse.threads, 1u << 0);
	CHECK_EQUAL(fine.threads, 1u << 1 | 1u << 2);
	CHECK_EQUAL(fine.queues, 1u << 1 | 1u << 2);
	model_close(model);
}

int main(void)
{
	RUN(finer_rows_same_sums);
	RUN(rows_say_whose_they_are);
	return harness_end();
}
