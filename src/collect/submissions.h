/* SPDX-License-Identifier: MIT
 *
 * collect/submissions.h - what was handed to GPUs, as their drivers' own calls told it
 *
 * The kernel's scheduler tells of the same work as jobs, a moment later and with the times of its execution: they are the
 * same commands, and have the one correlation.
 */
#ifndef COLLECT_SUBMISSIONS_H
#define COLLECT_SUBMISSIONS_H

#include <stdbool.h>
#include <stdint.h>

/* A call, between its times; CLOCK_MONOTONIC. */
struct submission {
	uint64_t enter_ns, exit_ns;
	uint64_t correlation;
	uint32_t process, tid;
	bool is_taken; /* a job is it */
};

enum { SUBMISSIONS_MOST = 8192 };

/* The latest ones. All zero: there were none. */
struct submissions {
	struct submission *all; /* owned; a ring of SUBMISSIONS_MOST */
	uint64_t count;
	/* Asks whoever tells of submissions for those that it knows of; NULL: nobody does. */
	void (*catch_up)(void *context);
	/* What guests have told so far is known: whether a submission is the same work. NULL: nobody asks. */
	void (*settle)(void *context);
	void *context;
};

void submissions_fini(struct submissions *submissions); /* NULL-safe */

/* Errors: -ENOMEM. */
int submissions_put(struct submissions *submissions, const struct submission *submission);

/* The correlation of a thread's submission that was going on then, and is no job's yet: it is one from now on. Of a fence of
 * the driver: of any, and it stays what it was. 0: there is none. */
uint64_t submissions_take(struct submissions *submissions, uint32_t process, uint32_t tid,
			  uint64_t queued_ns, bool is_fence);

#endif
