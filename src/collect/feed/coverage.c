/* SPDX-License-Identifier: MIT
 *
 * collect/feed/coverage.c - the times of which a recording has all calls of a guest, and the gaps
 * between them
 *
 * Runs in:  the recorder
 * Gets:     the times of attachments, as far as they are read, in any order
 * Gives:    the gaps between them
 * Owns:     a list of times for each guest
 * Fails:    without memory a time is not known as covered
 * Why:      A guest moves from one recorder to the next, and each is read on its own. Time that
 * none of them covers is a loss, whatever the reason.
 */
#include "collect/feed/coverage.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void coverage_init(struct coverage *coverage)
{
	*coverage = (struct coverage){0};
	hash_map_init(&coverage->places);
}

void coverage_fini(struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->count; i++)
		free(coverage->guests[i].spans);
	free(coverage->guests);
	hash_map_fini(&coverage->places);
	*coverage = (struct coverage){0};
}

static struct coverage_guest *find_guest(const struct coverage *coverage, uint32_t process,
					 uint32_t guest)
{
	const uint64_t place = hash_map_get(&coverage->places, (uint64_t)process << 32 | guest, 0);

	return place ? &coverage->guests[place - 1] : NULL;
}

static struct coverage_guest *add_guest(struct coverage *coverage, uint32_t process, uint32_t guest,
					uint64_t begin_ns)
{
	const struct coverage_guest added = {
		.process = process, .guest = guest, .settled_ns = begin_ns, .over_ns = UINT64_MAX};

	if (array_append(coverage->guests, coverage->capacity, coverage->count, added))
		return NULL;
	if (hash_map_put(&coverage->places, (uint64_t)process << 32 | guest, coverage->count)) {
		coverage->count--;
		return NULL;
	}
	return &coverage->guests[coverage->count - 1];
}

static void remove_spans(struct coverage_guest *guest, size_t at, size_t count)
{
	memmove(guest->spans + at, guest->spans + at + count,
		(guest->count - at - count) * sizeof(*guest->spans));
	guest->count -= count;
}

/* Spans that touch or overlap become one. False: no memory. */
static bool add_span(struct coverage_guest *guest, struct coverage_span span)
{
	const size_t first = LOWER_BOUND(guest->count, i, guest->spans[i].end_ns < span.begin_ns);
	size_t last = first;

	for (; last < guest->count && guest->spans[last].begin_ns <= span.end_ns; last++) {
		if (guest->spans[last].begin_ns < span.begin_ns)
			span.begin_ns = guest->spans[last].begin_ns;
		if (guest->spans[last].end_ns > span.end_ns)
			span.end_ns = guest->spans[last].end_ns;
	}
	if (last > first) {
		guest->spans[first] = span;
		remove_spans(guest, first + 1, last - first - 1);
		return true;
	}
	if (array_grow(guest->spans, guest->capacity, guest->count + 1))
		return false;
	memmove(guest->spans + first + 1, guest->spans + first,
		(guest->count - first) * sizeof(*guest->spans));
	guest->spans[first] = span;
	guest->count++;
	return true;
}

static void cover(struct coverage *coverage, struct coverage_guest *guest, uint64_t begin_ns,
		  uint64_t end_ns)
{
	if (!guest->has_settled && begin_ns < guest->settled_ns)
		guest->settled_ns = begin_ns;
	if (begin_ns < guest->settled_ns)
		begin_ns = guest->settled_ns;
	if (begin_ns < end_ns && !add_span(guest, (struct coverage_span){begin_ns, end_ns}))
		coverage->has_failed = true;
}

void coverage_add(struct coverage *coverage, uint32_t process, uint32_t guest, uint64_t begin_ns,
		  uint64_t end_ns)
{
	struct coverage_guest *found = find_guest(coverage, process, guest);

	if (begin_ns >= end_ns)
		return;
	if (!found)
		found = add_guest(coverage, process, guest, begin_ns);
	if (found)
		cover(coverage, found, begin_ns, end_ns);
	else
		coverage->has_failed = true;
}

void coverage_excuse(struct coverage *coverage, uint32_t process, uint64_t begin_ns,
		     uint64_t end_ns)
{
	for (size_t i = 0; i < coverage->count; i++) {
		struct coverage_guest *guest = &coverage->guests[i];

		if (guest->process == process && begin_ns >= guest->settled_ns)
			cover(coverage, guest, begin_ns, end_ns);
	}
}

void coverage_end(struct coverage *coverage, uint32_t process, uint32_t guest, uint64_t end_ns)
{
	struct coverage_guest *found = find_guest(coverage, process, guest);

	if (found)
		found->over_ns = end_ns;
}

uint64_t coverage_until(const struct coverage_guest *guest)
{
	uint64_t until_ns = guest->settled_ns;

	for (size_t i = 0; i < guest->count && guest->spans[i].begin_ns <= until_ns; i++)
		until_ns = guest->spans[i].end_ns;
	return until_ns;
}

/* Reports the gaps before spans that begin up to a time. */
static void settle(struct coverage_guest *guest, uint64_t until_ns, coverage_gap *report,
		   void *context)
{
	size_t done = 0;

	for (; done < guest->count && guest->spans[done].begin_ns <= until_ns; done++) {
		const struct coverage_span span = guest->spans[done];

		if (span.begin_ns > guest->settled_ns)
			report(context, guest, guest->settled_ns, span.begin_ns);
		guest->settled_ns = span.end_ns;
		guest->has_settled = true;
	}
	remove_spans(guest, 0, done);
}

void coverage_settle(struct coverage *coverage, uint64_t until_ns, coverage_gap *report,
		     void *context)
{
	for (size_t i = 0; i < coverage->count; i++)
		settle(&coverage->guests[i], until_ns, report, context);
}

void coverage_finish(struct coverage *coverage, uint64_t end_ns, coverage_gap *report,
		     void *context)
{
	for (size_t i = 0; i < coverage->count; i++) {
		struct coverage_guest *guest = &coverage->guests[i];
		const uint64_t last_ns = guest->over_ns < end_ns ? guest->over_ns : end_ns;

		settle(guest, last_ns, report, context);
		if (guest->settled_ns < last_ns)
			report(context, guest, guest->settled_ns, last_ns);
		if (guest->settled_ns < last_ns)
			guest->settled_ns = last_ns;
	}
}
