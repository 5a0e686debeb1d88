/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_account.c - the arithmetic of the account, number by number
 */
#include "analyze/account/account.h"
#include "harness.h"

static uint64_t shares[512];

static void on_share(void *context, uint32_t tag, uint32_t tag2, uint64_t share_ns)
{
	(void)context;
	(void)tag2;
	shares[tag] += share_ns;
}

static void start(struct account *account, uint64_t from, uint64_t to)
{
	account_init(account, from, to, true);
	account->on_share = on_share;
	memset(shares, 0, sizeof(shares));
}

static void add(struct account *account, uint32_t tag, uint64_t started, uint64_t ended)
{
	struct account_command command = {.started = started,
					  .ended = ended,
					  .process = 1,
					  .correlation = tag,
					  .tag = tag,
					  .class = ACCOUNT_KERNEL};

	CHECK_EQUAL(account_add(account, &command), 0);
}

TEST(nothing)
{
	struct account account;

	start(&account, 100, 1100);
	account_finish(&account, UINT64_MAX);
	CHECK_EQUAL(account.wall_ns, 1000);
	CHECK_EQUAL(account.idle_ns, 1000);
	CHECK_EQUAL(account.causes[CAUSE_NOTHING_TO_DO], 1000);
	CHECK(account_is_exact(&account));
	account_fini(&account);
}

TEST(remainders_go_to_the_first)
{
	struct account account;

	start(&account, 0, 100);
	/* three at once over 10 ns: 4 + 3 + 3 */
	add(&account, 1, 10, 20);
	add(&account, 2, 10, 20);
	add(&account, 3, 10, 20);
	account_finish(&account, UINT64_MAX);
	CHECK_EQUAL(account.busy_ns, 10);
	CHECK_EQUAL(shares[1], 4);
	CHECK_EQUAL(shares[2], 3);
	CHECK_EQUAL(shares[3], 3);
	CHECK(account_is_exact(&account));
	account_fini(&account);
}

TEST(every_boundary_begins_a_new_remainder)
{
	struct account account;

	start(&account, 0, 100);
	add(&account, 1, 0, 30);
	add(&account, 2, 5, 12);  /* [5,12): 7 = 4 + 3 */
	add(&account, 3, 12, 17); /* [12,17): 5 = 3 + 2 */
	account_finish(&account, UINT64_MAX);
	CHECK_EQUAL(shares[1], 5 + 4 + 3 + 13);
	CHECK_EQUAL(shares[2], 3);
	CHECK_EQUAL(shares[3], 2);
	CHECK_EQUAL(account.busy_ns, 30);
	CHECK_EQUAL(account.idle_ns, 70);
	CHECK(account_is_exact(&account));
	account_fini(&account);
}

/* As many at once as a list is too slow for get what the rule says. */
TEST(a_crowd_divides_as_few_do)
{
	enum { COUNT = 300, END = 4000 };
	static uint64_t began[COUNT], ended[COUNT], want[COUNT];
	struct account account;
	uint64_t busy = 0, random = 1;

	start(&account, 100, END - 100);
	memset(shares, 0, sizeof(shares));
	for (size_t i = 0; i < COUNT; i++) {
		struct account_command command = {0};

		random = random * 6364136223846793005u + 1442695040888963407u;
		began[i] = i ? began[i - 1] + (random >> 33) % 13 : 50;
		ended[i] = began[i] + 1 + (random >> 40) % 2500;
		command.started = began[i];
		command.ended = ended[i];
		command.correlation = i;
		command.tag = (uint32_t)i;
		CHECK_EQUAL(account_add(&account, &command), 0);
	}
	account_finish(&account, UINT64_MAX);
	for (uint64_t moment = 100, next; moment < END - 100; moment = next) {
		size_t count = 0, place = 0;

		next = END - 100;
		for (size_t i = 0; i < COUNT; i++) {
			count += began[i] <= moment && moment < ended[i];
			if (began[i] > moment && began[i] < next)
				next = began[i];
			if (ended[i] > moment && ended[i] < next)
				next = ended[i];
		}
		busy += count ? next - moment : 0;
		for (size_t i = 0; i < COUNT; i++) {
			if (began[i] > moment || moment >= ended[i])
				continue;
			want[i] += (next - moment) / count + (place++ < (next - moment) % count);
		}
	}
	for (size_t i = 0; i < COUNT; i++)
		CHECK_EQUAL(shares[i], want[i]);
	CHECK_EQUAL(account.busy_ns, busy);
	CHECK(account_is_exact(&account));
	account_fini(&account);
}

TEST(ties_by_process_then_correlation)
{
	struct account account;
	struct account_command command = {
		.started = 0, .ended = 3, .process = 2, .correlation = 1, .tag = 1};

	start(&account, 0, 3);
	CHECK_EQUAL(account_add(&account, &command), 0);
	command.process = 1;
	command.correlation = 9;
	command.tag = 2;
	CHECK_EQUAL(account_add(&account, &command), 0);
	account_finish(&account, UINT64_MAX);
	CHECK_EQUAL(shares[1], 1);
	CHECK_EQUAL(shares[2], 2);
	account_fini(&account);
}

TEST(zero_length_takes_nothing_and_cuts_nothing)
{
	struct account account;

	start(&account, 0, 20);
	add(&account, 1, 0, 10);
	add(&account, 2, 0, 10);
	add(&account, 3, 5, 5);
	account_finish(&account, UINT64_MAX);
	/* 10 ns in one piece: 5 + 5; in two pieces of 5 it were 6 + 4 */
	CHECK_EQUAL(shares[3], 0);
	CHECK_EQUAL(shares[1], 5);
	CHECK_EQUAL(shares[2], 5);
	CHECK(account_is_exact(&account));
	account_fini(&account);
}

TEST(the_window_clamps)
{
	struct account account;

	start(&account, 50, 150);
	add(&account, 1, 0, 60);
	add(&account, 2, 140, 500);
	add(&account, 3, 600, 700);
	account_finish(&account, UINT64_MAX);
	CHECK_EQUAL(account.wall_ns, 100);
	CHECK_EQUAL(account.busy_ns, 20);
	CHECK_EQUAL(account.idle_ns, 80);
	CHECK_EQUAL(shares[1], 10);
	CHECK_EQUAL(shares[2], 10);
	CHECK_EQUAL(shares[3], 0);
	CHECK_EQUAL(account.causes[CAUSE_NOTHING_TO_DO], 0);
	CHECK(account_is_exact(&account));
	account_fini(&account);
}

TEST(an_open_window_ends_where_it_is_told)
{
	struct account account;

	start(&account, 0, UINT64_MAX);
	add(&account, 1, 10, 20);
	account_finish(&account, 25);
	CHECK_EQUAL(account.wall_ns, 25);
	CHECK_EQUAL(account.causes[CAUSE_NOTHING_TO_DO], 10 + 5);
	CHECK(account_is_exact(&account));
	account_fini(&account);
}

/* One command that ended at 20 of a window up to 100, and what is in flight then. */
static void check_tail(const uint64_t *enters, size_t count, uint64_t nothing_ns)
{
	struct account account;

	start(&account, 0, 100);
	add(&account, 1, 0, 20);
	for (size_t i = 0; i < count; i++)
		account_in_flight(&account, enters[i]);
	account_finish(&account, UINT64_MAX);
	CHECK_EQUAL(account.causes[CAUSE_NOTHING_TO_DO], nothing_ns);
	CHECK_EQUAL(account.causes[CAUSE_UNKNOWN], 80 - nothing_ns);
	CHECK(account_is_exact(&account));
	account_fini(&account);
}

TEST(what_is_in_flight_at_the_end_may_run)
{
	check_tail(NULL, 0, 80);
	check_tail((uint64_t[]){70, 50, 60}, 3, 30);
	check_tail((uint64_t[]){5, 50}, 2, 0);
	check_tail((uint64_t[]){20}, 1, 0);
	check_tail((uint64_t[]){100}, 1, 80);
	check_tail((uint64_t[]){500}, 1, 80);
}

static struct account_command launched(uint64_t enter, uint64_t exit, uint64_t submitted,
				       uint64_t started, uint64_t ended)
{
	return (struct account_command){.started = started,
					.ended = ended,
					.process = 1,
					.correlation = started,
					.has_launch = true,
					.has_queued = true,
					.has_submitted = true,
					.enter = enter,
					.exit = exit,
					.queued = enter,
					.submitted = submitted};
}

TEST(a_gap_is_cut_at_the_commands_own_moments)
{
	struct account account;
	struct account_command first = launched(10, 14, 15, 20, 30);
	struct account_command second = launched(50, 57, 60, 100, 110);

	start(&account, 0, 200);
	second.dependency_end = 75;
	CHECK_EQUAL(account_add(&account, &first), 0);
	CHECK_EQUAL(account_add(&account, &second), 0);
	account_finish(&account, UINT64_MAX);
	CHECK_EQUAL(account.causes[CAUSE_NOTHING_TO_DO], 10 + 90);
	CHECK_EQUAL(account.causes[CAUSE_RUNTIME], 4 + 7);
	CHECK_EQUAL(account.causes[CAUSE_SUBMISSION], 1 + 3);
	CHECK_EQUAL(account.causes[CAUSE_DEPENDENCY], 15);
	CHECK_EQUAL(account.causes[CAUSE_LATENCY], 5 + 25);
	CHECK_EQUAL(account.causes[CAUSE_UNKNOWN], 20);
	CHECK(account_is_exact(&account));
	account_fini(&account);
}

TEST(moments_before_the_gap_count_nothing)
{
	struct account account;
	struct account_command first = launched(0, 1, 2, 10, 90);
	struct account_command second = launched(3, 4, 5, 100, 110); /* waited all the time */

	start(&account, 0, 110);
	CHECK_EQUAL(account_add(&account, &first), 0);
	CHECK_EQUAL(account_add(&account, &second), 0);
	account_finish(&account, UINT64_MAX);
	CHECK_EQUAL(account.causes[CAUSE_LATENCY], 8 + 10);
	CHECK_EQUAL(account.causes[CAUSE_UNKNOWN], 0);
	CHECK(account_is_exact(&account));
	account_fini(&account);
}

TEST(submitted_before_the_call_returned)
{
	struct account account;
	struct account_command command = launched(10, 40, 20, 60, 70);

	start(&account, 0, 70);
	CHECK_EQUAL(account_add(&account, &command), 0);
	account_finish(&account, UINT64_MAX);
	CHECK_EQUAL(account.causes[CAUSE_RUNTIME], 30);
	CHECK_EQUAL(account.causes[CAUSE_SUBMISSION], 0);
	CHECK_EQUAL(account.causes[CAUSE_LATENCY], 20);
	CHECK(account_is_exact(&account));
	account_fini(&account);
}

TEST(the_launching_thread_explains_the_rest)
{
	struct account account;
	struct account_command first = launched(0, 1, 2, 10, 20);
	struct account_command second = launched(60, 61, 62, 70, 80);
	struct calls calls;

	start(&account, 0, 80);
	calls_init(&calls);
	CHECK_EQUAL(calls_add(&calls, 5, 25, true), 0);
	CHECK_EQUAL(calls_add(&calls, 30, 40, false), 0);
	CHECK_EQUAL(calls_add(&calls, 32, 50, true), 0); /* nested and longer: from 40 on */
	second.calls = &calls;
	second.at_enter = calls_until(&calls, 60);
	CHECK_EQUAL(account_add(&account, &first), 0);
	CHECK_EQUAL(account_add(&account, &second), 0);
	account_finish(&account, UINT64_MAX);
	CHECK_EQUAL(account.causes[CAUSE_API_WAIT], 5 + 10);
	CHECK_EQUAL(account.causes[CAUSE_API_CALL], 10);
	CHECK_EQUAL(account.causes[CAUSE_HOST], 5 + 10);
	CHECK(account_is_exact(&account));
	calls_fini(&calls);
	account_fini(&account);
}

TEST(before_the_first_command_what_is_no_call_is_nobodys)
{
	struct account account;
	struct account_command first = launched(60, 61, 62, 70, 80);
	struct calls calls;

	start(&account, 0, 100);
	calls_init(&calls);
	CHECK_EQUAL(calls_add(&calls, 5, 25, true), 0);
	CHECK_EQUAL(calls_add(&calls, 30, 40, false), 0);
	first.calls = &calls;
	first.at_enter = calls_until(&calls, 60);
	CHECK_EQUAL(account_add(&account, &first), 0);
	account_finish(&account, UINT64_MAX);
	CHECK_EQUAL(account.causes[CAUSE_API_WAIT], 20);
	CHECK_EQUAL(account.causes[CAUSE_API_CALL], 10);
	CHECK_EQUAL(account.causes[CAUSE_HOST], 0);
	CHECK_EQUAL(account.before[CAUSE_NOTHING_TO_DO], 5 + 5 + 20);
	CHECK_EQUAL(account.after[CAUSE_NOTHING_TO_DO], 20);
	CHECK_EQUAL(account.causes[CAUSE_NOTHING_TO_DO], 30 + 20);
	CHECK(account_is_exact(&account));
	account_forget_host(account.causes);
	CHECK(account_is_exact(&account));
	calls_fini(&calls);
	account_fini(&account);
}

TEST(merged_spans_still_answer)
{
	const uint64_t kept[] = {500, 777};
	struct calls calls;
	struct calls_sum sum;

	calls_init(&calls);
	for (uint64_t i = 0; i < 100; i++)
		CHECK_EQUAL(calls_add(&calls, i * 10, i * 10 + 6, i % 2), 0);
	CHECK(calls_is_full(&calls));
	calls_compact(&calls, kept, 2, 900);
	CHECK(calls.count < 20);
	CHECK(!calls_is_full(&calls));
	sum = calls_until(&calls, 500);
	CHECK_EQUAL(sum.call_ns, 25 * 6);
	CHECK_EQUAL(sum.wait_ns, 25 * 6);
	sum = calls_until(&calls, 777);
	CHECK_EQUAL(sum.call_ns, 39 * 6);
	CHECK_EQUAL(sum.wait_ns, 38 * 6 + 6);
	sum = calls_until(&calls, 953);
	CHECK_EQUAL(sum.call_ns, 48 * 6);
	CHECK_EQUAL(sum.wait_ns, 47 * 6 + 3);
	calls_fini(&calls);
}

/* What is told span by span. */
static struct {
	uint64_t at, tags[512], causes[CAUSE_COUNT], count;
} emitted_until;

static int on_span(void *context, const struct account *account, const struct account_span *span)
{
	CHECK_EQUAL(span->begin, emitted_until.at);
	CHECK(span->end > span->begin);
	emitted_until.at = span->end;
	emitted_until.count++;
	if (span->is_busy)
		emitted_until.tags[span->tag] += span->end - span->begin;
	else
		emitted_until.causes[span->cause] += span->end - span->begin;
	return 0;
}

static void start_spans(struct account *account, uint64_t from, uint64_t to)
{
	start(account, from, to);
	account->on_span = on_span;
	memset(&emitted_until, 0, sizeof(emitted_until));
	emitted_until.at = from;
}

static void check_spans(const struct account *account)
{
	CHECK_EQUAL(emitted_until.at, account->to);
	for (size_t i = 0; i < 512; i++)
		CHECK_EQUAL(emitted_until.tags[i], shares[i]);
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		CHECK_EQUAL(emitted_until.causes[i], account->causes[i]);
	CHECK(account_is_exact(account));
}

TEST(what_is_told_adds_up_to_the_account)
{
	struct account account;
	struct account_command first = launched(10, 14, 15, 20, 30);
	struct account_command second = launched(60, 67, 70, 100, 110);
	struct calls calls;
	struct untimed_intervals untimed = {0};

	calls_init(&calls);
	CHECK_EQUAL(calls_add(&calls, 25, 35, true), 0);
	CHECK_EQUAL(calls_add(&calls, 40, 45, false), 0);
	CHECK_EQUAL(untimed_intervals_add(&untimed, 80, 90), 0);
	CHECK_EQUAL(untimed_intervals_add(&untimed, 120, 130), 0);
	untimed_intervals_close(&untimed);
	start_spans(&account, 5, 200);
	account.untimed = &untimed;
	second.calls = &calls;
	second.at_enter = calls_until(&calls, 60);
	second.tag = 7;
	CHECK_EQUAL(account_add(&account, &first), 0);
	CHECK_EQUAL(account_add(&account, &second), 0);
	CHECK_EQUAL(account_finish(&account, UINT64_MAX), 0);
	check_spans(&account);
	CHECK_EQUAL(emitted_until.causes[CAUSE_API_WAIT], 5);
	CHECK_EQUAL(emitted_until.causes[CAUSE_API_CALL], 5);
	CHECK_EQUAL(emitted_until.causes[CAUSE_UNKNOWN], 20);
	calls_fini(&calls);
	untimed_intervals_fini(&untimed);
	account_fini(&account);
}

TEST(merged_calls_are_told_as_their_sums)
{
	struct account account;
	struct account_command first = launched(0, 1, 2, 10, 20);
	struct account_command second = launched(10000, 10001, 10002, 10010, 10020);
	struct calls calls;
	const uint64_t kept[] = {20};

	calls_init(&calls);
	for (uint64_t i = 0; i < 90; i++)
		CHECK_EQUAL(calls_add(&calls, 30 + 100 * i, 40 + 100 * i, i % 3 == 0), 0);
	calls_compact(&calls, kept, 1, UINT64_MAX);
	CHECK_EQUAL(calls.count, 1);
	start_spans(&account, 0, 10020);
	second.calls = &calls;
	second.at_enter = calls_until(&calls, 10000);
	CHECK_EQUAL(account_add(&account, &first), 0);
	CHECK_EQUAL(account_add(&account, &second), 0);
	CHECK_EQUAL(account_finish(&account, UINT64_MAX), 0);
	check_spans(&account);
	CHECK_EQUAL(emitted_until.causes[CAUSE_API_WAIT], 300);
	CHECK_EQUAL(emitted_until.causes[CAUSE_API_CALL], 600);
	CHECK(emitted_until.count < 20);
	calls_fini(&calls);
	account_fini(&account);
}

TEST(a_crowd_is_told_as_it_goes)
{
	struct account account;

	start_spans(&account, 50, 100000);
	for (uint32_t i = 0; i < 100; i++)
		add(&account, i, i, 50000 + i);
	for (uint32_t i = 100; i < 500; i++)
		add(&account, i, 70 * i, 70 * i + 30 + i % 13);
	CHECK(account.fair_share.count > 64);
	/* all but the latest hundred moments, though the long ones are not over */
	CHECK(emitted_until.at + 100 * 70 > account.cursor);
	CHECK_EQUAL(account_finish(&account, UINT64_MAX), 0);
	check_spans(&account);
	account_fini(&account);
}

int main(void)
{
	RUN(nothing);
	RUN(remainders_go_to_the_first);
	RUN(every_boundary_begins_a_new_remainder);
	RUN(a_crowd_divides_as_few_do);
	RUN(ties_by_process_then_correlation);
	RUN(zero_length_takes_nothing_and_cuts_nothing);
	RUN(the_window_clamps);
	RUN(an_open_window_ends_where_it_is_told);
	RUN(what_is_in_flight_at_the_end_may_run);
	RUN(a_gap_is_cut_at_the_commands_own_moments);
	RUN(moments_before_the_gap_count_nothing);
	RUN(submitted_before_the_call_returned);
	RUN(the_launching_thread_explains_the_rest);
	RUN(before_the_first_command_what_is_no_call_is_nobodys);
	RUN(merged_spans_still_answer);
	RUN(what_is_told_adds_up_to_the_account);
	RUN(merged_calls_are_told_as_their_sums);
	RUN(a_crowd_is_told_as_it_goes);
	return harness_end();
}
