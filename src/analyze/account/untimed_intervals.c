/* SPDX-License-Identifier: MIT
 *
 * analyze/account/untimed_intervals.c - intervals in which a device may have run a command without
 * times
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     intervals in any order
 * Gives:    how much of a span they cover
 * Owns:     at most MAX_UNTIMED_INTERVALS intervals, 1.5 MiB
 * Fails:    -ENOMEM
 * Why a limit: each of 10^7 untimed commands may have an interval that touches no other one. Above
 *           MAX_UNTIMED_INTERVALS intervals the shortest breaks between them are closed: slightly
 *           more time is unknown, never less.
 */
#include "analyze/account/untimed_intervals.h"

#include <stdlib.h>

#include "base/array.h"

void untimed_intervals_fini(struct untimed_intervals *untimed)
{
	if (!untimed)
		return;
	free(untimed->intervals);
	*untimed = (struct untimed_intervals){0};
}

static int compare(const void *left, const void *right)
{
	const struct untimed_interval *a = left, *b = right;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Joins intervals that overlap, touch or are less than the grain apart. */
static void join(struct untimed_intervals *untimed)
{
	size_t kept = 0;

	if (!untimed->count)
		return;
	qsort(untimed->intervals, untimed->count, sizeof(*untimed->intervals), compare);
	for (size_t i = 1; i < untimed->count; i++) {
		struct untimed_interval *last = &untimed->intervals[kept];
		const struct untimed_interval *next = &untimed->intervals[i];

		if (next->begin > last->end && next->begin - last->end >= untimed->grain_ns)
			untimed->intervals[++kept] = *next;
		else if (next->end > last->end)
			last->end = next->end;
	}
	untimed->count = kept + 1;
}

int untimed_intervals_add(struct untimed_intervals *untimed, uint64_t begin, uint64_t end)
{
	if (begin >= end)
		return 0;
	if (untimed->count == MAX_UNTIMED_INTERVALS) {
		join(untimed);
		while (untimed->count > MAX_UNTIMED_INTERVALS / 2) {
			untimed->grain_ns = untimed->grain_ns ? 2 * untimed->grain_ns : 2;
			join(untimed);
		}
	}
	return array_append(untimed->intervals, untimed->capacity, untimed->count,
			    (struct untimed_interval){.begin = begin, .end = end});
}

void untimed_intervals_close(struct untimed_intervals *untimed)
{
	uint64_t sum = 0;

	join(untimed);
	for (size_t i = 0; i < untimed->count; i++) {
		untimed->intervals[i].before = sum;
		sum += untimed->intervals[i].end - untimed->intervals[i].begin;
	}
}

const struct untimed_interval *untimed_intervals_find(const struct untimed_intervals *untimed,
						      uint64_t time)
{
	size_t low = LOWER_BOUND(untimed->count, i, untimed->intervals[i].end <= time);

	return low < untimed->count ? &untimed->intervals[low] : NULL;
}

/* Dark time before `time`. */
static uint64_t until(const struct untimed_intervals *untimed, uint64_t time)
{
	size_t low;
	const struct untimed_interval *last;

	low = LOWER_BOUND(untimed->count, i, untimed->intervals[i].begin < time);
	if (!low)
		return 0;
	last = &untimed->intervals[low - 1];
	return last->before + (time < last->end ? time : last->end) - last->begin;
}

uint64_t untimed_intervals_inside(const struct untimed_intervals *untimed, uint64_t begin,
				  uint64_t end)
{
	return begin < end ? until(untimed, end) - until(untimed, begin) : 0;
}
