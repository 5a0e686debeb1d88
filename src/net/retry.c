/* SPDX-License-Identifier: MIT
 *
 * net/retry.c - when to send again after a failure: exponential backoff with jitter, Retry-After
 *
 * Runs in:  our own process
 * Gets:     answers
 * Gives:    waiting times; no clock is read here
 * Owns:     nothing
 * Fails:    never
 * Why jitter: the agents of a thousand machines lose their receiver in the same second. Without
 *           jitter they all come back in the same second, too.
 */
#include "net/retry.h"

#include <errno.h>

#include "net/http_client.h"

enum { NS_PER_MS = 1000000 };

enum retry_verdict retry_judge(int error, const struct http_answer *answer)
{
	unsigned int status = answer->status;

	if (error)
		return RETRY_AGAIN;
	if (status >= 200 && status < 300)
		return RETRY_DONE;
	if (status == 404 || status == 405 || status == 415 || status == 501)
		return RETRY_UNKNOWN;
	/* The statuses that OTLP/HTTP and Prometheus' remote write repeat. */
	if (status == 408 || status == 429 || status == 502 || status == 503 || status == 504)
		return RETRY_AGAIN;
	return RETRY_DROP;
}

void retry_forget(struct retry *retry)
{
	retry->failures = 0;
}

/* xorshift64: good enough to spread machines, and the same in every test. */
static uint64_t next_random(struct retry *retry)
{
	retry->seed ^= retry->seed << 13;
	retry->seed ^= retry->seed >> 7;
	retry->seed ^= retry->seed << 17;
	return retry->seed;
}

uint64_t retry_wait_ns(struct retry *retry, uint64_t retry_after_ns)
{
	uint64_t ms = RETRY_FIRST_MS, after_max = (uint64_t)RETRY_AFTER_MAX_MS * NS_PER_MS, wait;

	for (unsigned int i = 0; i < retry->failures && ms < RETRY_MAX_MS; i++)
		ms *= 2;
	if (ms > RETRY_MAX_MS)
		ms = RETRY_MAX_MS;
	retry->failures++;
	wait = (ms / 2 + next_random(retry) % (ms / 2 + 1)) * NS_PER_MS;
	if (retry_after_ns > after_max)
		retry_after_ns = after_max;
	return wait > retry_after_ns ? wait : retry_after_ns;
}
