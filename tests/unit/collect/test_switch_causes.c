/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_switch_causes.c - what rows say of who waits, of whom and what for, from
 * what the kernel told
 */
#include "harness.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "bench.h"
#include "collect/cpu/cpu_private.h"

/* ---- what a look found, and what the kernel told --------------------------------------------- */

enum { LOOKED_STACK = 11, LOOKED_WORDS, LOOKED_HOLDER, BPF_STACK, TOLD_WORDS, TOLD_HOLDER };

static struct event_switch say(const struct thread_wait *wait, bool is_look_valid)
{
	struct event_switch row = {0};

	cpu_say_wait(wait, is_look_valid, &row);
	return row;
}

#define CHECK_WAIT(row, its_stack, words, its_holder)   \
	do {                                            \
		const struct event_switch said = (row); \
                                                        \
		CHECK_EQUAL(said.stack, its_stack);     \
		CHECK_EQUAL(said.wait_string, words);   \
		CHECK_EQUAL(said.holder, its_holder);   \
	} while (0)

TEST(told_words_need_no_stack)
{
	struct thread_wait wait = {.bpf_string = TOLD_WORDS, .bpf_holder = TOLD_HOLDER};

	CHECK_WAIT(say(&wait, true), 0, TOLD_WORDS, TOLD_HOLDER);
	CHECK_WAIT(say(&wait, false), 0, TOLD_WORDS, TOLD_HOLDER);
	wait.bpf_stack = BPF_STACK;
	CHECK_WAIT(say(&wait, false), BPF_STACK, TOLD_WORDS, TOLD_HOLDER);
	/* the call's name is less than what the kernel says of it */
	wait = (struct thread_wait){.stack = LOOKED_STACK,
				    .wait_string = LOOKED_WORDS,
				    .bpf_string = TOLD_WORDS,
				    .bpf_holder = TOLD_HOLDER};
	CHECK_WAIT(say(&wait, true), LOOKED_STACK, TOLD_WORDS, TOLD_HOLDER);
}

TEST(an_interpreters_lock_stays)
{
	struct thread_wait wait = {.stack = LOOKED_STACK,
				   .wait_string = LOOKED_WORDS,
				   .is_interpreters = true,
				   .bpf_string = TOLD_WORDS,
				   .bpf_holder = TOLD_HOLDER};

	CHECK_WAIT(say(&wait, true), LOOKED_STACK, LOOKED_WORDS, 0);
	wait.holder = LOOKED_HOLDER;
	CHECK_WAIT(say(&wait, true), LOOKED_STACK, LOOKED_WORDS, LOOKED_HOLDER);
	/* of a later wait: what the kernel told is of this one */
	CHECK_WAIT(say(&wait, false), 0, TOLD_WORDS, TOLD_HOLDER);
	wait.bpf_string = 0;
	CHECK_WAIT(say(&wait, false), 0, 0, 0);
}

/* ---- samples of an interpreter's lock -------------------------------------------------------- */

static void put_sample(struct cpu *cpu, uint32_t tid, uint64_t begin_ns, uint32_t holder)
{
	struct lock_samples *locks = &cpu->python.locks;

	locks->samples[locks->count++ % ARRAY_COUNT(locks->samples)] =
		(struct lock_sample){tid, {holder, 5}, begin_ns, begin_ns + 10};
}

TEST(a_sample_is_of_the_wait_that_contains_it)
{
	struct cpu *cpu = calloc(1, sizeof(*cpu));
	struct cpu_lock lock = {0};

	REQUIRE(cpu);
	CHECK(!cpu_find_lock_sample(cpu, 1, 0, UINT64_MAX, &lock));
	put_sample(cpu, 1, 1000, 0);
	put_sample(cpu, 2, 1100, 22);
	put_sample(cpu, 1, 1200, 21);
	put_sample(cpu, 1, 1300, 23);
	/* it began, or ended, while the thread was looked at */
	CHECK(!cpu_find_lock_sample(cpu, 2, 1105, 2000, &lock));
	CHECK(!cpu_find_lock_sample(cpu, 2, 500, 1105, &lock));
	CHECK(!cpu_find_lock_sample(cpu, 1, 1010, 1200, &lock));
	CHECK(!cpu_find_lock_sample(cpu, 3, 0, UINT64_MAX, &lock));
	CHECK_EQUAL(lock.holder, 0);
	CHECK(cpu_find_lock_sample(cpu, 2, 1100, 1110, &lock));
	CHECK_EQUAL(lock.holder, 22);
	/* the earliest that found a holder */
	CHECK(cpu_find_lock_sample(cpu, 1, 900, 2000, &lock));
	CHECK_EQUAL(lock.holder, 21);
	CHECK_EQUAL(lock.switches, 5);
	/* only the last ones are kept */
	for (uint64_t i = 0; i < ARRAY_COUNT(cpu->python.locks.samples); i++)
		put_sample(cpu, 4, 2000 + i, 0);
	CHECK(!cpu_find_lock_sample(cpu, 1, 900, 2000, &lock));
	CHECK(cpu_find_lock_sample(cpu, 4, 2000, 2010, &lock));
	CHECK_EQUAL(lock.holder, 0);
	CHECK_EQUAL(lock.switches, 0);
	free(cpu);
}

/* ---- the same of whole records --------------------------------------------------------------- */

enum { HOLDER_TID = 4000001, ADDRESSES = 1500, PORTS = 1500 };
#define SECOND UINT64_C(1000000000)

struct stage {
	struct bench bench;
	struct cpu cpu;
	struct process *process; /* this one, so that its mappings are there */
	struct process_thread *waiter, *holder;
	struct event_switch *rows; /* owned; as they were read back */
	size_t count;
};

static void stage_open(struct stage *stage)
{
	struct processes *processes;

	memset(stage, 0, sizeof(*stage));
	bench_open(&stage->bench);
	processes = stage->bench.recording->processes;
	stage->cpu.recording = stage->bench.recording;
	stage->cpu.processes = processes;
	stage->process = processes_begin(processes, (uint32_t)getpid(), 1);
	stage->waiter = process_thread(processes, stage->process, (uint32_t)getpid(), 1);
	stage->holder = process_thread(processes, stage->process, HOLDER_TID, 1);
	process_thread_describe(processes, stage->process, stage->waiter);
	process_thread_describe(processes, stage->process, stage->holder);
}

/* A row in the trace; its number. */
static size_t put(struct stage *stage, uint32_t string, uint32_t holder)
{
	const struct event_switch row = {.time = 10 + stage->count,
					 .previous = stage->waiter->row.id,
					 .wait_string = string,
					 .holder = holder};

	cpu_put_switch(&stage->cpu, stage->waiter->row.id, &row);
	return stage->count++;
}

static void stage_read(struct stage *stage)
{
	const size_t put_count = stage->count;

	bench_read(&stage->bench);
	stage->rows = ROWS(&stage->bench, EVENT_SWITCH, struct event_switch, &stage->count, NULL);
	if (stage->count != put_count)
		abort();
}

static const char *said(struct stage *stage, size_t row)
{
	return text_of(&stage->bench, stage->rows[row].wait_string);
}

static void stage_close(struct stage *stage)
{
	struct switch_causes *who = &stage->cpu.who;

	hash_map_fini(&who->names);
	hash_map_fini(&who->waits);
	hash_map_fini(&who->paths);
	hash_map_fini(&who->locks);
	memory_places_fini(&who->places);
	free(stage->rows);
	bench_close(&stage->bench);
}

static struct kernel_out futex_of(const struct stage *stage, uint64_t address)
{
	return (struct kernel_out){.head = {.time_ns = 10,
					    .flags = KERNEL_IN_CALL | KERNEL_HAS_LOCK,
					    .tid = stage->waiter->row.tid,
					    .tgid = stage->process->row.pid},
				   .call = SYS_futex,
				   .arguments = {address, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2},
				   .lock = {.word = 2, .owner = HOLDER_TID, .kind = 0}};
}

/* What it waits for, as a row says it. */
static size_t tell(struct stage *stage, const struct kernel_out *out)
{
	struct thread_wait wait = {0};

	switch_causes_fill_wait(&stage->cpu, stage->process, out, &wait);
	return put(stage, wait.bpf_string, wait.bpf_holder);
}

TEST(holders)
{
	static int lock;
	struct kernel_out out, plain;
	struct stage stage;
	uint32_t holder;

	stage_open(&stage);
	holder = stage.holder->row.id;
	plain = out = futex_of(&stage, (uintptr_t)&lock);
	tell(&stage, &out);
	/* what else sleeps on a 2 */
	out.lock.word = 1;
	tell(&stage, &out);
	out = plain;
	out.lock.kind = 0x5f3a2210;
	tell(&stage, &out);
	out = plain;
	out.lock.owner = stage.waiter->row.tid;
	tell(&stage, &out);
	out.lock.owner = HOLDER_TID + 1;
	tell(&stage, &out);
	out = plain;
	out.arguments[2] = 1;
	tell(&stage, &out);
	out = plain;
	out.head.flags &= ~(uint32_t)KERNEL_HAS_LOCK;
	tell(&stage, &out);
	process_thread_end(stage.cpu.processes, stage.process, HOLDER_TID, 20);
	tell(&stage, &plain);
	stage_read(&stage);
	CHECK_EQUAL(stage.rows[0].holder, holder);
	CHECK(strncmp(said(&stage, 0), "mutex (", 7) == 0);
	for (size_t i = 1; i < stage.count; i++) {
		CHECK_EQUAL(stage.rows[i].holder, 0);
		CHECK(strncmp(said(&stage, i), "futex (", 7) == 0);
	}
	stage_close(&stage);
}

/* Of a file that is unmapped, its name is not told of what lies there next; of the same state it
 * is. */
TEST(a_place_that_is_mapped_anew)
{
	enum { BYTES = 1 << 16 };
	char path[] = "/tmp/switch_XXXXXX";
	const int file = mkstemp(path);
	void *mapped, *again;
	struct kernel_out out;
	struct stage stage;

	REQUIRE(file >= 0 && ftruncate(file, BYTES) == 0);
	mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	REQUIRE(mapped != MAP_FAILED);
	stage_open(&stage);
	out = futex_of(&stage, (uintptr_t)mapped + 64);
	out.lock.word = 1;
	out.mappings = 1;
	tell(&stage, &out);
	again = mmap(mapped, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	REQUIRE(again == mapped);
	out.head.time_ns = host_clocks_now_ns();
	tell(&stage, &out);
	out.mappings = 2;
	/* the mappings may be read again at once */
	for (size_t i = 0; i < MEMORY_PLACES_KEPT; i++)
		stage.cpu.who.places.kept[i].cost_ns = 0;
	tell(&stage, &out);
	stage_read(&stage);
	CHECK(strncmp(said(&stage, 0), "futex (switch_", 14) == 0);
	CHECK_TEXT(said(&stage, 1), said(&stage, 0));
	CHECK(strncmp(said(&stage, 2), "futex (0x", 9) == 0);
	stage_close(&stage);
	munmap(mapped, BYTES);
	unlink(path);
	close(file);
}

static struct kernel_out read_of(const struct stage *stage, int file, uint32_t generation)
{
	struct stat about;

	if (fstat(file, &about))
		abort();
	return (struct kernel_out){.head = {.time_ns = SECOND,
					    .flags = KERNEL_IN_CALL,
					    .tid = stage->waiter->row.tid,
					    .tgid = stage->process->row.pid},
				   .call = SYS_read,
				   .arguments = {(uint64_t)file},
				   .file_mode = (uint16_t)about.st_mode,
				   .file_inode = about.st_ino,
				   .file_generation = generation};
}

/* A file that is renamed stands for a deleted one whose inode number another file got. */
TEST(a_path_of_an_inode_that_is_used_again)
{
	char first[] = "/tmp/inode_first_XXXXXX", second[64];
	const int file = mkstemp(first);
	struct kernel_out with, without;
	struct stage stage;

	REQUIRE(file >= 0);
	snprintf(second, sizeof(second), "%s_second", first);
	stage_open(&stage);
	with = read_of(&stage, file, 7);
	without = read_of(&stage, file, 0);
	tell(&stage, &with);
	tell(&stage, &without);
	CHECK_EQUAL(rename(first, second), 0);
	with.head.time_ns = 9 * SECOND;
	tell(&stage, &with); /* the same file, whose path may have changed */
	with.file_generation = 8;
	tell(&stage, &with);
	tell(&stage, &without); /* within a second of the look */
	without.head.time_ns = 9 * SECOND;
	tell(&stage, &without);
	close(file);
	without.head.time_ns = 10 * SECOND;
	tell(&stage, &without);
	stage_read(&stage);
	for (size_t i = 0; i < 6; i++) {
		const bool is_second = i == 3 || i == 5;

		CHECK(strstr(said(&stage, i), "inode_first_") != NULL);
		CHECK_EQUAL(strstr(said(&stage, i), "_second") != NULL, is_second);
	}
	CHECK(strstr(said(&stage, 6), "inode_first_") == NULL);
	stage_close(&stage);
	unlink(second);
}

static void name_next(struct stage *stage, const struct kernel_out *out)
{
	struct process_thread thread = {0};
	struct event_switch row = {0};

	switch_causes_preempted(&stage->cpu, &thread, out, &row);
	put(stage, row.wait_string, row.holder);
}

/* The kernel reports the thread's name, and the text has the process's. */
TEST(names_of_threads_of_others)
{
	struct kernel_out out = {.head = {.time_ns = 10}, .next = {5000001, 5000002, "reader"}};
	struct stage stage;
	char want[100];
	int ends[2];
	pid_t pid;

	REQUIRE(pipe(ends) == 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NAME, "feed");
		if (write(ends[1], "", 1) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	REQUIRE(read(ends[0], want, 1) == 1);
	close(ends[0]);
	close(ends[1]);
	stage_open(&stage);
	name_next(&stage, &out);
	out.next.tgid = (uint32_t)pid;
	name_next(&stage, &out);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	stage_read(&stage);
	CHECK_TEXT(said(&stage, 0), "reader (thread of process 5000001)");
	snprintf(want, sizeof(want), "feed (process %d)", (int)pid);
	CHECK_TEXT(said(&stage, 1), want);
	stage_close(&stage);
}

/* A number is given to another process, and a process becomes another program. */
TEST(names_of_others)
{
	struct kernel_out out = {.head = {.time_ns = 10}, .next = {5000001, 5000001, "first"}};
	struct stage stage;

	stage_open(&stage);
	name_next(&stage, &out);
	memcpy(out.next.name, "other", 6);
	name_next(&stage, &out);
	memcpy(out.next.name, "first\0rest", 11);
	name_next(&stage, &out);
	out.next.tgid = ++out.next.tid;
	name_next(&stage, &out);
	CHECK_EQUAL(stage.cpu.who.names.count, 3);
	stage_read(&stage);
	CHECK_TEXT(said(&stage, 0), "first (process 5000001)");
	CHECK_TEXT(said(&stage, 1), "other (process 5000001)");
	CHECK_TEXT(said(&stage, 2), "first (process 5000001)");
	CHECK_TEXT(said(&stage, 3), "first (process 5000002)");
	stage_close(&stage);
}

TEST(tables_are_limited)
{
	struct kernel_out out = {.head = {.time_ns = 10, .flags = KERNEL_IN_CALL},
				 .call = SYS_recvfrom,
				 .file_mode = S_IFSOCK,
				 .family = AF_INET,
				 .socket_type = SOCK_STREAM};
	size_t last = 0, full, free_again;
	struct stage stage;

	stage_open(&stage);
	for (uint16_t port = 1; port <= PORTS; port++) {
		out.peer_port = port;
		last = tell(&stage, &out);
	}
	CHECK_EQUAL(stage.cpu.who.waits.count, 1024);
	for (uint64_t i = 0; i < ADDRESSES; i++) {
		out = futex_of(&stage, 16 + 4 * i);
		tell(&stage, &out);
	}
	CHECK_EQUAL(stage.cpu.who.locks.count, 1024);
	/* of this program's own code it would be told where that lies */
	out = (struct kernel_out){.head = {.time_ns = 10, .flags = KERNEL_FAULT},
				  .call = -1,
				  .fault_address = (uintptr_t)&stage_open};
	full = tell(&stage, &out);
	hash_map_clear(&stage.cpu.who.locks);
	free_again = tell(&stage, &out);
	stage_read(&stage);
	CHECK_TEXT(said(&stage, 0), "recvfrom (TCP, port 1 of the peer)");
	CHECK_TEXT(said(&stage, last), "recvfrom");
	CHECK_TEXT(said(&stage, full), "page fault");
	CHECK(strncmp(said(&stage, free_again), "page fault (/", 13) == 0);
	stage_close(&stage);
}

static const char *losses(struct kernel_losses losses)
{
	static char text[240];

	switch_causes_losses_text(&losses, text, sizeof(text));
	return text;
}

TEST(losses_inside_the_kernel)
{
	CHECK_TEXT(losses((struct kernel_losses){0}), "");
	CHECK_TEXT(losses((struct kernel_losses){.kernel_stacks = 1}),
		   "the kernel stack of 1 switch");
	CHECK_TEXT(losses((struct kernel_losses){.python_samples = 2}),
		   "the Python frames of 2 samples");
	CHECK_TEXT(losses((struct kernel_losses){3, 4, 5, 0}),
		   "the waker of 3 wakings, the kernel stack of 4 switches, the user stack of 5 "
		   "switches");
}

int main(void)
{
	RUN(told_words_need_no_stack);
	RUN(an_interpreters_lock_stays);
	RUN(a_sample_is_of_the_wait_that_contains_it);
	RUN(holders);
	RUN(a_place_that_is_mapped_anew);
	RUN(a_path_of_an_inode_that_is_used_again);
	RUN(names_of_threads_of_others);
	RUN(names_of_others);
	RUN(tables_are_limited);
	RUN(losses_inside_the_kernel);
	return harness_end();
}
