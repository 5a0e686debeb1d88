// SPDX-License-Identifier: MIT
/* The arithmetic of maps against exact fractions, far outside what a double can hold. */
#include "clock/map.h"

#include "harness.h"
#include "synthetic.h"

#define ONE ((__int128)1 << CLOCK_FRACTION_BITS)

/* Host time of a piece, in long division without any shortcut. */
static uint64_t reference(uint64_t time, uint64_t host, uint64_t rise, uint64_t run, uint64_t at)
{
	__int128 product = (__int128)(at - time) * rise;

	return host + (uint64_t)((2 * product + run) / (2 * (__int128)run));
}

TEST(identity_is_exact)
{
	struct clock_map *map;
	const uint64_t times[] = {0, 1, 1000000007, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX};

	REQUIRE(!clock_map_identity(&map));
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		CHECK(clock_map_to_host(map, times[i]) == times[i]);
		CHECK(clock_map_from_host(map, times[i]) == times[i]);
	}
	CHECK(clock_map_is_identity(map));
	clock_map_free(map);
	clock_map_free(NULL);
}

/* Three weeks of a 2596 MHz counter, of 19.2 MHz, of 25 MHz and of 1 GHz, drifting. */
TEST(slopes_are_exact_over_weeks)
{
	const uint64_t hertz[] = {2596000000, 19200000, 25000000, 1000000000, 12345678, 1};
	const uint64_t week_ns = 604800u * 1000000000ull;

	for (size_t i = 0; i < sizeof(hertz) / sizeof(hertz[0]); i++) {
		uint64_t run = hertz[i] * 604800 + 12345, start = 77777777777;
		struct clock_map *map;
		uint64_t wrong = 0;

		REQUIRE(!clock_map_new(1, &map));
		clock_map_append(map, start, 5 * ONE, (__int128)week_ns * ONE, run);
		for (int step = 0; step < 100000; step++) {
			uint64_t at = start + random_below(3 * run);

			wrong +=
				clock_map_to_host(map, at) != reference(start, 5, week_ns, run, at);
		}
		/* half-way cases may fall to the other side: never more than 1 ns, seldom at all */
		CHECK(wrong <= 20);
		CHECK(clock_map_to_host(map, start + run) == 5 + week_ns);
		CHECK(clock_map_to_host(map, start + 3 * run) == 5 + 3 * week_ns);
		clock_map_free(map);
	}
}

TEST(back_and_forth)
{
	const uint64_t hertz[] = {2596000000, 19200000, 25000000, 1000000000};

	for (size_t i = 0; i < sizeof(hertz) / sizeof(hertz[0]); i++) {
		uint64_t tick_ns = 1000000000 / hertz[i], worst = 0;
		struct clock_map *map;

		REQUIRE(!clock_map_new(1, &map));
		clock_map_append(map, 1000000, 50 * (__int128)1000000000 * ONE + ONE / 3,
				 1000000000 * ONE, hertz[i]);
		for (int step = 0; step < 100000; step++) {
			uint64_t host = random_below(100 * 1000000000ull);
			uint64_t time = clock_map_from_host(map, host);
			uint64_t back = clock_map_to_host(map, time);

			if (time && apart(back, host) > worst)
				worst = apart(back, host);
		}
		CHECK(worst <= tick_ns / 2 + 1);
		clock_map_free(map);
	}
}

/* Random pieces: continuous at the knots, never falling, whatever the order of the questions. */
TEST(pieces_are_monotonic)
{
	for (int round = 0; round < 200; round++) {
		uint64_t time = random_below(1000000), host = random_below(1000000);
		uint64_t knots[21][2], last = 0, previous = 0;
		struct clock_map *map;

		REQUIRE(!clock_map_new(20, &map));
		for (int i = 0; i < 20; i++) {
			uint64_t run = 1 + random_below(1000), rise = random_below(3000);

			knots[i][0] = time;
			knots[i][1] = host;
			clock_map_append(map, time, (__int128)host * ONE, (__int128)rise * ONE,
					 run);
			time += run;
			host += rise;
		}
		knots[20][0] = time;
		knots[20][1] = host;
		for (int i = 20; i >= 0; i--)
			CHECK(clock_map_to_host(map, knots[i][0]) == knots[i][1]);
		for (uint64_t at = 0; at < time + 2000; at++) {
			uint64_t now = clock_map_to_host(map, at);

			if (at && now < last)
				CHECK(now >= last);
			last = now;
		}
		for (uint64_t at = 0; at < host + 2000; at += 7) {
			uint64_t now = clock_map_from_host(map, at);

			if (now < previous)
				CHECK(now >= previous);
			previous = now;
		}
		clock_map_free(map);
	}
}

TEST(ends_saturate)
{
	struct clock_map *map;

	REQUIRE(!clock_map_new(1, &map));
	clock_map_append(map, 1000, 100 * ONE, ONE, 1);
	CHECK(clock_map_to_host(map, 900) == 0);
	CHECK(clock_map_to_host(map, 899) == 0);
	CHECK(clock_map_to_host(map, 0) == 0);
	CHECK(clock_map_to_host(map, 901) == 1);
	CHECK(clock_map_from_host(map, 0) == 900);
	clock_map_free(map);
	REQUIRE(!clock_map_new(1, &map));
	clock_map_append(map, 0, 100 * ONE, 1000 * ONE, 1);
	CHECK(clock_map_to_host(map, UINT64_MAX) == UINT64_MAX);
	CHECK(clock_map_from_host(map, 0) == 0);
	clock_map_free(map);
	REQUIRE(!clock_map_new(1, &map));
	clock_map_append(map, 5, 100 * ONE, 0, 0);
	CHECK(clock_map_to_host(map, UINT64_MAX) == 100);
	CHECK(clock_map_to_host(map, 0) == 100);
	CHECK(clock_map_from_host(map, UINT64_MAX) >= 5);
	clock_map_free(map);
}

int main(void)
{
	RUN(identity_is_exact);
	RUN(slopes_are_exact_over_weeks);
	RUN(back_and_forth);
	RUN(pieces_are_monotonic);
	RUN(ends_saturate);
	return harness_end();
}
