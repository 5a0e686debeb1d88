/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "harness.h"

#include "collect/correlation.h"
#include "collect/feed/identities.h"

static int compare(const void *a, const void *b)
{
	const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

/* Number of different values. */
static size_t count_different(uint64_t *values, size_t count)
{
	size_t different = count > 0;

	qsort(values, count, sizeof(*values), compare);
	for (size_t i = 1; i < count; i++)
		different += values[i] != values[i - 1];
	return different;
}

/* Guests' own numbers: the first command of two rings, and a node of a CUDA graph. */
static const uint64_t numbers[] = {1, UINT64_C(127) << 40 | 1, UINT64_C(1) << 55 | 1};

enum { NUMBERS = 3 };

/* One process keeps the numbers of all its attachments apart, far beyond 256. */
TEST(attachments)
{
	static uint64_t all[CORRELATION_ATTACHMENTS * NUMBERS];
	size_t count = 0;

	for (uint32_t attachment = 0; attachment < CORRELATION_ATTACHMENTS; attachment++)
		for (int i = 0; i < NUMBERS; i++) {
			const uint64_t one = correlation_of_attachment(numbers[i], attachment);

			CHECK(one >> 63 == 0);
			CHECK_EQUAL(one & CORRELATION_NUMBER, numbers[i]);
			all[count++] = one;
		}
	CHECK_EQUAL(count_different(all, count), count);
	/* A program that writes any number damages only its own. */
	CHECK(correlation_of_attachment(UINT64_MAX, 0) >> 63 == 0);
	CHECK_EQUAL(correlation_origin(correlation_of_attachment(UINT64_MAX, 300)),
		    correlation_origin(correlation_of_attachment(1, 300)));
}

/* Each of 40 recorders has 100 attachments of each of three processes: five times 8 recorders, and
 * more than 16 attachments. */
TEST(recorders)
{
	enum { RECORDERS = 40, ATTACHMENTS = 100, PROCESSES = 3 };
	static uint64_t all[PROCESSES][RECORDERS * ATTACHMENTS * NUMBERS + ATTACHMENTS * NUMBERS];
	size_t counts[PROCESSES] = {0};
	struct feed_identities identities;

	feed_identities_init(&identities);
	for (uint32_t process = 0; process < PROCESSES; process++)
		REQUIRE(feed_identities_add(&identities, process + 7, 100 + process, 1000));
	for (uint32_t i = 0; i < RECORDERS * ATTACHMENTS * PROCESSES * NUMBERS; i++) {
		const uint32_t process = i % PROCESSES, attachment = i / PROCESSES % ATTACHMENTS;
		const uint32_t recorder = i / PROCESSES / ATTACHMENTS % RECORDERS;
		const uint64_t number = numbers[i / PROCESSES / ATTACHMENTS / RECORDERS];
		const uint64_t one = correlation_of_attachment(number, attachment);
		uint64_t first, again;

		REQUIRE(feed_identities_translate(&identities, process + 7, recorder, one, &first));
		REQUIRE(feed_identities_translate(&identities, process + 7, recorder, one, &again));
		CHECK_EQUAL(first, again);
		CHECK_EQUAL(first & CORRELATION_NUMBER, number);
		CHECK(first >> 63 == 1 && first >> 56 < 0xfd); /* not those of this recorder */
		all[process][counts[process]++] = first;
	}
	/* the process may attach to this recorder too */
	for (uint32_t process = 0; process < PROCESSES; process++) {
		for (uint32_t i = 0; i < ATTACHMENTS * NUMBERS; i++)
			all[process][counts[process]++] =
				correlation_of_attachment(numbers[i % NUMBERS], i / NUMBERS);
		CHECK_EQUAL(count_different(all[process], counts[process]), counts[process]);
	}
	feed_identities_fini(&identities);
}

/* Commands that the other recorder made itself, or had taken over, are apart too. */
TEST(other_origins)
{
	const uint64_t of[] = {1,
			       UINT64_C(0xfd) << 56 | 1,
			       UINT64_C(0xfe) << 56 | 1,
			       UINT64_C(0xff) << 56 | 1,
			       correlation_of_taken_over(1, 0),
			       correlation_of_taken_over(1, 64)};
	struct feed_identities identities;
	uint64_t all[6];

	feed_identities_init(&identities);
	REQUIRE(feed_identities_add(&identities, 1, 1, 1));
	for (int i = 0; i < 6; i++)
		REQUIRE(feed_identities_translate(&identities, 1, 0, of[i], &all[i]));
	CHECK_EQUAL(count_different(all, 6), 6);
	feed_identities_fini(&identities);
}

/* Two commands never share a number: beyond the last one there is none. */
TEST(no_number_left)
{
	static uint64_t all[CORRELATION_TAKEN_OVER];
	struct feed_identities identities;
	uint64_t one;

	feed_identities_init(&identities);
	REQUIRE(feed_identities_add(&identities, 1, 1, 1));
	REQUIRE(feed_identities_add(&identities, 2, 2, 2));
	CHECK(!feed_identities_translate(&identities, 3, 0, 1, &one)); /* not known */
	for (uint32_t i = 0; i < CORRELATION_TAKEN_OVER; i++)
		REQUIRE(feed_identities_translate(&identities, 1, i, 1, &all[i]));
	CHECK_EQUAL(count_different(all, CORRELATION_TAKEN_OVER), CORRELATION_TAKEN_OVER);
	CHECK(!feed_identities_translate(&identities, 1, CORRELATION_TAKEN_OVER, 1, &one));
	CHECK(feed_identities_translate(&identities, 1, 5, 2, &one)); /* a known recorder goes on */
	CHECK(feed_identities_translate(&identities, 2, CORRELATION_TAKEN_OVER, 1, &one));
	feed_identities_fini(&identities);
}

TEST(pauses)
{
	struct feed_identities identities;
	struct taken_process *process;

	feed_identities_init(&identities);
	process = feed_identities_add(&identities, 1, 1, 1);
	REQUIRE(process);
	CHECK(!feed_identities_is_paused(&identities, 1, 100, 0));
	taken_process_want(process, true, 50);
	CHECK(!feed_identities_is_paused(&identities, 1, 100, 0));
	taken_process_want(process, false, 100);
	taken_process_want(process, false, 150); /* asked again */
	CHECK(!feed_identities_is_paused(&identities, 1, 99, 0));
	CHECK(feed_identities_is_paused(&identities, 1, 100, 0));
	CHECK(feed_identities_is_paused(&identities, 1, 1000000, 0));
	CHECK(!feed_identities_is_paused(&identities, 1, 119, 20)); /* launched before */
	CHECK(feed_identities_is_paused(&identities, 1, 120, 20));
	CHECK(!feed_identities_is_paused(&identities, 2, 120, 0)); /* another process */
	taken_process_want(process, true, 200);
	CHECK(feed_identities_is_paused(&identities, 1, 199, 0)); /* rows come late */
	CHECK(!feed_identities_is_paused(&identities, 1, 200, 0));
	/* Only the newest pauses are kept. */
	for (uint64_t i = 1; i <= 3 * FEED_PAUSES; i++) {
		taken_process_want(process, false, 1000 * i);
		taken_process_want(process, true, 1000 * i + 500);
	}
	CHECK(feed_identities_is_paused(&identities, 1, 1000 * 3 * FEED_PAUSES, 0));
	CHECK(feed_identities_is_paused(&identities, 1, 1000 * (2 * FEED_PAUSES + 1), 0));
	CHECK(!feed_identities_is_paused(&identities, 1, 1000 * 3 * FEED_PAUSES + 500, 0));
	feed_identities_fini(&identities);
}

int main(void)
{
	RUN(attachments);
	RUN(recorders);
	RUN(other_origins);
	RUN(no_number_left);
	RUN(pauses);
	return harness_end();
}
