/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_job_rows.c - whose jobs are on which device, when they began, and which
 * have no row
 */
#include "collect/drm/job_rows.h"

#include <sys/wait.h>

#include "bench.h"
#include "collect/devices.h"
#include "harness.h"

static struct cards cards; /* three, the first two of one driver */

static void describe_cards(struct bench *bench)
{
	static const char *const words[][2] = {
		{"amdgpu", "0000:03:00.0"}, {"amdgpu", "0000:04:00.0"}, {"v3d", "v3d"}};

	cards = (struct cards){.count = 3};
	for (size_t i = 0; i < cards.count; i++) {
		const struct device_facts facts = {.address = words[i][1], .name = words[i][0]};

		snprintf(cards.all[i].driver, CARD_TEXT_BYTES, "%s", words[i][0]);
		snprintf(cards.all[i].address, CARD_TEXT_BYTES, "%s", words[i][1]);
		cards.all[i].id = devices_meet(bench->recording, &facts);
	}
}

/* Of this process, on the first card's ring. */
static struct job job_of(uint64_t queued_ns, uint64_t run_ns, uint64_t done_ns)
{
	return (struct job){.queued_ns = queued_ns,
			    .run_ns = run_ns,
			    .done_ns = done_ns,
			    .tgid = (uint32_t)getpid(),
			    .tid = (uint32_t)getpid(),
			    .thread = "renderer",
			    .driver = "amdgpu",
			    .device = "0000:03:00.0",
			    .ring = "gfx"};
}

/* Of one that has ended: nobody else's number for a while. */
static uint32_t ended_child(void)
{
	const pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	return (uint32_t)child;
}

static struct bench bench;
static struct job_rows *rows;
static uint64_t begin_ns;

static void begin(void)
{
	bench_open(&bench);
	describe_cards(&bench);
	rows = job_rows_new(bench.recording, &cards);
	begin_ns = host_clocks_now_ns();
}

static void end(void)
{
	job_rows_free(rows);
	bench_read(&bench);
}

TEST(a_ring_comes_to_a_job_when_the_one_before_has_ended)
{
	struct job first;
	struct event_execution *executions;
	struct event_launch *launches;
	const struct event_queue *queues;
	const struct event_process *process;
	const struct event_thread *thread;
	size_t count;

	begin();
	first = job_of(begin_ns + 100, begin_ns + 200, begin_ns + 1000);
	job_rows_put(rows, &first);
	first = job_of(begin_ns + 300, begin_ns + 400, begin_ns + 1500);
	first.tgid = first.tid = 1; /* who is not recorded */
	job_rows_put(rows, &first);
	end();
	launches = ROWS(&bench, EVENT_LAUNCH, struct event_launch, &count, NULL);
	REQUIRE(count == 2);
	executions = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	REQUIRE(count == 2);
	for (size_t i = 0; i < 2; i++) {
		CHECK_EQUAL(launches[i].correlation, executions[i].correlation);
		CHECK_EQUAL(launches[i].queue, executions[i].queue);
		CHECK_EQUAL(executions[i].valid, EXECUTION_TIMED);
		CHECK_EQUAL(launches[i].command, COMMAND_BATCH);
		CHECK_TEXT(text_of(&bench, launches[i].function_string), "amdgpu job");
	}
	CHECK_EQUAL(executions[0].started, begin_ns + 200);
	CHECK_EQUAL(executions[1].submitted, begin_ns + 400);
	CHECK_EQUAL(executions[1].started, begin_ns + 1000);
	CHECK_EQUAL(executions[1].ended, begin_ns + 1500);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_QUEUE, (const void **)&queues) == 2);
	CHECK_TEXT(text_of(&bench, queues[0].name_string), "gfx");
	CHECK_EQUAL(queues[0].device, cards.all[0].id);
	CHECK_EQUAL(queues[1].device, cards.all[0].id);
	process = trace_reader_entity(bench.reader, EVENT_PROCESS, queues[1].process);
	REQUIRE(process);
	CHECK_EQUAL(process->pid, 1);
	thread = trace_reader_entity(bench.reader, EVENT_THREAD, launches[1].thread);
	REQUIRE(thread);
	CHECK_TEXT(text_of(&bench, thread->name_string), "renderer");
	free(launches);
	free(executions);
	bench_close(&bench);
}

TEST(of_who_tells_of_its_own_commands_there_is_no_job)
{
	struct event_execution *executions;
	struct job job;
	size_t count;

	begin();
	put_device(&bench, 1, "0000:03:00.0");
	put_context(&bench, 1);
	put_queue(&bench, 1, 1, 1);
	job = job_of(begin_ns + 100, begin_ns + 200, begin_ns + 300);
	job_rows_put(rows, &job);
	/* another device */
	memcpy(job.device, cards.all[1].address, sizeof(job.device));
	job_rows_put(rows, &job);
	CHECK_EQUAL(job_rows_counted(rows)->has_runtime, 1);
	end();
	executions = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	CHECK_EQUAL(count, 1);
	free(executions);
	bench_close(&bench);
}

TEST(a_fence_is_on_the_card_of_its_driver_where_there_is_one_alone)
{
	static const char *const drivers[] = {"v3d", "amdgpu", "vgem"};
	const struct event_queue *queues;
	const struct event_device *device;

	begin();
	for (size_t i = 0; i < 3; i++) {
		struct job job = job_of(begin_ns + 100, 0, begin_ns + 300);

		job.flags = JOB_IS_FENCE;
		job.device[0] = '\0';
		snprintf(job.driver, sizeof(job.driver), "%s", drivers[i]);
		job_rows_put(rows, &job);
	}
	end();
	REQUIRE(trace_reader_entities(bench.reader, EVENT_QUEUE, (const void **)&queues) == 3);
	CHECK_EQUAL(queues[0].device, cards.all[2].id);
	for (size_t i = 1; i < 3; i++) {
		device = trace_reader_entity(bench.reader, EVENT_DEVICE, queues[i].device);
		REQUIRE(device);
		CHECK_TEXT(text_of(&bench, device->key_string), drivers[i]);
	}
	bench_close(&bench);
}

TEST(what_nobody_saw_is_absent)
{
	struct job job;
	struct event_execution *executions;
	size_t count;

	begin();
	job = job_of(begin_ns + 100, 0, begin_ns + 300); /* no scheduler told when it ran */
	job_rows_put(rows, &job);
	job = job_of(begin_ns + 200, begin_ns + 250, 0); /* cut off */
	job_rows_put(rows, &job);
	job = job_of(0, begin_ns + 200, begin_ns + 300);
	job.tgid = job.tid = 0;
	job_rows_put(rows, &job);
	CHECK_EQUAL(job_rows_counted(rows)->ownerless, 1);
	end();
	executions = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	REQUIRE(count == 2);
	for (size_t i = 0; i < 2; i++) {
		const bool is_cut_off = executions[i].queued == begin_ns + 200;

		CHECK_EQUAL(executions[i].valid,
			    is_cut_off ? EXECUTION_QUEUED | EXECUTION_SUBMITTED | EXECUTION_STARTED
				       : EXECUTION_QUEUED | EXECUTION_ENDED);
	}
	free(executions);
	bench_close(&bench);
}

/* A number is used again. */
TEST(who_has_ended_is_forgotten)
{
	const struct event_queue *queues;
	struct job job;

	begin();
	job = job_of(begin_ns + 100, begin_ns + 200, begin_ns + 300);
	job.tgid = job.tid = ended_child();
	job_rows_put(rows, &job);
	job_rows_each_second(rows, begin_ns);
	job_rows_each_second(rows, begin_ns + UINT64_C(1000000000000));
	job = (struct job){.queued_ns = begin_ns + 400,
			   .run_ns = begin_ns + 500,
			   .done_ns = begin_ns + 600,
			   .tgid = job.tgid,
			   .tid = job.tid,
			   .driver = "amdgpu",
			   .device = "0000:03:00.0",
			   .ring = "gfx"};
	job_rows_put(rows, &job);
	end();
	REQUIRE(trace_reader_entities(bench.reader, EVENT_QUEUE, (const void **)&queues) == 2);
	CHECK(queues[0].end_ns);
	CHECK_EQUAL(queues[1].end_ns, 0);
	CHECK(queues[0].process != queues[1].process);
	bench_close(&bench);
}

/* nouveau and panthor call all their schedulers by one name. */
TEST(rings_of_one_name_are_told_apart)
{
	struct event_execution *executions;
	const struct event_queue *queues;
	size_t count;

	begin();
	for (uint64_t i = 0; i < 4; i++) {
		struct job job =
			job_of(begin_ns + 100 + i, begin_ns + 200 + i, begin_ns + 1000 + 100 * i);

		job.scheduler = 0x1000 + i % 2;
		job_rows_put(rows, &job);
	}
	end();
	executions = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	REQUIRE(count == 4);
	for (size_t i = 0; i < 4; i++) {
		const uint64_t n = executions[i].queued - begin_ns - 100;

		CHECK_EQUAL(executions[i].started, begin_ns + (n < 2 ? 200 + n : 800 + 100 * n));
	}
	REQUIRE(trace_reader_entities(bench.reader, EVENT_QUEUE, (const void **)&queues) == 2);
	for (size_t i = 0; i < 2; i++)
		CHECK_TEXT(text_of(&bench, queues[i].name_string), "gfx");
	free(executions);
	bench_close(&bench);
}

/* Of each it is known when the job ahead has ended; the one that was done with first makes room. */
TEST(no_ring_is_one_too_many)
{
	enum { RINGS = 3000 };
	struct event_execution *executions;
	size_t count, behind = 0;

	begin();
	for (uint64_t i = 0; i < RINGS; i++) {
		struct job job = job_of(begin_ns + 1, begin_ns + 2, begin_ns + 1000 + i);

		job.scheduler = 1 + i;
		job.tgid = job.tid = i < MAX_JOB_QUEUES ? 1 : (uint32_t)getpid();
		job_rows_put(rows, &job);
	}
	CHECK_EQUAL(job_rows_counted(rows)->crowded, RINGS - MAX_JOB_QUEUES);
	for (uint64_t i = 0; i < 2 * (uint64_t)MAX_JOB_QUEUES; i++) {
		struct job job = job_of(begin_ns + 1, begin_ns + 9001, begin_ns + 9100 + i % 2);

		job.scheduler = 1 + i / 2;
		job.tgid = job.tid = 1;
		job_rows_put(rows, &job);
	}
	end();
	executions = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	CHECK_EQUAL(count, 3 * MAX_JOB_QUEUES);
	for (size_t i = 0; i < count; i++)
		behind += executions[i].started == begin_ns + 9100;
	CHECK_EQUAL(behind, MAX_JOB_QUEUES);
	free(executions);
	bench_close(&bench);
}

/* So many at a time, and not ever: who has ended leaves room. */
TEST(queues_of_who_has_ended_leave_room)
{
	struct event_execution *executions;
	struct event_loss *losses;
	struct job_rows_lost lost = {.records = 3, .unended = 5};
	uint64_t lost_launches = 0, lost_tracking = 0, lost_full = 0;
	struct job job;
	size_t count;

	begin();
	job = job_of(begin_ns + 100, begin_ns + 200, begin_ns + 300);
	job.tgid = job.tid = ended_child();
	for (uint64_t i = 0; i < MAX_JOB_QUEUES + 7; i++) {
		job.scheduler = 1 + i;
		job_rows_put(rows, &job);
	}
	CHECK_EQUAL(job_rows_counted(rows)->crowded, 7);
	job_rows_put_lost(rows, &lost, begin_ns + 400);
	lost.unended = 6;
	job_rows_put_lost(rows, &lost, begin_ns + 500);
	job_rows_put_lost(rows, &lost, begin_ns + 600);
	job_rows_each_second(rows, begin_ns);
	job_rows_each_second(rows, begin_ns + UINT64_C(1000000000000));
	job = job_of(begin_ns + 100, begin_ns + 200, begin_ns + 300);
	for (uint64_t i = 0; i < MAX_JOB_QUEUES; i++) {
		job.scheduler = 1 + i;
		job_rows_put(rows, &job);
	}
	CHECK_EQUAL(job_rows_counted(rows)->crowded, 7);
	/* who is there stays */
	job_rows_each_second(rows, begin_ns + UINT64_C(2000000000000));
	job.scheduler = 0;
	job_rows_put(rows, &job);
	CHECK_EQUAL(job_rows_counted(rows)->crowded, 8);
	end();
	executions = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	CHECK_EQUAL(count, 2 * MAX_JOB_QUEUES);
	losses = ROWS(&bench, EVENT_LOSS, struct event_loss, &count, NULL);
	CHECK_EQUAL(count, 4);
	for (size_t i = 0; i < count; i++)
		*(losses[i].kind == EVENT_LAUNCH      ? &lost_launches
		  : losses[i].reason == LOSS_TRACKING ? &lost_tracking
						      : &lost_full) += losses[i].count;
	CHECK_EQUAL(lost_launches, 7);
	CHECK_EQUAL(lost_tracking, 6);
	CHECK_EQUAL(lost_full, 3);
	free(executions);
	free(losses);
	bench_close(&bench);
}

static void nothing_more(void *context)
{
}

/* A job may be done before the call that it was queued in is over, and told. */
TEST(a_job_waits_for_its_call)
{
	struct job job;
	struct submission submission = {.correlation = 77, .tid = (uint32_t)getpid()};
	struct event_execution *executions;
	struct event_launch *launches;
	size_t count;

	begin();
	bench.recording->submissions.catch_up = nothing_more;
	job = job_of(begin_ns + 100, begin_ns + 200, begin_ns + 300);
	snprintf(job.driver, sizeof(job.driver), "xe");
	job_rows_put(rows, &job);
	job_rows_retry(rows, false);
	submission.enter_ns = begin_ns + 50;
	submission.exit_ns = begin_ns + 400;
	submission.process = bench.injected->process->row.id;
	submissions_put(&bench.recording->submissions, &submission);
	job_rows_retry(rows, false);
	/* of no call */
	job.queued_ns = begin_ns + 500;
	job.run_ns = begin_ns + 600;
	job.done_ns = begin_ns + 700;
	job_rows_put(rows, &job);
	job_rows_retry(rows, true);
	end();
	executions = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	REQUIRE(count == 2);
	CHECK_EQUAL(executions[0].correlation, 77);
	CHECK_EQUAL(executions[0].ended, begin_ns + 300);
	launches = ROWS(&bench, EVENT_LAUNCH, struct event_launch, &count, NULL);
	REQUIRE(count == 1);
	CHECK_EQUAL(launches[0].correlation, executions[1].correlation);
	free(executions);
	free(launches);
	bench_close(&bench);
}

int main(void)
{
	RUN(a_ring_comes_to_a_job_when_the_one_before_has_ended);
	RUN(of_who_tells_of_its_own_commands_there_is_no_job);
	RUN(a_fence_is_on_the_card_of_its_driver_where_there_is_one_alone);
	RUN(what_nobody_saw_is_absent);
	RUN(who_has_ended_is_forgotten);
	RUN(rings_of_one_name_are_told_apart);
	RUN(no_ring_is_one_too_many);
	RUN(queues_of_who_has_ended_leave_room);
	RUN(a_job_waits_for_its_call);
	return harness_end();
}
