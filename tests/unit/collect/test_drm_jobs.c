/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_drm_jobs.c - jobs of GPUs out of records, whole and with holes
 */
#include "harness.h"

#include <stdlib.h>

#include "collect/drm/jobs.h"

enum { MAX_TOLD = 64 };

static struct {
	struct jobs *jobs;
	struct job told[MAX_TOLD]; /* the first ones */
	size_t count;
	uint64_t time_ns;
} bench;

static void on_job(void *context, const struct job *job)
{
	(void)context;
	if (bench.count < MAX_TOLD)
		bench.told[bench.count] = *job;
	bench.count++;
}

static void start(void)
{
	jobs_free(bench.jobs);
	memset(&bench, 0, sizeof(bench));
	bench.jobs = jobs_new(on_job, NULL);
}

static struct drm_fence fence_of(uint32_t kind, uint64_t context, uint64_t number, uint32_t tid)
{
	struct drm_fence record = {.head = {.time_ns = bench.time_ns += 100,
					    .kind = kind,
					    .tid = tid,
					    .tgid = tid ? 7 : 0},
				   .context = context,
				   .number = number};

	if (tid)
		snprintf(record.thread, sizeof(record.thread), "thread %u", tid);
	return record;
}

/* Each record is 100 ns behind the one before. */
static void fence(uint32_t kind, uint64_t context, uint64_t number, uint32_t tid)
{
	const struct drm_fence record = fence_of(kind, context, number, tid);

	jobs_take(bench.jobs, &record, sizeof(record));
}

static void job(uint32_t kind, uint64_t context, uint64_t number, uint32_t tid)
{
	const struct drm_job record = {.fence = fence_of(kind, context, number, tid),
				       .client = 5,
				       .scheduler = 0xffff888100000000,
				       .driver = "amdgpu",
				       .device = "0000:03:00.0",
				       .ring = "gfx"};

	jobs_take(bench.jobs, &record, sizeof(record));
}

static void names(uint64_t context, const char *driver, const char *timeline)
{
	struct drm_timeline record = {.head = {.kind = DRM_RECORD_TIMELINE}, .context = context};

	snprintf(record.driver, sizeof(record.driver), "%s", driver);
	snprintf(record.timeline, sizeof(record.timeline), "%s", timeline);
	jobs_take(bench.jobs, &record, sizeof(record));
}

/* As amdgpu's and xe's kernels tell one job: context is its fence's, context - 1 that of its
 * scheduled fence, and the hardware's fence is in `hardware`. */
static void whole(uint64_t context, uint64_t number, uint64_t hardware)
{
	fence(DRM_RECORD_INIT, context - 1, number, 12);
	fence(DRM_RECORD_INIT, context, number, 12);
	job(DRM_RECORD_QUEUED, context, number, 12);
	job(DRM_RECORD_RUN, context, number, 0);
	fence(DRM_RECORD_INIT, hardware, number, 99);
	fence(DRM_RECORD_SIGNALED, context - 1, number, 0);
	fence(DRM_RECORD_SIGNALED, hardware, number, 0);
	fence(DRM_RECORD_DONE, context, number, 0);
	fence(DRM_RECORD_SIGNALED, context, number, 0);
}

static void names_of_scheduler(void)
{
	names(9, "drm_sched", "gfx");
	names(10, "drm_sched", "gfx");
	names(20, "amdgpu", "gfx");
}

TEST(a_whole_job)
{
	start();
	names_of_scheduler();
	whole(10, 1, 20);
	REQUIRE(bench.count == 1);
	CHECK_EQUAL(bench.told[0].queued_ns, 300);
	CHECK_EQUAL(bench.told[0].run_ns, 400);
	CHECK_EQUAL(bench.told[0].done_ns, 800);
	CHECK_EQUAL(bench.told[0].tgid, 7);
	CHECK_EQUAL(bench.told[0].tid, 12);
	CHECK_EQUAL(bench.told[0].client, 5);
	CHECK_EQUAL(bench.told[0].scheduler, 0xffff888100000000);
	CHECK_EQUAL(bench.told[0].flags, 0);
	CHECK_TEXT(bench.told[0].thread, "thread 12");
	CHECK_TEXT(bench.told[0].driver, "amdgpu");
	CHECK_TEXT(bench.told[0].device, "0000:03:00.0");
	CHECK_TEXT(bench.told[0].ring, "gfx");
	jobs_end(bench.jobs);
	CHECK_EQUAL(bench.count, 1);
	CHECK_EQUAL(jobs_counted(bench.jobs)->late, 0);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unended, 0);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unnamed, 0);
}

TEST(jobs_of_one_ring_overlap)
{
	start();
	for (uint64_t number = 1; number <= 3; number++)
		job(DRM_RECORD_QUEUED, 10, number, 12);
	for (uint64_t number = 1; number <= 3; number++) {
		job(DRM_RECORD_RUN, 10, number, 0);
		fence(DRM_RECORD_DONE, 10, number, 0);
	}
	REQUIRE(bench.count == 3);
	CHECK_EQUAL(bench.told[2].queued_ns, 300);
	CHECK_EQUAL(bench.told[2].run_ns, 800);
	CHECK_EQUAL(bench.told[2].done_ns, 900);
}

/* Each record of a job in turn is lost: what is missing is absent, and no more than that. */
TEST(a_lost_record)
{
	start();
	fence(DRM_RECORD_INIT, 10, 1, 12);
	job(DRM_RECORD_RUN, 10, 1, 0);
	fence(DRM_RECORD_DONE, 10, 1, 0);
	REQUIRE(bench.count == 1);
	CHECK_EQUAL(bench.told[0].queued_ns, 0);
	CHECK_EQUAL(bench.told[0].run_ns, 200);
	CHECK_EQUAL(bench.told[0].tid, 12);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unqueued, 1);

	job(DRM_RECORD_QUEUED, 10, 2, 12);
	fence(DRM_RECORD_DONE, 10, 2, 0);
	REQUIRE(bench.count == 2);
	CHECK_EQUAL(bench.told[1].run_ns, 0);
	CHECK_EQUAL(bench.told[1].done_ns, 500);

	job(DRM_RECORD_QUEUED, 10, 3, 12);
	job(DRM_RECORD_RUN, 10, 3, 0);
	fence(DRM_RECORD_SIGNALED, 10, 3, 0);
	REQUIRE(bench.count == 3);
	CHECK_EQUAL(bench.told[2].done_ns, 800);

	fence(DRM_RECORD_DONE, 10, 4, 0);
	CHECK_EQUAL(bench.count, 3);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unseen, 1);
}

TEST(the_end_cuts_off)
{
	start();
	job(DRM_RECORD_QUEUED, 10, 1, 12);
	job(DRM_RECORD_RUN, 10, 1, 0);
	fence(DRM_RECORD_INIT, 11, 1, 12);
	jobs_end(bench.jobs);
	REQUIRE(bench.count == 1);
	CHECK_EQUAL(bench.told[0].run_ns, 200);
	CHECK_EQUAL(bench.told[0].done_ns, 0);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unended, 0);
	jobs_end(bench.jobs);
	CHECK_EQUAL(bench.count, 1);
}

/* A driver may let a fence's name come again; the earlier job cannot get the later one's times. */
TEST(a_fence_comes_again)
{
	start();
	job(DRM_RECORD_QUEUED, 10, 1, 12);
	job(DRM_RECORD_RUN, 10, 1, 0);
	job(DRM_RECORD_QUEUED, 10, 1, 13);
	REQUIRE(bench.count == 1);
	CHECK_EQUAL(bench.told[0].done_ns, 0);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unended, 1);
	job(DRM_RECORD_RUN, 10, 1, 0);
	fence(DRM_RECORD_DONE, 10, 1, 0);
	REQUIRE(bench.count == 2);
	CHECK_EQUAL(bench.told[1].queued_ns, 300);
	CHECK_EQUAL(bench.told[1].tid, 13);

	/* after its end, too */
	fence(DRM_RECORD_INIT, 10, 1, 14);
	job(DRM_RECORD_QUEUED, 10, 1, 14);
	fence(DRM_RECORD_DONE, 10, 1, 0);
	REQUIRE(bench.count == 3);
	CHECK_EQUAL(bench.told[2].tid, 14);
	CHECK_EQUAL(bench.told[2].run_ns, 0);
	CHECK_EQUAL(jobs_counted(bench.jobs)->late, 0);
}

/* Records of two processors: what comes behind a job's end is no job of its own. */
TEST(out_of_order)
{
	start();
	job(DRM_RECORD_QUEUED, 10, 1, 12);
	fence(DRM_RECORD_DONE, 10, 1, 0);
	job(DRM_RECORD_RUN, 10, 1, 0);
	jobs_end(bench.jobs);
	CHECK_EQUAL(bench.count, 1);
	CHECK_EQUAL(jobs_counted(bench.jobs)->late, 1);

	/* times that go back are put in order */
	start();
	bench.time_ns = 1000;
	job(DRM_RECORD_QUEUED, 10, 1, 12);
	bench.time_ns = 900;
	job(DRM_RECORD_RUN, 10, 1, 0);
	bench.time_ns = 1300;
	job(DRM_RECORD_RUN, 10, 2, 0);
	bench.time_ns = 1200;
	fence(DRM_RECORD_DONE, 10, 2, 0);
	fence(DRM_RECORD_DONE, 10, 1, 0);
	REQUIRE(bench.count == 2);
	CHECK_EQUAL(bench.told[0].done_ns, 1400);
	CHECK_EQUAL(bench.told[1].queued_ns, 1100);
	CHECK_EQUAL(bench.told[1].run_ns, 1100);
	CHECK_EQUAL(bench.told[1].done_ns, 1400);
}

/* Two records say that it was queued, none that it runs, and its end may be known late. */
TEST(i915)
{
	start();
	names(10, "i915", "rcs0");
	fence(DRM_RECORD_INIT, 10, 1, 12);
	job(DRM_RECORD_QUEUED, 10, 1, 12);
	job(DRM_RECORD_QUEUED, 10, 1, 12);
	fence(DRM_RECORD_SIGNALED, 10, 1, 0);
	fence(DRM_RECORD_RETIRED, 10, 1, 0);
	job(DRM_RECORD_QUEUED, 10, 2, 12);
	fence(DRM_RECORD_RETIRED, 10, 2, 0);
	REQUIRE(bench.count == 2);
	CHECK_EQUAL(bench.told[0].queued_ns, 200);
	CHECK_EQUAL(bench.told[0].done_ns, 400);
	CHECK_EQUAL(bench.told[0].flags, 0);
	CHECK_EQUAL(bench.told[1].done_ns, 700);
	CHECK_EQUAL(bench.told[1].flags, JOB_ENDED_BEFORE);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unended, 0);
}

TEST(fences_of_a_driver_without_scheduler)
{
	start();
	fence(DRM_RECORD_INIT, 3, 1, 12);
	names(3, "virtio_gpu", "controlq");
	fence(DRM_RECORD_EMIT, 3, 1, 12);
	fence(DRM_RECORD_WAIT_START, 3, 1, 13);
	fence(DRM_RECORD_SIGNALED, 3, 1, 0);
	fence(DRM_RECORD_WAIT_END, 3, 1, 13);
	REQUIRE(bench.count == 1);
	CHECK_EQUAL(bench.told[0].queued_ns, 100);
	CHECK_EQUAL(bench.told[0].run_ns, 200);
	CHECK_EQUAL(bench.told[0].done_ns, 400);
	CHECK_EQUAL(bench.told[0].tid, 12);
	CHECK_EQUAL(bench.told[0].flags, JOB_IS_FENCE);
	CHECK_TEXT(bench.told[0].driver, "virtio_gpu");
	CHECK_TEXT(bench.told[0].ring, "controlq");
	CHECK_TEXT(bench.told[0].device, "");

	/* a fence of fences is nobody's work, and of a nameless one nobody knows */
	names(4, "dma_fence_array", "unbound");
	fence(DRM_RECORD_INIT, 4, 1, 12);
	fence(DRM_RECORD_SIGNALED, 4, 1, 0);
	fence(DRM_RECORD_INIT, 5, 1, 12);
	fence(DRM_RECORD_SIGNALED, 5, 1, 0);
	job(DRM_RECORD_RUN, 10, 1, 0);
	names(6, "amdgpu_amdkfd_fence", "unbound");
	fence(DRM_RECORD_INIT, 6, 1, 12);
	fence(DRM_RECORD_SIGNALED, 6, 1, 0);
	CHECK_EQUAL(bench.count, 1);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unnamed, 1);
}

/* More than there is room for: the oldest goes, and is told of. */
TEST(too_many_are_open)
{
	start();
	for (uint64_t number = 1; number <= MAX_JOBS_OPEN + 10; number++)
		job(DRM_RECORD_QUEUED, 10, number, 12);
	CHECK_EQUAL(bench.count, 10);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unended, 10);
	CHECK_EQUAL(bench.told[9].number, 10);
	fence(DRM_RECORD_DONE, 10, 1, 0);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unseen, 1);
	fence(DRM_RECORD_DONE, 10, 11, 0);
	CHECK_EQUAL(bench.count, 11);
	jobs_end(bench.jobs);
	CHECK_EQUAL(bench.count, MAX_JOBS_OPEN + 10);

	/* fences that nobody ever signals are no loss, and leave room */
	start();
	for (uint64_t context = 1; context <= 3 * MAX_JOBS_OPEN; context++)
		fence(DRM_RECORD_INIT, context, 1, 12);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unended, 0);
	job(DRM_RECORD_QUEUED, 10, 2, 12);
	fence(DRM_RECORD_DONE, 10, 2, 0);
	CHECK_EQUAL(bench.count, 1);
}

/* A fence that nobody signals may be no job: it is given up before what a scheduler told of. */
TEST(jobs_outlast_fences_that_nobody_signals)
{
	start();
	job(DRM_RECORD_QUEUED, 10, 1, 12);
	fence(DRM_RECORD_INIT, 11, 2, 12);
	job(DRM_RECORD_QUEUED, 11, 2, 12);
	for (uint64_t context = 100; context < 100 + 3 * MAX_JOBS_OPEN; context++)
		fence(DRM_RECORD_INIT, context, 1, 12);
	CHECK_EQUAL(bench.count, 0);
	fence(DRM_RECORD_DONE, 10, 1, 0);
	fence(DRM_RECORD_DONE, 11, 2, 0);
	CHECK_EQUAL(bench.count, 2);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unended, 0);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unseen, 0);
}

/* The kernel tells a context's names once. */
TEST(names_of_a_context_outlast_others)
{
	enum { ROUNDS = 10000, APART = 500 };
	size_t lasting = 0;

	start();
	names(3, "virtio_gpu", "controlq");
	/* fences of fences each have a context of their own, and leave its place alone even where
	 * it is not used */
	for (uint64_t i = 1; i <= ROUNDS; i++)
		names(100 + i, "dma_fence_array", "unbound");
	/* vgem's, too; those who are in use stay */
	for (uint64_t i = 1; i <= 2 * ROUNDS; i++) {
		names(100000 + i, "vgem", "unbound");
		fence(DRM_RECORD_INIT, 100000 + i, 1, 12);
		fence(DRM_RECORD_SIGNALED, 100000 + i, 1, 0);
		if (i % APART)
			continue;
		fence(DRM_RECORD_INIT, 3, i, 12);
		fence(DRM_RECORD_SIGNALED, 3, i, 0);
		lasting++;
	}
	CHECK_EQUAL(lasting, 2 * ROUNDS / APART);
	CHECK_EQUAL(bench.count, 2 * ROUNDS + lasting);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unnamed, 0);
	/* who was away for so long has no name; nor has it another's */
	fence(DRM_RECORD_INIT, 100001, 2, 12);
	fence(DRM_RECORD_SIGNALED, 100001, 2, 0);
	CHECK_EQUAL(bench.count, 2 * ROUNDS + lasting);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unnamed, 1);
	/* … until it is told again */
	names(100001, "vgem", "unbound");
	fence(DRM_RECORD_INIT, 100001, 3, 12);
	fence(DRM_RECORD_SIGNALED, 100001, 3, 0);
	CHECK_EQUAL(bench.count, 2 * ROUNDS + lasting + 1);
}

/* As long as it lasts: what has ended, and contexts' names, do not pile up. */
TEST(a_long_recording)
{
	enum { ROUNDS = 50000 };
	struct job *last = &bench.told[0];

	start();
	for (uint64_t number = 1; number <= ROUNDS; number++) {
		whole(10, number, 20);
		names(100 + number, "vgem", "unbound");
		fence(DRM_RECORD_INIT, 100 + number, 1, 12);
		fence(DRM_RECORD_SIGNALED, 100 + number, 1, 0);
	}
	CHECK_EQUAL(bench.count, 2 * ROUNDS);
	CHECK_EQUAL(last->number, 1);
	jobs_end(bench.jobs);
	CHECK_EQUAL(bench.count, 2 * ROUNDS);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unended, 0);
}

TEST(records_that_make_no_sense)
{
	struct drm_fence record = {.head = {.kind = 77}};

	start();
	jobs_take(bench.jobs, &record, sizeof(record));
	record.head.kind = 0;
	jobs_take(bench.jobs, &record, sizeof(record));
	record.head.kind = DRM_RECORD_QUEUED;
	jobs_take(bench.jobs, &record, sizeof(record));
	record.head.kind = DRM_RECORD_DONE;
	jobs_take(bench.jobs, &record, sizeof(record) - 1);
	jobs_take(bench.jobs, &record, 3);
	CHECK_EQUAL(jobs_counted(bench.jobs)->malformed, 5);
	CHECK_EQUAL(jobs_counted(bench.jobs)->unseen, 0);
}

int main(void)
{
	RUN(a_whole_job);
	RUN(jobs_of_one_ring_overlap);
	RUN(a_lost_record);
	RUN(the_end_cuts_off);
	RUN(a_fence_comes_again);
	RUN(out_of_order);
	RUN(i915);
	RUN(fences_of_a_driver_without_scheduler);
	RUN(too_many_are_open);
	RUN(jobs_outlast_fences_that_nobody_signals);
	RUN(names_of_a_context_outlast_others);
	RUN(a_long_recording);
	RUN(records_that_make_no_sense);
	jobs_free(bench.jobs);
	return harness_end();
}
