/* SPDX-License-Identifier: MIT
 *
 * export/moments.h - begins and ends, given in the order of begins, taken in that of time
 *
 * At one time: first the ends of what began earlier, then calls, the longer outside, then commands.
 * What has no duration ends right after it began.
 */
#ifndef EXPORT_MOMENTS_H
#define EXPORT_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct moment {
	uint64_t time, tie, number;
	uint32_t slice; /* whose */
	uint8_t rank, half;
};

struct moments {
	struct moment *heap;
	size_t count, capacity;
	uint64_t number;
};

/* is_stacked: a call, which nests with others. -ENOMEM. */
int moments_add(struct moments *moments, uint32_t slice, uint64_t begin, uint64_t end,
		bool is_stacked);

/* A single moment, of which `slice` says what it is for. At one time ends come first, but for one that is of something
 * that only begins then. -ENOMEM. */
int moments_add_point(struct moments *moments, uint32_t slice, uint64_t time, bool is_end,
		      bool begins_then);

/* Takes the earliest out where it is before `limit` (UINT64_MAX: any); false where there is none. */
bool moments_take(struct moments *moments, uint64_t limit, struct moment *ret_moment);

void moments_fini(struct moments *moments); /* NULL-safe */

static inline bool moment_is_end(const struct moment *moment)
{
	return moment->half;
}

#endif
