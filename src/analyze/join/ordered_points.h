/* SPDX-License-Identifier: MIT
 *
 * analyze/join/ordered_points.h - sorts begins and ends: slices go in by begin, begins and ends
 * come out by time
 *
 * The order at equal times: ends of slices that began earlier, begins of calls (longer calls first,
 * because they enclose the others), begins of commands. A slice without duration ends right after
 * its begin.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct moment {
	uint64_t time, tie, number;
	uint32_t slice; /* the slice's number */
	uint8_t rank, half;
};

struct moments {
	struct moment *heap;
	size_t count, capacity;
	uint64_t number;
};

/* Adds the begin and end of a slice. is_stacked: a call, which can enclose other calls. Errors:
 * -ENOMEM. */
int moments_add(struct moments *moments, uint32_t slice, uint64_t begin, uint64_t end,
		bool is_stacked);

/* Adds a single moment; the caller chooses `slice`. begins_then: the end belongs to a slice that
 * begins at the same time, so it must not come before the begins. Errors: -ENOMEM. */
int moments_add_point(struct moments *moments, uint32_t slice, uint64_t time, bool is_end,
		      bool begins_then);

/* Removes the earliest moment if it is before `limit` (UINT64_MAX: any); false if there is none. */
bool moments_take(struct moments *moments, uint64_t limit, struct moment *ret_moment);

void moments_fini(struct moments *moments); /* NULL-safe */

static inline bool moment_is_end(const struct moment *moment)
{
	return moment->half;
}
