/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_launches.c - rows of submissions to Intel's GPUs, and the jobs that are
 * the same work
 */
#include "collect/intel/launches.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/array.h"
#include "bench.h"
#include "collect/devices.h"
#include "collect/intel/generation.h"
#include "collect/processes.h"
#include "collect/submissions.h"
#include "harness.h"

enum { MINOR = 128, KERNEL = 0x10000 };

static struct bench bench;
static struct launch_gpu gpus[MAX_SUBMIT_MINORS];
static struct launches *launches;
static uint64_t begin_ns;

static void begin(bool is_timed)
{
	bench_open(&bench);
	memset(gpus, 0, sizeof(gpus));
	snprintf(gpus[MINOR].address, sizeof(gpus[MINOR].address), "0000:03:00.0");
	snprintf(gpus[MINOR].driver, sizeof(gpus[MINOR].driver), "xe");
	launches = launches_new(bench.recording, "xe_exec_ioctl", gpus, is_timed);
	begin_ns = host_clocks_now_ns();
}

static void end(void)
{
	launches_end(launches);
	launches_free(launches);
	bench_read(&bench);
}

/* Of this thread, a batch with `count` kernels. */
static struct submit_record record_of(uint64_t number, uint32_t count)
{
	struct submit_record record = {
		.head = {.time_ns = begin_ns + 10 * number + 5,
			 .kind = SUBMIT_RECORD_BATCH,
			 .tid = (uint32_t)gettid(),
			 .tgid = (uint32_t)getpid()},
		.enter_ns = begin_ns + 10 * number,
		.number = number,
		.vm = 7,
		.minor = MINOR,
		.batches = 1,
		.status = BATCH_DONE,
		.thread = "renderer",
		.found_count = count,
	};

	for (uint32_t i = 0; i < count; i++)
		record.found[i] = (struct submit_found){.address = KERNEL * (i + 1), .count = 1};
	return record;
}

static void take(const struct submit_record *record)
{
	launches_take(launches, record,
		      offsetof(struct submit_record, found) +
			      record->found_count * sizeof(record->found[0]));
	launches_settle(launches);
}

static struct event_launch *read_launches(size_t *ret_count)
{
	return ROWS(&bench, EVENT_LAUNCH, struct event_launch, ret_count, NULL);
}

TEST(a_batch_and_behind_it_its_kernels)
{
	struct submit_record record;
	struct event_launch *rows;
	const struct event_code *codes;
	const struct event_queue *queues;
	size_t count;

	begin(false);
	record = record_of(1, 3);
	record.found[1].count = 2;
	record.found[2].kind = BATCH_SYSTEM_ROUTINE;
	take(&record);
	end();
	rows = read_launches(&count);
	REQUIRE(count == 5);
	CHECK_EQUAL(rows[0].command, COMMAND_BATCH);
	CHECK_EQUAL(rows[0].flags, LAUNCH_UNTIMED);
	CHECK_EQUAL(rows[0].enter, begin_ns + 10);
	CHECK_EQUAL(rows[0].exit, begin_ns + 15);
	CHECK_TEXT(text_of(&bench, rows[0].function_string), "xe_exec_ioctl");
	for (size_t i = 1; i < count; i++) {
		CHECK_EQUAL(rows[i].command, COMMAND_KERNEL);
		CHECK_EQUAL(rows[i].flags, LAUNCH_UNTIMED | LAUNCH_FURTHER | LAUNCH_PART);
		CHECK(rows[i].correlation != rows[i - 1].correlation);
	}
	CHECK_EQUAL(rows[2].kernel, rows[3].kernel);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes) == 3);
	CHECK_EQUAL(codes[0].address, KERNEL);
	CHECK_EQUAL(codes[0].type, CODE_KERNEL);
	CHECK_EQUAL(codes[0].size_bytes, 0);
	CHECK_TEXT(text_of(&bench, codes[0].name_string), "");
	CHECK_TEXT(text_of(&bench, codes[2].name_string), "[system routine]");
	REQUIRE(trace_reader_entities(bench.reader, EVENT_QUEUE, (const void **)&queues) == 1);
	CHECK_EQUAL(queues[0].device, codes[0].device);
	free(rows);
	bench_close(&bench);
}

TEST(a_kernel_ends_where_it_is_unbound)
{
	struct submit_record record;
	struct submit_unbound unbound = {.head = {.kind = SUBMIT_RECORD_UNBOUND}, .vm = 7};
	const struct event_code *codes;
	struct event_launch *rows;
	size_t count;

	begin(false);
	record = record_of(1, 2);
	take(&record);
	unbound.head.time_ns = begin_ns + 100;
	unbound.begin = KERNEL;
	unbound.end = KERNEL + 1;
	launches_take(launches, &unbound, sizeof(unbound));
	launches_settle(launches);
	record = record_of(20, 2);
	take(&record);
	end();
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes) == 3);
	CHECK_EQUAL(codes[0].end_ns, begin_ns + 100);
	CHECK_EQUAL(codes[1].end_ns, 0);
	CHECK_EQUAL(codes[2].address, KERNEL);
	CHECK_EQUAL(codes[2].begin_ns, begin_ns + 200);
	rows = read_launches(&count);
	REQUIRE(count == 6);
	CHECK_EQUAL(rows[2].kernel, rows[5].kernel);
	CHECK(rows[1].kernel != rows[4].kernel);
	free(rows);
	bench_close(&bench);
}

TEST(what_is_found_later_is_of_the_same_submission)
{
	struct submit_record record;
	struct event_launch *rows;
	size_t count;

	begin(false);
	record = record_of(1, 1);
	record.head.flags = SUBMIT_IS_OPEN;
	record.status = BATCH_INCOMPLETE;
	take(&record);
	record = record_of(1, 2);
	record.head.kind = SUBMIT_RECORD_MORE;
	record.found[0].count = 2;
	take(&record);
	record = record_of(2, 0);
	record.head.flags = SUBMIT_IS_OPEN;
	record.status = BATCH_INCOMPLETE;
	take(&record);
	end();
	rows = read_launches(&count);
	REQUIRE(count == 5);
	CHECK_EQUAL(rows[1].kernel, rows[2].kernel);
	CHECK(rows[3].kernel != rows[2].kernel);
	for (size_t i = 0; i < 4; i++)
		CHECK_EQUAL(rows[i].enter, begin_ns + 10);
	CHECK_EQUAL(rows[4].command, COMMAND_BATCH);
	free(rows);
	bench_close(&bench);
}

TEST(what_is_not_known_is_counted)
{
	const struct launches_counts *counts;
	struct submit_record record;

	begin(false);
	counts = launches_counted(launches);
	record = record_of(1, 2);
	record.found[0].flags = BATCH_IS_RELATIVE;
	record.found[1].count = LAUNCHES_A_BATCH + 10;
	record.status = BATCH_LOOP;
	record.counts.too_deep = 3;
	take(&record);
	CHECK_EQUAL(counts->relative, 1);
	CHECK_EQUAL(counts->kernels, LAUNCHES_A_BATCH);
	CHECK_EQUAL(counts->left_out, 10);
	CHECK_EQUAL(counts->looping, 1);
	CHECK_EQUAL(counts->too_deep, 3);
	CHECK_EQUAL(counts->stackless, 1);
	record = record_of(2, 0);
	record.status = BATCH_INCOMPLETE;
	take(&record);
	CHECK_EQUAL(counts->incomplete, 1);
	record.found_count = MAX_BATCH_FOUND + 1;
	launches_take(launches, &record, sizeof(record));
	launches_take(launches, &record, 8);
	launches_settle(launches);
	record = record_of(3, 0);
	record.minor = MAX_SUBMIT_MINORS;
	take(&record);
	CHECK_EQUAL(counts->malformed, 3);
	CHECK_EQUAL(counts->submissions, 2);
	end();
	bench_close(&bench);
}

TEST(of_who_tells_of_its_own_commands_there_is_none)
{
	struct submit_record record;
	struct event_launch *rows;
	size_t count;

	begin(false);
	put_device(&bench, 1, "0000:03:00.0");
	put_context(&bench, 1);
	put_queue(&bench, 1, 1, 1);
	record = record_of(1, 1);
	take(&record);
	CHECK_EQUAL(launches_counted(launches)->has_runtime, 1);
	end();
	rows = read_launches(&count);
	CHECK_EQUAL(count, 0);
	free(rows);
	bench_close(&bench);
}

/* What its guest told before the call was read behind it. */
TEST(who_tells_of_its_own_commands_may_be_known_later)
{
	struct submit_record record;
	struct event_launch *rows;
	size_t count;

	begin(false);
	record = record_of(1, 1);
	launches_take(launches, &record, sizeof(record));
	CHECK_EQUAL(launches_counted(launches)->submissions, 0);
	put_device(&bench, 1, "0000:03:00.0");
	put_context(&bench, 1);
	put_queue(&bench, 1, 1, 1);
	launches_settle(launches);
	CHECK_EQUAL(launches_counted(launches)->submissions, 1);
	CHECK_EQUAL(launches_counted(launches)->has_runtime, 1);
	end();
	rows = read_launches(&count);
	CHECK_EQUAL(count, 0);
	free(rows);
	bench_close(&bench);
}

static uint64_t take_job(uint64_t queued_ns, bool is_fence)
{
	return submissions_take(&bench.recording->submissions, bench.injected->process->row.id,
				(uint32_t)gettid(), queued_ns, is_fence);
}

TEST(a_job_is_the_submission_that_it_was_queued_in)
{
	struct submit_record record;
	struct event_launch *rows;
	uint64_t job, fence;
	size_t count;

	begin(true);
	record = record_of(1, 1);
	take(&record);
	record = record_of(2, 0);
	take(&record);
	CHECK_EQUAL(take_job(begin_ns + 9, false), 0);
	CHECK_EQUAL(take_job(begin_ns + 16, false), 0);
	job = take_job(begin_ns + 12, false);
	fence = take_job(begin_ns + 13, true);
	CHECK_EQUAL(take_job(begin_ns + 12, false), 0);
	end();
	rows = read_launches(&count);
	REQUIRE(count == 3);
	CHECK_EQUAL(rows[0].flags, 0);
	CHECK_EQUAL(rows[0].correlation, job);
	CHECK_EQUAL(fence, job);
	CHECK_EQUAL(rows[1].flags, LAUNCH_UNTIMED | LAUNCH_FURTHER | LAUNCH_PART);
	free(rows);
	bench_close(&bench);
}

/* ---- what is open, and whose ----------------------------------------------------------------- */

static void take_open(uint64_t number)
{
	struct submit_record record = record_of(number, 1);

	record.head.flags = SUBMIT_IS_OPEN;
	record.status = BATCH_INCOMPLETE;
	take(&record);
}

static void take_more(uint64_t number, uint32_t status)
{
	struct submit_record record = record_of(number, 1);

	record.head.kind = SUBMIT_RECORD_MORE;
	record.status = status;
	take(&record);
}

TEST(batches_that_are_given_up_are_counted)
{
	enum { OPEN = 256 };
	const struct launches_counts *counts;

	begin(false);
	counts = launches_counted(launches);
	for (uint64_t i = 1; i <= OPEN; i++)
		take_open(i);
	take_more(5, BATCH_DONE);
	CHECK_EQUAL(counts->incomplete, 0);
	/* into its place */
	take_open(OPEN + 1);
	CHECK_EQUAL(counts->incomplete, 0);
	take_open(OPEN + 2);
	CHECK_EQUAL(counts->incomplete, 1);
	take_more(1, BATCH_DONE);
	CHECK_EQUAL(counts->unmatched, 1);
	take_more(2, BATCH_INCOMPLETE);
	CHECK_EQUAL(counts->incomplete, 2);
	launches_end(launches);
	CHECK_EQUAL(counts->incomplete, OPEN + 1);
	end();
	bench_close(&bench);
}

TEST(what_lies_in_another_space_is_another_kernel)
{
	struct submit_unbound unbound = {.head = {.kind = SUBMIT_RECORD_UNBOUND}, .vm = 7};
	struct submit_record record;
	const struct event_code *codes;

	begin(false);
	record = record_of(1, 1);
	take(&record);
	record = record_of(2, 1);
	record.vm = 8;
	take(&record);
	unbound.head.time_ns = begin_ns + 100;
	launches_take(launches, &unbound, sizeof(unbound));
	end();
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes) == 2);
	CHECK_EQUAL(codes[0].end_ns, begin_ns + 100);
	CHECK_EQUAL(codes[1].end_ns, 0);
	bench_close(&bench);
}

TEST(what_is_left_out_lacks_nothing)
{
	const struct launches_counts *counts;
	struct submit_record record;

	begin(false);
	counts = launches_counted(launches);
	put_device(&bench, 1, "0000:03:00.0");
	put_context(&bench, 1);
	put_queue(&bench, 1, 1, 1);
	record = record_of(1, 0);
	record.status = BATCH_LOOP;
	record.counts.too_deep = record.counts.unresolved = record.counts.mismatched = 3;
	record.head.flags = SUBMIT_NO_VM;
	take(&record);
	record.head.flags = 0;
	take(&record);
	take_open(2);
	take_more(2, BATCH_LOOP);
	take_open(3);
	launches_end(launches);
	CHECK_EQUAL(counts->has_runtime, 4);
	CHECK_EQUAL(counts->looping + counts->incomplete + counts->unmatched, 0);
	CHECK_EQUAL(counts->too_deep + counts->unresolved + counts->mismatched, 0);
	CHECK_EQUAL(counts->no_space, 0);
	end();
	bench_close(&bench);
}

enum { GONE = 4194303 }; /* above what Linux gives out by itself */

static struct submit_record record_of_another(uint64_t number)
{
	struct submit_record record = record_of(number, 1);

	record.head.tgid = record.head.tid = GONE;
	return record;
}

TEST(a_number_that_is_used_again_is_not_its_former_owners)
{
	const struct event_process *processes;
	const struct event_code *codes;
	struct submit_record record;
	size_t count;

	begin(false);
	record = record_of_another(1);
	take(&record);
	processes_end(bench.recording->others, GONE, begin_ns + 100);
	/* read late: it is of before */
	record = record_of_another(5);
	take(&record);
	record = record_of_another(20);
	take(&record);
	end();
	count = trace_reader_entities(bench.reader, EVENT_PROCESS, (const void **)&processes);
	REQUIRE(count == 3);
	CHECK_EQUAL(processes[1].end_ns, begin_ns + 100);
	CHECK_EQUAL(processes[2].begin_ns, begin_ns + 200);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes) == 2);
	CHECK_EQUAL(codes[0].process, processes[1].id);
	CHECK_EQUAL(codes[1].process, processes[2].id);
	bench_close(&bench);
}

static void take_exit(uint32_t pid, uint64_t time, uint64_t start_ns)
{
	const struct submit_process told = {.head = {.time_ns = begin_ns + time,
						     .kind = SUBMIT_RECORD_EXIT,
						     .tid = pid,
						     .tgid = pid},
					    .start_ns = start_ns};

	launches_take(launches, &told, sizeof(told));
}

/* The kernel told it between two submissions, all read at once. */
TEST(an_end_is_behind_what_was_before)
{
	const struct launches_counts *counts;
	const struct event_process *processes;
	const struct event_code *codes;
	struct submit_record record;

	begin(false);
	counts = launches_counted(launches);
	record = record_of_another(1);
	record.head.flags = SUBMIT_IS_OPEN;
	take(&record);
	take_exit(GONE, 100, 0);
	CHECK_EQUAL(counts->incomplete, 1);
	record = record_of_another(20);
	take(&record);
	end();
	REQUIRE(trace_reader_entities(bench.reader, EVENT_PROCESS, (const void **)&processes) == 3);
	CHECK_EQUAL(processes[1].end_ns, begin_ns + 100);
	CHECK_EQUAL(processes[2].begin_ns, begin_ns + 200);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes) == 2);
	CHECK_EQUAL(codes[0].end_ns, begin_ns + 100);
	CHECK_EQUAL(codes[1].process, processes[2].id);
	bench_close(&bench);
}

/* Of one that is recorded who records it tells the end; what comes behind it under its number is
 * another's. */
TEST(the_end_of_one_that_is_recorded)
{
	const struct event_process *processes;
	const struct event_code *codes;
	struct submit_record record;

	begin(false);
	record = record_of(1, 1);
	launches_take(launches, &record, sizeof(record));
	take_exit((uint32_t)getpid(), 100, 0);
	record = record_of(20, 1);
	launches_take(launches, &record, sizeof(record));
	launches_settle(launches);
	CHECK(!processes_find(bench.recording->processes, (uint32_t)getpid())->has_ended);
	end();
	REQUIRE(trace_reader_entities(bench.reader, EVENT_PROCESS, (const void **)&processes) == 2);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes) == 2);
	CHECK_EQUAL(codes[0].end_ns, begin_ns + 100);
	CHECK_EQUAL(codes[0].process, processes[0].id);
	CHECK_EQUAL(codes[1].process, processes[1].id);
	bench_close(&bench);
}

/* No end was told, or it had no room: that they began at different times is enough. */
TEST(two_that_began_at_different_times_are_two)
{
	enum { SECOND = 1000000000 };
	const struct event_process *processes;
	const struct event_code *codes;
	struct submit_record record;

	begin(false);
	for (uint64_t i = 1; i <= 3; i++) {
		record = record_of_another(i);
		record.start_ns = (i + 1) / 2 * (uint64_t)SECOND + i;
		take(&record);
	}
	end();
	REQUIRE(trace_reader_entities(bench.reader, EVENT_PROCESS, (const void **)&processes) == 3);
	CHECK_EQUAL(processes[1].begin_ns, begin_ns + 10);
	CHECK_EQUAL(processes[1].end_ns, begin_ns + 30);
	CHECK_EQUAL(processes[2].begin_ns, begin_ns + 30);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes) == 2);
	CHECK_EQUAL(codes[0].process, processes[1].id);
	CHECK_EQUAL(codes[1].process, processes[2].id);
	bench_close(&bench);
}

/* … and is this process in /proc, which is no word of one that began at another time. */
TEST(who_has_the_number_now_is_not_who_had_it)
{
	const struct event_process *processes;
	struct submit_record record;
	size_t count;

	begin(false);
	record = record_of(1, 1);
	record.head.tid = record.head.tgid = (uint32_t)getppid();
	record.start_ns = 1;
	take(&record);
	end();
	count = trace_reader_entities(bench.reader, EVENT_PROCESS, (const void **)&processes);
	REQUIRE(count == 2);
	CHECK_EQUAL(processes[1].pid, (uint32_t)getppid());
	CHECK_EQUAL(processes[1].exe_string, 0);
	CHECK_EQUAL(processes[1].start_ticks, 0);
	bench_close(&bench);
}

/* A program that waits to be another one. */
static pid_t start_waiting(int *ret_go)
{
	int ends[2];
	pid_t child;
	char byte;

	if (pipe(ends) < 0 || (child = fork()) < 0)
		abort();
	if (child == 0) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 0)
			execl("/bin/sleep", "sleep", "60", NULL);
		_exit(1);
	}
	close(ends[0]);
	*ret_go = ends[1];
	return child;
}

static void wait_for_program(pid_t pid, const char *name)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	char path[64], found[4096];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	for (int i = 0; i < 20000; i++) {
		size = readlink(path, found, sizeof(found) - 1);
		found[size > 0 ? size : 0] = '\0';
		if (strstr(found, name))
			return;
		nanosleep(&nap, NULL);
	}
	abort();
}

/* An exec has the same number and the same start. */
TEST(another_program_is_another_process)
{
	struct submit_process met = {.head = {.kind = SUBMIT_RECORD_MET}};
	const struct event_process *processes;
	struct submit_record record;
	int go;
	const pid_t child = start_waiting(&go);

	begin(false);
	met.head.tid = met.head.tgid = (uint32_t)child;
	for (uint64_t i = 1; i <= 4; i++) {
		record = record_of(i, 1);
		record.head.tid = record.head.tgid = (uint32_t)child;
		if (i == 3) {
			close(go);
			wait_for_program(child, "sleep");
			met.head.time_ns = record.enter_ns - 2;
			launches_take(launches, &met, sizeof(met));
		}
		take(&record);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	end();
	REQUIRE(trace_reader_entities(bench.reader, EVENT_PROCESS, (const void **)&processes) == 3);
	CHECK_EQUAL(processes[1].end_ns, begin_ns + 27);
	CHECK_EQUAL(processes[2].begin_ns, begin_ns + 28);
	CHECK(strstr(text_of(&bench, processes[2].exe_string), "sleep") != NULL);
	CHECK(strstr(text_of(&bench, processes[1].exe_string), "sleep") == NULL);
	bench_close(&bench);
}

TEST(what_the_kernel_has_dropped_stays_incomplete)
{
	const struct submit_dropped dropped = {
		.head = {.kind = SUBMIT_RECORD_DROPPED, .tgid = (uint32_t)getpid()}, .number = 2};
	const struct launches_counts *counts;
	struct submit_record record;

	begin(false);
	counts = launches_counted(launches);
	take_open(1);
	take_open(2);
	launches_take(launches, &dropped, sizeof(dropped));
	CHECK_EQUAL(counts->incomplete, 1);
	launches_take(launches, &dropped, sizeof(dropped));
	CHECK_EQUAL(counts->incomplete, 1);
	take_more(1, BATCH_DONE);
	record = record_of(3, 1);
	record.head.flags = SUBMIT_HAS_MORE;
	take(&record);
	CHECK_EQUAL(counts->beyond, 1);
	launches_end(launches);
	CHECK_EQUAL(counts->incomplete, 1);
	CHECK_EQUAL(counts->malformed + counts->unmatched, 0);
	end();
	bench_close(&bench);
}

TEST(who_is_gone_takes_its_kernels_with_it)
{
	const struct event_process *processes;
	const struct event_code *codes;
	struct submit_record record;

	begin(false);
	record = record_of(1, 1);
	take(&record);
	record = record_of_another(2);
	take(&record);
	record = record_of_another(3);
	record.head.flags = SUBMIT_IS_OPEN;
	take(&record);
	launches_each_second(launches, begin_ns + 1000);
	CHECK_EQUAL(launches_counted(launches)->incomplete, 1);
	end();
	REQUIRE(trace_reader_entities(bench.reader, EVENT_PROCESS, (const void **)&processes) == 2);
	CHECK_EQUAL(processes[1].end_ns, begin_ns + 1000);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes) == 2);
	CHECK_EQUAL(codes[0].end_ns, 0);
	CHECK_EQUAL(codes[1].end_ns, begin_ns + 1000);
	bench_close(&bench);
}

/* It was found gone while its last records were in the ring, of which a stack has no time. */
TEST(the_last_submissions_of_one_that_is_gone_are_its)
{
	static const struct kernel_stack told = {.user_stack = 77, .ip = 8192, .tgid = GONE};
	const struct event_process *processes;
	const struct event_code *codes;
	struct submit_record record;

	begin(false);
	record = record_of_another(1);
	take(&record);
	launches_each_second(launches, begin_ns + 1000);
	launches_take(launches, &told, sizeof(told));
	record = record_of_another(5);
	record.user_stack = told.user_stack;
	take(&record);
	CHECK_EQUAL(launches_counted(launches)->stackless, 1);
	end();
	REQUIRE(trace_reader_entities(bench.reader, EVENT_PROCESS, (const void **)&processes) == 2);
	CHECK_EQUAL(processes[1].end_ns, begin_ns + 1000);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes) == 2);
	CHECK_EQUAL(codes[1].process, processes[1].id);
	bench_close(&bench);
}

/* ---- stacks of guests ------------------------------------------------------------------------ */

static void on_catch_up(void *context)
{
	++*(int *)context;
}

/* A call of the driver by this thread, in [enter, exit) of the recording. */
static void take_call(uint64_t enter, uint64_t exit, uint32_t tid)
{
	struct submit_record record = record_of(enter, 0);

	record.enter_ns = begin_ns + enter;
	record.head.time_ns = begin_ns + exit;
	record.head.tid = tid;
	record.frames_count = 4;
	record.frames_first = 1;
	for (uint32_t i = 0; i < record.frames_count; i++)
		record.frames[i] = 0xffffffff80001000 - 0x100 * i;
	launches_take(launches, &record, offsetof(struct submit_record, found));
}

static void put_guest_stack(uint32_t id)
{
	const uint64_t frames[] = {0x401234, 0x400010};
	struct record_stack stack = {
		.head = {.kind = RECORD_STACK, .detail = 2}, .stack = id, .kept = 2};
	struct draft draft;

	draft_begin(&draft, RECORD_STACK, 2, 0);
	draft_add(&draft, &stack, sizeof(stack));
	draft_add(&draft, frames, sizeof(frames));
	draft_decode(&bench, &draft);
}

/* What it is launched by, between two times. */
static void put_guest_launch(uint64_t enter, uint64_t exit, uint64_t correlation)
{
	const uint64_t stack = 1;
	struct draft draft;

	draft_begin(&draft, EVENT_LAUNCH,
		    3 | COMMAND_KERNEL << 16 | (uint32_t)RECORD_LAUNCH_STACK << 24,
		    sizeof(draft.launch));
	draft.launch.enter = begin_ns + enter;
	draft.launch.exit = begin_ns + exit;
	draft.launch.correlation = correlation;
	draft_add(&draft, &stack, sizeof(stack));
	draft_decode(&bench, &draft);
}

/* Frames of the kernel in a stack, the innermost first. */
static size_t kernel_frames_of(uint32_t stack, uint64_t offsets[4])
{
	const struct event_stack *node;
	size_t count = 0;

	for (; (node = trace_reader_stack(bench.reader, stack)); stack = node->caller) {
		const struct event_frame *frame = trace_reader_frame(bench.reader, node->frame);

		if (frame->type != FRAME_KERNEL)
			break;
		if (count < 4)
			offsets[count] = frame->offset;
		count++;
	}
	return count;
}

TEST(a_guests_stack_has_the_way_of_its_thread_into_the_driver)
{
	/* by correlation: whether the driver was called within */
	static const struct {
		uint64_t enter, exit;
		bool has_way;
	} calls[] = {{100, 200, true},  {100, 200, true},   {250, 300, false},
		     {350, 440, false}, {430, 500, false},  {600, 700, true},
		     {800, 900, false}, {1000, 1100, true}, {1101, 1200, false}};
	const uint32_t me = (uint32_t)gettid();
	struct event_launch *rows;
	uint64_t offsets[4] = {0};
	int caught_up = 0;
	size_t count;

	begin(false);
	bench.recording->tsc = false;
	bench.ring->thread.tid = me;
	bench.recording->submissions.catch_up = on_catch_up;
	bench.recording->submissions.context = &caught_up;
	put_guest_stack(1);
	take_call(50, 60, me);
	take_call(110, 120, me);
	/* begun before, or ended behind it: of neither */
	take_call(340, 360, me);
	take_call(435, 505, me);
	take_call(600, 650, me);
	take_call(660, 700, me);
	/* another thread's */
	take_call(810, 820, me + 1);
	take_call(1050, 1060, me);
	for (size_t i = 0; i < ARRAY_COUNT(calls); i++)
		put_guest_launch(calls[i].enter, calls[i].exit, i + 1);
	CHECK_EQUAL(caught_up, ARRAY_COUNT(calls));
	/* all that ended by then is known */
	bench.recording->driver_calls.read_ns = begin_ns + 5000;
	put_guest_launch(1300, 1400, ARRAY_COUNT(calls) + 1);
	CHECK_EQUAL(caught_up, ARRAY_COUNT(calls));
	bench.recording->submissions.catch_up = NULL;
	put_device(&bench, 1, "0000:03:00.0");
	put_context(&bench, 1);
	put_queue(&bench, 1, 1, 1);
	launches_settle(launches);
	end();
	rows = read_launches(&count);
	REQUIRE(count == ARRAY_COUNT(calls) + 1);
	for (size_t i = 0; i < ARRAY_COUNT(calls); i++) {
		CHECK_EQUAL(rows[i].enter, begin_ns + calls[i].enter);
		CHECK_EQUAL(kernel_frames_of(rows[i].stack, offsets), calls[i].has_way ? 3 : 0);
	}
	/* the first frame was our own program's; the others are where calls return to */
	kernel_frames_of(rows[0].stack, offsets);
	CHECK_EQUAL(offsets[0], 0xffffffff80000f00);
	CHECK_EQUAL(offsets[1], 0xffffffff80000e00 - 1);
	CHECK_EQUAL(offsets[2], 0xffffffff80000d00 - 1);
	free(rows);
	bench_close(&bench);
}

/* ---- a busy system --------------------------------------------------------------------------- */

static uint64_t resident_bytes(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%*u %llu", &pages) != 1)
		abort();
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Of a made-up machine, whose processes are gone whenever they are looked for: 300 processes at a
 * time, each for a tenth of the recording; every 16th submission comes from a place that is new,
 * every 32nd batch stays open; kernels lie in 64 places, of which one is unbound behind every
 * 16th. */
static void take_one_of_many(uint64_t number)
{
	enum { LIFE = 100000, AT_ONCE = 300, PLACES = 64 };
	static struct kernel_stack told = {.bytes = 64};
	const uint32_t pid = GONE - (uint32_t)(number / LIFE * AT_ONCE + number * 31 % AT_ONCE);
	struct submit_unbound unbound = {.head = {.kind = SUBMIT_RECORD_UNBOUND, .tgid = pid}};
	struct submit_record record = record_of(number, 1);

	if (number % 16 == 0) {
		told.user_stack = number / 16 + 1;
		told.ip = 0x400000 + number / 16 % 32;
		told.sp = 0x7ffff000;
		told.tgid = pid;
		launches_take(launches, &told, sizeof(told));
	}
	record.head.tgid = record.head.tid = pid;
	record.vm = pid;
	record.queue = number % 4;
	record.user_stack = number / 16 + 1;
	record.frames_count = 3;
	for (uint32_t i = 0; i < record.frames_count; i++)
		record.frames[i] = 0xffffffff80001000 + i;
	record.found[0].address = KERNEL * (1 + number / AT_ONCE % PLACES);
	if (number % 32 == 1)
		record.head.flags = SUBMIT_IS_OPEN;
	launches_take(launches, &record,
		      offsetof(struct submit_record, found) + sizeof(record.found[0]));
	unbound.vm = pid;
	unbound.begin = KERNEL * (1 + number % (2 * PLACES));
	unbound.end = unbound.begin + KERNEL;
	unbound.head.time_ns = record.head.time_ns;
	if (number % 16 == 3)
		launches_take(launches, &unbound, sizeof(unbound));
}

/* With what a session does from time to time. */
static void take_many(uint64_t from, uint64_t to)
{
	enum { A_SECOND = 50000, SECONDS_A_LIFE = 2, SUBMISSION_NS = 20000 };

	for (uint64_t i = from; i < to; i++) {
		take_one_of_many(i);
		if (i % A_SECOND == 0)
			trace_writer_flush(bench.writer, begin_ns + SUBMISSION_NS * i);
		if (i % (SECONDS_A_LIFE * A_SECOND) == 0)
			launches_each_second(launches, begin_ns + SUBMISSION_NS * i);
	}
}

/* Sanitizers keep what was given back for a while, and more beside each allocation. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MAX_GROWN = 384 << 20 };
#else
enum { MAX_GROWN = 96 << 20 };
#endif

TEST(a_million_submissions_are_decoded_in_bounded_memory)
{
	enum { ALL = 1000000, PART = ALL / 10 };
	const struct launches_counts *counts;
	uint64_t before, grown, rows = 0;

	begin(false);
	counts = launches_counted(launches);
	take_many(1, PART);
	before = resident_bytes();
	take_many(PART, ALL + 1);
	grown = resident_bytes() - before;
	printf("# %.1f MiB after a tenth, %.1f MiB more at the end\n", (double)before / (1 << 20),
	       (double)grown / (1 << 20));
	CHECK_EQUAL(counts->submissions, ALL);
	CHECK_EQUAL(counts->kernels, ALL);
	CHECK_EQUAL(counts->malformed + counts->left_out + counts->refused_stacks, 0);
	CHECK(grown < MAX_GROWN);
	end();
	for (size_t i = 0; i < trace_reader_chunk_count(bench.reader); i++)
		if (trace_reader_chunk(bench.reader, i)->kind == EVENT_LAUNCH)
			rows += trace_reader_chunk(bench.reader, i)->rows;
	CHECK_EQUAL(rows, 2 * ALL);
	bench_close(&bench);
}

TEST(generations)
{
	CHECK_EQUAL(generation_of_ip(12, 0), BATCH_GEN12 + 1);
	CHECK_EQUAL(generation_of_ip(12, 55), BATCH_XE_HPG + 1);
	CHECK_EQUAL(generation_of_ip(12, 60), BATCH_XE_HPC + 1);
	CHECK_EQUAL(generation_of_ip(12, 74), BATCH_XE_HPG + 1);
	CHECK_EQUAL(generation_of_ip(20, 1), BATCH_XE2 + 1);
	CHECK_EQUAL(generation_of_ip(30, 0), BATCH_XE3 + 1);
	CHECK_EQUAL(generation_of_ip(11, 0), 0);
	CHECK_EQUAL(generation_of_pci(0x5917), BATCH_GEN9 + 1);
	CHECK_EQUAL(generation_of_pci(0x8a52), BATCH_GEN11 + 1);
	CHECK_EQUAL(generation_of_pci(0x9a49), BATCH_GEN12 + 1);
	CHECK_EQUAL(generation_of_pci(0x56a0), BATCH_XE_HPG + 1);
	CHECK_EQUAL(generation_of_pci(0x0bd5), BATCH_XE_HPC + 1);
	CHECK_EQUAL(generation_of_pci(0x0116), 0);
}

int main(void)
{
	RUN(a_batch_and_behind_it_its_kernels);
	RUN(a_kernel_ends_where_it_is_unbound);
	RUN(what_is_found_later_is_of_the_same_submission);
	RUN(what_is_not_known_is_counted);
	RUN(of_who_tells_of_its_own_commands_there_is_none);
	RUN(who_tells_of_its_own_commands_may_be_known_later);
	RUN(a_job_is_the_submission_that_it_was_queued_in);
	RUN(batches_that_are_given_up_are_counted);
	RUN(what_lies_in_another_space_is_another_kernel);
	RUN(what_is_left_out_lacks_nothing);
	RUN(a_number_that_is_used_again_is_not_its_former_owners);
	RUN(an_end_is_behind_what_was_before);
	RUN(the_end_of_one_that_is_recorded);
	RUN(two_that_began_at_different_times_are_two);
	RUN(who_has_the_number_now_is_not_who_had_it);
	RUN(another_program_is_another_process);
	RUN(what_the_kernel_has_dropped_stays_incomplete);
	RUN(who_is_gone_takes_its_kernels_with_it);
	RUN(the_last_submissions_of_one_that_is_gone_are_its);
	RUN(a_guests_stack_has_the_way_of_its_thread_into_the_driver);
	RUN(a_million_submissions_are_decoded_in_bounded_memory);
	RUN(generations);
	return harness_end();
}
