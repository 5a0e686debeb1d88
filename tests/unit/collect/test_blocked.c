/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_blocked.c - what a thread that waits waits for
 */
#include "harness.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/cpu/blocked.h"

static struct waiter {
	int ends[2];
	uint32_t word;
	atomic_uint tid;
	atomic_bool is_over;
	uint64_t address; /* in its frame */
} waiter;

static void *wait_for_futex(void *unused)
{
	(void)unused;
	waiter.address = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	waiter.tid = (unsigned)gettid();
	while (!waiter.is_over)
		syscall(SYS_futex, &waiter.word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return NULL;
}

static void *wait_for_bytes(void *unused)
{
	char byte;

	(void)unused;
	waiter.tid = (unsigned)gettid();
	return read(waiter.ends[0], &byte, 1) == 1 ? &waiter : NULL;
}

static void *run(void *unused)
{
	(void)unused;
	waiter.tid = (unsigned)gettid();
	while (!waiter.is_over)
		;
	return NULL;
}

/* A new thread needs a moment to get there. */
static enum thread_place find(pthread_t *thread, void *(*what)(void *), enum thread_place wanted,
			      struct blocked_place *ret_place)
{
	enum thread_place found = THREAD_GONE;

	waiter.tid = 0;
	waiter.is_over = false;
	if (pthread_create(thread, NULL, what, NULL))
		return THREAD_GONE;
	while (!waiter.tid)
		usleep(100);
	for (int i = 0; i < 2000 && found != wanted; i++) {
		usleep(1000);
		found = blocked_find(NULL, (uint32_t)getpid(), waiter.tid, ret_place);
	}
	return found;
}

TEST(a_futex)
{
	struct blocked_place place;
	static struct blocked_look look;
	pthread_t thread;

	CHECK_EQUAL(find(&thread, wait_for_futex, THREAD_WAITS, &place), THREAD_WAITS);
	CHECK(blocked_is_futex(&place));
	CHECK(!blocked_has_descriptor(&place));
	CHECK_EQUAL(place.argument, (uint64_t)(uintptr_t)&waiter.word);
	CHECK(strcmp(blocked_call_name(&place), "futex") == 0);
	CHECK_EQUAL(blocked_look(NULL, (uint32_t)getpid(), waiter.tid, &look), THREAD_WAITS);
	CHECK_EQUAL(look.place.argument, place.argument);
	CHECK(look.place.sp <= waiter.address && waiter.address - look.place.sp < 4096);
	waiter.is_over = true;
	waiter.word = 1;
	syscall(SYS_futex, &waiter.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_join(thread, NULL);
}

/* A file that is kept open tells what it would tell when it was opened anew, and nothing of who has
 * ended. */
TEST(files_that_are_kept)
{
	static struct process_reader files;
	static struct blocked_look look;
	const uint32_t pid = (uint32_t)getpid();
	struct blocked_place place;
	pthread_t thread;
	uint64_t word = 42, read = 0;

	for (int i = 0; i < 3; i++) {
		waiter.word = 0;
		waiter.tid = 0;
		CHECK_EQUAL(find(&thread, wait_for_futex, THREAD_WAITS, &place), THREAD_WAITS);
		for (int again = 0; again < 2; again++) {
			CHECK_EQUAL(blocked_look(&files, pid, waiter.tid, &look), THREAD_WAITS);
			CHECK_EQUAL(look.place.sp, place.sp);
			CHECK(look.stack_bytes > 0);
			word++;
			CHECK_EQUAL(process_reader_memory(&files, pid, (uintptr_t)&word, &read,
							  sizeof(read)),
				    sizeof(read));
			CHECK_EQUAL(read, word);
		}
		waiter.is_over = true;
		waiter.word = 1;
		syscall(SYS_futex, &waiter.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		pthread_join(thread, NULL);
		/* it is joined a moment before the kernel forgets it */
		for (int wait = 0;
		     wait < 2000 && blocked_find(&files, pid, waiter.tid, &place) != THREAD_GONE;
		     wait++)
			usleep(1000);
		CHECK_EQUAL(blocked_find(&files, pid, waiter.tid, &place), THREAD_GONE);
	}
	CHECK_EQUAL(process_reader_memory(&files, pid, 8, &read, sizeof(read)), 0);
	process_reader_fini(&files);
	for (int fd = 3; fd < 64; fd++) {
		char path[64], target[256];
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		length = readlink(path, target, sizeof(target) - 1);
		CHECK(length < 0 || !memmem(target, (size_t)length, "pagemap", 7));
	}
}

static size_t open_files_of_proc(void)
{
	size_t count = 0;

	for (int fd = 3; fd < 256; fd++) {
		char path[64], target[256];
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		length = readlink(path, target, sizeof(target) - 1);
		count += length > 0 && (memmem(target, (size_t)length, "pagemap", 7) ||
					memmem(target, (size_t)length, "/syscall", 8));
	}
	return count;
}

TEST(files_of_those_that_ended)
{
	static struct process_reader files;
	static struct blocked_look look;
	const uint32_t pid = (uint32_t)getpid();
	struct blocked_place place;
	pthread_t thread;

	waiter.word = 0;
	CHECK_EQUAL(find(&thread, wait_for_futex, THREAD_WAITS, &place), THREAD_WAITS);
	CHECK_EQUAL(blocked_look(&files, pid, waiter.tid, &look), THREAD_WAITS);
	CHECK_EQUAL(open_files_of_proc(), 2);
	process_reader_remove(&files, pid,
			      waiter.tid + PROCESS_READER_FILES); /* another of that slot */
	CHECK_EQUAL(open_files_of_proc(), 2);
	process_reader_remove(&files, pid, waiter.tid);
	CHECK_EQUAL(open_files_of_proc(), 1);
	process_reader_remove(&files, pid, 0);
	CHECK_EQUAL(open_files_of_proc(), 0);
	waiter.is_over = true;
	waiter.word = 1;
	syscall(SYS_futex, &waiter.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_join(thread, NULL);
	process_reader_fini(&files);
}

TEST(a_read)
{
	struct blocked_place place;
	pthread_t thread;
	void *result;

	REQUIRE(pipe(waiter.ends) == 0);
	CHECK_EQUAL(find(&thread, wait_for_bytes, THREAD_WAITS, &place), THREAD_WAITS);
	CHECK(!blocked_is_futex(&place));
	CHECK(blocked_has_descriptor(&place));
	CHECK_EQUAL(place.argument, (uint64_t)waiter.ends[0]);
	CHECK(strcmp(blocked_call_name(&place), "read") == 0);
	CHECK_EQUAL(write(waiter.ends[1], "x", 1), 1);
	pthread_join(thread, &result);
	CHECK(result == &waiter);
	close(waiter.ends[0]);
	close(waiter.ends[1]);
}

TEST(calls_with_a_descriptor)
{
	static const struct {
		int32_t call;
		const char *name;
		bool has_descriptor;
	} wanted[] = {{SYS_mq_timedreceive, "mq_timedreceive", true},
		      {SYS_flock, "flock", true},
		      {SYS_preadv2, "preadv2", true},
		      {SYS_openat, "openat", false},
		      {SYS_msgrcv, "msgrcv", false}};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const struct blocked_place place = {.call = wanted[i].call};

		REQUIRE(blocked_call_name(&place));
		CHECK(strcmp(blocked_call_name(&place), wanted[i].name) == 0);
		CHECK_EQUAL(blocked_has_descriptor(&place), wanted[i].has_descriptor);
	}
}

TEST(nothing)
{
	struct blocked_place place = {.call = -1};
	pthread_t thread;

	CHECK_EQUAL(find(&thread, run, THREAD_RUNS, &place), THREAD_RUNS);
	waiter.is_over = true;
	pthread_join(thread, NULL);
	CHECK(!blocked_call_name(&place));
	CHECK(!blocked_is_futex(&place));
	CHECK_EQUAL(blocked_find(NULL, (uint32_t)getpid(), 0x7ffffff0, &place), THREAD_GONE);
}

int main(void)
{
	RUN(a_futex);
	RUN(files_that_are_kept);
	RUN(files_of_those_that_ended);
	RUN(a_read);
	RUN(calls_with_a_descriptor);
	RUN(nothing);
	return harness_end();
}
