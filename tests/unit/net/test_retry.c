/* SPDX-License-Identifier: MIT
 *
 * tests/unit/net/test_retry.c - verdicts, waiting times and the bounded queue, with a made-up clock
 */
#include <errno.h>
#include <stdlib.h>

#include "harness.h"
#include "net/http_client.h"
#include "net/push_queue.h"
#include "net/retry.h"

#define MS UINT64_C(1000000)

static enum retry_verdict verdict_of(unsigned int status)
{
	const struct http_answer answer = {.status = status};

	return retry_judge(0, &answer);
}

TEST(a_status_has_a_verdict)
{
	const struct http_answer none = {.status = 0};

	CHECK_EQUAL(verdict_of(200), RETRY_DONE);
	CHECK_EQUAL(verdict_of(204), RETRY_DONE);
	CHECK_EQUAL(verdict_of(301), RETRY_DROP);
	CHECK_EQUAL(verdict_of(400), RETRY_DROP);
	CHECK_EQUAL(verdict_of(401), RETRY_DROP);
	CHECK_EQUAL(verdict_of(413), RETRY_DROP);
	CHECK_EQUAL(verdict_of(500), RETRY_DROP);
	CHECK_EQUAL(verdict_of(404), RETRY_UNKNOWN);
	CHECK_EQUAL(verdict_of(415), RETRY_UNKNOWN);
	CHECK_EQUAL(verdict_of(429), RETRY_AGAIN);
	CHECK_EQUAL(verdict_of(502), RETRY_AGAIN);
	CHECK_EQUAL(verdict_of(503), RETRY_AGAIN);
	CHECK_EQUAL(verdict_of(504), RETRY_AGAIN);
	CHECK_EQUAL(retry_judge(-EIO, &none), RETRY_AGAIN);
}

TEST(waits_double_with_jitter_up_to_a_limit)
{
	uint64_t full_ms = RETRY_FIRST_MS, sum = 0, first = 0;
	unsigned int equal = 0;

	for (uint64_t seed = 1; seed <= 500; seed++) {
		struct retry retry = {.seed = seed * UINT64_C(0x9e3779b97f4a7c15)};

		full_ms = RETRY_FIRST_MS;
		for (unsigned int i = 0; i < 12; i++) {
			uint64_t wait = retry_wait_ns(&retry, 0);

			CHECK(wait >= full_ms * MS / 2 && wait <= full_ms * MS);
			if (i == 4) {
				sum += wait;
				equal += wait == first;
				first = wait;
			}
			full_ms = full_ms * 2 < RETRY_MAX_MS ? full_ms * 2 : RETRY_MAX_MS;
		}
		retry_forget(&retry);
		CHECK(retry_wait_ns(&retry, 0) <= RETRY_FIRST_MS * MS);
	}
	/* The fifth wait is 8 to 16 s; the machines are spread evenly over it. */
	CHECK(sum / 500 > 11500 * MS && sum / 500 < 12500 * MS);
	CHECK(equal < 3);
}

TEST(retry_after_is_kept_up_to_a_limit)
{
	struct retry retry = {.seed = 5};

	CHECK_EQUAL(retry_wait_ns(&retry, 7000 * MS), 7000 * MS);
	CHECK(retry_wait_ns(&retry, 1) > 500 * MS);
	CHECK_EQUAL(retry_wait_ns(&retry, UINT64_MAX), RETRY_AFTER_MAX_MS * MS);
}

/* ---- the queue ---- */

static void add(struct push_queue *queue, size_t size, uint64_t now_ns)
{
	const struct push_item item = {.url = strdup("u"), .body = malloc(size), .size = size};

	push_queue_add(queue, &item, now_ns);
}

static struct push_queue new_queue(void)
{
	return (struct push_queue){
		.max_items = 3, .max_bytes = 100, .max_age_ns = 60000 * MS, .retry.seed = 9};
}

TEST(the_oldest_is_dropped_where_there_is_no_room)
{
	struct push_queue queue = new_queue();
	struct push_item item;

	for (size_t size = 1; size <= 5; size++)
		add(&queue, size, 10);
	CHECK_EQUAL(queue.counts.dropped_full, 2);
	REQUIRE(push_queue_take(&queue, 11, &item));
	CHECK_EQUAL(item.size, 3);
	push_queue_finish(&queue, &item, RETRY_DONE, 0, 11);
	add(&queue, 90, 12); /* 4 + 5 + 90 bytes fit, with 91 they would not */
	CHECK_EQUAL(queue.counts.dropped_full, 2);
	add(&queue, 101, 13); /* larger than the queue: the others go, too */
	CHECK_EQUAL(queue.counts.dropped_full, 6);
	CHECK_EQUAL(queue.count, 0);
	CHECK_EQUAL(queue.bytes, 0);
	CHECK_EQUAL(queue.counts.sent, 1);
	CHECK_EQUAL(queue.counts.sent_bytes, 3);
	push_queue_fini(&queue);
}

TEST(a_failed_push_comes_back_first)
{
	struct push_queue queue = new_queue();
	struct push_item item;
	uint64_t wait;

	CHECK_EQUAL(push_queue_wait_ns(&queue, 5), UINT64_MAX);
	add(&queue, 1, 10);
	add(&queue, 2, 20);
	CHECK_EQUAL(push_queue_wait_ns(&queue, 20), 0);
	REQUIRE(push_queue_take(&queue, 20, &item));
	push_queue_finish(&queue, &item, RETRY_AGAIN, 3000 * MS, 20);
	wait = push_queue_wait_ns(&queue, 20);
	CHECK_EQUAL(wait, 3000 * MS);
	CHECK(!push_queue_take(&queue, 20 + wait - 1, &item));
	REQUIRE(push_queue_take(&queue, 20 + wait, &item));
	CHECK_EQUAL(item.size, 1);
	/* Newer ones fill the queue meanwhile. */
	add(&queue, 3, 30);
	add(&queue, 4, 40);
	push_queue_finish(&queue, &item, RETRY_AGAIN, 0, 20 + wait);
	CHECK_EQUAL(queue.count, 3);
	CHECK_EQUAL(queue.items[0].size, 2);
	CHECK_EQUAL(queue.counts.dropped_full, 1);
	CHECK_EQUAL(queue.counts.retries, 1);
	push_queue_fini(&queue);
	CHECK_EQUAL(queue.counts.dropped_end, 3);
}

TEST(old_and_refused_pushes_are_dropped)
{
	struct push_queue queue = new_queue();
	struct push_item item;

	add(&queue, 1, 10);
	add(&queue, 2, 20);
	REQUIRE(push_queue_take(&queue, 60000 * MS + 15, &item));
	CHECK_EQUAL(item.size, 2);
	CHECK_EQUAL(queue.counts.dropped_old, 1);
	push_queue_finish(&queue, &item, RETRY_DROP, 0, 60000 * MS + 16);
	CHECK_EQUAL(queue.counts.dropped_refused, 1);
	CHECK(!push_queue_take(&queue, 60000 * MS + 17, &item));
	push_queue_fini(&queue);
}

int main(void)
{
	RUN(a_status_has_a_verdict);
	RUN(waits_double_with_jitter_up_to_a_limit);
	RUN(retry_after_is_kept_up_to_a_limit);
	RUN(the_oldest_is_dropped_where_there_is_no_room);
	RUN(a_failed_push_comes_back_first);
	RUN(old_and_refused_pushes_are_dropped);
	return harness_end();
}
