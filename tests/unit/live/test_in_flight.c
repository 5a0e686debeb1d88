/* SPDX-License-Identifier: MIT
 *
 * tests/unit/live/test_in_flight.c - commands that run for longer than a look reads back
 */
#include "analyze/analysis.h"
#include "analyze/observer.h"
#include "harness.h"
#include "live/in_flight.h"

enum { DEVICE = 3, PROCESS = 7, QUEUE = 5 };

static const struct observed_open launched = {
	.enter = 1000, .correlation = 42, .process = PROCESS, .device = DEVICE, .queue = QUEUE};
static const struct event_queue in_order = {.id = QUEUE},
				out_of_order = {.id = QUEUE, .flags = QUEUE_OUT_OF_ORDER};

/* A look that begins at from_ns and sees one command end; correlation 0: none. */
static void look(struct live_in_flight *flight, uint64_t from_ns, const struct event_queue *queue,
		 uint64_t correlation, uint64_t enter)
{
	struct analysis_queue queues[] = {{.queue = queue}};
	const struct analysis analysis = {.queues = queues};
	const struct event_execution row = {.process = PROCESS, .correlation = correlation};

	live_in_flight_begin(flight);
	if (correlation)
		live_in_flight_end(flight, &analysis,
				   &(struct observed_command){.row = &row, .enter = enter});
	CHECK_EQUAL(live_in_flight_close(flight, from_ns), 0);
}

/* The look whose rows contain the launch. */
static void launch(struct live_in_flight *flight)
{
	live_in_flight_begin(flight);
	CHECK_EQUAL(live_in_flight_open(flight, &launched), 0);
	CHECK_EQUAL(live_in_flight_close(flight, 500), 0);
	CHECK_EQUAL(flight->before.count, 0); /* the analysis counts it */
	CHECK_EQUAL(flight->known.count, 1);
}

TEST(is_remembered_while_its_launch_is_older_than_the_rows)
{
	struct live_in_flight flight = {0};

	launch(&flight);
	for (uint64_t from_ns = 2000; from_ns < 10000; from_ns += 1000) {
		look(&flight, from_ns, &in_order, 0, 0);
		REQUIRE(flight.before.count == 1);
		CHECK_EQUAL(flight.before.all[0].device, DEVICE);
		CHECK_EQUAL(flight.before.all[0].enter, 1000);
	}
	live_in_flight_fini(&flight);
}

TEST(ends_with_its_execution)
{
	struct live_in_flight flight = {0};

	launch(&flight);
	look(&flight, 2000, &in_order, 0, 0);
	look(&flight, 3000, &out_of_order, 42, 0);
	CHECK_EQUAL(flight.before.count, 0);
	look(&flight, 4000, &out_of_order, 0, 0);
	CHECK_EQUAL(flight.before.count, 0);
	live_in_flight_fini(&flight);
}

TEST(ends_with_a_later_command_of_a_queue_in_order)
{
	struct live_in_flight flight = {0};

	launch(&flight);
	look(&flight, 2000, &out_of_order, 43, 1500);
	CHECK_EQUAL(flight.before.count, 1);
	look(&flight, 3000, &in_order, 44, 900); /* launched earlier */
	CHECK_EQUAL(flight.before.count, 1);
	look(&flight, 4000, &in_order, 45, 2500);
	CHECK_EQUAL(flight.before.count, 0);
	live_in_flight_fini(&flight);
}

/* The row of its end was lost: commands that were launched much later have ended. */
TEST(ends_with_a_much_later_command_of_any_queue)
{
	struct live_in_flight flight = {0};

	launch(&flight);
	look(&flight, 2000, &out_of_order, 43, 1000000000);
	CHECK_EQUAL(flight.before.count, 1);
	look(&flight, 3000, &out_of_order, 44, 1000001001);
	CHECK_EQUAL(flight.before.count, 0);
	live_in_flight_fini(&flight);
}

/* The rows of the look contain the launch, and the analysis does not find it open. */
TEST(is_forgotten_if_the_rows_show_otherwise)
{
	struct live_in_flight flight = {0};

	launch(&flight);
	look(&flight, 800, &in_order, 0, 0);
	CHECK_EQUAL(flight.before.count, 0);
	CHECK_EQUAL(flight.known.count, 0);
	live_in_flight_fini(&flight);
}

/* A sweep may be repeated: the end that its first part saw counts once it is seen again. */
TEST(starts_again_with_an_analysis)
{
	struct live_in_flight flight = {0};

	launch(&flight);
	look(&flight, 2000, &in_order, 0, 0);
	flight.known.all[0].is_over = true;
	look(&flight, 3000, &in_order, 0, 0);
	CHECK_EQUAL(flight.before.count, 1);
	live_in_flight_clear(&flight);
	look(&flight, 4000, &in_order, 0, 0);
	CHECK_EQUAL(flight.before.count, 0);
	live_in_flight_fini(&flight);
}

int main(void)
{
	RUN(is_remembered_while_its_launch_is_older_than_the_rows);
	RUN(ends_with_its_execution);
	RUN(ends_with_a_later_command_of_a_queue_in_order);
	RUN(ends_with_a_much_later_command_of_any_queue);
	RUN(is_forgotten_if_the_rows_show_otherwise);
	RUN(starts_again_with_an_analysis);
	return harness_end();
}
