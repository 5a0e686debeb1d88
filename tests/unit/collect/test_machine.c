/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_machine.c - switches of the whole machine, of which the kernel does not
 * report some
 */
#include "harness.h"

#include "bench.h"
#include "collect/cpu/cpu_private.h"

/* Above every number that the kernel gives out. */
enum { A = 5000001, B, C, IDLE = 0 };

struct stage {
	struct bench bench;
	struct cpu cpu;
	struct event_switch *rows; /* owned; as they were read back */
	struct event_loss *losses; /* owned */
	size_t count, losses_count;
	uint32_t threads[3];  /* the trace's, of A and behind it: those that had the number last */
	uint64_t ended_ns[3]; /* … of these; 0: they live */
};

/* A record was taken: what is known of its thread now. */
static void look(struct stage *stage, uint32_t tid)
{
	const struct process *process = processes_find(stage->cpu.processes, tid);
	const struct process_thread *thread = hash_map_find_pointer(&process->threads, tid);

	stage->threads[tid - A] = thread->row.id;
	stage->ended_ns[tid - A] = thread->row.end_ns;
}

static void stage_open(struct stage *stage)
{
	memset(stage, 0, sizeof(*stage));
	bench_open(&stage->bench);
	stage->cpu.recording = stage->bench.recording;
	stage->cpu.processes = stage->bench.recording->processes;
	stage->cpu.who.is_machine = true;
}

static void stage_read(struct stage *stage)
{
	cpu_machine_put_losses(&stage->cpu, 1, 1000);
	bench_read(&stage->bench);
	stage->rows = ROWS(&stage->bench, EVENT_SWITCH, struct event_switch, &stage->count, NULL);
	stage->losses =
		ROWS(&stage->bench, EVENT_LOSS, struct event_loss, &stage->losses_count, NULL);
}

static void stage_close(struct stage *stage)
{
	hash_map_fini(&stage->cpu.who.names);
	hash_map_fini(&stage->cpu.who.waits);
	hash_map_fini(&stage->cpu.who.locks);
	hash_map_fini(&stage->cpu.who.unseen);
	memory_places_fini(&stage->cpu.who.places);
	free(stage->rows);
	free(stage->losses);
	bench_close(&stage->bench);
}

static struct kernel_head head_of(uint64_t time_ns, uint16_t processor, uint32_t thread)
{
	return (struct kernel_head){
		.time_ns = time_ns, .cpu = processor, .tid = thread, .tgid = thread};
}

static void leave(struct stage *stage, uint64_t time_ns, uint16_t processor, uint32_t thread,
		  uint32_t next, uint32_t flags)
{
	struct kernel_out out = {.head = head_of(time_ns, processor, thread),
				 .next = {next, next, "next"},
				 .call = -1};

	out.head.kind = KERNEL_RECORD_OUT;
	out.head.flags = flags;
	cpu_machine_take(&stage->cpu, &out.head);
	look(stage, thread);
}

static void enter(struct stage *stage, uint64_t time_ns, uint16_t processor, uint32_t thread,
		  uint64_t woken_ns, uint32_t waker)
{
	struct kernel_in in = {.head = head_of(time_ns, processor, thread),
			       .woken_ns = woken_ns,
			       .waker = {waker, waker, "waker"}};

	in.head.kind = KERNEL_RECORD_IN;
	cpu_machine_take(&stage->cpu, &in.head);
	look(stage, thread);
}

/* UINT64_MAX: it was given a processor that it has not left. */
static uint64_t time_of(const struct stage *stage, uint32_t tid)
{
	const uint32_t thread = stage->threads[tid - A];
	uint64_t came_ns = 0, sum_ns = 0;

	for (size_t i = 0; i < stage->count; i++) {
		const struct event_switch *row = &stage->rows[i];

		if (came_ns && row->previous == thread) {
			sum_ns += row->time - came_ns;
			came_ns = 0;
		}
		if (row->next == thread)
			came_ns = row->time;
	}
	return came_ns ? UINT64_MAX : sum_ns;
}

static uint64_t lost(const struct stage *stage)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < stage->losses_count; i++) {
		CHECK_EQUAL(stage->losses[i].kind, EVENT_SWITCH);
		CHECK_EQUAL(stage->losses[i].reason, LOSS_UNSEEN);
		CHECK(stage->losses[i].thread != 0);
		CHECK(stage->losses[i].process != 0);
		sum += stage->losses[i].count;
	}
	return sum;
}

TEST(nothing_is_missing)
{
	struct stage stage;

	stage_open(&stage);
	leave(&stage, 10, 0, C, A, 0);
	enter(&stage, 10, 0, A, 0, 0);
	leave(&stage, 30, 0, A, IDLE, 0);
	enter(&stage, 40, 0, B, 0, 0);
	leave(&stage, 90, 0, B, A, KERNEL_PREEMPTED);
	enter(&stage, 90, 0, A, 0, 0);
	leave(&stage, 99, 0, A, IDLE, KERNEL_EXITED);
	stage_read(&stage);
	CHECK_EQUAL(stage.count, 7);
	CHECK_EQUAL(lost(&stage), 0);
	CHECK_EQUAL(time_of(&stage, B), 50);
	stage_close(&stage);
}

/* The time of A ends where it woke C, not where B came. */
TEST(a_leaving_that_another_one_shows)
{
	struct stage stage;

	stage_open(&stage);
	enter(&stage, 10, 0, A, 0, 0);
	enter(&stage, 25, 1, C, 22, A);
	leave(&stage, 26, 1, C, IDLE, 0);
	enter(&stage, 500, 0, B, 0, 0);
	leave(&stage, 510, 0, B, IDLE, 0);
	stage_read(&stage);
	CHECK_EQUAL(time_of(&stage, A), 12);
	CHECK_EQUAL(time_of(&stage, B), 10);
	CHECK_EQUAL(time_of(&stage, C), 1);
	CHECK_EQUAL(lost(&stage), 1);
	stage_close(&stage);
}

TEST(a_leaving_that_its_own_return_shows)
{
	struct stage stage;

	stage_open(&stage);
	enter(&stage, 10, 0, A, 0, 0);
	enter(&stage, 500, 0, A, 0, 0);
	leave(&stage, 510, 0, A, IDLE, 0);
	/* on another processor */
	enter(&stage, 600, 0, A, 0, 0);
	enter(&stage, 700, 1, A, 0, 0);
	leave(&stage, 705, 1, A, IDLE, 0);
	stage_read(&stage);
	CHECK_EQUAL(time_of(&stage, A), 15);
	CHECK_EQUAL(lost(&stage), 2);
	stage_close(&stage);
}

/* B was given the processor that A had, and only B's leaving is reported. */
TEST(a_coming_that_its_leaving_shows)
{
	struct stage stage;

	stage_open(&stage);
	enter(&stage, 10, 0, A, 0, 0);
	leave(&stage, 500, 0, B, IDLE, 0);
	leave(&stage, 700, 0, C, IDLE, 0);
	stage_read(&stage);
	CHECK_EQUAL(time_of(&stage, A), 0);
	CHECK_EQUAL(time_of(&stage, B), 0);
	CHECK_EQUAL(lost(&stage), 2);
	stage_close(&stage);
}

/* Two rows of one moment come in either order: the end is not behind the next one's begin. */
TEST(a_waking_that_is_read_early)
{
	struct stage stage;

	stage_open(&stage);
	enter(&stage, 10, 0, A, 0, 0);
	enter(&stage, 60, 1, C, 55, A);
	enter(&stage, 50, 0, B, 0, 0);
	leave(&stage, 70, 0, B, IDLE, 0);
	stage_read(&stage);
	CHECK_EQUAL(time_of(&stage, A), 40);
	CHECK_EQUAL(time_of(&stage, B), 20);
	stage_close(&stage);
}

/* A number is given out again: its new owner is another thread. */
TEST(a_number_of_one_that_ended)
{
	struct stage stage;
	uint32_t before;

	stage_open(&stage);
	enter(&stage, 10, 0, A, 0, 0);
	/* its process goes on, with another thread */
	process_thread_begin(stage.cpu.processes, processes_find(stage.cpu.processes, A), C, 10);
	leave(&stage, 20, 0, A, IDLE, KERNEL_EXITED);
	before = stage.threads[0];
	CHECK_EQUAL(stage.ended_ns[0], 20);
	enter(&stage, 30, 0, A, 0, 0);
	CHECK(stage.threads[0] != before);
	CHECK_EQUAL(stage.ended_ns[0], 0);
	leave(&stage, 37, 0, A, IDLE, 0);
	stage_read(&stage);
	CHECK_EQUAL(stage.count, 4);
	CHECK_EQUAL(time_of(&stage, A), 7);
	CHECK_EQUAL(lost(&stage), 0);
	stage_close(&stage);
}

/* The end of a process is seen by other means, too, before all records of its threads are read. */
TEST(what_is_read_after_the_end_is_of_the_thread_that_ended)
{
	struct stage stage;
	uint32_t before;

	stage_open(&stage);
	enter(&stage, 10, 0, A, 0, 0);
	before = stage.threads[0];
	processes_end(stage.cpu.processes, A, 50);
	leave(&stage, 20, 0, A, IDLE, 0);
	enter(&stage, 30, 0, A, 0, 0);
	leave(&stage, 50, 0, A, IDLE, KERNEL_EXITED);
	CHECK_EQUAL(stage.threads[0], before);
	CHECK_EQUAL(stage.ended_ns[0], 50);
	stage_read(&stage);
	CHECK_EQUAL(time_of(&stage, A), 30);
	CHECK_EQUAL(lost(&stage), 0);
	stage_close(&stage);
}

int main(void)
{
	RUN(nothing_is_missing);
	RUN(a_leaving_that_another_one_shows);
	RUN(a_leaving_that_its_own_return_shows);
	RUN(a_coming_that_its_leaving_shows);
	RUN(a_waking_that_is_read_early);
	RUN(a_number_of_one_that_ended);
	RUN(what_is_read_after_the_end_is_of_the_thread_that_ended);
	return harness_end();
}
