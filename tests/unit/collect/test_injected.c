/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_injected.c - what a process shares with the recorder, and what it keeps of it
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/error.h"

#include "harness.h"

#include "bench.h"

/* The region as the guest maps it. */
struct guest {
	struct injected *injected;
	struct ring_region *region;
	int fd;
};

static void guest_open(struct bench *bench, struct guest *guest)
{
	struct injected_peer peer = bench_peer();

	bench_open(bench);
	REQUIRE(!injected_open(bench->recording, &peer, 0, &guest->injected, &guest->fd));
	guest->region = mmap(NULL, guest->injected->region_bytes, PROT_READ | PROT_WRITE,
			     MAP_SHARED, guest->fd, 0);
	REQUIRE(guest->region != MAP_FAILED);
}

static uint64_t held_bytes(const struct guest *guest)
{
	struct stat about = {0};

	fstat(guest->fd, &about);
	return (uint64_t)about.st_blocks * 512;
}

/* Calls of clFinish of one queue. */
static uint32_t write_calls(struct ring_writer *writer, uint32_t count)
{
	uint32_t written = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct record_api *record = ring_reserve(writer, EVENT_API, RECORD_API_BYTES);

		if (!record)
			continue;
		*record = (struct record_api){
			.head = {.kind = EVENT_API, .size = RECORD_API_BYTES, .detail = 47},
			.begin = i + 1,
			.end = i + 2,
		};
		ring_commit(writer);
		written++;
	}
	return written;
}

TEST(a_program_that_lives_on_keeps_no_memory)
{
	enum { CALLS = 100000 };
	struct bench bench;
	struct guest guest;
	struct ring_writer writer, other;
	size_t bytes, count = 0;
	uint32_t ring_count, ring_bytes;

	guest_open(&bench, &guest);
	ring_count = guest.injected->ring_count;
	ring_bytes = guest.injected->ring_bytes;
	bytes = guest.injected->region_bytes;
	REQUIRE(ring_claim(guest.region, ring_count, ring_bytes, (uint32_t)getpid(), &writer));
	CHECK_EQUAL(write_calls(&writer, CALLS), CALLS);
	CHECK(held_bytes(&guest) > CALLS * RECORD_API_BYTES);
	injected_stop(guest.injected);
	while (injected_drain(guest.injected))
		;
	injected_close(guest.injected);
	printf("# %llu bytes are held after the end\n", (unsigned long long)held_bytes(&guest));
	CHECK(held_bytes(&guest) <= 3 * RING_PAGE);
	/* a thread that is still inside goes on until its ring is full, and learns that it is over */
	CHECK_EQUAL(atomic_load(&guest.region->enabled), 0);
	CHECK(guest.region->magic == RING_MAGIC);
	CHECK(write_calls(&writer, 2 * ring_bytes / RECORD_API_BYTES) < ring_bytes);
	CHECK(atomic_load(&writer.control->lost[EVENT_API]) > 0);
	/* its ring is nobody else's */
	REQUIRE(ring_claim(guest.region, ring_count, ring_bytes, 1, &other));
	CHECK(other.control != writer.control);
	ring_close(&writer);
	munmap(guest.region, bytes);
	close(guest.fd);
	bench_read(&bench);
	free(ROWS(&bench, EVENT_API, struct event_api, &count, NULL));
	CHECK_EQUAL(count, CALLS);
	bench_close(&bench);
}

/* ---- who it is --------------------------------------------------------------------------------- */

static pid_t sleeping_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

static struct injected_peer peer_of(pid_t pid)
{
	return (struct injected_peer){pid, (uint32_t)pid, geteuid(),
				      (int)syscall(SYS_pidfd_open, pid, 0)};
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* The number may be another's by then: nothing is written of a process that ended under our eyes. */
TEST(a_process_that_ended_is_not_described)
{
	struct bench bench;
	struct injected *injected;
	pid_t pid = sleeping_child();
	struct injected_peer peer = peer_of(pid);
	int fd = -1;

	bench_open(&bench);
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT); /* a zombie still has its /proc */
	CHECK_EQUAL(injected_open(bench.recording, &peer, 0, &injected, &fd), -ESRCH);
	CHECK_EQUAL(fd, -1);
	CHECK(!is_open(peer.pid_fd));
	peer.pid_fd = -1; /* as on a kernel without pidfd */
	CHECK_EQUAL(injected_open(bench.recording, &peer, 0, &injected, &fd), -ESRCH);
	waitpid(pid, NULL, 0);
	CHECK_EQUAL(injected_open(bench.recording, &peer, 0, &injected, &fd), -ESRCH);
	error_clear();
	bench_read(&bench);
	CHECK_EQUAL(trace_reader_things(bench.reader, EVENT_PROCESS, &(const void *){NULL}), 1);
	bench_close(&bench);
}

/* Whichever of the two attaches first. */
TEST(parents_are_named)
{
	struct bench bench;
	struct injected *child, *stranger;
	const struct event_process *row;
	pid_t pid = sleeping_child();
	struct injected_peer peer = peer_of(pid), init = peer_of(1);
	uint32_t child_id, own_id;
	int fd = -1, other_fd = -1;

	bench_open(&bench);
	own_id = bench.injected->process.id;
	REQUIRE(!injected_open(bench.recording, &peer, 0, &child, &fd));
	REQUIRE(!injected_open(bench.recording, &init, 0, &stranger, &other_fd));
	child_id = child->process.id;
	CHECK_EQUAL(child->process.parent, 0);
	CHECK_EQUAL(child->process.uid, geteuid());
	injected_relate(stranger, child);
	injected_relate(stranger, bench.injected);
	CHECK_EQUAL(child->process.parent, 0);
	injected_relate(bench.injected, child);
	CHECK_EQUAL(child->process.parent, own_id);
	child->process.parent = 0;
	/* a parent is older than its children: this one has a number that was used again */
	bench.injected->process.start_ticks += 1000000;
	injected_relate(child, bench.injected);
	CHECK_EQUAL(child->process.parent, 0);
	bench.injected->process.start_ticks -= 1000000;
	injected_relate(child, bench.injected);
	injected_close(child);
	injected_close(stranger);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
	close(other_fd);
	bench_read(&bench);
	row = trace_reader_thing(bench.reader, EVENT_PROCESS, child_id);
	CHECK(row && row->parent == own_id && row->parent_pid == (uint32_t)getpid());
	bench_close(&bench);
}

TEST(what_is_kept_is_counted)
{
	struct bench bench;
	uint64_t before;

	bench_open(&bench);
	before = bench.recording->kept_bytes;
	CHECK(bench.injected->kept_bytes > 0); /* of its own description */
	put_device(&bench, 1, "a key of its own");
	CHECK(bench.recording->kept_bytes >= before + strlen("a key of its own"));
	before = bench.recording->kept_bytes;
	put_device(&bench, 2, "a key of its own");
	CHECK_EQUAL(bench.recording->kept_bytes, before);
	injected_stop_describing(bench.injected);
	put_device(&bench, 3, "another");
	put_code(&bench, 4, 0, CODE_KERNEL, "kernel", 0);
	CHECK_EQUAL(bench.recording->kept_bytes, before);
	bench_read(&bench);
	bench_close(&bench);
}

int main(void)
{
	RUN(a_process_that_ended_is_not_described);
	RUN(parents_are_named);
	RUN(what_is_kept_is_counted);
	RUN(a_program_that_lives_on_keeps_no_memory);
	return harness_end();
}
