/* SPDX-License-Identifier: MIT
 *
 * clock/pairs.c - choose reliable pairs and draw lines between them
 *
 * Runs in:  our own process
 * Gets:     pairs (device time, lower and upper host time), roughly sorted by time
 * Gives:    a map through the middles of the narrow pairs, kept inside the wide ones, and its error
 * Owns:     at most CLOCK_PAIRS_KEPT pairs
 * Fails:    only if it cannot allocate
 * Why not through all pairs: two readings 40 ns wide and 1 ms apart leave the slope uncertain by 40
 *           ppm, which is an error of 40 us after a second. So the pairs through which the line
 *           runs (its knots) are so far apart that the windows of two neighbours leave less than 1
 *           ppm. A thread preempted during a reading gives a window of milliseconds, so a pair
 *           wider than WIDE times the median only bounds the line.
 */
#include "clock/pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define WIDE          3
#define KNOT_DISTANCE 1000000 /* min host time between knots, in widths of a pair: 1 ppm */

void clock_pairs_fini(struct clock_pairs *pairs)
{
	free(pairs->pairs);
}

static uint64_t width(const struct clock_pair *pair)
{
	return pair->upper - pair->lower;
}

static uint64_t middle(const struct clock_pair *pair)
{
	return pair->lower + width(pair) / 2;
}

static bool same_stretch(const struct clock_pairs *pairs, uint64_t a, uint64_t b)
{
	return a >> pairs->stretch == b >> pairs->stretch;
}

/* Doubles the length of the stretches until half of the room is free. */
static void thin_pairs(struct clock_pairs *pairs)
{
	while (pairs->count > CLOCK_PAIRS_KEPT / 2 && pairs->stretch < 63) {
		size_t kept = 0;

		pairs->stretch++;
		for (size_t i = 1; i < pairs->count; i++) {
			const struct clock_pair *pair = &pairs->pairs[i];

			if (!same_stretch(pairs, pair->time, pairs->pairs[kept].time))
				pairs->pairs[++kept] = *pair;
			else if (width(pair) < width(&pairs->pairs[kept]))
				pairs->pairs[kept] = *pair;
		}
		pairs->count = kept + 1;
	}
}

static int reserve(struct clock_pairs *pairs)
{
	size_t capacity = pairs->capacity ? pairs->capacity * 2 : 16;
	struct clock_pair *grown;

	if (pairs->count < pairs->capacity)
		return 0;
	if (pairs->capacity >= CLOCK_PAIRS_KEPT) {
		thin_pairs(pairs);
		return 0;
	}
	grown = realloc(pairs->pairs, capacity * sizeof(*grown));
	if (!grown)
		return error_set(-ENOMEM, "clock pairs: out of memory");
	pairs->pairs = grown;
	pairs->capacity = capacity;
	return 0;
}

int clock_pairs_add(struct clock_pairs *pairs, const struct clock_pair *pair)
{
	size_t at;
	int rc = reserve(pairs);

	if (rc)
		return rc;
	for (at = pairs->count; at > 0 && pairs->pairs[at - 1].time > pair->time; at--)
		;
	for (size_t i = at ? at - 1 : 0; i < pairs->count && i <= at; i++) {
		struct clock_pair *near = &pairs->pairs[i];

		if (!same_stretch(pairs, near->time, pair->time))
			continue;
		if (width(pair) < width(near))
			*near = *pair;
		return 0;
	}
	memmove(&pairs->pairs[at + 1], &pairs->pairs[at],
		(pairs->count - at) * sizeof(*pairs->pairs));
	pairs->pairs[at] = *pair;
	pairs->count++;
	return 0;
}

uint64_t clock_pairs_frequency(const struct clock_pairs *pairs)
{
	const struct clock_pair *a, *b;
	unsigned __int128 ticks;
	uint64_t run;

	if (pairs->count < 2)
		return 0;
	a = pairs->pairs;
	b = a + pairs->count - 1;
	if (middle(b) <= middle(a))
		return 0;
	run = middle(b) - middle(a);
	ticks = (unsigned __int128)(b->time - a->time) * 1000000000 + run / 2;
	ticks /= run;
	return ticks > UINT64_MAX ? 0 : (uint64_t)ticks;
}

static int compare_widths(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static int median_width(const struct clock_pairs *pairs, uint64_t *ret_median)
{
	uint64_t *widths = malloc(pairs->count * sizeof(*widths));

	if (!widths)
		return error_set(-ENOMEM, "clock pairs: out of memory");
	for (size_t i = 0; i < pairs->count; i++)
		widths[i] = width(&pairs->pairs[i]);
	qsort(widths, pairs->count, sizeof(*widths), compare_widths);
	*ret_median = widths[(pairs->count - 1) / 2];
	free(widths);
	return 0;
}

struct knot {
	uint64_t time, host;
	uint64_t width;
};

static struct knot knot_of(const struct clock_pair *pair)
{
	return (struct knot){pair->time, middle(pair), width(pair)};
}

static bool may_follow(const struct knot *last, const struct clock_pair *pair, uint64_t distance)
{
	return pair->time > last->time && middle(pair) > last->host &&
	       middle(pair) - last->host >= distance;
}

/* The narrowest pair in the stretch that starts `distance` after the last knot and is `distance`
 * long. */
static size_t choose_knots(const struct clock_pairs *pairs, uint64_t median, struct knot *knots)
{
	uint64_t widest = median > UINT64_MAX / WIDE - 16 ? UINT64_MAX : median * WIDE + 16;
	uint64_t distance = (median + 1) > UINT64_MAX / KNOT_DISTANCE
				    ? UINT64_MAX
				    : (median + 1) * KNOT_DISTANCE;
	size_t count = 0, best = SIZE_MAX;

	for (size_t i = 0; i < pairs->count; i++) {
		const struct clock_pair *pair = &pairs->pairs[i];

		if (width(pair) > widest)
			continue;
		if (count && !may_follow(&knots[count - 1], pair, distance))
			continue;
		if (best != SIZE_MAX && middle(pair) > middle(&pairs->pairs[best]) &&
		    middle(pair) - middle(&pairs->pairs[best]) >= distance) {
			knots[count++] = knot_of(&pairs->pairs[best]);
			best = SIZE_MAX;
			if (!may_follow(&knots[count - 1], pair, distance))
				continue;
		}
		if (best == SIZE_MAX || width(pair) < width(&pairs->pairs[best]))
			best = i;
	}
	if (best != SIZE_MAX)
		knots[count++] = knot_of(&pairs->pairs[best]);
	return count;
}

/* Host time at `time` on the line through two knots. */
static uint64_t between(const struct knot *a, const struct knot *b, uint64_t time)
{
	return a->host + (uint64_t)((unsigned __int128)(b->host - a->host) * (time - a->time) /
				    (b->time - a->time));
}

/* If no line through the knots meets a pair, the pair itself becomes a knot, at its nearer end. */
static size_t bend_line(const struct clock_pairs *pairs, const struct knot *knots, size_t count,
			struct knot *ret_knots)
{
	size_t bent = 0, next = 0;

	for (size_t i = 0; i < pairs->count; i++) {
		const struct clock_pair *pair = &pairs->pairs[i];
		uint64_t host;

		while (next < count && knots[next].time <= pair->time)
			ret_knots[bent++] = knots[next++];
		if (!next || next == count || knots[next - 1].time == pair->time)
			continue;
		host = between(&ret_knots[bent - 1], &knots[next], pair->time);
		if (host >= pair->lower && host <= pair->upper)
			continue;
		host = host < pair->lower ? pair->lower : pair->upper;
		if (host > ret_knots[bent - 1].host && host < knots[next].host &&
		    pair->time > ret_knots[bent - 1].time)
			ret_knots[bent++] = (struct knot){pair->time, host, knots[next].width};
	}
	while (next < count)
		ret_knots[bent++] = knots[next++];
	return bent;
}

/* Three errors are added up: none may come close to overflow. */
static uint64_t clamp_error(__int128 error_ns)
{
	return error_ns > (__int128)(UINT64_MAX / 4) ? UINT64_MAX / 4 : (uint64_t)error_ns;
}

/* Rise of the line through a and b over `run` ticks. Saturates at 2^126: pairs of a damaged trace
 * may give more than an __int128 holds. */
static __int128 rise_over(const struct knot *a, const struct knot *b, uint64_t run)
{
	const long double limit = 0x1p126L;
	const long double rise = (long double)(b->host - a->host) * run / (b->time - a->time);

	return (__int128)(rise > limit ? limit : rise < -limit ? -limit : rise);
}

/* Max distance of the truth from the line between two knots. The rate is assumed to be between
 * those of the pieces before and after. Then the chord is furthest from a rate that changes at once
 * from one to the other. A piece that is steeper or flatter than both contains a step. */
static uint64_t bow(const struct knot *from, bool has_previous, bool has_next)
{
	const struct knot *to = from + 1;
	uint64_t run = to->time - from->time;
	__int128 own = to->host - from->host, noise = (from->width + to->width) / 2 + 2;
	__int128 low, high, before, after;

	if (!has_previous && !has_next)
		return 0;
	before = has_previous ? rise_over(from - 1, from, run) : rise_over(to, to + 1, run);
	after = has_next ? rise_over(to, to + 1, run) : before;
	low = before < after ? before : after;
	high = before < after ? after : before;
	if (own < low - noise)
		return clamp_error(low - noise - own);
	if (own > high + noise)
		return clamp_error(own - high - noise);
	if (high - low <= 2 * noise || own <= low || own >= high)
		return 0;
	return clamp_error((__int128)((long double)(high - own) * (own - low) / (high - low)) + 1);
}

/* Beyond the last knot the slope is open by both windows over the piece's length. */
static uint64_t overshoot(const struct knot *a, const struct knot *b, uint64_t ticks)
{
	unsigned __int128 error =
		(unsigned __int128)(a->width / 2 + b->width / 2 + 1) * ticks / (b->time - a->time);

	return clamp_error((__int128)(error >> 1 > UINT64_MAX ? UINT64_MAX : error));
}

static uint64_t error_of(const struct knot *knots, size_t count, uint64_t first, uint64_t last)
{
	uint64_t half = 0, bent = 0, outside = 0, beyond = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t own = knots[i].width / 2 + knots[i].width % 2;
		uint64_t apart = i + 1 < count ? bow(&knots[i], i > 0, i + 2 < count) : 0;

		half = own > half ? own : half;
		bent = apart > bent ? apart : bent;
	}
	if (first < knots[0].time)
		outside = overshoot(&knots[0], &knots[1], knots[0].time - first);
	if (last > knots[count - 1].time)
		beyond = overshoot(&knots[count - 2], &knots[count - 1],
				   last - knots[count - 1].time);
	outside = beyond > outside ? beyond : outside;
	return clamp_error(half) + bent + outside + 1;
}

static int build(const struct knot *knots, size_t count, struct clock_map **ret_map)
{
	int rc = clock_map_new(count - 1, ret_map);

	for (size_t i = 0; !rc && i + 1 < count; i++)
		clock_map_append(
			*ret_map, knots[i].time, (__int128)knots[i].host << CLOCK_FRACTION_BITS,
			(__int128)(knots[i + 1].host - knots[i].host) << CLOCK_FRACTION_BITS,
			knots[i + 1].time - knots[i].time);
	return rc;
}

int clock_pairs_solve(const struct clock_pairs *pairs, uint64_t first, uint64_t last,
		      struct clock_map **ret_map, uint64_t *ret_error_ns)
{
	struct knot *knots;
	uint64_t median = 0;
	size_t count;
	int rc = median_width(pairs, &median);

	if (rc)
		return rc;
	knots = malloc(3 * pairs->count * sizeof(*knots));
	if (!knots)
		return error_set(-ENOMEM, "clock pairs: out of memory");
	*ret_map = NULL;
	count = choose_knots(pairs, median, knots);
	if (count >= 2) {
		struct knot *bent = knots + pairs->count;

		count = bend_line(pairs, knots, count, bent);
		rc = build(bent, count, ret_map);
		*ret_error_ns = error_of(bent, count, first, last);
	}
	free(knots);
	return rc;
}

uint64_t clock_pairs_violations(const struct clock_pairs *pairs, const struct clock_map *map,
				uint64_t tolerance_ns)
{
	uint64_t violations = 0;

	for (size_t i = 0; i < pairs->count; i++) {
		uint64_t host = clock_map_to_host(map, pairs->pairs[i].time);
		uint64_t lower = pairs->pairs[i].lower, upper = pairs->pairs[i].upper;

		violations += (host < lower && lower - host > tolerance_ns) ||
			      (host > upper && host - upper > tolerance_ns);
	}
	return violations;
}
