/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_describe.c - contents that are larger than a ring
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"

#include "inject/describe.h"

enum { RING_BYTES = 1 << 16, CONTENT = 1 << 20, SCRATCH_BYTES = 1 << 16 };

/* ---- the rest of the guest ------------------------------------------------------------------- */

struct guest_page guest_page;
_Thread_local struct guest_thread *guest_self __attribute__((tls_model("initial-exec")));

bool guest_still_recording(void)
{
	return true;
}

/* ---- a ring, and who empties it -------------------------------------------------------------- */

static struct ring_region *region;
static struct guest_thread thread;
static struct ring_reader reader;
static uint8_t sent[CONTENT], got[CONTENT];
static size_t got_bytes;
static atomic_bool is_over;

static void open_ring(void)
{
	region = calloc(1, ring_region_bytes(1, RING_BYTES));
	guest_page.mode = thread.mode = GUEST_RECORDING;
	thread.clock = RING_CLOCK_MONOTONIC;
	if (!region || !ring_claim(region, 1, RING_BYTES, 1, &thread.writer))
		abort();
	ring_reader_init(&reader, region, RING_BYTES, 0);
	got_bytes = 0;
	for (size_t i = 0; i < CONTENT; i++)
		sent[i] = (uint8_t)(i * 7919 >> 3);
}

static uint64_t count_lost(void)
{
	return atomic_load(&thread.writer.control->lost[EVENT_CODE]);
}

static void take(void *context, const struct record *record)
{
	const struct record_bytes *piece = (const struct record_bytes *)record;

	(void)context;
	if (record->kind != RECORD_BYTES || piece->offset != got_bytes ||
	    record->detail > CONTENT - got_bytes)
		return;
	memcpy(got + got_bytes, piece->bytes, record->detail);
	got_bytes += record->detail;
}

static void *empty_ring(void *unused)
{
	static uint8_t scratch[SCRATCH_BYTES];
	static const struct timespec pause = {0, 200000};

	while (!atomic_load(&is_over)) {
		ring_drain(&reader, RING_BYTES, scratch, take, NULL);
		nanosleep(&pause, NULL);
	}
	ring_drain(&reader, RING_BYTES, scratch, take, NULL);
	return unused;
}

TEST(content_waits_for_the_recorder)
{
	pthread_t recorder;
	bool is_whole = false;

	/* A recorder that gets no processor for 50 ms is not what is tested. */
	for (int tries = 0; tries < 20 && !is_whole; tries++) {
		open_ring();
		atomic_store(&is_over, false);
		pthread_create(&recorder, NULL, empty_ring, NULL);
		guest_put_content(&thread, 1, sent, CONTENT);
		atomic_store(&is_over, true);
		pthread_join(recorder, NULL);
		is_whole = !count_lost();
		CHECK_EQUAL(is_whole, got_bytes == CONTENT);
		free(region);
	}
	CHECK(is_whole);
	CHECK(memcmp(sent, got, CONTENT) == 0);
}

TEST(content_is_lost_where_nobody_reads)
{
	open_ring();
	guest_put_content(&thread, 1, sent, CONTENT);
	CHECK_EQUAL(count_lost(), 1);
	CHECK(atomic_load(&thread.writer.control->head) <= RING_BYTES);
	free(region);
}

/* The record that a signal handler interrupts is not finished before the handler ends. */
TEST(content_of_a_signal_handler_is_lost)
{
	open_ring();
	thread.writer.writing = true;
	guest_put_content(&thread, 1, sent, CONTENT);
	CHECK_EQUAL(count_lost(), 1);
	CHECK_EQUAL(atomic_load(&thread.writer.control->head), 0);
	free(region);
}

int main(void)
{
	RUN(content_waits_for_the_recorder);
	RUN(content_is_lost_where_nobody_reads);
	RUN(content_of_a_signal_handler_is_lost);
	return harness_end();
}
