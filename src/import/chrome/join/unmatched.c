/* SPDX-License-Identifier: MIT
 *
 * import/chrome/join/unmatched.c - launches of a Chrome trace whose command has no event
 *
 * Runs in:  our own process
 * Gets:     launches
 * Gives:    the launches without a command, with a queue
 * Owns:     two sorters
 * Fails:    -ENOMEM, -errno of a temporary file
 * Why a queue: only the event of a command names the queue. PyTorch writes no event for an empty
 *           memset, a launch under a stream capture and a kernel in a profile range. Without a
 *           queue such a launch would be "in flight at exit" on an unknown device. With the queue
 *           of the thread's next launch, a later command shows that it did not execute.
 */
#include "import/chrome/join/unmatched.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/order/record_sort.h"

enum { MAX_PROCESSES = 256 }; /* max number of processes with a first queue */

struct mark {
	uint64_t enter;
	uint32_t thread, queue;
};

struct unmatched_launch {
	struct event_launch launch;
	uint32_t process;
	bool is_named;
};

struct first_queue {
	uint32_t process, queue;
};

struct chrome_unmatched {
	struct record_sort *marks, *launches;
	struct first_queue *first;
	size_t first_count, first_capacity;
};

/* Thread by thread, the latest first. */
static int compare(uint32_t thread, uint64_t enter, uint32_t other_thread, uint64_t other_enter)
{
	if (thread != other_thread)
		return thread < other_thread ? -1 : 1;
	return (enter < other_enter) - (enter > other_enter);
}

static int compare_marks(const void *left, const void *right)
{
	const struct mark *a = left, *b = right;

	return compare(a->thread, a->enter, b->thread, b->enter);
}

static int compare_launches(const void *left, const void *right)
{
	const struct unmatched_launch *a = left, *b = right;

	return compare(a->launch.thread, a->launch.enter, b->launch.thread, b->launch.enter);
}

int chrome_unmatched_new(struct chrome_unmatched **ret_unmatched)
{
	struct chrome_unmatched *unmatched = calloc(1, sizeof(*unmatched));

	if (!unmatched)
		return -ENOMEM;
	if (record_sort_new(sizeof(struct mark), compare_marks, &unmatched->marks) ||
	    record_sort_new(sizeof(struct unmatched_launch), compare_launches,
			    &unmatched->launches)) {
		chrome_unmatched_free(unmatched);
		return -ENOMEM;
	}
	*ret_unmatched = unmatched;
	return 0;
}

void chrome_unmatched_free(struct chrome_unmatched *unmatched)
{
	if (!unmatched)
		return;
	record_sort_free(unmatched->marks);
	record_sort_free(unmatched->launches);
	free(unmatched->first);
	free(unmatched);
}

static uint32_t first_queue_of(const struct chrome_unmatched *unmatched, uint32_t process)
{
	for (size_t i = 0; i < unmatched->first_count; i++)
		if (unmatched->first[i].process == process)
			return unmatched->first[i].queue;
	return 0;
}

int chrome_unmatched_add_mark(struct chrome_unmatched *unmatched, uint32_t process,
			      const struct event_launch *launch)
{
	const struct mark mark = {
		.enter = launch->enter, .thread = launch->thread, .queue = launch->queue};

	if (unmatched->first_count < MAX_PROCESSES && !first_queue_of(unmatched, process) &&
	    array_append(unmatched->first, unmatched->first_capacity, unmatched->first_count,
			 (struct first_queue){process, launch->queue}))
		return -ENOMEM;
	return record_sort_add(unmatched->marks, &mark);
}

int chrome_unmatched_add(struct chrome_unmatched *unmatched, uint32_t process,
			 const struct event_launch *launch, bool is_named)
{
	const struct unmatched_launch row = {
		.launch = *launch, .process = process, .is_named = is_named};

	return record_sort_add(unmatched->launches, &row);
}

static bool is_before(const struct mark *mark, const struct event_launch *launch)
{
	return compare(mark->thread, mark->enter, launch->thread, launch->enter) < 0;
}

int chrome_unmatched_visit_all(struct chrome_unmatched *unmatched, chrome_unmatched_visit *visit,
			       void *context)
{
	const void *mark = NULL, *record;
	struct mark later = {0};
	int error = record_sort_finish(unmatched->marks);

	if (!error)
		error = record_sort_finish(unmatched->launches);
	if (!error)
		error = record_sort_next(unmatched->marks, &mark);
	while (!error && !(error = record_sort_next(unmatched->launches, &record)) && record) {
		const struct unmatched_launch *row = record;
		struct event_launch launch = row->launch;

		while (!error && mark && is_before(mark, &launch)) {
			later = *(const struct mark *)mark;
			error = record_sort_next(unmatched->marks, &mark);
		}
		if (later.thread == launch.thread)
			launch.queue = later.queue;
		else if (mark && ((const struct mark *)mark)->thread == launch.thread)
			launch.queue = ((const struct mark *)mark)->queue;
		else
			launch.queue = first_queue_of(unmatched, row->process);
		if (!error)
			error = visit(context, &launch, row->is_named);
	}
	return error;
}
