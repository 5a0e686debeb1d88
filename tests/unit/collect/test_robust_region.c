/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_robust_region.c - what a program sees in a region when its recorder ends,
 * exits or is killed
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/guest/robust_region.h"
#include "ring/ring.h"

#include "harness.h"

enum { REGIONS = 5, BYTES = 65536 };

struct shared {
	int fds[REGIONS];
	const struct ring_region *seen[REGIONS]; /* as the program maps them */
	struct ring_region *own[REGIONS];        /* of the recorder */
};

static bool open_regions(struct shared *shared)
{
	for (int i = 0; i < REGIONS; i++) {
		shared->fds[i] = memfd_create("rings", MFD_CLOEXEC);
		if (shared->fds[i] < 0 || ftruncate(shared->fds[i], BYTES) < 0)
			return false;
		shared->seen[i] =
			mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, shared->fds[i], 0);
		if (shared->seen[i] == MAP_FAILED)
			return false;
	}
	return true;
}

static void close_regions(struct shared *shared)
{
	for (int i = 0; i < REGIONS; i++) {
		munmap((void *)(uintptr_t)shared->seen[i], BYTES);
		close(shared->fds[i]);
	}
}

static void own_all(struct shared *shared)
{
	for (int i = 0; i < REGIONS; i++) {
		shared->own[i] = robust_region_map(shared->fds[i], BYTES);
		if (!shared->own[i])
			_exit(1);
		robust_region_own(shared->own[i]);
	}
}

/* Runs a recorder in a child to its end; returns waitpid's status. */
static int end_recorder(struct shared *shared, void (*record)(struct shared *shared))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		record(shared);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void be_killed(struct shared *shared)
{
	own_all(shared);
	for (int i = 0; i < REGIONS; i++)
		if (!ring_region_is_owned(shared->seen[i]))
			_exit(2);
	kill(getpid(), SIGKILL);
	pause();
}

static void leave_without_a_word(struct shared *shared)
{
	own_all(shared);
}

/* The first, one from the middle and the last one owned; then killed with the two that are left. */
static void give_up_some(struct shared *shared)
{
	own_all(shared);
	robust_region_unmap(shared->own[4], BYTES);
	robust_region_disown(shared->own[2]);
	robust_region_unmap(shared->own[2], BYTES);
	robust_region_unmap(shared->own[0], BYTES);
	kill(getpid(), SIGKILL);
	pause();
}

/* What a program writes into its region is its own loss: the others are marked all the same. */
static void be_scribbled_over(struct shared *shared)
{
	own_all(shared);
	for (size_t i = 0; i < BYTES / sizeof(uint32_t); i++)
		((uint32_t *)(uintptr_t)shared->seen[2])[i] = 0x41414141;
	kill(getpid(), SIGKILL);
	pause();
}

static uint32_t word(const struct shared *shared, int region)
{
	return atomic_load(&shared->seen[region]->enabled);
}

static void run_each(void (*record)(struct shared *shared), uint32_t first, uint32_t third,
		     uint32_t others)
{
	struct shared shared;

	REQUIRE(open_regions(&shared));
	end_recorder(&shared, record);
	CHECK_EQUAL(word(&shared, 0), first);
	CHECK_EQUAL(word(&shared, 1), RING_OWNER_DIED);
	CHECK_EQUAL(word(&shared, 2), third);
	CHECK_EQUAL(word(&shared, 3), RING_OWNER_DIED);
	CHECK_EQUAL(word(&shared, 4), others);
	close_regions(&shared);
}

TEST(killed)
{
	run_each(be_killed, RING_OWNER_DIED, RING_OWNER_DIED, RING_OWNER_DIED);
}

TEST(exits_without_a_word)
{
	run_each(leave_without_a_word, RING_OWNER_DIED, RING_OWNER_DIED, RING_OWNER_DIED);
}

TEST(some_were_given_up)
{
	run_each(give_up_some, 0, 0, 0);
}

TEST(one_is_scribbled_over)
{
	run_each(be_scribbled_over, RING_OWNER_DIED, 0x41414141, RING_OWNER_DIED);
}

TEST(a_region_ends_with_its_recording)
{
	struct shared shared;

	REQUIRE(open_regions(&shared));
	own_all(&shared);
	for (int i = 0; i < REGIONS; i++) {
		CHECK(ring_region_is_owned(shared.seen[i]));
		robust_region_disown(shared.own[i]);
		CHECK_EQUAL(word(&shared, i), 0);
		robust_region_own(shared.own[i]);
		CHECK(ring_region_is_owned(shared.seen[i]));
		robust_region_unmap(shared.own[i], BYTES);
		CHECK_EQUAL(word(&shared, i), 0);
	}
	close_regions(&shared);
}

int main(void)
{
	RUN(killed);
	RUN(exits_without_a_word);
	RUN(some_were_given_up);
	RUN(one_is_scribbled_over);
	RUN(a_region_ends_with_its_recording);
	return harness_end();
}
