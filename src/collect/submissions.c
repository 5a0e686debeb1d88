/* SPDX-License-Identifier: MIT
 *
 * collect/submissions.c - submissions to GPUs, from the calls of their drivers
 *
 * Runs in:  the recorder
 * Gets:     driver calls with their times; later the time of a GPU job, whose driver call is looked
 *           up
 * Owns:     the latest MAX_SUBMISSIONS driver calls
 * Fails:    an older call is not found; its job becomes a second command for the same work
 */
#include "collect/submissions.h"

#include <errno.h>
#include <stdlib.h>

void submissions_fini(struct submissions *submissions)
{
	if (submissions)
		free(submissions->all);
}

int submissions_put(struct submissions *submissions, const struct submission *submission)
{
	if (!submissions->all) {
		submissions->all = calloc(MAX_SUBMISSIONS, sizeof(*submissions->all));
		if (!submissions->all)
			return -ENOMEM;
	}
	submissions->all[submissions->count++ % MAX_SUBMISSIONS] = *submission;
	return 0;
}

/* Searches from the newest one, because a job follows its call soon. */
static uint64_t take_submission(struct submissions *submissions, uint32_t process, uint32_t tid,
				uint64_t queued_ns, bool is_fence)
{
	const uint64_t count = submissions->count;
	const uint64_t there = count < MAX_SUBMISSIONS ? count : MAX_SUBMISSIONS;

	for (uint64_t i = 0; i < there; i++) {
		struct submission *one = &submissions->all[(count - 1 - i) % MAX_SUBMISSIONS];

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
	uint64_t found = take_submission(submissions, process, tid, queued_ns, is_fence);

	if (found || !submissions->catch_up)
		return found;
	submissions->catch_up(submissions->context);
	return take_submission(submissions, process, tid, queued_ns, is_fence);
}
