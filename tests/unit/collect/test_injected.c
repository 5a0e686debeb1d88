/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_injected.c - what a process shares with the recorder, and what it keeps
 * of it
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/error.h"

#include "harness.h"

#include "bench.h"
#include "collect/processes.h"

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
	REQUIRE(!injected_open(bench->recording, &peer, &guest->injected, &guest->fd));
	guest->region = mmap(NULL, guest->injected->region.bytes, PROT_READ | PROT_WRITE,
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
	ring_count = guest.injected->region.ring_count;
	ring_bytes = guest.injected->region.ring_bytes;
	bytes = guest.injected->region.bytes;
	REQUIRE(ring_claim(guest.region, ring_count, ring_bytes, (uint32_t)getpid(), &writer));
	CHECK_EQUAL(write_calls(&writer, CALLS), CALLS);
	CHECK(held_bytes(&guest) > CALLS * RECORD_API_BYTES);
	injected_stop(guest.injected);
	while (injected_drain(guest.injected, UINT64_MAX))
		;
	injected_close(guest.injected);
	printf("# %llu bytes are held after the end\n", (unsigned long long)held_bytes(&guest));
	CHECK(held_bytes(&guest) <= 3 * RING_PAGE);
	/* a thread that is still inside goes on until its ring is full, and learns that it is
	 * over */
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

/* ---- who it is ------------------------------------------------------------------------------- */

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
	return (struct injected_peer){.kind.collector = "opencl",
				      .pid = pid,
				      .ns_pid = (uint32_t)pid,
				      .uid = geteuid(),
				      .pid_fd = (int)syscall(SYS_pidfd_open, pid, 0)};
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* The number may be another's by then: nothing is written of a process that ended under our
 * eyes. */
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
	CHECK_EQUAL(injected_open(bench.recording, &peer, &injected, &fd), -ESRCH);
	CHECK_EQUAL(fd, -1);
	CHECK(!is_open(peer.pid_fd));
	peer.pid_fd = -1; /* as on a kernel without pidfd */
	CHECK_EQUAL(injected_open(bench.recording, &peer, &injected, &fd), -ESRCH);
	waitpid(pid, NULL, 0);
	CHECK_EQUAL(injected_open(bench.recording, &peer, &injected, &fd), -ESRCH);
	error_clear();
	bench_read(&bench);
	CHECK_EQUAL(trace_reader_entities(bench.reader, EVENT_PROCESS, &(const void *){NULL}), 1);
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
	own_id = bench.injected->process->row.id;
	REQUIRE(!injected_open(bench.recording, &peer, &child, &fd));
	REQUIRE(!injected_open(bench.recording, &init, &stranger, &other_fd));
	child_id = child->process->row.id;
	CHECK_EQUAL(child->process->row.parent, 0);
	CHECK_EQUAL(child->process->row.uid, geteuid());
	injected_relate(stranger, child);
	injected_relate(stranger, bench.injected);
	CHECK_EQUAL(child->process->row.parent, 0);
	injected_relate(bench.injected, child);
	CHECK_EQUAL(child->process->row.parent, own_id);
	child->process->row.parent = 0;
	/* a parent is older than its children: this one has a number that was used again */
	bench.injected->process->row.start_ticks += 1000000;
	injected_relate(child, bench.injected);
	CHECK_EQUAL(child->process->row.parent, 0);
	bench.injected->process->row.start_ticks -= 1000000;
	injected_relate(child, bench.injected);
	injected_close(child);
	injected_close(stranger);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
	close(other_fd);
	bench_read(&bench);
	row = trace_reader_entity(bench.reader, EVENT_PROCESS, child_id);
	CHECK(row && row->parent == own_id && row->parent_pid == (uint32_t)getpid());
	bench_close(&bench);
}

static struct quota nothing;

TEST(what_is_kept_is_counted)
{
	struct bench bench;
	uint64_t before, undescribed;

	bench_open(&bench);
	before = bench.recording->kept_bytes;
	CHECK(bench.injected->budget.kept > 0); /* of its own description */
	CHECK(bench.injected->budget.held.used > 0);
	put_device(&bench, 1, "a key of its own");
	CHECK(bench.recording->kept_bytes >= before + strlen("a key of its own"));
	before = bench.recording->kept_bytes;
	put_device(&bench, 2, "a key of its own");
	CHECK_EQUAL(bench.recording->kept_bytes, before);
	bench.injected->budget.user = &nothing;
	undescribed = bench.injected->losses.undescribed;
	put_device(&bench, 3, "another");
	put_code(&bench, 4, 0, CODE_KERNEL, "kernel", 0);
	put_context(&bench, 5);
	put_queue(&bench, 6, 0, 1);
	CHECK_EQUAL(bench.injected->losses.undescribed, undescribed + 4);
	CHECK_EQUAL(bench.recording->kept_bytes, before);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	usleep(1000);
	bench_read(&bench);
	bench_close(&bench);
}

/* ---- what others make of it ------------------------------------------------------------------ */

/* Bytes that malloc has given out, as far as glibc counts them. */
static uint64_t allocated_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

enum flood {
	NEW_TEXTS_OF_A_KNOWN_DEVICE,
	A_DEVICE_AGAIN,
	DEVICES_OF_ONE_KEY,
	CONTENTS_NEVER_FINISHED,
	SMALL_CONTENTS,
	LARGEST_IDS,
	CONTEXTS,
	QUEUES,
	KERNELS,
	KERNELS_MENTIONED,
	WAITING_COMMANDS,
	MODULES,
	FUNCTIONS,
	STACKS,
	FLOODS
};

static void put_device_of(struct bench *bench, uint32_t device, const char *key, uint32_t number)
{
	struct draft draft;
	char text[2048];

	snprintf(text, sizeof(text), "%2000u", number);
	draft_begin(&draft, EVENT_DEVICE, DEVICE_GPU, offsetof(struct record_device, texts));
	draft.device.device = device;
	draft_text(&draft, key);
	for (int i = 0; i < 4; i++)
		draft_text(&draft, text);
	draft_decode(bench, &draft);
}

static void put_launch_of(struct bench *bench, uint32_t kernel, uint32_t queue)
{
	struct draft draft;

	draft_begin(&draft, EVENT_LAUNCH, 59 | COMMAND_KERNEL << 16, sizeof(draft.launch));
	draft.launch.kernel = kernel;
	draft.launch.queue = queue;
	draft_decode(bench, &draft);
}

/* Ids of stacks and what they are made of belong to a ring. */
static void put_stack_part(struct bench *bench, enum flood flood, uint32_t i)
{
	const uint64_t pattern = (uint64_t)i << 8;
	struct draft draft;

	if (flood == MODULES) {
		struct record_module module = {.size_bytes = 4096, .address = pattern};

		draft_begin(&draft, RECORD_MODULE, (1 << 15) - 1 - i % 1000, 0);
		draft_add(&draft, (char *)&module, offsetof(struct record_module, texts));
		((struct record *)draft.words)->kind = RECORD_MODULE;
		((struct record *)draft.words)->detail = (1 << 15) - 1 - i % 1000;
		draft_text(&draft, "/lib/x.so");
	} else if (flood == FUNCTIONS) {
		struct record_python_code code = {.code = (1 << 20) - i % 1000};

		draft_begin(&draft, RECORD_PYTHON_CODE, 0x30b, 0);
		draft_add(&draft, (char *)&code, offsetof(struct record_python_code, texts));
		((struct record *)draft.words)->kind = RECORD_PYTHON_CODE;
		draft_text(&draft, "name");
		draft_text(&draft, "file");
	} else {
		struct record_stack stack = {.stack = (1 << 21) - i % 1000};

		draft_begin(&draft, RECORD_STACK, 1, 0);
		draft_add(&draft, (char *)&stack, sizeof(stack));
		((struct record *)draft.words)->kind = RECORD_STACK;
		((struct record *)draft.words)->detail = 1;
		draft_add(&draft, &pattern, sizeof(pattern));
	}
	bench->ring = &bench->injected->rings[i % bench->injected->region.ring_count];
	draft_decode(bench, &draft);
	bench->ring = &bench->injected->rings[0];
}

static void put_flood(struct bench *bench, enum flood flood, uint32_t i)
{
	char name[64];

	snprintf(name, sizeof(name), "%u", i);
	switch (flood) {
	case NEW_TEXTS_OF_A_KNOWN_DEVICE:
		return put_device_of(bench, 1, "key", i);
	case A_DEVICE_AGAIN:
		return put_device_of(bench, 1, "key", 0);
	case DEVICES_OF_ONE_KEY:
		return put_device_of(bench, i + 1, "key", 0);
	case CONTENTS_NEVER_FINISHED:
		bench->ring = &bench->injected->rings[i % bench->injected->region.ring_count];
		put_code(bench, i + 1, 0, CODE_BINARY, "", 16 << 20);
		bench->ring = &bench->injected->rings[0];
		return;
	case SMALL_CONTENTS:
		put_code(bench, 1, 0, CODE_SOURCE, "", sizeof(name));
		return put_piece(bench, 1, 0, name, sizeof(name));
	case LARGEST_IDS:
		put_context(bench, (1 << 20) - i);
		put_queue(bench, (1 << 20) - i, 0, 0);
		return put_code(bench, (1 << 22) - i, 0, CODE_KERNEL, name, 0);
	case CONTEXTS:
		return put_context(bench, i + 1);
	case QUEUES:
		return put_queue(bench, i + 1, 0, 0);
	case KERNELS:
		return put_code(bench, i + 1, 0, CODE_KERNEL, name, 0);
	case KERNELS_MENTIONED:
		return put_launch_of(bench, i + 1, i + 1);
	case WAITING_COMMANDS:
		return put_execution(bench, 1, i + 1);
	default:
		return put_stack_part(bench, flood, i);
	}
}

/* Whatever a process describes, a recorder keeps no more of it than its user may have: what is
 * counted is what is taken, within a factor of two for the tables' own sizes. */
TEST(no_process_fills_the_recorder)
{
	enum { ROOM = 4 << 20, TIMES = 100000 };

	for (enum flood flood = 0; flood < FLOODS; flood++) {
		struct quota room = {.limit = ROOM};
		uint64_t before, grown, losses;
		struct bench bench;

		bench_open(&bench);
		bench.injected->budget.user = &room;
		before = allocated_bytes();
		for (uint32_t i = 0; i < TIMES; i++) {
			put_flood(&bench, flood, i);
			/* rows that wait to be written are the writer's, who limits them */
			if (i % 1000 == 999)
				trace_writer_flush(bench.writer, (i + 1) * (uint64_t)10000000);
		}
		grown = allocated_bytes() - before;
		losses = bench.injected->losses.undescribed + bench.injected->losses.contents +
			 bench.injected->losses.stacks + bench.injected->losses.executions;
		printf("# flood %d: %llu KiB, %llu refused\n", (int)flood,
		       (unsigned long long)grown >> 10, (unsigned long long)losses);
		CHECK(grown < 2 * ROOM + (8 << 20));
		CHECK(flood == NEW_TEXTS_OF_A_KNOWN_DEVICE || flood == A_DEVICE_AGAIN ||
		      flood == KERNELS_MENTIONED || losses > 0);
		CHECK_EQUAL(bench.injected->losses.broken_times, 0);
		usleep(1000);
		bench_read(&bench);
		bench_close(&bench);
	}
}

/* It goes on being recorded. */
TEST(calls_of_a_process_without_room_are_taken)
{
	const struct event_queue *queues;
	struct event_execution *executions;
	struct bench bench;
	size_t count = 0;

	bench_open(&bench);
	put_device(&bench, 1, "key");
	put_queue(&bench, 1, 0, 1);
	bench.injected->budget.user = &nothing;
	put_queue(&bench, 1000, 0, 1);
	put_launch_of(&bench, 0, 1000);
	put_launch_of(&bench, 0, 1);
	put_execution(&bench, 1, 5);
	put_execution(&bench, 1000, 6);
	usleep(1000);
	bench_read(&bench);
	CHECK_EQUAL(trace_reader_entities(bench.reader, EVENT_QUEUE, (const void **)&queues), 1);
	free(ROWS(&bench, EVENT_LAUNCH, struct event_launch, &count, NULL));
	CHECK_EQUAL(count, 2);
	executions = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	CHECK_EQUAL(count, 2);
	for (size_t i = 0; i < count; i++)
		CHECK_EQUAL(executions[i].valid,
			    executions[i].correlation == 5 ? EXECUTION_TIMED : 0);
	free(executions);
	bench_close(&bench);
}

static void put_content_in_two_pieces(struct bench *bench, struct quota *room)
{
	static const char half[6000];

	bench->injected->budget.user = room;
	put_code(bench, 1, 0, CODE_BINARY, "", 2 * sizeof(half));
	put_piece(bench, 1, 0, half, sizeof(half));
	put_piece(bench, 1, sizeof(half), half, sizeof(half));
}

TEST(what_comes_back_leaves_a_process_without_limit)
{
	const struct event_queue *queues;
	struct bench bench;

	bench_open(&bench);
	put_content_in_two_pieces(&bench, NULL);
	put_device(&bench, 1, "key");
	put_queue(&bench, 1000, 0, 1);
	put_launch_of(&bench, 0, 1000);
	CHECK_EQUAL(bench.injected->losses.undescribed, 0);
	usleep(1000);
	bench_read(&bench);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_QUEUE, (const void **)&queues) == 1);
	CHECK(queues[0].device != 0);
	bench_close(&bench);
}

/* All of it, and no more. */
TEST(what_comes_back_to_a_process_with_a_limit)
{
	enum { ROOM = 1 << 20 };
	struct bench bench;
	struct quota room = {.limit = ROOM};
	uint64_t held_bytes, kept_bytes;

	bench_open(&bench);
	held_bytes = bench.injected->budget.held.used;
	kept_bytes = bench.recording->kept_bytes;
	put_content_in_two_pieces(&bench, &room);
	CHECK_EQUAL(bench.injected->budget.contents.used, 0);
	CHECK_EQUAL(room.used, bench.injected->budget.held.used - held_bytes +
				       bench.recording->kept_bytes - kept_bytes);
	usleep(1000);
	bench_read(&bench);
	bench_close(&bench);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void map_guest(struct injected *injected, int fd, struct guest *guest)
{
	*guest = (struct guest){.injected = injected, .fd = fd};
	guest->region =
		mmap(NULL, injected->region.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(guest->region != MAP_FAILED);
}

/* Of this thread's own processor time: the machine may have other work. */
static uint64_t computed_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

TEST(a_round_ends_in_time)
{
	enum { RINGS = 4 };
	struct ring_writer writers[RINGS];
	struct bench bench;
	struct guest guest;
	uint64_t begin_ns, longest_ns = 0, written = 0;
	size_t bytes, count = 0;
	int rounds = 0;

	guest_open(&bench, &guest);
	bytes = guest.injected->region.bytes;
	for (int i = 0; i < RINGS; i++) {
		REQUIRE(ring_claim(guest.region, guest.injected->region.ring_count,
				   guest.injected->region.ring_bytes, 70, &writers[i]));
		written += write_calls(&writers[i], 200000);
	}
	do {
		begin_ns = computed_ns();
		injected_drain(guest.injected, 2000000);
		begin_ns = computed_ns() - begin_ns;
		longest_ns = begin_ns > longest_ns ? begin_ns : longest_ns;
		rounds++;
	} while (guest.injected->round.has_more);
	printf("# %d rounds, the longest %llu us\n", rounds, (unsigned long long)longest_ns / 1000);
	CHECK(rounds > 2 * RINGS);
	CHECK(longest_ns < 1000000000); /* with a sanitizer */
	/* frozen: what comes later is not read, and what is not read is told */
	injected_freeze(guest.injected);
	CHECK_EQUAL(write_calls(&writers[0], 1000), 1000);
	CHECK_EQUAL(injected_drain(guest.injected, UINT64_MAX), 0);
	CHECK(!guest.injected->round.has_more);
	guest.injected->round.is_frozen = false;
	injected_freeze(guest.injected);
	injected_drain(guest.injected, 0);
	usleep(1000);
	injected_close(guest.injected);
	munmap(guest.region, bytes);
	close(guest.fd);
	bench_read(&bench);
	free(ROWS(&bench, EVENT_API, struct event_api, &count, NULL));
	CHECK(count >= written && count <= written + 1000);
	bench_close(&bench);
}

TEST(what_is_not_read_is_told)
{
	const struct event_loss *losses;
	struct ring_writer writer;
	struct bench bench;
	struct guest guest;
	size_t bytes, count;

	guest_open(&bench, &guest);
	bytes = guest.injected->region.bytes;
	REQUIRE(ring_claim(guest.region, guest.injected->region.ring_count,
			   guest.injected->region.ring_bytes, 70, &writer));
	write_calls(&writer, 1);
	injected_drain(guest.injected, UINT64_MAX);
	write_calls(&writer, 100);
	injected_freeze(guest.injected);
	usleep(1000);
	injected_close(guest.injected);
	munmap(guest.region, bytes);
	close(guest.fd);
	bench_read(&bench);
	count = trace_reader_losses(bench.reader, &losses);
	REQUIRE(count == 1);
	CHECK_EQUAL(losses[0].reason, LOSS_RING_FULL);
	CHECK_EQUAL(losses[0].kind, EVENT_PADDING);
	bench_close(&bench);
}

/* A ring goes from one thread to the next within a second; what the first lost stays the
 * first's. */
TEST(losses_of_a_thread_that_ended)
{
	const struct event_loss *losses;
	const struct event_thread *thread;
	struct ring_writer writer;
	struct bench bench;
	struct guest guest;
	size_t bytes, count;

	guest_open(&bench, &guest);
	bytes = guest.injected->region.bytes;
	for (uint32_t tid = 70; tid < 72; tid++) {
		REQUIRE(ring_claim(guest.region, guest.injected->region.ring_count,
				   guest.injected->region.ring_bytes, tid, &writer));
		write_calls(&writer, 1);
		if (tid == 70)
			ring_count_lost(&writer, EVENT_API, 5);
		ring_close(&writer);
		injected_drain(guest.injected, UINT64_MAX);
		injected_drain(guest.injected, UINT64_MAX);
	}
	injected_close(guest.injected);
	munmap(guest.region, bytes);
	close(guest.fd);
	bench_read(&bench);
	count = trace_reader_losses(bench.reader, &losses);
	REQUIRE(count == 1);
	CHECK_EQUAL(losses[0].count, 5);
	thread = trace_reader_entity(bench.reader, EVENT_THREAD, losses[0].thread);
	CHECK(thread && thread->ns_tid == 70);
	bench_close(&bench);
}

/* ---- a process that comes back --------------------------------------------------------------- */

TEST(a_process_that_comes_back_is_one)
{
	struct ring_writer writer;
	struct bench bench;
	struct guest old, guest;
	const struct event_loss *losses;
	struct event_launch *launches;
	uint32_t queue;
	size_t bytes, count = 0;
	int fd = -1;

	guest_open(&bench, &old);
	bytes = old.injected->region.bytes;
	CHECK(injected_is_same_image(old.injected, false));
	REQUIRE(ring_claim(old.region, old.injected->region.ring_count,
			   old.injected->region.ring_bytes, 70, &writer));
	write_calls(&writer, 1000);
	REQUIRE(!injected_renew(old.injected, UINT64_MAX, &fd));
	CHECK_EQUAL(atomic_load(&old.region->enabled), 0);
	CHECK(held_bytes(&old) <= 3 * RING_PAGE);
	map_guest(old.injected, fd, &guest);
	CHECK(guest.region->enabled && guest.region->magic == RING_MAGIC);
	REQUIRE(ring_claim(guest.region, guest.injected->region.ring_count,
			   guest.injected->region.ring_bytes, 70, &writer));
	write_calls(&writer, 10);
	injected_drain(guest.injected, UINT64_MAX);
	/* commands are counted anew, and are others */
	bench.injected->attachment = 1;
	put_queue(&bench, 3, 0, 0);
	queue = bench.injected->ids.queues[2].id;
	{
		struct draft draft;

		draft_begin(&draft, EVENT_LAUNCH, 59 | COMMAND_KERNEL << 16, sizeof(draft.launch));
		draft.launch.queue = 3;
		draft.launch.correlation = 7;
		draft_decode(&bench, &draft);
	}
	injected_close(guest.injected);
	munmap(guest.region, bytes);
	munmap(old.region, bytes);
	close(guest.fd);
	close(old.fd);
	bench_read(&bench);
	/* the bench's own, and the one */
	CHECK_EQUAL(trace_reader_entities(bench.reader, EVENT_PROCESS, &(const void *){NULL}), 2);
	free(ROWS(&bench, EVENT_API, struct event_api, &count, NULL));
	CHECK_EQUAL(count, 1010);
	REQUIRE(trace_reader_losses(bench.reader, &losses) == 1);
	CHECK_EQUAL(losses[0].kind, EVENT_PADDING);
	CHECK_EQUAL(losses[0].reason, LOSS_GAP);
	CHECK(losses[0].process);
	launches = ROWS(&bench, EVENT_LAUNCH, struct event_launch, &count, NULL);
	REQUIRE(count == 1);
	CHECK_EQUAL(launches[0].queue, queue);
	CHECK_EQUAL(launches[0].correlation, (UINT64_C(1) << 56) + 7);
	free(launches);
	bench_close(&bench);
}

static void put_launch_by(struct guest *guest, uint32_t tid)
{
	struct record_launch *record;
	struct ring_writer writer;

	REQUIRE(ring_claim(guest->region, guest->injected->region.ring_count,
			   guest->injected->region.ring_bytes, tid, &writer));
	record = ring_reserve(&writer, EVENT_LAUNCH, sizeof(*record));
	REQUIRE(record != NULL);
	*record = (struct record_launch){
		.head = {EVENT_LAUNCH, sizeof(*record), COMMAND_KERNEL << 16}, .correlation = 7};
	ring_commit(&writer);
	injected_drain(guest->injected, UINT64_MAX);
}

static void check_one_row_each(struct bench *bench, uint32_t process)
{
	const struct event_process *processes;
	const struct event_thread *threads;
	size_t count =
		trace_reader_entities(bench->reader, EVENT_PROCESS, (const void **)&processes);

	/* the bench's own, and the one of two guests, which ends with the second */
	REQUIRE(count == 2);
	CHECK_EQUAL(processes[1].id, process);
	CHECK_EQUAL(processes[1].ended, 1);
	count = trace_reader_entities(bench->reader, EVENT_THREAD, (const void **)&threads);
	REQUIRE(count == 2);
	CHECK_EQUAL(threads[1].process, process);
}

/* The runtimes of two vendors in one process: each guest has its rings, the process one row, a
 * thread one row, and a command a number of its own. */
TEST(two_guests_of_a_process)
{
	struct injected_peer peer = bench_peer();
	struct guest first, second = {0};
	struct event_launch *launches;
	struct injected *injected;
	struct bench bench;
	uint32_t process;
	size_t count = 0;
	int fd = -1;

	guest_open(&bench, &first);
	process = first.injected->process->row.id;
	peer.kind.collector = "amd";
	peer.sibling = first.injected;
	REQUIRE(!injected_open(bench.recording, &peer, &injected, &fd));
	map_guest(injected, fd, &second);
	CHECK_EQUAL(injected->process->row.id, process);
	put_launch_by(&first, 70);
	put_launch_by(&second, 70);
	first.injected->process->row.ended = 1;
	munmap(first.region, first.injected->region.bytes);
	munmap(second.region, injected->region.bytes);
	injected_close(first.injected);
	CHECK(!processes_find(bench.recording->processes, (uint32_t)getpid())->has_ended);
	injected_close(injected);
	CHECK(processes_find(bench.recording->processes, (uint32_t)getpid())->has_ended);
	close(first.fd);
	close(second.fd);
	bench_read(&bench);
	check_one_row_each(&bench, process);
	launches = ROWS(&bench, EVENT_LAUNCH, struct event_launch, &count, NULL);
	REQUIRE(count == 2);
	CHECK_EQUAL(launches[0].thread, launches[1].thread);
	CHECK_EQUAL(launches[0].correlation, 7);
	CHECK_EQUAL(launches[1].correlation, (UINT64_C(1) << 56) + 7);
	free(launches);
	bench_close(&bench);
}

/* A process that found no room in its ring may have given up a recorder that was stopped, and never
 * come back. */
TEST(a_recorder_that_was_stopped)
{
	const struct event_loss *losses;
	struct ring_writer writer;
	struct bench bench;
	struct guest guest;
	size_t bytes, count, gaps;

	for (int has_lost = 0; has_lost < 2; has_lost++) {
		guest_open(&bench, &guest);
		bytes = guest.injected->region.bytes;
		REQUIRE(ring_claim(guest.region, guest.injected->region.ring_count,
				   guest.injected->region.ring_bytes, 70, &writer));
		write_calls(&writer, 10);
		injected_drain(guest.injected, UINT64_MAX);
		CHECK(guest.injected->region.beat_ns);
		if (has_lost)
			ring_count_lost(&writer, EVENT_DEPENDENCY, 1);
		guest.injected->region.beat_ns -= UINT64_C(1000000) * (RING_SILENT_MS + 1);
		usleep(1000);
		for (int i = 0; i < 3; i++)
			injected_drain(guest.injected, UINT64_MAX);
		injected_close(guest.injected);
		munmap(guest.region, bytes);
		close(guest.fd);
		bench_read(&bench);
		count = trace_reader_losses(bench.reader, &losses);
		gaps = 0;
		for (size_t i = 0; i < count; i++)
			gaps += losses[i].reason == LOSS_GAP && losses[i].kind == EVENT_PADDING;
		CHECK_EQUAL(gaps, has_lost ? 1 : 0);
		bench_close(&bench);
	}
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What a process had ends with it, and is then forgotten; a device is everybody's. */
TEST(things_end_with_their_process)
{
	const struct event_device *device;
	const struct event_context *context;
	const struct event_queue *queue;
	const struct event_clock *clock;
	const struct event_code *code;
	struct bench bench;
	uint64_t end_ns;

	bench_open(&bench);
	put_device(&bench, 1, "key");
	put_context(&bench, 1);
	put_queue(&bench, 1, 1, 1);
	put_code(&bench, 1, 0, CODE_KERNEL, "kernel", 0);
	bench.injected->process->row.ended = 1;
	bench_read(&bench);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_DEVICE, (const void **)&device) == 1);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CONTEXT, (const void **)&context) == 1);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_QUEUE, (const void **)&queue) == 1);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&code) == 1);
	CHECK_EQUAL(device->end_ns, 0);
	end_ns = context->end_ns;
	CHECK(end_ns > context->begin_ns);
	CHECK_EQUAL(queue->end_ns, end_ns);
	CHECK_EQUAL(code->end_ns, end_ns);
	clock = trace_reader_entity(bench.reader, EVENT_CLOCK, queue->clock);
	CHECK(clock && clock->end_ns == end_ns);
	bench_close(&bench);
}

int main(void)
{
	RUN(a_process_that_ended_is_not_described);
	RUN(parents_are_named);
	RUN(what_is_kept_is_counted);
	RUN(a_program_that_lives_on_keeps_no_memory);
	RUN(no_process_fills_the_recorder);
	RUN(calls_of_a_process_without_room_are_taken);
	RUN(what_comes_back_leaves_a_process_without_limit);
	RUN(what_comes_back_to_a_process_with_a_limit);
	RUN(a_round_ends_in_time);
	RUN(what_is_not_read_is_told);
	RUN(losses_of_a_thread_that_ended);
	RUN(a_process_that_comes_back_is_one);
	RUN(two_guests_of_a_process);
	RUN(a_recorder_that_was_stopped);
	RUN(things_end_with_their_process);
	return harness_end();
}
