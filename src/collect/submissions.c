/* SPDX-License-Identifier: MIT
 *
 * collect/submissions.c - what was handed to GPUs, as their drivers' own calls told it
 *
 * Runs in:  the recorder
 * Gets:     calls   Gives: the one that a job was queued in
 * Owns:     the latest SUBMISSIONS_MOST of them
 * Fails:    an older one is not found: its job is a command of its own
 */
#include "collect/submissions.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

void submissions_fini(struct submissions *submissions)
{
	if (submissions)
		free(submissions->all);
}

int submissions_put(struct submissions *submissions, const struct submission *submission)
{
	if (!submissions->all) {
		submissions->all = calloc(SUBMISSIONS_MOST, sizeof(*submissions->all));
		if (!submissions->all)
			return -ENOMEM;
	}
	submissions->all[submissions->count++ % SUBMISSIONS_MOST] = *submission;
	return 0;
}

/* The newest first: a job comes soon after its call. */
static uint64_t take(struct submissions *submissions, uint32_t process, uint32_t tid,
		     uint64_t queued_ns, bool is_fence)
{
	const uint64_t count = submissions->count;
	const uint64_t there = count < SUBMISSIONS_MOST ? count : SUBMISSIONS_MOST;

	for (uint64_t i = 0; i < there; i++) {
		struct submission *one = &submissions->all[(count - 1 - i) % SUBMISSIONS_MOST];

		if (one->tid != tid || one->process != process || (one->is_taken && !is_fence) ||
		    queued_ns < one->enter_ns || queued_ns > one->exit_ns)
			continue;
		one->is_taken |= !is_fence;
		return one->correlation;
	}
	return 0;
}

uint64_t submissions_take(struct submissions *submissions, uint32_t process, uint32_t tid,
			  uint64_t queued_ns, bool is_fence)
{
	uint64_t found = take(submissions, process, tid, queued_ns, is_fence);

	if (found || !submissions->catch_up)
		return found;
	submissions->catch_up(submissions->context);
	return take(submissions, process, tid, queued_ns, is_fence);
}
