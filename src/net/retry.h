/* SPDX-License-Identifier: MIT
 *
 * net/retry.h - when to send again after a failure: exponential backoff with jitter, Retry-After
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct http_answer;

enum retry_verdict {
	RETRY_DONE,   /* accepted */
	RETRY_AGAIN,  /* send the same bytes again, later */
	RETRY_DROP,   /* refused: these bytes will never be accepted */
	RETRY_UNKNOWN /* the receiver does not have this kind of data at all */
};

/* The meaning of an answer; `error` is the result of http_client_post. */
enum retry_verdict retry_judge(int error, const struct http_answer *answer);

/* Waiting times. All zero except for the seed: no failure yet. */
struct retry {
	uint64_t seed;         /* seeds the jitter; not 0 */
	unsigned int failures; /* in a row */
};

enum { RETRY_FIRST_MS = 1000, RETRY_MAX_MS = 60000, RETRY_AFTER_MAX_MS = 600000 };

void retry_forget(struct retry *retry); /* after a success */

/* The time to wait after one more failure: between half and all of RETRY_FIRST_MS times 2 for each
 * earlier failure, at most RETRY_MAX_MS. A longer Retry-After replaces it, up to
 * RETRY_AFTER_MAX_MS.
 */
uint64_t retry_wait_ns(struct retry *retry, uint64_t retry_after_ns);
