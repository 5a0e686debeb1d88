/* SPDX-License-Identifier: MIT
 *
 * collect/submissions.h - submissions to GPUs, from the calls of their drivers
 *
 * The kernel's GPU scheduler reports the same work as jobs, slightly later and with the times of
 * execution. A submission and its job become one command with one correlation id.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A driver call, with times of CLOCK_MONOTONIC. */
struct submission {
	uint64_t enter_ns, exit_ns;
	uint64_t correlation;
	uint32_t process, tid;
	bool is_taken; /* a job was matched to it */
};

enum { MAX_SUBMISSIONS = 8192 };

/* The latest submissions. All zero: none. */
struct submissions {
	struct submission *all; /* owned; a ring of MAX_SUBMISSIONS */
	uint64_t count;
	/* Reads the submissions that the driver's collector has not delivered yet; NULL: no such
	 * collector. */
	void (*catch_up)(void *context);
	/* Called when the guests' rings were read: decides whether a submission is the same work as
	 * a guest's launch. NULL: not called. */
	void (*settle)(void *context);
	void *context;
};

void submissions_fini(struct submissions *submissions); /* NULL-safe */

/* Errors: -ENOMEM. */
int submissions_put(struct submissions *submissions, const struct submission *submission);

/* Returns the correlation id of the thread's submission at queued_ns. A job takes it, so that no
 * other job gets it; a fence (is_fence) does not and may share it. 0: none. */
uint64_t submissions_take(struct submissions *submissions, uint32_t process, uint32_t tid,
			  uint64_t queued_ns, bool is_fence);
