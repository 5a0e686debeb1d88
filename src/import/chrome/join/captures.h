/* SPDX-License-Identifier: MIT
 *
 * import/chrome/join/captures.h - the times at which threads of a Chrome trace captured a stream
 * into a graph
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_launch;

struct chrome_capture_mark {
	uint64_t time;
	uint32_t thread;
	int32_t step; /* 1: a capture starts; -1: one ends. After sorting: number of open captures
			 from then on */
};

struct chrome_captures {
	struct chrome_capture_mark *marks; /* owned; chrome_captures_sort sorts them */
	size_t count, capacity;
};

void chrome_captures_fini(struct chrome_captures *captures);

/* To be called for every call, in any order. Errors: -ENOMEM. */
int chrome_captures_add(struct chrome_captures *captures, const char *name,
			const struct event_launch *call);

/* To be called after the last add, before the first has. */
void chrome_captures_sort(struct chrome_captures *captures);

/* Whether the thread of the call was capturing a stream when the call started. */
bool chrome_captures_has(const struct chrome_captures *captures, const struct event_launch *call);
