// SPDX-License-Identifier: MIT
/* Input that no clock gives: nothing may crash, hang, grow or overflow (run under sanitizers). */
#include "clock/clock.h"

#include "harness.h"
#include "synthetic.h"

static const uint64_t edges[] = {0,
				 1,
				 2,
				 1000000000,
				 (uint64_t)1 << 61,
				 ((uint64_t)1 << 61) + 1,
				 (uint64_t)1 << 62,
				 INT64_MAX,
				 (uint64_t)INT64_MAX + 1,
				 UINT64_MAX - 1,
				 UINT64_MAX};
#define EDGES (sizeof(edges) / sizeof(edges[0]))

static uint64_t hostile_time(int style)
{
	switch (style) {
	case 0:
		return edges[random_below(EDGES)];
	case 1:
		return random_next();
	case 2:
		return random_below(10);
	default:
		return random_next() >> random_below(64);
	}
}

static void feed_one(struct clock_domain *domain, int style)
{
	uint64_t time = hostile_time(style), host = hostile_time(style);

	switch (random_below(style < 4 ? 3 : 2)) {
	case 0:
		CHECK(!clock_domain_after(domain, time, host));
		break;
	case 1:
		CHECK(!clock_domain_before(domain, time, host));
		break;
	default:
		CHECK(!clock_domain_pair(domain, time, host, hostile_time(style)));
	}
}

static void solve_and_ask(struct clock_domain *domain)
{
	struct clock_certificate certificate;
	struct clock_map *map;
	uint64_t last = 0;

	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	for (size_t i = 0; i < EDGES; i++) {
		uint64_t host = clock_map_to_host(map, edges[i]);

		CHECK(host >= last);
		last = host;
		clock_map_from_host(map, edges[i]);
	}
	clock_map_free(map);
}

TEST(nonsense)
{
	const uint64_t hertz[] = {0,         1, 19200000, 1000000000, 2596000000, 1000000000000,
				  UINT64_MAX};

	for (int round = 0; round < 20000; round++) {
		struct clock_map *identity;
		struct clock_domain *domain;
		int style = (int)random_below(8);
		size_t count = random_below(100);

		REQUIRE(!clock_domain_new(hertz[random_below(7)], &domain) &&
			!clock_map_identity(&identity));
		if (random_below(2))
			clock_domain_candidate(domain, identity, hostile_time(style % 4));
		for (size_t i = 0; i < count; i++)
			feed_one(domain, style);
		solve_and_ask(domain);
		clock_domain_free(domain);
		clock_map_free(identity);
	}
}

TEST(equal_times)
{
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;

	REQUIRE(!clock_domain_new(1000000000, &domain));
	for (uint64_t i = 0; i < 100000; i++) {
		clock_domain_after(domain, 500, 1000 - i % 100);
		clock_domain_before(domain, 500, 1100 + i % 100);
	}
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	CHECK_EQUAL(clock_map_to_host(map, 500), 1050);
	CHECK(certificate.error_ns >= 50 && certificate.error_ns <= 51);
	clock_map_free(map);
	clock_domain_free(domain);
}

TEST(decreasing_times)
{
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;

	REQUIRE(!clock_domain_new(1000000000, &domain));
	for (uint64_t i = 0; i < 200000; i++) {
		uint64_t time = 10000000000 - i * 10000;

		clock_domain_after(domain, time, time + 5000 - random_below(1000));
		clock_domain_before(domain, time, time + 5000 + random_below(1000));
		if (i % 50 == 0)
			clock_domain_pair(domain, time, time + 4000, time + 6000);
	}
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	CHECK_EQUAL(certificate.violations, 0);
	CHECK(apart(clock_map_to_host(map, 9000000000), 9000005000) <= certificate.error_ns);
	clock_map_free(map);
	clock_domain_free(domain);
}

/* Points on a parabola are all corners: the hull has to be thinned, and the line still fits. */
TEST(all_bounds_are_corners)
{
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;
	uint64_t worst = 0;

	REQUIRE(!clock_domain_new(1000000000, &domain));
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t time = i * 100000, away = i > 10000 ? i - 10000 : 10000 - i;

		away = away * away / 200;
		clock_domain_after(domain, time, time + 2000000 - away);
		clock_domain_before(domain, time, time + 2001000 + away);
	}
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	CHECK_EQUAL(certificate.violations, 0);
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t time = i * 100000, away = i > 10000 ? i - 10000 : 10000 - i;
		uint64_t host = clock_map_to_host(map, time);

		away = away * away / 200;
		if (host + away < time + 2000000)
			worst = time + 2000000 - host - away;
		if (host > time + 2001000 + away)
			worst = host - time - 2001000 - away;
	}
	CHECK_EQUAL(worst, 0);
	clock_map_free(map);
	clock_domain_free(domain);
}

/* Every second bound contradicts the one before: told, in bounded time. */
TEST(contradictions)
{
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;

	REQUIRE(!clock_domain_new(1000000000, &domain));
	for (uint64_t i = 0; i < 500000; i++) {
		uint64_t time = i * 1000;

		clock_domain_after(domain, time, time + 1000000 * (i % 2));
		clock_domain_before(domain, time + 10, time + 20 + 1000000 * (i % 2));
	}
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	CHECK(certificate.violations > 0);
	clock_map_free(map);
	clock_domain_free(domain);
}

int main(void)
{
	RUN(nonsense);
	RUN(equal_times);
	RUN(decreasing_times);
	RUN(all_bounds_are_corners);
	RUN(contradictions);
	return harness_end();
}
