/* SPDX-License-Identifier: MIT */
#include "collect/limit/limit.h"

#include <math.h>
#include <stdlib.h>

#include "collect/limit/waits.h"
#include "harness.h"

/* A program with a rate that drifts, in which other processes take the processor from one window of
 * ten, and the cost of recording it at each level. */
struct simulated {
	double rate;               /* launches per second without recording */
	double cost[LIMIT_LEVELS]; /* 0.1: 10 % */
	double own;                /* the part of the cost that duet measures in itself */
	double noise;
	uint32_t random;
	double waits; /* part of the time in which it waits for a processor */
	bool shows_waits;
	double long_part; /* of duet's own time that is measured with its waits */
	double launches, own_ns, long_ns;
	double known_ns, waited_ns;
	struct limit limit;
	uint64_t now_ns, due_ns, late_ns;
	/* What came of it. */
	uint64_t level_ns[LIMIT_LEVELS], off_ns;
	uint32_t steps;
	double lost_ns; /* time that recording cost */
};

static double next_part(struct simulated *simulated)
{
	simulated->random = simulated->random * 1664525 + 1013904223;
	return (simulated->random >> 8) / (double)(1 << 24);
}

static void simulated_init(struct simulated *simulated, const struct limit_options *options,
			   uint32_t seed)
{
	simulated->random = seed;
	simulated->now_ns = 1000000000;
	simulated->late_ns = 300000;
	simulated->own = 0.5;
	limit_init(&simulated->limit, options, simulated->now_ns);
}

/* One window. */
static void run_window(struct simulated *simulated)
{
	const enum limit_level level = limit_now(&simulated->limit);
	const enum limit_level before = simulated->limit.level;
	const double cost = level == LIMIT_COUNTERS ? 0 : simulated->cost[level];
	const double drift = 1 + 0.2 * sin((double)simulated->now_ns / 3e9);
	const double hit = next_part(simulated) < 0.1 ? 0.6 : 1;
	const double noise = 1 + simulated->noise * (next_part(simulated) - 0.5);
	uint64_t ns = simulated->due_ns > simulated->now_ns ? simulated->due_ns - simulated->now_ns
							    : 1000000;
	struct limit_reading reading;
	double rate, own;

	ns += (uint64_t)((double)simulated->late_ns * next_part(simulated));
	own = (double)ns * cost / (1 + cost) * simulated->own;
	rate = simulated->rate * drift * noise * (simulated->noise > 0 ? hit : 1) *
	       (1 - simulated->waits);
	simulated->launches += rate / (1 + cost) * (double)ns / 1e9;
	simulated->own_ns += own * (1 - simulated->long_part) * (1 - simulated->waits);
	simulated->long_ns += own * simulated->long_part;
	simulated->known_ns += simulated->shows_waits ? (double)ns : 0;
	simulated->waited_ns += simulated->shows_waits ? (double)ns * simulated->waits : 0;
	simulated->lost_ns += (double)ns * cost / (1 + cost);
	simulated->off_ns += limit_is_off(&simulated->limit) ? ns : 0;
	simulated->level_ns[before] += ns;
	simulated->now_ns += ns;
	reading = (struct limit_reading){.now_ns = simulated->now_ns,
					 .launches = (uint64_t)simulated->launches,
					 .guest_ns = (uint64_t)simulated->own_ns,
					 .long_ns = (uint64_t)simulated->long_ns,
					 .known_ns = (uint64_t)simulated->known_ns,
					 .waited_ns = (uint64_t)simulated->waited_ns};
	simulated->due_ns = limit_step(&simulated->limit, &reading);
	simulated->steps += simulated->limit.level != before;
}

static void run_for(struct simulated *simulated, double seconds)
{
	const uint64_t end_ns = simulated->now_ns + (uint64_t)(seconds * 1e9);

	while (simulated->now_ns < end_ns)
		run_window(simulated);
}

static double share_of(const struct simulated *simulated, enum limit_level level)
{
	uint64_t all_ns = 0;

	for (int i = 0; i < LIMIT_LEVELS; i++)
		all_ns += simulated->level_ns[i];
	return (double)simulated->level_ns[level] / (double)all_ns;
}

static const struct limit_options usual = {
	.max = 0.02, .has_stacks = true, .can_leave_out = true, .seed = 7};

TEST(estimate_ignores_outliers)
{
	struct estimate estimate = {0};
	struct estimate_interval interval;

	for (int i = 0; i < 7; i++)
		estimate_add(&estimate, 1);
	CHECK(!estimate_get(&estimate, &interval));
	for (int i = 0; i < 30; i++)
		estimate_add(&estimate, 1 + 0.01 * (i % 3 - 1));
	for (int i = 0; i < 4; i++)
		estimate_add(&estimate, 100);
	CHECK(estimate_get(&estimate, &interval));
	CHECK(fabs(interval.mean - 1) < 0.01);
	CHECK(interval.half_width > 0 && interval.half_width < 0.02);
	/* Only the newest values count. */
	for (int i = 0; i < ESTIMATE_VALUES; i++)
		estimate_add(&estimate, 5);
	CHECK(estimate_get(&estimate, &interval));
	CHECK(interval.mean == 5 && interval.half_width == 0);
}

/* 95 of 100 intervals should hold the true mean. */
TEST(estimate_covers)
{
	struct simulated random = {.random = 3};
	int inside = 0;

	for (int run = 0; run < 1000; run++) {
		struct estimate estimate = {0};
		struct estimate_interval interval;

		for (int i = 0; i < 20; i++)
			estimate_add(&estimate, next_part(&random) + next_part(&random) +
							next_part(&random) - 1.5);
		CHECK(estimate_get(&estimate, &interval));
		inside += fabs(interval.mean) <= interval.half_width;
	}
	CHECK(inside >= 920 && inside <= 985);
}

TEST(cheap_stays)
{
	struct simulated simulated = {
		.rate = 100000, .cost = {0.006, 0.005, 0.004, 0.003}, .noise = 0.02};

	simulated_init(&simulated, &usual, 1);
	run_for(&simulated, 120);
	CHECK_EQUAL(simulated.steps, 0);
	CHECK_EQUAL(simulated.limit.level, LIMIT_STACKS);
	/* 20 ms of each second, and some more at the start */
	CHECK((double)simulated.off_ns < 0.03 * 120e9);
}

TEST(expensive_goes_down)
{
	struct simulated simulated = {
		.rate = 1000000, .cost = {0.4, 0.15, 0.12, 0.1}, .noise = 0.02};

	simulated_init(&simulated, &usual, 2);
	run_for(&simulated, 1);
	CHECK_EQUAL(simulated.limit.level, LIMIT_COUNTERS);
	run_for(&simulated, 119);
	CHECK_EQUAL(simulated.limit.level, LIMIT_COUNTERS);
	CHECK(simulated.lost_ns < 120e9 * (0.02 + 0.005));
}

TEST(finds_the_level_between)
{
	struct simulated simulated = {
		.rate = 500000, .cost = {0.2, 0.04, 0.012, 0.01}, .noise = 0.02};

	simulated_init(&simulated, &usual, 3);
	run_for(&simulated, 120);
	CHECK_EQUAL(simulated.limit.level, LIMIT_FEW_STACKS);
	CHECK(share_of(&simulated, LIMIT_FEW_STACKS) > 0.9);
	CHECK(simulated.lost_ns < 120e9 * 0.02);
}

/* A phase that costs more, and then one that costs little. */
TEST(goes_up_again)
{
	struct simulated simulated = {
		.rate = 500000, .cost = {0.2, 0.15, 0.12, 0.1}, .noise = 0.02};

	simulated_init(&simulated, &usual, 4);
	run_for(&simulated, 20);
	CHECK_EQUAL(simulated.limit.level, LIMIT_COUNTERS);
	for (int i = 0; i < LIMIT_LEVELS; i++)
		simulated.cost[i] /= 100;
	run_for(&simulated, 400);
	CHECK_EQUAL(simulated.limit.level, LIMIT_STACKS);
}

/* A cost near the limit must not change the level again and again. */
TEST(does_not_oscillate)
{
	static const double near[] = {0.9, 1.0, 1.1};

	for (size_t i = 0; i < 3; i++) {
		struct simulated simulated = {.rate = 300000,
					      .cost = {0.02 * near[i], 0.012, 0.011, 0.01},
					      .noise = 0.04};

		simulated_init(&simulated, &usual, 5 + (uint32_t)i);
		run_for(&simulated, 600);
		CHECK(simulated.steps <= 8);
		CHECK(simulated.lost_ns < 600e9 * (0.02 + 0.005));
	}
}

TEST(rare_launches_are_not_measured)
{
	struct simulated simulated = {.rate = 50, .cost = {0.001, 0.001, 0.001, 0.001}};
	struct limit_result result;

	simulated_init(&simulated, &usual, 8);
	run_for(&simulated, 30);
	CHECK_EQUAL(simulated.limit.level, LIMIT_STACKS);
	CHECK_EQUAL(simulated.off_ns, 0); /* nothing is left out in vain */
	limit_end(&simulated.limit, simulated.now_ns);
	CHECK(limit_take(&simulated.limit, &result));
	CHECK_EQUAL(result.method, LIMIT_BY_OWN_TIME);
	CHECK(result.cost > 0.0004 && result.cost < 0.0006);
	CHECK(!limit_take(&simulated.limit, &result));
}

/* A guest that records all launches is held by duet's own time alone. */
TEST(own_time_goes_down)
{
	const struct limit_options options = {.max = 0.02, .has_stacks = true, .seed = 1};
	struct simulated simulated = {.rate = 1000000, .cost = {0.3, 0.2, 0.1, 0.01}, .own = 1};

	simulated_init(&simulated, &options, 9);
	simulated.own = 1;
	run_for(&simulated, 120);
	CHECK_EQUAL(simulated.limit.level, LIMIT_SPANS);
	CHECK_EQUAL(simulated.off_ns, 0);
}

/* Without windows the guest's own time is looked at all the time, not once a second. */
TEST(own_time_goes_down_at_once)
{
	const struct limit_options options = {.max = 0.001, .has_stacks = true, .seed = 1};
	struct simulated simulated = {.rate = 1000000, .cost = {0.3, 0.2, 0.1, 0.01}};

	simulated_init(&simulated, &options, 14);
	simulated.own = 1;
	run_for(&simulated, 0.1);
	CHECK_EQUAL(simulated.limit.level, LIMIT_SPANS);
	CHECK(simulated.level_ns[LIMIT_STACKS] < 50000000);
	CHECK(simulated.level_ns[LIMIT_FEW_STACKS] > 0);
}

/* A program that gets a fifth of a processor: duet's own time is a part of that fifth. */
TEST(own_time_is_a_part_of_the_running_time)
{
	const struct limit_options options = {.max = 0.02, .has_stacks = true, .seed = 1};
	struct simulated simulated = {.rate = 1000000, .cost = {0.04, 0.015, 0.01, 0.01}};
	struct limit_result result;

	simulated_init(&simulated, &options, 12);
	simulated.own = 1;
	simulated.waits = 0.8;
	simulated.long_part = 0.5;
	simulated.shows_waits = true;
	run_for(&simulated, 3);
	CHECK_EQUAL(simulated.limit.level, LIMIT_SOME_STACKS);
	/* the results too; the first interval ended with the step */
	CHECK(limit_take(&simulated.limit, &result));
	limit_end(&simulated.limit, simulated.now_ns);
	CHECK(limit_take(&simulated.limit, &result));
	CHECK_EQUAL(result.method, LIMIT_BY_OWN_TIME);
	CHECK(result.cost > 0.014 && result.cost < 0.016);
}

/* While the kernel does not show the waits, a larger margin counts: 1.8 instead of 1.25. */
TEST(the_margin_depends_on_the_waits)
{
	const struct limit_options options = {.max = 0.02, .has_stacks = true, .seed = 1};

	for (int shows = 0; shows < 2; shows++) {
		struct simulated simulated = {.rate = 1000000, .cost = {0.014, 0.01, 0.01, 0.01}};

		simulated_init(&simulated, &options, 13);
		simulated.own = 1;
		simulated.shows_waits = shows;
		run_for(&simulated, 3);
		CHECK_EQUAL(simulated.limit.level, shows ? LIMIT_STACKS : LIMIT_SOME_STACKS);
	}
}

TEST(waits_count_by_launches)
{
	const uint64_t ms = 1000000;
	struct limit_waits waits = {0};

	CHECK(!limit_waits_wants(&waits, 3, 0, 5)); /* a ring without a thread */
	CHECK(!limit_waits_wants(&waits, 3, 77, 0));
	CHECK(limit_waits_wants(&waits, 3, 77, 1));
	/* The first look at a thread only gives its earlier waits. */
	CHECK_EQUAL(limit_waits_add(&waits, 3, 77, 100, 500 * ms, 1000 * ms), 0);
	CHECK_EQUAL(limit_waits_add(&waits, 0, 78, 10, 900 * ms, 1000 * ms), 0);
	limit_waits_end(&waits, 1000 * ms);
	CHECK_EQUAL(waits.known_ns, 0);
	CHECK(waits.due_ns > 1010 * ms);
	CHECK(!limit_waits_wants(&waits, 3, 77, 100));
	CHECK(limit_waits_wants(&waits, 3, 77, 101));
	/* Three of four launches come from a thread that waited for 8 of 10 ms. */
	CHECK_EQUAL(limit_waits_add(&waits, 3, 77, 400, 508 * ms, 1010 * ms), 0);
	CHECK_EQUAL(limit_waits_add(&waits, 0, 78, 110, 900 * ms, 1010 * ms), 0);
	limit_waits_end(&waits, 1010 * ms);
	CHECK_EQUAL(waits.known_ns, 10 * ms);
	CHECK_EQUAL(waits.known_waited_ns, 6 * ms);
	/* A look without launches tells nothing. */
	limit_waits_end(&waits, 1050 * ms);
	CHECK_EQUAL(waits.known_ns, 10 * ms);
	/* A thread that has not launched for 90 ms: its wait of 9 ms is a tenth. */
	CHECK_EQUAL(limit_waits_add(&waits, 3, 77, 500, 517 * ms, 1100 * ms), 0);
	limit_waits_end(&waits, 1100 * ms);
	CHECK_EQUAL(waits.known_ns, 60 * ms);
	CHECK_EQUAL(waits.known_waited_ns, 11 * ms);
	/* Another thread has the ring: its earlier waits do not count. */
	CHECK_EQUAL(limit_waits_add(&waits, 3, 79, 600, 800 * ms, 1110 * ms), 0);
	limit_waits_end(&waits, 1110 * ms);
	CHECK_EQUAL(waits.known_ns, 60 * ms);
	/* A wait that is longer than the time is cut. */
	CHECK_EQUAL(limit_waits_add(&waits, 3, 79, 700, 900 * ms, 1120 * ms), 0);
	limit_waits_end(&waits, 1120 * ms);
	CHECK_EQUAL(waits.known_waited_ns, 21 * ms);
	limit_waits_fini(&waits);
}

/* The cost in the results is the true one. */
TEST(results_are_true)
{
	struct simulated simulated = {
		.rate = 400000, .cost = {0.015, 0.01, 0.01, 0.01}, .noise = 0.02};
	struct limit_result result;
	int taken = 0, inside = 0;

	for (uint32_t seed = 10; seed < 40; seed++) {
		simulated_init(&simulated, &usual, seed);
		simulated.now_ns = simulated.limit.begin_ns;
		simulated.due_ns = 0;
		simulated.launches = simulated.own_ns = 0;
		run_for(&simulated, 40);
		limit_end(&simulated.limit, simulated.now_ns);
		CHECK(limit_take(&simulated.limit, &result));
		CHECK_EQUAL(result.method, LIMIT_BY_WINDOWS);
		CHECK(result.pairs > 30 && result.half_width < 0.01);
		CHECK_EQUAL(result.end_ns, simulated.now_ns);
		if (getenv("SHOW"))
			printf("# %u pairs, %.5f +- %.5f\n", result.pairs, result.cost,
			       result.half_width);
		inside += fabs(result.cost - 0.015) <= result.half_width;
		taken++;
	}
	CHECK(inside >= taken - 5);
}

TEST(without_stacks_begins_at_spans)
{
	const struct limit_options options = {.max = 0.02, .can_leave_out = true, .seed = 1};
	struct simulated simulated = {.rate = 100000, .noise = 0.02};

	simulated_init(&simulated, &options, 11);
	CHECK_EQUAL(limit_now(&simulated.limit), LIMIT_SPANS);
	run_for(&simulated, 60);
	CHECK_EQUAL(simulated.limit.level, LIMIT_SPANS);
	CHECK_EQUAL(limit_every(LIMIT_SOME_STACKS), 8);
	CHECK_EQUAL(limit_every(LIMIT_SPANS), 0);
}

int main(void)
{
	RUN(estimate_ignores_outliers);
	RUN(estimate_covers);
	RUN(cheap_stays);
	RUN(expensive_goes_down);
	RUN(finds_the_level_between);
	RUN(goes_up_again);
	RUN(does_not_oscillate);
	RUN(rare_launches_are_not_measured);
	RUN(own_time_goes_down);
	RUN(own_time_goes_down_at_once);
	RUN(own_time_is_a_part_of_the_running_time);
	RUN(the_margin_depends_on_the_waits);
	RUN(waits_count_by_launches);
	RUN(results_are_true);
	RUN(without_stacks_begins_at_spans);
	return harness_end();
}
