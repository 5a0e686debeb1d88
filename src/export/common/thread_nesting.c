/* SPDX-License-Identifier: MIT
 *
 * export/common/thread_nesting.c - the slice in which a thread is, while slices come in the order
 * of their start
 *
 * Runs in:  our own process
 * Gets:     slices of threads in the order of their start
 * Gives:    the innermost open one
 * Owns:     the open slices of each thread
 * Fails:    -ENOMEM
 */
#include "export/common/thread_nesting.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/model.h"
#include "base/array.h"

int thread_nesting_init(struct thread_nesting *nesting, const struct model *model)
{
	*nesting = (struct thread_nesting){0};
	entity_index_init(&nesting->threads, model->reader, EVENT_THREAD);
	nesting->by_thread = calloc(nesting->threads.count + 1, sizeof(*nesting->by_thread));
	return nesting->by_thread ? 0 : -ENOMEM;
}

void thread_nesting_fini(struct thread_nesting *nesting)
{
	if (!nesting || !nesting->by_thread)
		return;
	for (size_t i = 0; i <= nesting->threads.count; i++)
		free(nesting->by_thread[i].open);
	free(nesting->by_thread);
}

/* The open slices of a thread, without those that have ended. */
static struct thread_intervals *find_open(struct thread_nesting *nesting, uint32_t thread,
					  uint64_t now)
{
	struct thread_intervals *intervals =
		&nesting->by_thread[entity_index_find(&nesting->threads, thread)];

	while (intervals->count && intervals->open[intervals->count - 1].end <= now)
		intervals->count--;
	return intervals;
}

uint64_t thread_nesting_find(struct thread_nesting *nesting, uint32_t thread, uint64_t now)
{
	const struct thread_intervals *intervals = find_open(nesting, thread, now);

	return intervals->count ? intervals->open[intervals->count - 1].number : 0;
}

int thread_nesting_add(struct thread_nesting *nesting, uint32_t thread, uint64_t begin,
		       uint64_t end, uint64_t number)
{
	struct thread_intervals *intervals = find_open(nesting, thread, begin);
	const struct open_interval interval = {end, number};
	size_t at = intervals->count;

	if (array_append(intervals->open, intervals->capacity, intervals->count, interval))
		return -ENOMEM;
	/* rows that begin together come in the order of their length, the shortest first */
	for (; at && intervals->open[at - 1].end < end; at--)
		intervals->open[at] = intervals->open[at - 1];
	intervals->open[at] = interval;
	return 0;
}
