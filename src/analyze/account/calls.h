/* SPDX-License-Identifier: MIT
 *
 * analyze/account/calls.h - how long a thread was inside runtime calls, between any two times that
 * the merging of spans has kept
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Time inside calls from the thread's start up to a moment. */
struct calls_sum {
	uint64_t wait_ns;     /* inside calls that wait for the device */
	uint64_t call_ns;     /* inside other calls */
	uint64_t duet_ns;     /* inside a guest's own sections, even inside of a call */
	uint64_t profiler_ns; /* inside overheads of a profiler, even inside of a call */
};

enum calls_state { CALLS_OUTSIDE, CALLS_WAIT, CALLS_CALL, CALLS_DUET, CALLS_PROFILER };

struct calls_span {
	uint64_t begin, end;
	struct calls_sum before; /* up to begin */
	enum calls_state state;
	bool is_merged; /* several calls: sums inside of it are not exact */
	struct calls_sum inside;
};

/* The calls of one thread. If calls nest, the outermost counts. Sections, which are a guest's or
 * overheads of a profiler, take precedence over calls. If sections overlap, the first counts. */
struct calls {
	struct calls_span *spans; /* sorted, disjoint */
	size_t count, capacity, limit;
	struct calls_sum total;
};

void calls_init(struct calls *calls);
void calls_fini(struct calls *calls); /* NULL-safe */

/* Calls and sections come in the order of their begin. -ENOMEM. */
int calls_add(struct calls *calls, uint64_t begin, uint64_t end, enum calls_state state);

/* The sum up to `time` of the calls added so far. */
struct calls_sum calls_until(const struct calls *calls, uint64_t time);

/* Passes the states from begin to end piece by piece. Each piece lasts from the end of the previous
 * one until `until`. A merged span is passed as one piece for each of its sums. */
void calls_walk(const struct calls *calls, uint64_t begin, uint64_t end,
		void (*on_piece)(void *context, enum calls_state state, uint64_t until),
		void *context);

/* Removes the spans that end by `time`; calls_walk is exact from then on. */
void calls_drop(struct calls *calls, uint64_t time);

/* Whether there are enough spans to make calls_compact worthwhile. */
bool calls_is_full(const struct calls *calls);

/* Merges spans. Afterwards calls_until is exact only for moments in `kept` (sorted) and for moments
 * >= floor_ns. */
void calls_compact(struct calls *calls, const uint64_t *kept, size_t kept_count, uint64_t floor_ns);
