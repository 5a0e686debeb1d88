/* SPDX-License-Identifier: MIT
 *
 * analyze/dark.c - when a device had a command of which nobody knows when it ran
 *
 * Runs in:  the readers
 * Gets:     intervals in any order   Gives: how much of a span they cover
 * Owns:     at most DARK_KEPT intervals, 1.5 MiB
 * Fails:    -ENOMEM
 * Why joined: of 10^7 commands without times each may be alone on the device. Above DARK_KEPT the
 *           shortest breaks between them are given up: a little more is unknown, never less.
 */
#include "analyze/dark.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void dark_init(struct dark *dark)
{
	*dark = (struct dark){0};
}

void dark_fini(struct dark *dark)
{
	if (!dark)
		return;
	free(dark->intervals);
	dark_init(dark);
}

static int compare(const void *left, const void *right)
{
	const struct dark_interval *a = left, *b = right;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Joins what overlaps, touches or is less than the grain apart. */
static void join(struct dark *dark)
{
	size_t kept = 0;

	if (!dark->count)
		return;
	qsort(dark->intervals, dark->count, sizeof(*dark->intervals), compare);
	for (size_t i = 1; i < dark->count; i++) {
		struct dark_interval *last = &dark->intervals[kept];
		const struct dark_interval *next = &dark->intervals[i];

		if (next->begin > last->end && next->begin - last->end >= dark->grain_ns)
			dark->intervals[++kept] = *next;
		else if (next->end > last->end)
			last->end = next->end;
	}
	dark->count = kept + 1;
}

int dark_add(struct dark *dark, uint64_t begin, uint64_t end)
{
	if (begin >= end)
		return 0;
	if (dark->count == DARK_KEPT) {
		join(dark);
		while (dark->count > DARK_KEPT / 2) {
			dark->grain_ns = dark->grain_ns ? 2 * dark->grain_ns : 2;
			join(dark);
		}
	}
	if (array_grow(dark->intervals, dark->capacity, dark->count + 1))
		return -ENOMEM;
	dark->intervals[dark->count++] = (struct dark_interval){.begin = begin, .end = end};
	return 0;
}

void dark_close(struct dark *dark)
{
	uint64_t sum = 0;

	join(dark);
	for (size_t i = 0; i < dark->count; i++) {
		dark->intervals[i].before = sum;
		sum += dark->intervals[i].end - dark->intervals[i].begin;
	}
}

const struct dark_interval *dark_find(const struct dark *dark, uint64_t time)
{
	size_t low = 0, high = dark->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (dark->intervals[middle].end <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low < dark->count ? &dark->intervals[low] : NULL;
}

/* Dark time before `time`. */
static uint64_t until(const struct dark *dark, uint64_t time)
{
	size_t low = 0, high = dark->count;
	const struct dark_interval *last;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (dark->intervals[middle].begin < time)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	last = &dark->intervals[low - 1];
	return last->before + (time < last->end ? time : last->end) - last->begin;
}

uint64_t dark_inside(const struct dark *dark, uint64_t begin, uint64_t end)
{
	return begin < end ? until(dark, end) - until(dark, begin) : 0;
}
