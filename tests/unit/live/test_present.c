/* SPDX-License-Identifier: MIT
 *
 * tests/unit/live/test_present.c - the open idle gap and the states of the launching thread
 */
#include "analyze/analysis.h"
#include "analyze/order.h"
#include "harness.h"
#include "live/present.h"

enum { DEVICE = 3, PROCESS = 7, THREAD = 5, OTHER = 6, STACK = 11 };
#define S UINT64_C(1000000000)

static const struct live_owner owner = {DEVICE, PROCESS};

static void give(struct live_present *present, enum event_kind kind, uint64_t time, const void *row)
{
	const struct order_item item = {.kind = kind, .time_ns = time, .row = row};

	CHECK_EQUAL(live_present_row(present, &item, &owner), 0);
}

static void launch(struct live_present *present, uint32_t thread, uint64_t time)
{
	give(present, EVENT_LAUNCH, time,
	     &(struct event_launch){.thread = thread, .enter = time, .exit = time + 1});
}

static void switch_to(struct live_present *present, uint64_t time, uint32_t previous, uint32_t next,
		      enum event_switch_reason reason)
{
	give(present, EVENT_SWITCH, time,
	     &(struct event_switch){.time = time,
				    .previous = previous,
				    .next = next,
				    .reason = reason,
				    .stack = STACK});
}

static void close_look(struct live_present *present)
{
	const struct analysis analysis = {.to_ns = present->to_ns};

	CHECK_EQUAL(live_present_close(present, &analysis), 0);
}

static struct live_open_gap gap_of(const struct live_present *present, uint64_t begin_ns)
{
	struct live_open_gap gap;

	live_present_find_gap(present, DEVICE, begin_ns, &gap);
	return gap;
}

/* In [1 s, 2 s): a launch, a command until 1.2 s, then the thread is on its processor until 1.5 s.
 */
static void first_look(struct live_present *present)
{
	CHECK_EQUAL(live_present_begin(present, S, 2 * S), 0);
	switch_to(present, S, 0, THREAD, SWITCH_NOT_KNOWN);
	launch(present, THREAD, S + S / 10);
	live_present_command(present, DEVICE, S + S / 5);
	switch_to(present, S + S / 2, THREAD, 0, SWITCH_BLOCKED);
	close_look(present);
}

TEST(states_after_the_last_command)
{
	struct live_present present = {0};
	struct live_open_gap gap;

	first_look(&present);
	gap = gap_of(&present, S + S / 5);
	CHECK_EQUAL(gap.ns, 8 * S / 10);
	CHECK_EQUAL(gap.so_far_ns, 8 * S / 10);
	CHECK_EQUAL(gap.causes[CAUSE_ON_CPU], 3 * S / 10);
	CHECK_EQUAL(gap.causes[CAUSE_BLOCKED], S / 2);
	CHECK_EQUAL(gap.stack, STACK);
	live_present_fini(&present);
}

TEST(a_wait_goes_on_without_rows)
{
	struct live_present present = {0};
	struct live_open_gap gap;

	first_look(&present);
	for (uint64_t at = 2 * S; at < 5 * S; at += S) {
		CHECK_EQUAL(live_present_begin(&present, at, at + S), 0);
		close_look(&present);
		gap = gap_of(&present, 0);
		CHECK_EQUAL(gap.ns, S);
		CHECK_EQUAL(gap.so_far_ns, at + S - (S + S / 5));
		CHECK_EQUAL(gap.causes[CAUSE_BLOCKED], S);
		CHECK_EQUAL(gap.stack, 0); /* numbers of stacks are those of one look */
	}
	live_present_fini(&present);
}

/* The rows of a look are given again if its analysis starts again. */
TEST(an_analysis_that_starts_again_changes_nothing)
{
	struct live_present present = {0};
	struct live_open_gap gap;

	first_look(&present);
	first_look(&present);
	gap = gap_of(&present, S + S / 5);
	CHECK_EQUAL(gap.causes[CAUSE_ON_CPU], 3 * S / 10);
	CHECK_EQUAL(gap.causes[CAUSE_BLOCKED], S / 2);
	live_present_fini(&present);
}

TEST(calls_are_calls)
{
	struct live_present present = {0};
	struct live_open_gap gap;

	first_look(&present);
	CHECK_EQUAL(live_present_begin(&present, 2 * S, 3 * S), 0);
	give(&present, EVENT_API, 2 * S,
	     &(struct event_api){.thread = THREAD,
				 .begin = 2 * S,
				 .end = 2 * S + S / 4,
				 .type = API_TYPE_WAIT});
	close_look(&present);
	gap = gap_of(&present, 0);
	CHECK_EQUAL(gap.causes[CAUSE_API_WAIT], S / 4);
	CHECK_EQUAL(gap.causes[CAUSE_BLOCKED], 3 * S / 4);
	live_present_fini(&present);
}

TEST(no_gap_when_the_launching_threads_have_ended)
{
	struct live_present present = {0};

	first_look(&present);
	CHECK_EQUAL(live_present_begin(&present, 2 * S, 3 * S), 0);
	launch(&present, OTHER, 2 * S);
	switch_to(&present, 2 * S + S / 2, OTHER, 0, SWITCH_EXITED);
	close_look(&present);
	CHECK(gap_of(&present, 0).thread && gap_of(&present, 0).thread->id == THREAD);
	CHECK_EQUAL(live_present_begin(&present, 3 * S, 4 * S), 0);
	switch_to(&present, 3 * S + S / 2, THREAD, 0, SWITCH_EXITED);
	close_look(&present);
	CHECK_EQUAL(gap_of(&present, 0).ns, 0);
	live_present_fini(&present);
}

/* A recording without switches does not show whether a thread runs. */
TEST(without_switches_the_cause_is_unknown)
{
	struct live_present present = {0};
	struct live_open_gap gap;

	CHECK_EQUAL(live_present_begin(&present, S, 2 * S), 0);
	launch(&present, THREAD, S + S / 10);
	live_present_command(&present, DEVICE, S + S / 5);
	close_look(&present);
	gap = gap_of(&present, S + S / 5);
	CHECK_EQUAL(gap.ns, 8 * S / 10);
	CHECK_EQUAL(gap.causes[CAUSE_UNKNOWN], gap.ns);
	live_present_fini(&present);
}

TEST(nothing_is_open_before_the_first_launch_and_after_a_clear)
{
	struct live_present present = {0};

	CHECK_EQUAL(gap_of(&present, 0).ns, 0);
	first_look(&present);
	CHECK_EQUAL(gap_of(&present, 2 * S).ns, 0); /* a command lasts until the end */
	live_present_clear(&present);
	CHECK_EQUAL(gap_of(&present, 0).ns, 0);
	live_present_fini(&present);
}

int main(void)
{
	RUN(states_after_the_last_command);
	RUN(a_wait_goes_on_without_rows);
	RUN(an_analysis_that_starts_again_changes_nothing);
	RUN(calls_are_calls);
	RUN(no_gap_when_the_launching_threads_have_ended);
	RUN(without_switches_the_cause_is_unknown);
	RUN(nothing_is_open_before_the_first_launch_and_after_a_clear);
	return harness_end();
}
