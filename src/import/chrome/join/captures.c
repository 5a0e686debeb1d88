/* SPDX-License-Identifier: MIT
 *
 * import/chrome/join/captures.c - the times at which threads of a Chrome trace captured a stream
 * into a graph
 *
 * Runs in:  our own process
 * Gets:     calls in any order
 * Gives:    whether a call was made during a capture
 * Owns:     the start and the end of each capture
 * Fails:    -ENOMEM
 * Why:      a launch during a capture becomes a node of a graph and never has a command of its own.
 *           The file does not name the stream of such a launch, so no later command shows that it
 *           did not execute. A recording of PyTorch has 1567 launches in one capture.
 */
#include "import/chrome/join/captures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/event.h"

void chrome_captures_fini(struct chrome_captures *captures)
{
	free(captures->marks);
	*captures = (struct chrome_captures){0};
}

int chrome_captures_add(struct chrome_captures *captures, const char *name,
			const struct event_launch *call)
{
	const bool begins = strstr(name, "StreamBeginCapture");

	/* a failed end call ends the capture too: the graph is invalid then */
	if (begins ? call->result : !strstr(name, "StreamEndCapture"))
		return 0;
	return array_append(captures->marks, captures->capacity, captures->count,
			    (struct chrome_capture_mark){.time = begins ? call->exit : call->enter,
							 .thread = call->thread,
							 .step = begins ? 1 : -1});
}

static int compare_marks(const void *left, const void *right)
{
	const struct chrome_capture_mark *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->time > b->time) - (a->time < b->time);
}

/* An end without a start is ignored. */
void chrome_captures_sort(struct chrome_captures *captures)
{
	int32_t open = 0;

	if (captures->count)
		qsort(captures->marks, captures->count, sizeof(*captures->marks), compare_marks);
	for (size_t i = 0; i < captures->count; i++) {
		if (i && captures->marks[i].thread != captures->marks[i - 1].thread)
			open = 0;
		open += captures->marks[i].step;
		if (open < 0)
			open = 0;
		captures->marks[i].step = open;
	}
}

bool chrome_captures_has(const struct chrome_captures *captures, const struct event_launch *call)
{
	const struct chrome_capture_mark asked = {.thread = call->thread, .time = call->enter};
	size_t low =
		LOWER_BOUND(captures->count, i, compare_marks(&captures->marks[i], &asked) <= 0);

	return low && captures->marks[low - 1].thread == call->thread &&
	       captures->marks[low - 1].step > 0;
}
