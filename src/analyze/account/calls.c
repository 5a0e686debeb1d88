/* SPDX-License-Identifier: MIT
 *
 * analyze/account/calls.c - how long a thread was inside runtime calls
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     the calls of one thread in order
 * Gives:    time inside waiting calls, other calls and guests' sections
 * Owns:     per thread 64 spans, or twice the number of spans that the last merging left, whichever
 *           is more
 * Fails:    -ENOMEM
 * Why merging: an idle gap of a device may last as long as 10^7 calls of a polling thread, and the
 *           start of the gap is known only when the next command comes. A gap can start only at the
 *           end of a device's last command, which is one time for each device. So all calls between
 *           two such times are merged to one span. The sums stay exact, and the number of spans is
 *           bounded by the number of devices.
 */
#include "analyze/account/calls.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/number.h"

#define CALLS_LIMIT 64

enum { AROUND_MAX = 8 };

void calls_init(struct calls *calls)
{
	*calls = (struct calls){.limit = CALLS_LIMIT};
}

void calls_fini(struct calls *calls)
{
	if (!calls)
		return;
	free(calls->spans);
	calls_init(calls);
}

static uint64_t *part_of(struct calls_sum *sum, enum calls_state state)
{
	if (state == CALLS_DUET)
		return &sum->duet_ns;
	if (state == CALLS_PROFILER)
		return &sum->profiler_ns;
	return state == CALLS_WAIT ? &sum->wait_ns : &sum->call_ns;
}

static void add_sum(struct calls_sum *sum, const struct calls_sum *more)
{
	sum->wait_ns += more->wait_ns;
	sum->call_ns += more->call_ns;
	sum->duet_ns += more->duet_ns;
	sum->profiler_ns += more->profiler_ns;
}

static bool is_section(enum calls_state state)
{
	return state == CALLS_DUET || state == CALLS_PROFILER;
}

static int append_span(struct calls *calls, uint64_t begin, uint64_t end, enum calls_state state)
{
	struct calls_span *span;

	if (begin >= end)
		return 0;
	if (array_grow(calls->spans, calls->capacity, calls->count + 1))
		return -ENOMEM;
	span = &calls->spans[calls->count++];
	*span = (struct calls_span){
		.begin = begin, .end = end, .before = calls->total, .state = state};
	*part_of(&span->inside, state) = end - begin;
	add_sum(&calls->total, &span->inside);
	return 0;
}

/* Appends a call again, without the part [begin, end) that belongs to a section. */
static int cut_span(struct calls *calls, const struct calls_span *span, uint64_t begin,
		    uint64_t end, enum calls_state section)
{
	const uint64_t first = larger(span->begin, begin), last = smaller(span->end, end);
	int error = append_span(calls, span->begin, smaller(span->end, begin), span->state);

	if (!error)
		error = append_span(calls, first, last, section);
	return error ? error : append_span(calls, larger(span->begin, end), span->end, span->state);
}

static int append_again(struct calls *calls, const struct calls_span *span)
{
	if (array_grow(calls->spans, calls->capacity, calls->count + 1))
		return -ENOMEM;
	calls->spans[calls->count] = *span;
	calls->spans[calls->count++].before = calls->total;
	add_sum(&calls->total, &span->inside);
	return 0;
}

/* Removes the last few calls that overlap a section and appends them again in pieces around it. */
static int add_section(struct calls *calls, uint64_t begin, uint64_t end, enum calls_state section)
{
	struct calls_span around[AROUND_MAX];
	size_t count = 0;
	int error = 0;

	while (calls->count && count < AROUND_MAX && calls->spans[calls->count - 1].end > begin) {
		around[count++] = calls->spans[--calls->count];
		calls->total = calls->spans[calls->count].before;
	}
	while (count && !error) {
		const struct calls_span *span = &around[--count];

		error = append_span(calls, begin, smaller(span->begin, end), section);
		begin = larger(begin, smaller(span->begin, end));
		if (error)
			break;
		error = is_section(span->state) || span->is_merged
				? append_again(calls, span)
				: cut_span(calls, span, begin, end, section);
		begin = larger(begin, smaller(span->end, end));
	}
	return error ? error : append_span(calls, begin, end, section);
}

int calls_add(struct calls *calls, uint64_t begin, uint64_t end, enum calls_state state)
{
	const struct calls_span *last = calls->count ? &calls->spans[calls->count - 1] : NULL;

	if (last && is_section(state))
		return add_section(calls, begin, end, state);
	return append_span(calls, last ? larger(begin, last->end) : begin, end, state);
}

/* The last span that begins before `time`; calls->count if there is none. */
static size_t find_span(const struct calls *calls, uint64_t time)
{
	size_t low = LOWER_BOUND(calls->count, i, calls->spans[i].begin < time);

	return low ? low - 1 : calls->count;
}

struct calls_sum calls_until(const struct calls *calls, uint64_t time)
{
	size_t i = find_span(calls, time);
	const struct calls_span *span;
	struct calls_sum sum = {0};

	if (i == calls->count)
		return calls->count ? calls->spans[0].before : sum;
	span = &calls->spans[i];
	sum = span->before;
	if (time >= span->end)
		add_sum(&sum, &span->inside);
	else if (!span->is_merged)
		*part_of(&sum, span->state) += time - span->begin;
	return sum;
}

void calls_walk(const struct calls *calls, uint64_t begin, uint64_t end,
		void (*on_piece)(void *context, enum calls_state state, uint64_t until),
		void *context)
{
	size_t i = find_span(calls, begin);

	for (i = i == calls->count ? 0 : i; i < calls->count && begin < end; i++) {
		const struct calls_span *span = &calls->spans[i];
		uint64_t until = span->end < end ? span->end : end;

		if (until <= begin)
			continue;
		if (span->begin >= end)
			break;
		if (span->begin > begin)
			on_piece(context, CALLS_OUTSIDE, begin = span->begin);
		if (span->is_merged) {
			uint64_t wait = begin + span->inside.wait_ns;
			uint64_t call = wait + span->inside.call_ns;
			uint64_t duet = call + span->inside.duet_ns;
			uint64_t profiler = duet + span->inside.profiler_ns;

			on_piece(context, CALLS_WAIT, wait < until ? wait : until);
			on_piece(context, CALLS_CALL, call < until ? call : until);
			on_piece(context, CALLS_DUET, duet < until ? duet : until);
			on_piece(context, CALLS_PROFILER, profiler < until ? profiler : until);
			on_piece(context, CALLS_OUTSIDE, until);
		} else {
			on_piece(context, span->state, until);
		}
		begin = until;
	}
	if (begin < end)
		on_piece(context, CALLS_OUTSIDE, end);
}

/* After the spans that are left were moved to the beginning. */
static void keep_spans(struct calls *calls, size_t count)
{
	calls->count = count;
	calls->limit = count > CALLS_LIMIT / 2 ? 2 * count : CALLS_LIMIT;
}

void calls_drop(struct calls *calls, uint64_t time)
{
	size_t count = 0;

	for (size_t i = 0; i < calls->count; i++)
		if (calls->spans[i].end > time)
			calls->spans[count++] = calls->spans[i];
	keep_spans(calls, count);
}

bool calls_is_full(const struct calls *calls)
{
	return calls->count >= calls->limit;
}

static bool is_asked_for(const uint64_t *kept, size_t count, uint64_t after, uint64_t before)
{
	for (size_t i = 0; i < count; i++) {
		if (kept[i] > after && kept[i] < before)
			return true;
	}
	return false;
}

void calls_compact(struct calls *calls, const uint64_t *kept, size_t kept_count, uint64_t floor_ns)
{
	size_t count = 0;

	for (size_t i = 0; i < calls->count; i++) {
		struct calls_span *span = &calls->spans[i];
		struct calls_span *last = count ? &calls->spans[count - 1] : NULL;

		if (!last || span->end > floor_ns ||
		    is_asked_for(kept, kept_count, last->begin, span->end)) {
			calls->spans[count++] = *span;
			continue;
		}
		last->end = span->end;
		last->is_merged = true;
		add_sum(&last->inside, &span->inside);
	}
	keep_spans(calls, count);
}
