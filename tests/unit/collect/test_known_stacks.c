/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_known_stacks.c - users' stacks that the kernel told: by their numbers,
 * and by what is mapped
 */
#include "collect/stack/bpf_stacks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include "base/quota.h"
#include "bench.h"
#include "harness.h"

enum { MAX_FORGOTTEN = 64, PIECE = 4096 };

static struct bench bench;
static struct bpf_stacks stacks;
static uint64_t forgotten[MAX_FORGOTTEN];
static size_t forgotten_count;

static void on_forgotten(void *context, uint64_t user_stack)
{
	if (context != &bench)
		abort();
	if (forgotten_count < MAX_FORGOTTEN)
		forgotten[forgotten_count] = user_stack;
	forgotten_count++;
}

static void begin(void)
{
	bench_open(&bench);
	if (bpf_stacks_init(&stacks, bench.recording))
		abort();
	stacks.on_forgotten = on_forgotten;
	stacks.context = &bench;
	forgotten_count = 0;
}

static void end(void)
{
	bpf_stacks_fini(&stacks);
	bench_read(&bench);
}

static struct process *me(void)
{
	return processes_find(bench.recording->processes, (uint32_t)getpid());
}

static uint32_t my_id(void)
{
	return bench.injected->process->row.id;
}

static void take(uint64_t user_stack, uint64_t ip)
{
	static struct kernel_stack told;

	told.user_stack = user_stack;
	told.ip = ip;
	told.tgid = (uint32_t)getpid();
	bpf_stacks_take(&stacks, me(), &told);
}

/* A program whose stacks are new each time does not take the place of all others for good. */
TEST(the_oldest_gives_way_and_is_told_again)
{
	enum { MORE = 10 };

	begin();
	for (uint64_t i = 1; i <= MAX_TOLD_STACKS + MORE; i++)
		take(i, 8 * PIECE + i % 100);
	CHECK_EQUAL(stacks.refused, 0);
	CHECK_EQUAL(stacks.by_number.count, MAX_TOLD_STACKS);
	REQUIRE(forgotten_count == MORE);
	for (uint64_t i = 0; i < MORE; i++)
		CHECK_EQUAL(forgotten[i], i + 1);
	CHECK(bpf_stacks_find(&stacks, MAX_TOLD_STACKS + MORE, my_id()) != 0);
	CHECK(bpf_stacks_find(&stacks, MORE + 1, my_id()) != 0);
	CHECK_EQUAL(bpf_stacks_find(&stacks, 1, my_id()), 0);
	CHECK_EQUAL(forgotten_count, MORE + 1);
	take(1, PIECE);
	CHECK(bpf_stacks_find(&stacks, 1, my_id()) != 0);
	/* what is there and told once more takes no other's place */
	forgotten_count = 0;
	take(1, PIECE);
	CHECK_EQUAL(forgotten_count, 0);
	end();
	bench_close(&bench);
}

/* What one collector has loaded is there for the next, and stays until the last one ends. */
TEST(one_walker_for_all_collectors)
{
	struct bpf_stacks others;

	begin();
	REQUIRE(bpf_stacks_init(&others, bench.recording) == 0);
	CHECK(others.walker == stacks.walker);
	take(1, (uintptr_t)&begin);
	CHECK(others.walker->files.count > 0);
	bpf_stacks_fini(&others);
	CHECK(bench.recording->walker == stacks.walker);
	CHECK(bpf_stacks_find(&stacks, 1, my_id()) != 0);
	end();
	CHECK(bench.recording->walker == NULL);
	bench_close(&bench);
}

TEST(a_number_is_of_one_process)
{
	begin();
	take(5, PIECE);
	take(6, PIECE);
	CHECK_EQUAL(bpf_stacks_find(&stacks, 5, my_id() + 1), 0);
	CHECK_EQUAL(forgotten_count, 1);
	CHECK_EQUAL(bpf_stacks_find(&stacks, 5, my_id()), 0);
	bpf_stacks_forget(&stacks, my_id());
	CHECK_EQUAL(bpf_stacks_find(&stacks, 6, my_id()), 0);
	CHECK_EQUAL(bpf_stacks_find(&stacks, 0, my_id()), 0);
	CHECK_EQUAL(forgotten_count, 4);
	CHECK_EQUAL(stacks.by_number.count, 0);
	end();
	bench_close(&bench);
}

/* The kernel would tell it at each call: 16 KiB a time, for nothing. */
TEST(what_cannot_be_kept_is_not_told_again)
{
	struct quota *full;

	begin();
	take(4, 3 * PIECE); /* its user has a quota from now on */
	full = hash_map_find_pointer(&stacks.quotas, me()->row.uid);
	REQUIRE(full != NULL);
	full->used = 256 << 20;
	take(5, PIECE);
	CHECK_EQUAL(stacks.refused, 1);
	CHECK_EQUAL(bpf_stacks_find(&stacks, 5, my_id()), 0);
	CHECK_EQUAL(bpf_stacks_find(&stacks, 5, my_id()), 0);
	CHECK_EQUAL(forgotten_count, 0);
	CHECK_EQUAL(stacks.unkept, 2);
	/* another user has a share of its own */
	me()->row.uid++;
	take(6, PIECE);
	CHECK(bpf_stacks_find(&stacks, 6, my_id()) != 0);
	CHECK(((struct quota *)hash_map_find_pointer(&stacks.quotas, me()->row.uid))->used != 0);
	bench.recording->is_memory_full = true;
	take(7, 2 * PIECE);
	CHECK_EQUAL(bpf_stacks_find(&stacks, 7, my_id()), 0);
	CHECK_EQUAL(stacks.no_memory, 1);
	CHECK_EQUAL(stacks.refused, 1);
	CHECK_EQUAL(forgotten_count, 0);
	end();
	bench_close(&bench);
}

/* ---- what is mapped -------------------------------------------------------------------------- */

static void *map_at(void *address, const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *mapped;

	if (fd < 0)
		abort();
	mapped = mmap(address, PIECE, PROT_READ | PROT_EXEC,
		      MAP_PRIVATE | (address ? MAP_FIXED : 0), fd, 0);
	close(fd);
	if (mapped == MAP_FAILED)
		abort();
	return mapped;
}

/* A file has those stacks alone that a row has. */
static uint32_t use(uint64_t user_stack)
{
	const struct trace_source source = {.source = bench.ring->thread.id,
					    .clock = CLOCK_ID_MONOTONIC};
	const struct event_launch row = {
		.enter = 1,
		.exit = 2,
		.thread = bench.ring->thread.id,
		.correlation = user_stack,
		.stack = bpf_stacks_find(&stacks, user_stack, my_id()),
	};

	trace_writer_row(bench.writer, EVENT_LAUNCH, &source, &row);
	return row.stack;
}

/* Of the innermost frame. */
static const char *file_of(uint32_t stack)
{
	const struct event_stack *node = trace_reader_stack(bench.reader, stack);
	const struct event_frame *frame =
		node ? trace_reader_frame(bench.reader, node->frame) : NULL;

	return frame ? text_of(&bench, frame->module_string) : "";
}

TEST(another_library_in_the_place_of_one)
{
	const char *const first = "/proc/self/exe", *const second = "/bin/sh";
	char exe[4096] = "", shell[4096] = "";
	struct timespec second_more = {.tv_sec = 1, .tv_nsec = 100000000};
	uint32_t one, other;
	void *mapped;

	if (readlink(first, exe, sizeof(exe) - 1) < 0 || !realpath(second, shell))
		abort();
	begin();
	mapped = map_at(NULL, first);
	take(1, (uintptr_t)mapped + 16);
	one = use(1);
	map_at(mapped, second);
	nanosleep(&second_more, NULL);
	/* what the first look took of the time for such looks is no matter here */
	me()->looks.until_ns = 0;
	take(2, (uintptr_t)mapped + 16);
	other = use(2);
	munmap(mapped, PIECE);
	end();
	CHECK_TEXT(file_of(one), exe);
	CHECK_TEXT(file_of(other), shell);
	bench_close(&bench);
}

int main(void)
{
	RUN(the_oldest_gives_way_and_is_told_again);
	RUN(one_walker_for_all_collectors);
	RUN(a_number_is_of_one_process);
	RUN(what_cannot_be_kept_is_not_told_again);
	RUN(another_library_in_the_place_of_one);
	return harness_end();
}
