/* SPDX-License-Identifier: MIT
 *
 * analyze/calls.h - how long a thread was inside runtime calls, between any two moments that can
 * still be asked for
 */
#ifndef ANALYZE_CALLS_H
#define ANALYZE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Time inside calls from the thread's beginning up to some moment. */
struct calls_sum {
	uint64_t wait_ns; /* inside calls that wait for the device */
	uint64_t call_ns; /* inside other calls */
	uint64_t duet_ns; /* inside a guest's own sections, also where those are inside of a call */
};

enum calls_state { CALLS_OUTSIDE, CALLS_WAIT, CALLS_CALL, CALLS_DUET };

struct calls_span {
	uint64_t begin, end;
	struct calls_sum before; /* up to begin */
	enum calls_state state;
	bool is_merged; /* stands for several: no moment inside it may be asked for */
	struct calls_sum inside;
};

/* One thread's. Where calls nest, the outermost counts; a guest's section counts before any call. */
struct calls {
	struct calls_span *spans; /* sorted, disjoint */
	size_t count, capacity, limit;
	struct calls_sum total;
};

void calls_init(struct calls *calls);
void calls_fini(struct calls *calls); /* NULL-safe */

/* Calls and sections come in the order of their begin. -ENOMEM. */
int calls_add(struct calls *calls, uint64_t begin, uint64_t end, enum calls_state state);

/* The sum up to `time`, over the calls added so far. */
struct calls_sum calls_until(const struct calls *calls, uint64_t time);

/* What there is from begin to end, piece by piece: from the end of the piece before it until `until`. A span that
 * stands for several is told as its sums. */
void calls_walk(const struct calls *calls, uint64_t begin, uint64_t end,
		void (*on_piece)(void *context, enum calls_state state, uint64_t until),
		void *context);

/* True where there are so many spans that calls_compact is worth while. */
bool calls_is_full(const struct calls *calls);

/* Merges spans. Afterwards only moments in `kept` (sorted) and moments >= floor_ns may be asked for. */
void calls_compact(struct calls *calls, const uint64_t *kept, size_t kept_count, uint64_t floor_ns);

#endif
