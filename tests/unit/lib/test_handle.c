/* SPDX-License-Identifier: MIT
 *
 * tests/unit/lib/test_handle.c - threads, forks and recorders that come and go, below duet.h
 *
 * The library is linked in; the test plays the recorder in a thread of its own. Also run under
 * ThreadSanitizer.
 */
#include <duet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/guest/attach.h"
#include "harness.h"
#include "lib/handle.h"
#include "mappings.h"
#include "ring/ring.h"

enum { RINGS = 8, RING_BYTES = 65536, MAX_REGIONS = 4, THREADS = 4, WAIT_MS = 20000 };

/* ---- the recorder's side --------------------------------------------------------------------- */

struct counted {
	uint32_t pushes, pops, starts, stops, marks, counters, wrong;
	uint64_t deepest, last_depth;           /* of pushes */
	char last[RECORD_RANGE_TEXT_BYTES + 8]; /* name of the last mark */
};

struct region {
	struct ring_region *at;
	struct ring_reader readers[RINGS];
	struct counted counted;
	pid_t pid;
	char guest[20];
};

static struct recorder_thread {
	struct attach attach;
	pthread_t thread;
	_Atomic bool ends, refuses;
	_Atomic bool rests;     /* as one that is stopped: it hears no hello */
	_Atomic uint32_t count; /* of regions, of which each is ready to be read */
	struct region regions[MAX_REGIONS];
	uint64_t scratch[8192];
} recorder;

static int make_region(struct region *region)
{
	size_t bytes = ring_region_bytes(RINGS, RING_BYTES);
	int fd = memfd_create("rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		abort();
	region->at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (region->at == MAP_FAILED)
		abort();
	region->at->magic = RING_MAGIC;
	region->at->version = RING_VERSION;
	region->at->ring_count = RINGS;
	region->at->ring_bytes = RING_BYTES;
	region->at->enabled = 1;
	region->at->beat_ns = UINT64_MAX / 2;
	for (uint32_t i = 0; i < RINGS; i++)
		ring_reader_init(&region->readers[i], region->at, RING_BYTES, i);
	return fd;
}

static void count_range(struct counted *counted, const struct record_range *record)
{
	const bool is_end = record->head.detail & RECORD_RANGE_END;
	const uint32_t type = record->head.detail & 0xff & ~(uint32_t)RECORD_RANGE_END;

	counted->wrong += record->head.detail >> 8 != RANGE_OF_LIBDUET;
	if (type == RANGE_PUSH) {
		*(is_end ? &counted->pops : &counted->pushes) += 1;
		counted->last_depth = is_end ? counted->last_depth : record->id;
		counted->deepest = record->id > counted->deepest ? record->id : counted->deepest;
	} else if (type == RANGE_START) {
		*(is_end ? &counted->stops : &counted->starts) += 1;
		counted->wrong += record->id == 0;
	} else {
		counted->marks++;
		snprintf(counted->last, sizeof(counted->last), "%s",
			 record->texts + strlen(record->texts) + 1);
	}
}

static void count_record(void *context, const struct record *record)
{
	struct counted *counted = context;

	if (record->kind == EVENT_RANGE)
		count_range(counted, (const struct record_range *)record);
	else if (record->kind == EVENT_COUNTER)
		counted->counters++;
	else
		counted->wrong++;
}

static void drain(struct region *region)
{
	for (uint32_t i = 0; i < RINGS; i++) {
		const uint32_t state = atomic_load_explicit(&region->readers[i].control->state,
							    memory_order_acquire);
		size_t taken = ring_drain(&region->readers[i], RING_BYTES, recorder.scratch,
					  count_record, &region->counted);

		if (!taken && state == RING_CLOSED)
			ring_recycle(&region->readers[i]);
	}
}

/* A new one, or that of the same guest, whose counts go on. */
static struct region *region_of(const struct attach_hello *hello)
{
	const uint32_t count = atomic_load(&recorder.count);

	for (uint32_t i = 0; i < count; i++) {
		struct region *region = &recorder.regions[i];

		if (region->pid != hello->pid || strcmp(region->guest, hello->hello.guest) != 0)
			continue;
		drain(region);
		region->counted.wrong += !atomic_load(&region->at->left);
		munmap(region->at, ring_region_bytes(RINGS, RING_BYTES));
		return region;
	}
	if (count == MAX_REGIONS)
		abort();
	recorder.regions[count] = (struct region){.pid = hello->pid};
	memcpy(recorder.regions[count].guest, hello->hello.guest, sizeof(hello->hello.guest));
	return &recorder.regions[count];
}

static void take_guest(const struct attach_hello *hello)
{
	struct region *region;
	int fd = -1;

	if (atomic_load(&recorder.refuses)) {
		attach_answer(hello->fd, 0, 0, -1);
	} else {
		region = region_of(hello);
		fd = make_region(region);
		attach_answer(hello->fd, RINGS, RING_BYTES, fd);
		close(fd);
		if (region == &recorder.regions[atomic_load(&recorder.count)])
			atomic_fetch_add(&recorder.count, 1);
	}
	close(hello->fd);
	if (hello->pid_fd >= 0)
		close(hello->pid_fd);
}

static void *record(void *unused)
{
	struct attach_hello hello;
	bool ends;

	(void)unused;
	do {
		ends = atomic_load(&recorder.ends); /* before the last round */
		while (!atomic_load(&recorder.rests) && attach_next(&recorder.attach, &hello))
			take_guest(&hello);
		for (uint32_t i = 0; i < atomic_load(&recorder.count); i++)
			drain(&recorder.regions[i]);
		usleep(500);
	} while (!ends);
	return NULL;
}

static void recorder_begin(void)
{
	memset(&recorder, 0, sizeof(recorder));
	if (attach_open(&recorder.attach, false, geteuid(), getegid()) < 0 ||
	    pthread_create(&recorder.thread, NULL, record, NULL))
		abort();
	setenv(SESSION_VARIABLE, recorder.attach.addresses, 1);
}

static void recorder_end(void)
{
	atomic_store(&recorder.ends, true);
	pthread_join(recorder.thread, NULL);
	attach_close(&recorder.attach);
	unsetenv(SESSION_VARIABLE);
}

static void recorder_free(void)
{
	for (uint32_t i = 0; i < recorder.count; i++)
		munmap(recorder.regions[i].at, ring_region_bytes(RINGS, RING_BYTES));
}

/* ---- the program's side ---------------------------------------------------------------------- */

static struct duet *duet;

enum { TURNS = 2000 };

static void *say_much(void *unused)
{
	(void)unused;
	for (int i = 0; i < TURNS; i++) {
		duet_range_push(duet, NULL, "outer");
		duet_range_push(duet, "b", "inner");
		duet_counter(duet, "turns", "events", i);
		duet_range_pop(duet, "b");
		duet_range_stop(duet, duet_range_start(duet, NULL, "started"));
		duet_mark(duet, NULL, "mark");
		duet_range_pop(duet, NULL);
	}
	return NULL;
}

static void run_threads(pthread_t threads[THREADS])
{
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, say_much, NULL))
			abort();
}

static void join_threads(pthread_t threads[THREADS])
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static uint64_t lost(const struct region *region, enum event_kind kind)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < RINGS; i++)
		sum += region->readers[i].control->lost[kind];
	return sum;
}

TEST(every_record_comes_or_is_counted)
{
	pthread_t threads[THREADS];
	const struct counted *counted = &recorder.regions[0].counted;

	recorder_begin();
	duet = duet_open(NULL, NULL, 0);
	REQUIRE(duet != NULL);
	say_much(NULL); /* before the start: nothing */
	CHECK_EQUAL(duet_is_recording(duet), 0);
	CHECK_EQUAL(duet_start(duet), DUET_JOINED);
	CHECK_EQUAL(duet_is_recording(duet), 1);
	CHECK_EQUAL(duet_start(duet), -EALREADY);
	run_threads(threads);
	join_threads(threads);
	CHECK_EQUAL(duet_stop(duet), 0);
	say_much(NULL);
	recorder_end();
	REQUIRE(recorder.count == 1);
	CHECK(strncmp(recorder.regions[0].guest, "ranges:", 7) == 0);
	CHECK_EQUAL(counted->pushes + counted->pops + counted->starts + counted->stops +
			    counted->marks + lost(&recorder.regions[0], EVENT_RANGE),
		    THREADS * TURNS * 7);
	CHECK_EQUAL(counted->counters + lost(&recorder.regions[0], EVENT_COUNTER), THREADS * TURNS);
	CHECK_EQUAL(counted->wrong, 0);
	CHECK_EQUAL(counted->deepest, 2);
	duet_close(duet);
	recorder_free();
}

/* What counts is that nobody crashes, and that ThreadSanitizer sees no race. */
TEST(start_and_stop_while_others_write)
{
	pthread_t threads[THREADS];

	recorder_begin();
	duet = duet_open(NULL, NULL, 0);
	REQUIRE(duet != NULL);
	run_threads(threads);
	for (int i = 0; i < 200; i++) {
		CHECK_EQUAL(duet_start(duet), DUET_JOINED);
		CHECK_TEXT(duet_error(duet), "");
		CHECK_EQUAL(duet_stop(duet), 0);
	}
	join_threads(threads);
	recorder_end();
	CHECK_EQUAL(recorder.count, 1); /* the same rings each time */
	CHECK_EQUAL(recorder.regions[0].counted.wrong, 0);
	duet_close(duet);
	recorder_free();
}

TEST(what_was_open_at_a_stop_is_not_open_later)
{
	recorder_begin();
	duet = duet_open(NULL, NULL, 0);
	REQUIRE(duet != NULL);
	duet_start(duet);
	duet_range_push(duet, NULL, "one");
	duet_range_push(duet, NULL, "two");
	duet_stop(duet);
	duet_range_pop(duet, NULL);
	duet_start(duet);
	duet_range_push(duet, NULL, "three");
	duet_range_pop(duet, NULL);
	duet_range_pop(duet, NULL); /* of one that is not known */
	duet_close(duet);
	recorder_end();
	CHECK_EQUAL(recorder.regions[0].counted.pushes, 3);
	CHECK_EQUAL(recorder.regions[0].counted.pops, 2);
	CHECK_EQUAL(recorder.regions[0].counted.last_depth, 1);
	CHECK(recorder.regions[0].readers[0].control->state != RING_BUSY);
	recorder_free();
}

TEST(a_child_has_rings_of_its_own)
{
	pid_t child;
	int status = -1;

	recorder_begin();
	duet = duet_open(NULL, NULL, 0);
	REQUIRE(duet != NULL);
	duet_start(duet);
	duet_mark(duet, NULL, "parent");
	child = fork();
	if (child == 0) {
		int is_idle = !duet_is_recording(duet);

		duet_mark(duet, NULL, "child");
		_exit(is_idle && duet_is_recording(duet) ? 0 : 1);
	}
	waitpid(child, &status, 0);
	CHECK_EQUAL(status, 0);
	duet_mark(duet, NULL, "parent again");
	recorder_end();
	REQUIRE(recorder.count == 2);
	CHECK_EQUAL(recorder.regions[0].pid, getpid());
	CHECK_EQUAL(recorder.regions[1].pid, child);
	CHECK_EQUAL(recorder.regions[0].counted.marks, 2);
	CHECK_TEXT(recorder.regions[0].counted.last, "parent again");
	CHECK_EQUAL(recorder.regions[1].counted.marks, 1);
	CHECK_TEXT(recorder.regions[1].counted.last, "child");
	duet_close(duet);
	recorder_free();
}

static bool is_recording_within(uint32_t max_ms, uint32_t *ret_marks)
{
	const uint64_t end_ms = ring_now_ms() + max_ms;

	while (!duet_is_recording(duet) && ring_now_ms() < end_ms) {
		duet_mark(duet, NULL, "awaited");
		*ret_marks += 1;
		usleep(1000);
	}
	return duet_is_recording(duet);
}

TEST(a_child_whose_recorder_answers_late_is_recorded_then)
{
	uint32_t marks = 0;
	int status = -1, ends[2];
	pid_t child;

	REQUIRE(pipe(ends) == 0);
	recorder_begin();
	duet = duet_open(NULL, NULL, 0);
	REQUIRE(duet != NULL);
	duet_start(duet);
	atomic_store(&recorder.rests, true);
	child = fork();
	if (child == 0) {
		bool is_late;

		duet_mark(duet, NULL, "early");
		duet_counter(duet, "early", NULL, 1);
		is_late = !duet_is_recording(duet) && write(ends[1], &marks, 1) == 1;
		if (!is_recording_within(WAIT_MS, &marks) ||
		    write(ends[1], &marks, sizeof(marks)) < 0)
			_exit(1);
		_exit(is_late ? 0 : 2);
	}
	CHECK_EQUAL(read(ends[0], &marks, 1), 1);
	atomic_store(&recorder.rests, false);
	CHECK_EQUAL(read(ends[0], &marks, sizeof(marks)), sizeof(marks));
	waitpid(child, &status, 0);
	CHECK_EQUAL(status, 0);
	recorder_end();
	REQUIRE(recorder.count == 2);
	CHECK_EQUAL(recorder.regions[1].pid, child);
	/* Nothing is gone that is not counted. */
	CHECK_EQUAL(recorder.regions[1].counted.marks +
			    recorder.regions[1].at->trouble[RING_TROUBLE_NO_RING],
		    marks + 1);
	CHECK_EQUAL(recorder.regions[1].at->trouble[RING_TROUBLE_NO_RING_COUNTER], 1);
	CHECK_EQUAL(recorder.attach.late, 0);
	close(ends[0]);
	close(ends[1]);
	duet_close(duet);
	recorder_free();
}

/* One hello is enough: each further one would wait for the same that the first has not got. */
TEST(who_looks_says_hello_once_to_a_recorder_that_does_not_answer)
{
	uint32_t marks = 0;

	recorder_begin();
	atomic_store(&recorder.refuses, true);
	duet = duet_open(NULL, NULL, DUET_JOIN);
	REQUIRE(duet != NULL);
	CHECK_EQUAL(duet_start(duet), DUET_LOOKING);
	atomic_store(&recorder.rests, true);
	CHECK(!is_recording_within(1500, &marks));
	atomic_store(&recorder.refuses, false);
	atomic_store(&recorder.rests, false);
	CHECK(is_recording_within(WAIT_MS, &marks));
	duet_close(duet);
	recorder_end();
	CHECK_EQUAL(recorder.count, 1);
	CHECK_EQUAL(recorder.attach.late, 0);
	CHECK_EQUAL(recorder.regions[0].at->trouble[RING_TROUBLE_NO_RING], 0); /* of nobody's */
	recorder_free();
}

/* The descriptor is the program's own by then. */
TEST(who_waits_for_an_answer_leaves_others_descriptors_alone)
{
	uint32_t marks = 0;
	int fd, ends[2];

	recorder_begin();
	atomic_store(&recorder.refuses, true);
	duet = duet_open(NULL, NULL, DUET_JOIN);
	REQUIRE(duet != NULL && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
	duet_start(duet);
	atomic_store(&recorder.rests, true);
	CHECK(!is_recording_within(50, &marks));
	fd = duet->hello.fd;
	REQUIRE(fd >= 0 && dup2(ends[0], fd) == fd && write(ends[1], "own", 3) == 3);
	CHECK(!is_recording_within(50, &marks));
	duet_close(duet);
	CHECK_EQUAL(read(fd, &marks, 3), 3);
	atomic_store(&recorder.rests, false);
	recorder_end();
	recorder_free();
	close(fd);
	close(ends[0]);
	close(ends[1]);
}

/* ---- threads that hold rings ----------------------------------------------------------------- */

static pthread_barrier_t claimed, released;

static void *hold_ring(void *unused)
{
	(void)unused;
	duet_mark(duet, NULL, "held");
	pthread_barrier_wait(&claimed);
	pthread_barrier_wait(&released);
	return NULL;
}

TEST(a_thread_without_a_ring_gets_one_of_another_handle)
{
	struct duet *full, *other = duet_open(NULL, NULL, 0);
	pthread_t threads[RINGS];

	pthread_barrier_init(&claimed, NULL, RINGS + 1);
	pthread_barrier_init(&released, NULL, RINGS + 1);
	recorder_begin();
	duet = full = duet_open(NULL, NULL, 0);
	duet_close(other);
	other = duet_open(NULL, NULL, 0);
	REQUIRE(full != NULL && other != NULL);
	duet_start(full);
	duet_start(other);
	for (int i = 0; i < RINGS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, hold_ring, NULL) == 0);
	pthread_barrier_wait(&claimed);
	duet_mark(full, NULL, "lost");
	duet_counter(full, "lost", NULL, 1);
	duet_counter(full, "lost", NULL, 2);
	duet_mark(other, NULL, "kept");
	pthread_barrier_wait(&released);
	for (int i = 0; i < RINGS; i++)
		pthread_join(threads[i], NULL);
	duet_close(full);
	duet_close(other);
	recorder_end();
	REQUIRE(recorder.count == 2);
	CHECK_EQUAL(recorder.regions[0].counted.marks, RINGS);
	CHECK_EQUAL(recorder.regions[0].at->trouble[RING_TROUBLE_NO_RING], 1);
	CHECK_EQUAL(recorder.regions[0].at->trouble[RING_TROUBLE_NO_RING_COUNTER], 2);
	CHECK_TEXT(recorder.regions[1].counted.last, "kept");
	recorder_free();
}

/* Its key's destructor was called before the key was deleted, and comes to run after. */
static void *end_after_close(void *unused)
{
	void *ring;

	(void)unused;
	duet_mark(duet, NULL, "here");
	ring = pthread_getspecific(duet->key);
	pthread_barrier_wait(&claimed);
	pthread_barrier_wait(&released);
	open_handles_on_thread_exit(ring);
	return NULL;
}

TEST(a_thread_may_end_while_its_handle_is_closed)
{
	pthread_t thread;

	pthread_barrier_init(&claimed, NULL, 2);
	pthread_barrier_init(&released, NULL, 2);
	recorder_begin();
	duet = duet_open(NULL, NULL, 0);
	REQUIRE(duet != NULL);
	duet_start(duet);
	REQUIRE(pthread_create(&thread, NULL, end_after_close, NULL) == 0);
	pthread_barrier_wait(&claimed);
	duet_close(duet);
	pthread_barrier_wait(&released);
	pthread_join(thread, NULL);
	recorder_end();
	CHECK_EQUAL(recorder.regions[0].counted.marks, 1);
	recorder_free();
}

/* ---- handles that come and go ---------------------------------------------------------------- */

enum { CYCLES = 300 };

struct ending {
	struct duet *duet;
	_Atomic bool has_marked;
};

static void *mark_and_end(void *argument)
{
	struct ending *ending = argument;

	duet_mark(ending->duet, NULL, "of a thread");
	atomic_store(&ending->has_marked, true);
	return NULL;
}

/* The thread ends while its handle is closed. */
static void *open_and_close(void *unused)
{
	(void)unused;
	for (int i = 0; i < CYCLES; i++) {
		struct ending ending = {.duet = duet_open(NULL, NULL, 0)};
		pthread_t thread;

		if (!ending.duet || duet_start(ending.duet) != DUET_JOINED ||
		    pthread_create(&thread, NULL, mark_and_end, &ending))
			abort();
		duet_range_push(ending.duet, NULL, "cycle");
		duet_range_pop(ending.duet, NULL);
		while (!atomic_load(&ending.has_marked))
			sched_yield();
		duet_close(ending.duet);
		pthread_join(thread, NULL);
	}
	return NULL;
}

TEST(two_threads_open_and_close)
{
	struct counted sum = {0};
	pthread_t threads[2];

	recorder_begin();
	for (int i = 0; i < 2; i++)
		REQUIRE(pthread_create(&threads[i], NULL, open_and_close, NULL) == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	recorder_end();
	for (uint32_t i = 0; i < recorder.count; i++) {
		sum.marks += recorder.regions[i].counted.marks;
		sum.pops += recorder.regions[i].counted.pops;
		sum.wrong += recorder.regions[i].counted.wrong;
	}
	CHECK(recorder.count <= 2);
	CHECK_EQUAL(sum.marks, 2 * CYCLES);
	CHECK_EQUAL(sum.pops, 2 * CYCLES);
	CHECK_EQUAL(sum.wrong, 0);
	recorder_free();
}

static int lowest_descriptor(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

TEST(handles_leave_nothing_behind)
{
	struct rlimit limit, low;
	int mappings, lowest;

	recorder_begin();
	duet = duet_open(NULL, NULL, 0); /* what the first one needs stays */
	duet_start(duet);
	duet_close(duet);
	mappings = count_mappings();
	lowest = lowest_descriptor();
	REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	low = (struct rlimit){(rlim_t)lowest + 16, limit.rlim_max};
	setrlimit(RLIMIT_NOFILE, &low);
	for (int i = 0; i < 2000; i++) {
		duet = duet_open(NULL, NULL, 0);
		REQUIRE(duet != NULL && duet_start(duet) == DUET_JOINED);
		duet_mark(duet, NULL, "here");
		duet_close(duet);
	}
	setrlimit(RLIMIT_NOFILE, &limit);
	CHECK(count_mappings() <= mappings + 8);
	CHECK_EQUAL(lowest_descriptor(), lowest);
	recorder_end();
	CHECK_EQUAL(recorder.count, 1);
	CHECK_EQUAL(recorder.regions[0].counted.marks, 2000);
	CHECK_EQUAL(recorder.regions[0].counted.wrong, 0);
	recorder_free();
}

TEST(long_and_missing_texts)
{
	char name[3000];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	recorder_begin();
	duet = duet_open(NULL, NULL, 0);
	REQUIRE(duet != NULL);
	duet_start(duet);
	duet_mark(duet, name, name);
	duet_close(duet);
	recorder_end();
	CHECK_EQUAL(recorder.regions[0].counted.marks, 1);
	CHECK_EQUAL(strlen(recorder.regions[0].counted.last), RECORD_RANGE_TEXT_BYTES - 1);
	recorder_free();
	recorder_begin();
	duet = duet_open(NULL, NULL, 0);
	REQUIRE(duet != NULL);
	duet_start(duet);
	duet_mark(duet, NULL, NULL);
	duet_counter(duet, "x", NULL, INT64_MIN);
	duet_close(duet);
	recorder_end();
	CHECK_TEXT(recorder.regions[0].counted.last, "");
	CHECK_EQUAL(recorder.regions[0].counted.counters, 1);
	recorder_free();
}

TEST(what_cannot_be_opened)
{
	char path[5000];

	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	errno = 0;
	CHECK(duet_open(path, NULL, 0) == NULL);
	CHECK_EQUAL(errno, ENAMETOOLONG);
	CHECK(duet_open(NULL, path, 0) == NULL);
	CHECK_EQUAL(errno, ENAMETOOLONG);
	CHECK(duet_open(NULL, NULL, 4) == NULL);
	CHECK_EQUAL(errno, EINVAL);
	CHECK(duet_open(NULL, NULL, DUET_JOIN | DUET_OWN) == NULL);
	CHECK_EQUAL(errno, EINVAL);
}

/* A key that were not given back would be missing after a thousand. */
TEST(many_handles_one_after_the_other)
{
	const int mappings = count_mappings();

	for (int i = 0; i < 10000; i++) {
		struct duet *handle = duet_open(NULL, NULL, 0);

		if (!handle) {
			CHECK_EQUAL(i, -errno);
			return;
		}
		duet_mark(handle, NULL, "nobody");
		duet_close(handle);
	}
	CHECK(count_mappings() <= mappings + 8);
}

int main(void)
{
	alarm(100);
	unsetenv(SESSION_VARIABLE);
	RUN(every_record_comes_or_is_counted);
	RUN(start_and_stop_while_others_write);
	RUN(what_was_open_at_a_stop_is_not_open_later);
	RUN(a_child_has_rings_of_its_own);
	RUN(a_child_whose_recorder_answers_late_is_recorded_then);
	RUN(who_looks_says_hello_once_to_a_recorder_that_does_not_answer);
	RUN(who_waits_for_an_answer_leaves_others_descriptors_alone);
	RUN(a_thread_without_a_ring_gets_one_of_another_handle);
	RUN(a_thread_may_end_while_its_handle_is_closed);
	RUN(two_threads_open_and_close);
	RUN(handles_leave_nothing_behind);
	RUN(long_and_missing_texts);
	RUN(what_cannot_be_opened);
	RUN(many_handles_one_after_the_other);
	return harness_end();
}
