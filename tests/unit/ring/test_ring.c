/* SPDX-License-Identifier: MIT
 *
 * tests/unit/ring/test_ring.c - the queue from a guest's thread to the recorder
 *
 * Regions lie between two pages that nobody may touch, so that one byte too far ends the test.
 * Records carry their number and a pattern made from it: a torn, lost or repeated one is seen.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "ring/ring.h"

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define UNDER_TSAN 1
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

enum { BYTES = 65536, SCRATCH_BYTES = 65536 };

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint32_t random_below(uint32_t most)
{
	return (uint32_t)(random_next() >> 11) % most;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- regions between guard pages ------------------------------------------------------------- */

static struct ring_region *region_new(uint32_t count)
{
	size_t bytes = ring_region_bytes(count, BYTES);
	uint8_t *all = mmap(NULL, bytes + (size_t)2 * RING_PAGE, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED || mprotect(all + RING_PAGE, bytes, PROT_READ | PROT_WRITE) < 0)
		abort();
	return (struct ring_region *)(all + RING_PAGE);
}

static void region_free(struct ring_region *region, uint32_t count)
{
	munmap((uint8_t *)region - RING_PAGE,
	       ring_region_bytes(count, BYTES) + (size_t)2 * RING_PAGE);
}

/* ---- records that can be checked ------------------------------------------------------------- */

static uint64_t pattern(uint32_t number, uint32_t word)
{
	return (number + 1) * UINT64_C(0x9e3779b97f4a7c15) + word;
}

static bool put(struct ring_writer *writer, uint16_t kind, uint32_t number, uint32_t size)
{
	struct record *record = ring_reserve(writer, kind, size);

	if (!record)
		return false;
	*record = (struct record){.kind = kind, .size = (uint16_t)size, .detail = number};
	for (uint32_t i = 1; i < size / 8; i++)
		((uint64_t *)record)[i] = pattern(number, i);
	ring_commit(writer);
	return true;
}

static bool is_whole(const struct record *record)
{
	if (record->size < 8 || record->size % 8)
		return false;
	for (uint32_t i = 1; i < record->size / 8u; i++)
		if (((const uint64_t *)record)[i] != pattern(record->detail, i))
			return false;
	return true;
}

struct checker {
	uint32_t next[EVENT_KIND_COUNT]; /* expected number, by kind */
	uint64_t count, bytes, wrong;
};

static void check_record(void *context, const struct record *record)
{
	struct checker *checker = context;

	checker->count++;
	checker->bytes += record->size;
	if (!is_whole(record) || record->kind >= EVENT_KIND_COUNT ||
	    record->detail != checker->next[record->kind]++)
		checker->wrong++;
}

/* One ring with both ends and a checker. */
struct setup {
	struct ring_region *region;
	struct ring_writer writer;
	struct ring_reader reader;
	struct checker checker;
	void *scratch;
};

static void setup_init(struct setup *setup)
{
	*setup = (struct setup){.region = region_new(1), .scratch = malloc(SCRATCH_BYTES)};
	ring_reader_init(&setup->reader, setup->region, BYTES, 0);
	if (!setup->scratch || !ring_claim(setup->region, 1, BYTES, 7, &setup->writer))
		abort();
}

static void setup_fini(struct setup *setup)
{
	free(setup->scratch);
	region_free(setup->region, 1);
}

static size_t drain(struct setup *setup)
{
	return ring_drain(&setup->reader, BYTES, setup->scratch, check_record, &setup->checker);
}

/* ---- honest use ------------------------------------------------------------------------------ */

TEST(round_trip_of_every_size)
{
	struct setup setup;
	uint32_t number = 0;
	uint64_t refused = 0;

	setup_init(&setup);
	for (int round = 0; round < 3; round++) {
		for (uint32_t size = 8; size <= BYTES / 2; size += 8) {
			uint32_t chosen = round == 1 ? BYTES / 2 + 8 - size : size;

			if (round == 2)
				chosen = 8 + 8 * random_below(BYTES / 16);
			while (!put(&setup.writer, EVENT_API, number, chosen)) {
				refused++;
				REQUIRE(drain(&setup) > 0);
			}
			number++;
		}
	}
	drain(&setup);
	CHECK_EQUAL(setup.checker.wrong, 0);
	CHECK_EQUAL(setup.checker.count, number);
	CHECK_EQUAL(setup.reader.broken_times, 0);
	CHECK_EQUAL(setup.writer.control->lost[EVENT_API], refused);
	CHECK_EQUAL(setup.reader.tail, setup.writer.head);
	CHECK(setup.reader.tail > setup.checker.bytes); /* something was padded */
	CHECK_EQUAL(drain(&setup), 0);
	setup_fini(&setup);
}

TEST(full_ring_counts_and_keeps)
{
	struct setup setup;
	uint32_t kept = 0;

	setup_init(&setup);
	while (put(&setup.writer, EVENT_API, kept, 40))
		kept++;
	CHECK_EQUAL(kept, BYTES / 40);
	for (int i = 0; i < 9; i++)
		CHECK(!put(&setup.writer, EVENT_LAUNCH, 0, 64));
	/* The padding at the end counts as taken too. */
	for (int i = 0; i < 3; i++)
		CHECK(!put(&setup.writer, EVENT_EXECUTION, 0, 32));
	CHECK_EQUAL(setup.writer.control->lost[EVENT_API], 1);
	CHECK_EQUAL(setup.writer.control->lost[EVENT_LAUNCH], 9);
	CHECK_EQUAL(setup.writer.control->lost[EVENT_EXECUTION], 3);
	/* A kind beyond the table is lost all the same, and counts nowhere. */
	CHECK(!ring_reserve(&setup.writer, RECORD_BYTES, 4096));
	while (drain(&setup))
		;
	CHECK_EQUAL(setup.checker.count, kept);
	CHECK_EQUAL(setup.checker.wrong, 0);
	CHECK(put(&setup.writer, EVENT_API, kept, 40));
	drain(&setup);
	CHECK_EQUAL(setup.checker.count, kept + 1);
	CHECK_EQUAL(setup.checker.wrong, 0);
	setup_fini(&setup);
}

TEST(record_larger_than_half_is_lost)
{
	struct setup setup;

	setup_init(&setup);
	REQUIRE(put(&setup.writer, EVENT_API, 0, BYTES / 2));
	CHECK(!put(&setup.writer, EVENT_CODE, 0, BYTES / 2 + 8));
	CHECK(!put(&setup.writer, EVENT_CODE, 0, 4 * BYTES));
	CHECK_EQUAL(setup.writer.control->lost[EVENT_CODE], 2);
	CHECK(!setup.writer.writing);
	CHECK(put(&setup.writer, EVENT_API, 1, 8));
	drain(&setup);
	CHECK_EQUAL(setup.checker.wrong, 0);
	setup_fini(&setup);
}

TEST(drain_takes_no_more_than_asked)
{
	struct setup setup;
	size_t total = 0, taken;

	setup_init(&setup);
	for (uint32_t i = 0; i < 100; i++)
		REQUIRE(put(&setup.writer, EVENT_API, i, 40));
	while ((taken = ring_drain(&setup.reader, 100, setup.scratch, check_record,
				   &setup.checker))) {
		CHECK(taken <= 120);
		total += taken;
	}
	CHECK_EQUAL(total, 4000);
	CHECK_EQUAL(setup.checker.wrong, 0);
	setup_fini(&setup);
}

TEST(claim_close_recycle)
{
	struct ring_region *region = region_new(2);
	struct ring_writer first, second, third;
	struct ring_reader reader;
	struct checker checker = {0};
	uint64_t scratch[SCRATCH_BYTES / 8];

	REQUIRE(ring_claim(region, 2, BYTES, 1, &first));
	REQUIRE(ring_claim(region, 2, BYTES, 2, &second));
	CHECK(!ring_claim(region, 2, BYTES, 3, &third));
	CHECK(put(&first, EVENT_API, 0, 40));
	ring_reader_init(&reader, region, BYTES, 0);
	ring_recycle(&reader); /* not closed: no effect */
	CHECK(!ring_claim(region, 2, BYTES, 3, &third));
	ring_close(&first);
	ring_close(&first); /* closed already: no effect */
	CHECK(!ring_claim(region, 2, BYTES, 3, &third));
	CHECK_EQUAL(ring_drain(&reader, BYTES, scratch, check_record, &checker), 40);
	ring_recycle(&reader);
	REQUIRE(ring_claim(region, 2, BYTES, 3, &third));
	CHECK_EQUAL(third.control->tid, 3);
	CHECK_EQUAL(third.head, 40);
	CHECK(put(&third, EVENT_API, 1, 40));
	CHECK_EQUAL(ring_drain(&reader, BYTES, scratch, check_record, &checker), 40);
	CHECK_EQUAL(checker.wrong, 0);
	region_free(region, 2);
}

/* ---- a producer and a consumer --------------------------------------------------------------- */

enum { STREAM_RECORDS = UNDER_TSAN ? 300000 : 3000000 };

static void *produce(void *context)
{
	struct setup *setup = context;
	uint64_t random = 1, *ret_refused = calloc(1, sizeof(*ret_refused));

	for (uint32_t i = 0; ret_refused && i < STREAM_RECORDS; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		while (!put(&setup->writer, EVENT_API, i, 8 + 8 * (uint32_t)(random >> 59))) {
			++*ret_refused;
			sched_yield();
		}
	}
	ring_close(&setup->writer);
	return ret_refused;
}

TEST(producer_and_consumer)
{
	struct setup setup;
	struct ring_control *control;
	pthread_t thread;
	void *refused = NULL;
	uint32_t state;
	size_t taken;

	setup_init(&setup);
	control = setup.writer.control;
	REQUIRE(!pthread_create(&thread, NULL, produce, &setup));
	do {
		state = atomic_load_explicit(&control->state, memory_order_acquire);
		taken = drain(&setup);
		if (!taken)
			sched_yield();
	} while (taken || state != RING_CLOSED);
	pthread_join(thread, &refused);
	REQUIRE(refused);
	CHECK_EQUAL(setup.checker.count, STREAM_RECORDS);
	CHECK_EQUAL(setup.checker.wrong, 0);
	CHECK_EQUAL(setup.reader.broken_times, 0);
	CHECK_EQUAL(control->lost[EVENT_API], *(uint64_t *)refused);
	free(refused);
	setup_fini(&setup);
}

/* ---- many threads, few rings ----------------------------------------------------------------- */

enum { CROWD_RINGS = 5, CROWD_THREADS = 8, CROWD_LIVES = UNDER_TSAN ? 300 : 2000 };

static struct {
	struct ring_region *region;
	_Atomic bool owned[CROWD_RINGS];
	_Atomic uint32_t next_life, wrong, running;
} crowd;

/* A life: claim a ring, write its number of records, close. */
static void *live(void *context)
{
	for (int i = 0; i < CROWD_LIVES; i++) {
		uint32_t life = atomic_fetch_add(&crowd.next_life, 1), index;
		struct ring_writer writer;

		while (!ring_claim(crowd.region, CROWD_RINGS, BYTES, life, &writer))
			sched_yield();
		index = (uint32_t)((uint8_t *)writer.control - (uint8_t *)crowd.region) /
			(uint32_t)ring_slot_bytes(BYTES);
		if (atomic_exchange(&crowd.owned[index], true))
			crowd.wrong++;
		for (uint32_t n = 0; n < life % 7; n++)
			while (!put(&writer, EVENT_API, life * 8 + n, 40))
				sched_yield();
		atomic_store(&crowd.owned[index], false);
		ring_close(&writer);
	}
	atomic_fetch_sub(&crowd.running, 1);
	return NULL;
}

struct crowd_ring {
	struct ring_reader reader;
	uint32_t life, got; /* of the present owner */
	bool used;
};

struct crowd_taking {
	struct crowd_ring *ring;
	uint8_t *got; /* records by life */
};

static void take_of_crowd(void *context, const struct record *record)
{
	struct crowd_taking *taking = context;
	struct crowd_ring *ring = taking->ring;

	if (!is_whole(record) || record->detail != ring->life * 8 + ring->got)
		crowd.wrong++;
	ring->got++;
	taking->got[record->detail / 8]++;
}

/* As the recorder does it. Returns the number of lives that ended. */
static uint32_t look_at(struct crowd_ring *ring, void *scratch, uint8_t *got)
{
	struct crowd_taking taking = {ring, got};
	uint32_t state = atomic_load_explicit(&ring->reader.control->state, memory_order_acquire);

	if (!ring->used && (state == RING_BUSY || state == RING_CLOSED)) {
		ring->used = true;
		ring->life = ring->reader.control->tid;
		ring->got = 0;
	}
	if (!ring->used)
		return 0;
	if (ring_drain(&ring->reader, BYTES, scratch, take_of_crowd, &taking) ||
	    state != RING_CLOSED)
		return 0;
	if (ring->got != ring->life % 7)
		crowd.wrong++;
	ring->used = false;
	ring_recycle(&ring->reader);
	return 1;
}

TEST(crowd_shares_rings)
{
	enum { LIVES = CROWD_THREADS * CROWD_LIVES };
	pthread_t threads[CROWD_THREADS];
	struct crowd_ring rings[CROWD_RINGS] = {0};
	void *scratch = malloc(SCRATCH_BYTES);
	uint8_t *got = calloc(LIVES, 1);
	uint32_t ended = 0;
	double until = seconds() + 100;

	REQUIRE(scratch && got);
	crowd.region = region_new(CROWD_RINGS);
	crowd.running = CROWD_THREADS;
	for (uint32_t i = 0; i < CROWD_RINGS; i++)
		ring_reader_init(&rings[i].reader, crowd.region, BYTES, i);
	for (int i = 0; i < CROWD_THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, live, NULL));
	while (ended < LIVES && seconds() < until) {
		uint32_t before = ended;

		for (int i = 0; i < CROWD_RINGS; i++)
			ended += look_at(&rings[i], scratch, got);
		if (ended == before)
			sched_yield();
	}
	for (int i = 0; i < CROWD_THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQUAL(ended, LIVES);
	CHECK_EQUAL(crowd.wrong, 0);
	for (uint32_t life = 0; life < LIVES; life++)
		if (got[life] != life % 7)
			crowd.wrong++;
	CHECK_EQUAL(crowd.wrong, 0);
	for (int i = 0; i < CROWD_RINGS; i++)
		CHECK_EQUAL(rings[i].reader.broken_times, 0);
	free(scratch);
	free(got);
	region_free(crowd.region, CROWD_RINGS);
}

/* ---- a signal handler of the same thread ----------------------------------------------------- */

static struct {
	struct setup *setup;
	uint32_t written, nested;
	_Atomic bool done;
	pthread_t target;
} interrupt;

static void on_signal(int number)
{
	(void)number;
	if (put(&interrupt.setup->writer, EVENT_RANGE, interrupt.written, 48))
		interrupt.written++;
	else
		interrupt.nested++;
}

static void *send_signals(void *context)
{
	while (!interrupt.done) {
		pthread_kill(interrupt.target, SIGUSR1);
		for (volatile int i = 0; i < 300; i++)
			;
	}
	return NULL;
}

/* Mostly reservations, so that a signal between any two of their instructions is likely; sizes
 * differ from the handler's, so that a record put over another is seen. */
TEST(signal_handler_writes_in_between)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
	struct setup setup;
	uint32_t number = 0;
	pthread_t sender;
	double until;

	setup_init(&setup);
	interrupt.setup = &setup;
	interrupt.target = pthread_self();
	interrupt.done = false;
	sigaction(SIGUSR1, &action, &old);
	REQUIRE(!pthread_create(&sender, NULL, send_signals, NULL));
	until = seconds() + 3;
	while (seconds() < until && (interrupt.nested < 200 || interrupt.written < 20000)) {
		for (int i = 0; i < 500; i++)
			if (put(&setup.writer, EVENT_API, number, 16))
				number++;
		drain(&setup);
	}
	interrupt.done = true;
	pthread_join(sender, NULL);
	sigaction(SIGUSR1, &old, NULL);
	while (drain(&setup))
		;
	printf("#   %u from the handler, %u nested\n", interrupt.written, interrupt.nested);
	CHECK_EQUAL(setup.checker.wrong, 0);
	CHECK_EQUAL(setup.reader.broken_times, 0);
	CHECK_EQUAL(setup.checker.count, number + interrupt.written);
	CHECK_EQUAL(setup.writer.control->nested[EVENT_RANGE] +
			    setup.writer.control->lost[EVENT_RANGE],
		    interrupt.nested);
	CHECK_EQUAL(setup.writer.control->nested[EVENT_API], 0);
	CHECK(interrupt.written > 0);
	setup_fini(&setup);
}

TEST(nested_reservation_is_counted)
{
	struct setup setup;
	struct record *record;

	setup_init(&setup);
	record = ring_reserve(&setup.writer, EVENT_API, 16);
	REQUIRE(record);
	CHECK(!ring_reserve(&setup.writer, EVENT_LAUNCH, 64));
	CHECK(!ring_reserve(&setup.writer, RECORD_BYTES, 64));
	*record = (struct record){.kind = EVENT_API, .size = 16};
	((uint64_t *)record)[1] = pattern(0, 1);
	ring_commit(&setup.writer);
	CHECK_EQUAL(setup.writer.control->nested[EVENT_LAUNCH], 1);
	CHECK_EQUAL(setup.writer.control->lost[EVENT_LAUNCH], 0);
	CHECK(put(&setup.writer, EVENT_API, 1, 16));
	drain(&setup);
	CHECK_EQUAL(setup.checker.count, 2);
	CHECK_EQUAL(setup.checker.wrong, 0);
	setup_fini(&setup);
}

/* ---- hostile bytes --------------------------------------------------------------------------- */

/* What ring_drain promises of each record, whatever the ring holds. */
struct witness {
	uint64_t count, wrong;
	struct setup *scribble; /* change the ring while it is drained */
};

static void scribble(struct setup *setup)
{
	struct ring_control *control = setup->reader.control;

	for (int i = random_below(4); i >= 0; i--) {
		uint32_t at = random_below(BYTES) & ~7u;

		((uint64_t *)(setup->writer.data + at))[0] =
			random_below(2) ? random_next() : random_next() & 0x1f0018;
	}
	if (random_below(4) == 0)
		atomic_store(&control->head, random_next() >> random_below(64));
	if (random_below(4) == 0)
		atomic_store(&control->tail, random_next() >> random_below(64));
}

static void witness_record(void *context, const struct record *record)
{
	struct witness *witness = context;

	witness->count++;
	if (record->size < sizeof(*record) || record->size % 8 || record->kind == EVENT_PADDING)
		witness->wrong++;
	if (witness->scribble)
		scribble(witness->scribble);
}

static size_t drain_hostile(struct setup *setup, struct witness *witness)
{
	return ring_drain(&setup->reader, BYTES, setup->scratch, witness_record, witness);
}

static void set_head(struct setup *setup, uint64_t head)
{
	atomic_store(&setup->writer.control->head, head);
}

static void put_raw(struct setup *setup, uint32_t offset, uint16_t kind, uint16_t size,
		    uint32_t detail)
{
	*(struct record *)(setup->writer.data + offset) =
		(struct record){.kind = kind, .size = size, .detail = detail};
}

TEST(hostile_heads)
{
	static const uint64_t heads[] = {BYTES + 8, BYTES * 2, 4,          41,
					 39,        1,         UINT64_MAX, UINT64_MAX - 7};

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct setup setup;
		struct witness witness = {0};

		setup_init(&setup);
		set_head(&setup, heads[i]);
		CHECK_EQUAL(drain_hostile(&setup, &witness), 0);
		CHECK_EQUAL(setup.reader.broken_times, 1);
		CHECK_EQUAL(setup.reader.tail % 8, 0);
		CHECK_EQUAL(witness.count, 0);
		/* The program's next honest record repairs it, at the cost of what lies between. */
		put(&setup.writer, EVENT_API, 0, 40);
		drain_hostile(&setup, &witness);
		CHECK_EQUAL(setup.reader.tail, setup.writer.head);
		put(&setup.writer, EVENT_API, 1, 40);
		drain_hostile(&setup, &witness);
		CHECK_EQUAL(setup.reader.tail, setup.writer.head);
		CHECK(witness.count >= 1);
		CHECK_EQUAL(witness.wrong, 0);
		setup_fini(&setup);
	}
}

TEST(head_going_backwards)
{
	struct setup setup;
	struct witness witness = {0};

	setup_init(&setup);
	for (uint32_t i = 0; i < 10; i++)
		REQUIRE(put(&setup.writer, EVENT_API, i, 40));
	CHECK_EQUAL(drain_hostile(&setup, &witness), 400);
	set_head(&setup, 200);
	CHECK_EQUAL(drain_hostile(&setup, &witness), 0);
	CHECK_EQUAL(setup.reader.broken_times, 1);
	CHECK_EQUAL(setup.reader.tail, 200);
	CHECK_EQUAL(drain_hostile(&setup, &witness), 0);
	CHECK_EQUAL(setup.reader.broken_times, 1);
	CHECK_EQUAL(witness.count, 10);
	setup_fini(&setup);
}

TEST(hostile_sizes)
{
	static const uint16_t sizes[] = {0, 1, 4, 7, 9, 12, 41, 48, 400, 32768, 65528, 65535};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct setup setup;
		struct witness witness = {0};

		setup_init(&setup);
		put_raw(&setup, 0, EVENT_API, sizes[i], 0);
		set_head(&setup, 40); /* less than what those sizes that are possible say */
		CHECK_EQUAL(drain_hostile(&setup, &witness), 40);
		CHECK_EQUAL(witness.count, 0);
		CHECK_EQUAL(setup.reader.broken_times, 1);
		CHECK_EQUAL(setup.reader.broken_bytes, 40);
		CHECK_EQUAL(setup.reader.tail, 40);
		setup_fini(&setup);
	}
}

TEST(largest_record)
{
	struct setup setup;
	struct witness witness = {0};

	setup_init(&setup);
	put_raw(&setup, 0, EVENT_API, 65528, 0);
	put_raw(&setup, 65528, EVENT_API, 8, 0);
	set_head(&setup, BYTES);
	CHECK_EQUAL(drain_hostile(&setup, &witness), BYTES);
	CHECK_EQUAL(witness.count, 2);
	CHECK_EQUAL(setup.reader.broken_times, 0);
	/* A record that says it goes on behind the end. */
	put_raw(&setup, 0, EVENT_API, 40, 0);
	put_raw(&setup, 40, EVENT_API, 65496, 0);
	put_raw(&setup, 65528, EVENT_API, 16, 0);
	put_raw(&setup, 40, EVENT_API, 65488, 0);
	set_head(&setup, 2 * BYTES);
	CHECK_EQUAL(drain_hostile(&setup, &witness), BYTES);
	CHECK_EQUAL(setup.reader.broken_times, 1);
	CHECK_EQUAL(setup.reader.broken_bytes, 8);
	setup_fini(&setup);
}

TEST(lying_padding)
{
	static const uint32_t details[] = {0, 8, 40, BYTES - 8, BYTES + 8, UINT32_MAX, BYTES};

	for (size_t i = 0; i < sizeof(details) / sizeof(details[0]); i++) {
		struct setup setup;
		struct witness witness = {0};

		setup_init(&setup);
		put_raw(&setup, 0, EVENT_PADDING, 8, details[i]);
		set_head(&setup, 80); /* even true padding may not reach beyond the head */
		CHECK_EQUAL(drain_hostile(&setup, &witness), 80);
		CHECK_EQUAL(witness.count, 0);
		CHECK_EQUAL(setup.reader.broken_times, 1);
		setup_fini(&setup);
	}
}

TEST(random_bytes)
{
	struct setup setup;
	struct witness witness = {0};

	setup_init(&setup);
	for (int round = 0; round < (UNDER_TSAN ? 300 : 3000); round++) {
		uint64_t *words = (uint64_t *)setup.writer.data;
		uint64_t before, limit = setup.reader.broken_times + 1;

		for (int i = 0; i < BYTES / 8; i++)
			words[i] = round % 3 ? random_next() & 0x1f0018 : random_next();
		set_head(&setup,
			 setup.reader.tail + (round % 7 ? 8 * random_below(BYTES / 8 + 2)
							: random_next() >> random_below(64)));
		before = witness.count;
		CHECK(drain_hostile(&setup, &witness) <= BYTES);
		CHECK(witness.count - before <= BYTES / 8);
		CHECK(setup.reader.broken_times <= limit);
		CHECK_EQUAL(setup.reader.tail % 8, 0);
	}
	CHECK_EQUAL(witness.wrong, 0);
	CHECK(setup.reader.broken_times > 0 && witness.count > 0);
	setup_fini(&setup);
}

TEST(scribbling_from_inside)
{
	struct setup setup;
	struct witness witness = {.scribble = &setup};

	setup_init(&setup);
	for (int round = 0; round < 20000; round++) {
		scribble(&setup);
		put(&setup.writer, EVENT_API, 0, 8 + 8 * random_below(64));
		if (random_below(8) == 0)
			set_head(&setup, setup.reader.tail + 8 * random_below(BYTES / 8));
		CHECK(drain_hostile(&setup, &witness) <= BYTES);
	}
	CHECK_EQUAL(witness.wrong, 0);
	setup_fini(&setup);
}

/* A race on purpose, so not under ThreadSanitizer. */
#if !UNDER_TSAN
static void *scribble_on(void *context)
{
	struct setup *setup = context;
	uint64_t random = 42;

	while (!interrupt.done) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		((volatile uint64_t *)setup->writer.data)[random >> 51] =
			random & 1 ? random : random & 0x1f0018;
		if ((random >> 20) % 64 == 0)
			set_head(setup, random >> (random >> 58));
	}
	return NULL;
}

TEST(scribbling_from_outside)
{
	struct setup setup;
	struct witness witness = {0};
	pthread_t thread;
	double until = seconds() + 1;

	setup_init(&setup);
	interrupt.done = false;
	REQUIRE(!pthread_create(&thread, NULL, scribble_on, &setup));
	while (seconds() < until) {
		set_head(&setup, setup.reader.tail + BYTES);
		CHECK(drain_hostile(&setup, &witness) <= BYTES);
	}
	interrupt.done = true;
	pthread_join(thread, NULL);
	CHECK_EQUAL(witness.wrong, 0);
	setup_fini(&setup);
}
#endif

/* The producer's side: whatever the shared page says, it stays inside its ring and goes on. */
static void write_under(struct setup *setup, uint64_t tail)
{
	atomic_store(&setup->writer.control->tail, tail);
	for (int i = 0; i < 200; i++) {
		uint32_t size = 8 + 8 * random_below(i % 5 ? 64 : BYTES / 8);
		uint8_t *record = ring_reserve(&setup->writer, EVENT_API, size);

		if (!record)
			continue;
		CHECK(record >= setup->writer.data && record + size <= setup->writer.data + BYTES);
		memset(record, 0xff, size);
		ring_commit(&setup->writer);
	}
}

TEST(hostile_tail)
{
	struct setup setup;

	setup_init(&setup);
	for (int i = 0; i < 5000; i++) {
		uint64_t head = setup.writer.head;
		const uint64_t tails[] = {
			0,          head,           head + 1,         head + 8,
			head + 40,  head + BYTES,   head - BYTES - 8, head - BYTES / 2 + 3,
			UINT64_MAX, UINT64_MAX - 7, random_next()};

		write_under(&setup, tails[random_below(sizeof(tails) / sizeof(tails[0]))]);
	}
	/* As soon as the tail is true again, records go through. */
	atomic_store(&setup.writer.control->tail, setup.writer.head);
	setup.reader.tail = setup.writer.head;
	setup.writer.tail_seen = setup.writer.head;
	CHECK(put(&setup.writer, EVENT_API, 0, 40));
	drain(&setup);
	CHECK_EQUAL(setup.checker.count, 1);
	CHECK_EQUAL(setup.checker.wrong, 0);
	setup_fini(&setup);
}

TEST(hostile_positions_at_claim)
{
	for (uint32_t head = BYTES - 64; head < BYTES + 64; head++) {
		struct ring_region *region = region_new(1);
		struct ring_control *control =
			(struct ring_control *)((uint8_t *)region + RING_PAGE);
		struct ring_writer writer;

		atomic_store(&control->head, head);
		atomic_store(&control->tail, head & ~7u);
		REQUIRE(ring_claim(region, 1, BYTES, 1, &writer));
		for (uint32_t i = 0; i < 10; i++)
			put(&writer, EVENT_API, i, 64);
		CHECK_EQUAL(writer.head % 8, 0);
		region_free(region, 1);
	}
}

/* The first ring has no record, the third had a thread that is gone. Of those that were never
 * claimed one is looked at: to read a page of a file without content makes one. */
TEST(data_is_given_back)
{
	enum { RINGS = 8, CLAIMED = 3 };
	const size_t bytes = ring_region_bytes(RINGS, BYTES);
	int fd = memfd_create("rings", MFD_CLOEXEC);
	struct ring_writer writers[CLAIMED];
	struct ring_region *region;
	struct stat before, after;

	REQUIRE(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(region != MAP_FAILED);
	for (int i = 0; i < CLAIMED; i++)
		REQUIRE(ring_claim(region, RINGS, BYTES, 77, &writers[i]));
	for (int i = 1; i < CLAIMED; i++) {
		memset(ring_reserve(&writers[i], EVENT_API, 64), 1, 64);
		ring_commit(&writers[i]);
	}
	atomic_store(&writers[2].control->state, RING_FREE);
	CHECK(!fstat(fd, &before));
	ring_give_back_data(region, RINGS, BYTES);
	CHECK(!fstat(fd, &after));
	CHECK_EQUAL(before.st_blocks - after.st_blocks, (2 - 1) * (long)RING_PAGE / 512);
	for (int i = 1; i < CLAIMED; i++) {
		CHECK_EQUAL(writers[i].data[0], 0);
		CHECK_EQUAL(atomic_load(&writers[i].control->head), 64);
	}
	munmap(region, bytes);
	close(fd);
}

int main(void)
{
	RUN(round_trip_of_every_size);
	RUN(full_ring_counts_and_keeps);
	RUN(record_larger_than_half_is_lost);
	RUN(drain_takes_no_more_than_asked);
	RUN(claim_close_recycle);
	RUN(producer_and_consumer);
	RUN(crowd_shares_rings);
	RUN(signal_handler_writes_in_between);
	RUN(nested_reservation_is_counted);
	RUN(hostile_heads);
	RUN(head_going_backwards);
	RUN(hostile_sizes);
	RUN(largest_record);
	RUN(lying_padding);
	RUN(random_bytes);
	RUN(scribbling_from_inside);
#if !UNDER_TSAN
	RUN(scribbling_from_outside);
#endif
	RUN(hostile_tail);
	RUN(hostile_positions_at_claim);
	RUN(data_is_given_back);
	return harness_end();
}
