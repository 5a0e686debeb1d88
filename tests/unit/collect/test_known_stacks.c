/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_known_stacks.c - users' stacks that the kernel told: by their numbers, and by what is mapped
 */
#include "collect/told_stacks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include "bench.h"
#include "harness.h"

enum { FORGOTTEN_MOST = 64, PIECE = 4096 };

static struct bench bench;
static struct told_stacks stacks;
static uint64_t forgotten[FORGOTTEN_MOST];
static size_t forgotten_count;

static void on_forgotten(void *context, uint64_t user_stack)
{
	if (context != &bench)
		abort();
	if (forgotten_count < FORGOTTEN_MOST)
		forgotten[forgotten_count] = user_stack;
	forgotten_count++;
}

static void begin(void)
{
	bench_open(&bench);
	told_stacks_init(&stacks, bench.recording);
	stacks.on_forgotten = on_forgotten;
	stacks.context = &bench;
	forgotten_count = 0;
}

static void end(void)
{
	told_stacks_fini(&stacks);
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
	told_stacks_take(&stacks, me(), &told);
}

/* A program whose stacks are new each time does not take the place of all others for good. */
TEST(the_oldest_gives_way_and_is_told_again)
{
	enum { MORE = 10 };

	begin();
	for (uint64_t i = 1; i <= TOLD_STACKS_MOST + MORE; i++)
		take(i, 8 * PIECE + i % 100);
	CHECK_EQUAL(stacks.refused, 0);
	CHECK_EQUAL(stacks.by_number.count, TOLD_STACKS_MOST);
	REQUIRE(forgotten_count == MORE);
	for (uint64_t i = 0; i < MORE; i++)
		CHECK_EQUAL(forgotten[i], i + 1);
	CHECK(told_stacks_find(&stacks, TOLD_STACKS_MOST + MORE, my_id()) != 0);
	CHECK(told_stacks_find(&stacks, MORE + 1, my_id()) != 0);
	CHECK_EQUAL(told_stacks_find(&stacks, 1, my_id()), 0);
	CHECK_EQUAL(forgotten_count, MORE + 1);
	take(1, PIECE);
	CHECK(told_stacks_find(&stacks, 1, my_id()) != 0);
	/* what is there and told once more takes no other's place */
	forgotten_count = 0;
	take(1, PIECE);
	CHECK_EQUAL(forgotten_count, 0);
	end();
	bench_close(&bench);
}

TEST(a_number_is_of_one_process)
{
	begin();
	take(5, PIECE);
	take(6, PIECE);
	CHECK_EQUAL(told_stacks_find(&stacks, 5, my_id() + 1), 0);
	CHECK_EQUAL(forgotten_count, 1);
	CHECK_EQUAL(told_stacks_find(&stacks, 5, my_id()), 0);
	told_stacks_forget(&stacks, my_id());
	CHECK_EQUAL(told_stacks_find(&stacks, 6, my_id()), 0);
	CHECK_EQUAL(told_stacks_find(&stacks, 0, my_id()), 0);
	CHECK_EQUAL(forgotten_count, 4);
	CHECK_EQUAL(stacks.by_number.count, 0);
	end();
	bench_close(&bench);
}

/* The kernel would tell it at each call: 16 KiB a time, for nothing. */
TEST(what_cannot_be_kept_is_not_told_again)
{
	begin();
	hash_map_put(&stacks.bytes_of_user, me()->row.uid, 256 << 20);
	take(5, PIECE);
	CHECK_EQUAL(stacks.refused, 1);
	CHECK_EQUAL(told_stacks_find(&stacks, 5, my_id()), 0);
	CHECK_EQUAL(told_stacks_find(&stacks, 5, my_id()), 0);
	CHECK_EQUAL(forgotten_count, 0);
	CHECK_EQUAL(stacks.unkept, 2);
	/* another user has a share of its own */
	me()->row.uid++;
	take(6, PIECE);
	CHECK(told_stacks_find(&stacks, 6, my_id()) != 0);
	CHECK(hash_map_get(&stacks.bytes_of_user, me()->row.uid, 0) != 0);
	bench.recording->is_memory_full = true;
	take(7, 2 * PIECE);
	CHECK_EQUAL(told_stacks_find(&stacks, 7, my_id()), 0);
	CHECK_EQUAL(stacks.no_memory, 1);
	CHECK_EQUAL(stacks.refused, 1);
	CHECK_EQUAL(forgotten_count, 0);
	end();
	bench_close(&bench);
}

/* ---- what is mapped ---------------------------------------------------------------------------- */

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
		.stack = told_stacks_find(&stacks, user_stack, my_id()),
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
	RUN(a_number_is_of_one_process);
	RUN(what_cannot_be_kept_is_not_told_again);
	RUN(another_library_in_the_place_of_one);
	return harness_end();
}
