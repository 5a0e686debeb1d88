// SPDX-License-Identifier: MIT
/* Synthetic devices: the truth is known, so that every claim of a certificate can be held to it. */
#include "clock/clock.h"
#include "clock/map.h"

#include "harness.h"
#include "synthetic.h"

#include <stdlib.h>

#define SECOND 1000000000ull
#define HOUR   (3600 * SECOND)

struct command {
	uint64_t enter_ns, seen_ns;   /* host */
	uint64_t queued_ns, ended_ns; /* truth, in host time */
	uint64_t queued, ended;       /* device */
};

/* A blocking call as it is seen from outside: most see little more than the call itself, some
 * are delayed by the scheduler. */
static struct command make_command(const struct synthetic *clock, uint64_t host_ns)
{
	struct command command = {.enter_ns = host_ns};

	command.queued_ns = host_ns + 200 + random_below(3000);
	command.ended_ns = command.queued_ns + 1000 + random_below(200000);
	command.seen_ns = command.ended_ns + 300 + random_below(20000);
	if (random_below(100) < 5)
		command.seen_ns += random_below(4000000);
	command.queued = synthetic_show(clock, command.queued_ns);
	command.ended = synthetic_show(clock, command.ended_ns);
	return command;
}

static void feed(struct clock_domain *domain, const struct command *command)
{
	CHECK(!clock_domain_after(domain, command->queued, command->enter_ns));
	CHECK(!clock_domain_before(domain, command->ended, command->seen_ns));
}

/* Runs `count` commands over `span_ns` and holds map and certificate to truth and bounds. */
static void run_synthetic(const struct synthetic *clock, size_t count, uint64_t span_ns,
			  uint64_t allowed_error_ns)
{
	struct command *commands = malloc(count * sizeof(*commands));
	uint64_t step = span_ns / count, host_ns = clock->epoch_ns + SECOND;
	uint64_t tick_ns = SECOND / clock->frequency_hz + 1, worst = 0, broken = 0;
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;

	REQUIRE(commands && !clock_domain_new(clock->frequency_hz, &domain));
	for (size_t i = 0; i < count; i++) {
		commands[i] = make_command(clock, host_ns);
		feed(domain, &commands[i]);
		host_ns += step / 2 + random_below(step + 1);
	}
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	for (size_t i = 0; i < count; i++) {
		const struct command *command = &commands[i];
		uint64_t queued = clock_map_to_host(map, command->queued);
		uint64_t ended = clock_map_to_host(map, command->ended);

		worst = apart(queued, command->queued_ns) > worst
				? apart(queued, command->queued_ns)
				: worst;
		worst = apart(ended, command->ended_ns) > worst ? apart(ended, command->ended_ns)
								: worst;
		broken += queued < command->enter_ns || ended > command->seen_ns;
	}
	CHECK_EQUAL(certificate.method, CLOCK_METHOD_HULL);
	CHECK_EQUAL(certificate.violations, 0);
	CHECK_EQUAL(certificate.bounds, 2 * count);
	CHECK_EQUAL(broken, 0);
	CHECK(worst <= certificate.error_ns + tick_ns);
	CHECK(certificate.error_ns <= allowed_error_ns);
	printf("# %zu commands, %llu Hz, %lld ppb: error %llu, worst %llu, drift %lld\n", count,
	       (unsigned long long)clock->frequency_hz, (long long)clock->drift_ppb,
	       (unsigned long long)certificate.error_ns, (unsigned long long)worst,
	       (long long)certificate.drift_ppb);
	/* the clock of a short run cannot be told from one that does not drift */
	CHECK_EQUAL(certificate.has_drift, clock->drift_ppb != 0);
	if (!certificate.has_drift)
		CHECK_EQUAL(certificate.drift_ppb, 0);
	else /* host runs slower than a clock that drifts forward */
		CHECK(llabs(certificate.drift_ppb + clock->drift_ppb) < 100);
	clock_map_free(map);
	clock_domain_free(domain);
	free(commands);
}

TEST(a_million_bounds)
{
	run_synthetic(&(struct synthetic){0, 500 * SECOND, SECOND, 0}, 500000, HOUR, 2000);
	run_synthetic(&(struct synthetic){1ull << 60, 500 * SECOND, SECOND, 37}, 500000, HOUR,
		      2000);
}

TEST(drifting_clocks)
{
	const uint64_t hertz[] = {SECOND, 2596000000, 19200000, 25000000, 12500000};

	for (size_t i = 0; i < sizeof(hertz) / sizeof(hertz[0]); i++)
		for (int64_t drift = -200000; drift <= 200000; drift += 100000) {
			run_synthetic(&(struct synthetic){123456789, 7 * SECOND, hertz[i], drift},
				      20000, 60 * SECOND, 4000);
			run_synthetic(&(struct synthetic){1, 7 * SECOND, hertz[i], drift}, 20000,
				      24 * HOUR, 20000);
		}
}

TEST(few_commands)
{
	const struct synthetic clock = {42, 7 * SECOND, SECOND, 0};

	for (size_t round = 0; round < 50; round++) {
		run_synthetic(&clock, 1, SECOND, 5000000);
		run_synthetic(&clock, 5, SECOND / 1000, 3000000);
		run_synthetic(&clock, 5, 100 * SECOND, 200000000);
	}
}

/* The rate of a clock is known to some hundred ppm: one command gives an offset at least. */
TEST(one_command)
{
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;

	REQUIRE(!clock_domain_new(SECOND, &domain));
	clock_domain_after(domain, 1000, 501000);
	clock_domain_before(domain, 9000, 511000);
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	CHECK_EQUAL(certificate.method, CLOCK_METHOD_HULL);
	CHECK(apart(clock_map_to_host(map, 1000), 502000 - 500) <= 1000);
	CHECK(certificate.error_ns >= 1000 && certificate.error_ns <= 1020);
	CHECK_EQUAL(certificate.drift_ppb, 0);
	CHECK_EQUAL(certificate.violations, 0);
	clock_map_free(map);
	clock_domain_free(domain);
}

TEST(one_sided)
{
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;

	REQUIRE(!clock_domain_new(SECOND, &domain));
	clock_domain_after(domain, 1000, 5000);
	clock_domain_after(domain, 2000, 6100);
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	CHECK_EQUAL(certificate.method, CLOCK_METHOD_HULL);
	CHECK(certificate.error_ns == UINT64_MAX);
	CHECK_EQUAL(certificate.violations, 0);
	CHECK_EQUAL(clock_map_to_host(map, 2000), 6100);
	clock_map_free(map);
	clock_domain_free(domain);
}

TEST(nothing_known)
{
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;

	REQUIRE(!clock_domain_new(0, &domain));
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	CHECK_EQUAL(certificate.method, CLOCK_METHOD_NONE);
	CHECK(certificate.error_ns == UINT64_MAX);
	CHECK_EQUAL(clock_map_to_host(map, 77), 77);
	clock_map_free(map);
	clock_domain_free(domain);
	clock_domain_free(NULL);
}

/* Any line in the middle of random bounds that have a truth between them breaks none of them. */
TEST(no_bound_is_broken)
{
	struct {
		uint64_t time, host;
		bool after;
	} bounds[64];

	for (int round = 0; round < 20000; round++) {
		struct synthetic clock = {random_below(1000), 100000000, SECOND,
					  (int64_t)random_below(1000000) - 500000};
		size_t count = 1 + random_below(64), broken = 0;
		struct clock_certificate certificate;
		uint64_t reach = 1 + random_below(1ull << (1 + random_below(40)));
		struct clock_domain *domain;
		struct clock_map *map;

		REQUIRE(!clock_domain_new(SECOND, &domain));
		for (size_t i = 0; i < count; i++) {
			uint64_t host = clock.epoch_ns + random_below(reach);

			bounds[i].time = synthetic_show(&clock, host);
			bounds[i].after = random_below(2);
			bounds[i].host = bounds[i].after ? host - random_below(50)
							 : host + random_below(50) + 2;
			if (bounds[i].after)
				clock_domain_after(domain, bounds[i].time, bounds[i].host);
			else
				clock_domain_before(domain, bounds[i].time, bounds[i].host);
		}
		REQUIRE(!clock_domain_solve(domain, &certificate, &map));
		for (size_t i = 0; i < count; i++) {
			uint64_t host = clock_map_to_host(map, bounds[i].time);

			broken += bounds[i].after ? host < bounds[i].host : host > bounds[i].host;
		}
		if (broken || certificate.violations)
			CHECK_EQUAL(broken, 0);
		CHECK(certificate.violations == 0);
		clock_map_free(map);
		clock_domain_free(domain);
	}
}

/* Time differences as measured next to a CPU runtime whose stamps are CLOCK_MONOTONIC_RAW. */
static void make_offset_map(int64_t offset_ns, struct clock_map **ret_map)
{
	const __int128 one = (__int128)1 << CLOCK_FRACTION_BITS;
	uint64_t time = offset_ns < 0 ? (uint64_t)-offset_ns : 0;
	uint64_t host = offset_ns > 0 ? (uint64_t)offset_ns : 0;

	if (!clock_map_new(1, ret_map))
		clock_map_append(*ret_map, time, host * one, one, 1);
}

TEST(the_right_candidate)
{
	/* host = shown + offset: REALTIME is far ahead, BOOTTIME equal without a suspend */
	const int64_t offsets[] = {0, 245267486, -1700000000000000000, 0};
	struct synthetic raw = {1000 * SECOND - 245267486, 1000 * SECOND, SECOND, 0};

	for (size_t count = 1; count < 3000; count = count * 7 + 1) {
		struct clock_certificate certificate;
		struct clock_domain *domain;
		struct clock_map *map, *maps[4];

		REQUIRE(!clock_domain_new(SECOND, &domain));
		for (int i = 0; i < 4; i++) {
			make_offset_map(offsets[i], &maps[i]);
			REQUIRE(!clock_domain_candidate(domain, maps[i], i ? 40 : 0));
		}
		for (size_t i = 0; i < count; i++) {
			struct command command = make_command(&raw, (1001 + i) * SECOND);

			feed(domain, &command);
		}
		REQUIRE(!clock_domain_solve(domain, &certificate, &map));
		CHECK_EQUAL(certificate.method, CLOCK_METHOD_HOST);
		CHECK_EQUAL(certificate.candidate, 1);
		CHECK_EQUAL(certificate.error_ns, 40);
		CHECK_EQUAL(certificate.offset_ns, 245267486);
		CHECK_EQUAL(certificate.drift_ppb, 0);
		CHECK_EQUAL(certificate.violations, 0);
		CHECK_EQUAL(clock_map_to_host(map, 2000 * SECOND), 2000 * SECOND + 245267486);
		clock_map_free(map);
		clock_domain_free(domain);
		for (int i = 0; i < 4; i++)
			clock_map_free(maps[i]);
	}
}

TEST(a_candidate_that_is_the_reference)
{
	struct synthetic same = {1000 * SECOND, 1000 * SECOND, SECOND, 0};
	struct clock_certificate certificate;
	struct clock_map *identity, *map;
	struct clock_domain *domain;

	REQUIRE(!clock_map_identity(&identity) && !clock_domain_new(SECOND, &domain));
	for (uint64_t i = 0; i < 100; i++) {
		struct command command = make_command(&same, (1001 + i) * SECOND);

		feed(domain, &command);
	}
	/* added late: the bounds kept so far are tested */
	REQUIRE(!clock_domain_candidate(domain, identity, 0));
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	CHECK_EQUAL(certificate.method, CLOCK_METHOD_SAME);
	CHECK_EQUAL(certificate.candidate, 0);
	clock_map_free(map);
	/* one bound too many */
	clock_domain_after(domain, 1200 * SECOND, 1200 * SECOND + 10);
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	CHECK_EQUAL(certificate.method, CLOCK_METHOD_HULL);
	clock_map_free(map);
	clock_domain_free(domain);
	clock_map_free(identity);
}

/* A TSC read next to the host every second for an hour; one reading in ten is preempted. */
TEST(pairs_of_a_tsc)
{
	const int64_t drifts[] = {0, 3117, -200000};

	for (int variant = 0; variant < 6; variant++) {
		struct synthetic tsc = {987654321987, 100 * SECOND, 2596000000,
					drifts[variant % 3]};
		struct clock_certificate certificate;
		struct clock_domain *domain;
		struct clock_map *map;
		uint64_t worst = 0;

		/* the nominal frequency may be unknown */
		REQUIRE(!clock_domain_new(variant < 3 ? tsc.frequency_hz : 0, &domain));
		for (uint64_t i = 0; i < 3600; i++) {
			uint64_t host = (101 + i) * SECOND + random_below(1000);
			uint64_t before = 10 + random_below(15), after = 10 + random_below(15);

			if (random_below(10) == 0)
				*(random_below(2) ? &before : &after) += random_below(3000000);
			CHECK(!clock_domain_pair(domain, synthetic_show(&tsc, host), host - before,
						 host + after));
		}
		REQUIRE(!clock_domain_solve(domain, &certificate, &map));
		for (uint64_t i = 0; i < 100000; i++) {
			uint64_t host = 101 * SECOND + random_below(3599 * SECOND);
			uint64_t got = clock_map_to_host(map, synthetic_show(&tsc, host));

			worst = apart(got, host) > worst ? apart(got, host) : worst;
		}
		CHECK_EQUAL(certificate.method, CLOCK_METHOD_PAIRS);
		CHECK_EQUAL(certificate.violations, 0);
		CHECK(worst <= certificate.error_ns);
		CHECK(certificate.error_ns < 100);
		if (variant < 3)
			CHECK(llabs(certificate.drift_ppb + tsc.drift_ppb) < 60);
		printf("# TSC: error %llu, worst %llu, drift %lld\n",
		       (unsigned long long)certificate.error_ns, (unsigned long long)worst,
		       (long long)certificate.drift_ppb);
		clock_map_free(map);
		clock_domain_free(domain);
	}
}

/* Only wide readings, one reading, and two readings a millisecond apart. */
TEST(poor_pairs)
{
	for (int variant = 0; variant < 3; variant++) {
		struct synthetic tsc = {55, 100 * SECOND, 2596000000, 1000};
		struct clock_certificate certificate;
		struct clock_domain *domain;
		struct clock_map *map;
		uint64_t count = variant == 0 ? 20 : (uint64_t)variant, worst = 0;
		uint64_t step = variant == 0 ? SECOND : SECOND / 1000;
		uint64_t wide = variant == 0 ? 4000000 : 20;

		REQUIRE(!clock_domain_new(tsc.frequency_hz, &domain));
		for (uint64_t i = 0; i < count; i++) {
			uint64_t host = 101 * SECOND + i * step;

			clock_domain_pair(domain, synthetic_show(&tsc, host),
					  host - random_below(wide), host + random_below(wide));
		}
		/* execution is seen ten seconds later: the error has to grow with the open rate */
		clock_domain_after(domain, synthetic_show(&tsc, 111 * SECOND), 100 * SECOND);
		REQUIRE(!clock_domain_solve(domain, &certificate, &map));
		for (uint64_t i = 0; i < 1000; i++) {
			uint64_t host = 101 * SECOND + random_below(10 * SECOND);
			uint64_t got = clock_map_to_host(map, synthetic_show(&tsc, host));

			worst = apart(got, host) > worst ? apart(got, host) : worst;
		}
		CHECK_EQUAL(certificate.method, CLOCK_METHOD_PAIRS);
		CHECK_EQUAL(certificate.violations, 0);
		CHECK(worst <= certificate.error_ns);
		CHECK(certificate.error_ns < 8000000);
		clock_map_free(map);
		clock_domain_free(domain);
	}
}

/* The host is slewed: the rate changes by 100 ppm every minute. Pieces follow, the error says how
 * far a line may be off in between. */
/* A 19.2 MHz counter whose driver says that a tick is 52 ns: 1600 ppm off, three pairs, many
 * bounds. */
TEST(pairs_of_a_rounded_rate)
{
	struct synthetic device = {123456789, 100 * SECOND, 1000000000, 1600000};
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;
	uint64_t worst = 0;

	REQUIRE(!clock_domain_new(1000000000, &domain));
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t host = 101 * SECOND + i * SECOND / 10;

		CHECK(!clock_domain_pair(domain, synthetic_show(&device, host), host - 200,
					 host + 200));
	}
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t host = 101 * SECOND + i * SECOND / 5000;

		CHECK(!clock_domain_after(domain, synthetic_show(&device, host), host - 900));
		CHECK(!clock_domain_before(domain, synthetic_show(&device, host), host + 900));
	}
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t host = 101 * SECOND + i * SECOND / 5000;
		uint64_t got = clock_map_to_host(map, synthetic_show(&device, host));

		worst = apart(got, host) > worst ? apart(got, host) : worst;
	}
	CHECK_EQUAL(certificate.method, CLOCK_METHOD_PAIRS);
	CHECK_EQUAL(certificate.violations, 0);
	CHECK(worst <= certificate.error_ns);
	CHECK(certificate.error_ns < 2000);
	clock_map_free(map);
	clock_domain_free(domain);
}

/* Readings that leave the host's clock open by far more than the commands do must not decide. */
static void run_worthless_pairs(uint64_t half_ns, uint64_t step_ns, uint64_t count,
				uint64_t jump_ns)
{
	struct synthetic first = {1000, 100 * SECOND, SECOND, 3000}, second = first;
	uint64_t span_ns = 2 * HOUR, half_way = first.epoch_ns + span_ns / 2, worst = 0;
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;

	second.start += jump_ns;
	REQUIRE(!clock_domain_new(SECOND, &domain));
	for (uint64_t i = 0; i < count; i++) {
		uint64_t host = 100 * SECOND + i * step_ns;

		/* off its middle by nearly all it can be */
		CHECK(!clock_domain_pair(domain,
					 synthetic_show(host < half_way ? &first : &second, host),
					 host - half_ns / 50, host + 2 * half_ns));
	}
	for (uint64_t host = 100 * SECOND; host < 100 * SECOND + span_ns; host += SECOND) {
		struct command command = make_command(host < half_way ? &first : &second, host);

		feed(domain, &command);
	}
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	for (uint64_t host = 100 * SECOND; host < 100 * SECOND + span_ns; host += SECOND) {
		uint64_t show = synthetic_show(host < half_way ? &first : &second, host);
		uint64_t got = clock_map_to_host(map, show);

		worst = apart(got, host) > worst ? apart(got, host) : worst;
	}
	printf("# pairs of %llu ns: error %llu, worst %llu, method %d\n",
	       (unsigned long long)half_ns * 2, (unsigned long long)certificate.error_ns,
	       (unsigned long long)worst, certificate.method);
	CHECK_EQUAL(certificate.violations, 0);
	CHECK(worst <= certificate.error_ns);
	CHECK(certificate.error_ns < 50000 + jump_ns);
	clock_map_free(map);
	clock_domain_free(domain);
}

TEST(worthless_pairs_do_not_decide)
{
	run_worthless_pairs(500000, 10 * SECOND, 700, 0);         /* far enough apart for knots */
	run_worthless_pairs(SECOND / 2, 10 * SECOND, 700, 0);     /* too wide for them */
	run_worthless_pairs(SECOND / 2, 10 * SECOND, 1, 0);       /* a single one */
	run_worthless_pairs(SECOND / 2, 10 * SECOND, 1, 1000000); /* … of a clock that stepped */
	run_worthless_pairs(500000000, 10 * SECOND, 700, 1000000);
}

TEST(pairs_of_a_changing_rate)
{
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;
	uint64_t device = 5000, host = 100 * SECOND, worst = 0;
	struct {
		uint64_t device, host;
	} seen[6000];

	REQUIRE(!clock_domain_new(SECOND, &domain));
	for (int i = 0; i < 6000; i++) {
		int64_t rate = (i / 600) % 2 ? 10000 : -10000; /* ns per 100 ms */

		seen[i].device = device;
		seen[i].host = host;
		if (i % 10 == 0)
			clock_domain_pair(domain, device, host - 20, host + 15);
		host += SECOND / 10;
		device += SECOND / 10 + (uint64_t)rate;
	}
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	for (int i = 0; i < 5990; i++) {
		uint64_t got = clock_map_to_host(map, seen[i].device);

		worst = apart(got, seen[i].host) > worst ? apart(got, seen[i].host) : worst;
	}
	CHECK(worst <= certificate.error_ns);
	CHECK(worst < 100);
	printf("# slewed: error %llu, worst %llu\n", (unsigned long long)certificate.error_ns,
	       (unsigned long long)worst);
	clock_map_free(map);
	clock_domain_free(domain);
}

/* The device's clock jumps forward by 1 ms half-way, and another time changes its rate. */
static void run_broken_clock(uint64_t jump, int64_t drift_ppb)
{
	struct synthetic first = {1000, 100 * SECOND, SECOND, 0};
	struct synthetic second = {1000 + 60 * SECOND + jump, 160 * SECOND, SECOND, drift_ppb};
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;
	struct command commands[12000];
	uint64_t worst = 0, last = 0;

	REQUIRE(!clock_domain_new(SECOND, &domain));
	for (uint64_t i = 0; i < 12000; i++) {
		commands[i] =
			make_command(i < 6000 ? &first : &second, 100 * SECOND + i * SECOND / 100);
		feed(domain, &commands[i]);
	}
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	for (uint64_t i = 0; i < 12000; i++) {
		uint64_t got = clock_map_to_host(map, commands[i].ended);

		worst = apart(got, commands[i].ended_ns) > worst ? apart(got, commands[i].ended_ns)
								 : worst;
		CHECK(got >= last);
		last = got;
	}
	printf("# jump %llu drift %lld: error %llu, worst %llu, violations %llu\n",
	       (unsigned long long)jump, (long long)drift_ppb,
	       (unsigned long long)certificate.error_ns, (unsigned long long)worst,
	       (unsigned long long)certificate.violations);
	CHECK_EQUAL(certificate.violations, 0);
	CHECK(worst <= certificate.error_ns);
	CHECK(worst < 50000);
	clock_map_free(map);
	clock_domain_free(domain);
}

TEST(steps_and_rate_changes)
{
	run_broken_clock(1000000, 0);
	run_broken_clock(50000, 0);
	run_broken_clock(0, 100000);
	run_broken_clock(500000, -50000);
}

/* One stamp in 10000 is nonsense: it is told, and the rest is still aligned. */
TEST(a_liar_is_told)
{
	struct synthetic clock = {1000, 100 * SECOND, SECOND, 20000};
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;
	uint64_t worst = 0;

	REQUIRE(!clock_domain_new(SECOND, &domain));
	for (uint64_t i = 0; i < 10000; i++) {
		struct command command = make_command(&clock, 100 * SECOND + i * SECOND / 100);

		feed(domain, &command);
		if (i == 5000)
			clock_domain_before(domain, command.ended + 1000000,
					    command.seen_ns - 50000000);
	}
	REQUIRE(!clock_domain_solve(domain, &certificate, &map));
	for (uint64_t i = 0; i < 9990; i++) {
		uint64_t host = 100 * SECOND + i * SECOND / 100;
		uint64_t got = clock_map_to_host(map, synthetic_show(&clock, host));

		worst = apart(got, host) > worst ? apart(got, host) : worst;
	}
	CHECK(certificate.violations > 0 && certificate.violations < 5);
	CHECK(worst < 20000);
	printf("# liar: error %llu, worst %llu\n", (unsigned long long)certificate.error_ns,
	       (unsigned long long)worst);
	clock_map_free(map);
	clock_domain_free(domain);
}

/* The paper's two bounds on the same run, completion seen by a callback or within the call: both
 * intervals hold the truth, the tighter bound gives the smaller error. */
TEST(the_bounds_of_the_paper)
{
	uint64_t errors[2];

	for (int inside = 0; inside < 2; inside++) {
		struct synthetic raw = {1000 * SECOND - 245267486, 1000 * SECOND, SECOND, 0};
		struct clock_certificate certificate;
		struct clock_domain *domain;
		struct clock_map *map;

		REQUIRE(!clock_domain_new(SECOND, &domain));
		for (uint64_t i = 0; i < 100; i++) {
			uint64_t host = 1001 * SECOND + i * 1000000;
			uint64_t queued = host + 250 + random_below(800);
			uint64_t leave = queued + 200 + random_below(800);
			uint64_t ended = leave + 20000 + random_below(80000);

			clock_domain_after(domain, synthetic_show(&raw, queued), host);
			if (inside) /* QUEUED within [enter, exit] of the call */
				clock_domain_before(domain, synthetic_show(&raw, queued), leave);
			else
				clock_domain_before(domain, synthetic_show(&raw, ended),
						    ended + 2000 + random_below(5000));
		}
		REQUIRE(!clock_domain_solve(domain, &certificate, &map));
		CHECK(apart(clock_map_to_host(map, raw.start + SECOND), 1001 * SECOND) <=
		      certificate.error_ns);
		CHECK_EQUAL(certificate.violations, 0);
		errors[inside] = certificate.error_ns;
		clock_map_free(map);
		clock_domain_free(domain);
	}
	CHECK(errors[1] < errors[0]);
	CHECK(errors[1] < 1000);
}

/* Solved, fed more and solved again equals fed at once. */
TEST(solving_is_repeatable)
{
	struct synthetic clock = {1000, 100 * SECOND, 19200000, 20000};
	struct clock_certificate certificates[2];
	struct clock_domain *domains[2];
	struct clock_map *map;

	REQUIRE(!clock_domain_new(19200000, &domains[0]) &&
		!clock_domain_new(19200000, &domains[1]));
	for (uint64_t i = 0; i < 1000; i++) {
		struct command command = make_command(&clock, 100 * SECOND + i * SECOND);

		feed(domains[0], &command);
		feed(domains[1], &command);
		if (i % 100 == 0) {
			REQUIRE(!clock_domain_solve(domains[0], &certificates[0], &map));
			clock_map_free(map);
		}
	}
	for (int i = 0; i < 2; i++) {
		REQUIRE(!clock_domain_solve(domains[i], &certificates[i], &map));
		clock_map_free(map);
		clock_domain_free(domains[i]);
	}
	CHECK(certificates[0].error_ns == certificates[1].error_ns &&
	      certificates[0].offset_ns == certificates[1].offset_ns &&
	      certificates[0].drift_ppb == certificates[1].drift_ppb);
}

int main(void)
{
	RUN(nothing_known);
	RUN(one_command);
	RUN(one_sided);
	RUN(few_commands);
	RUN(no_bound_is_broken);
	RUN(a_million_bounds);
	RUN(drifting_clocks);
	RUN(the_right_candidate);
	RUN(a_candidate_that_is_the_reference);
	RUN(pairs_of_a_tsc);
	RUN(poor_pairs);
	RUN(pairs_of_a_rounded_rate);
	RUN(worthless_pairs_do_not_decide);
	RUN(pairs_of_a_changing_rate);
	RUN(steps_and_rate_changes);
	RUN(a_liar_is_told);
	RUN(the_bounds_of_the_paper);
	RUN(solving_is_repeatable);
	return harness_end();
}
