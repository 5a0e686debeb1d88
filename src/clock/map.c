/* SPDX-License-Identifier: MIT
 *
 * clock/map.c - a piecewise linear function from ticks to host nanoseconds, in integers
 *
 * Runs in:  our own process
 * Gets:     pieces (a point and a slope) from domain.c and pairs.c
 * Gives:    conversions in both directions, monotonic and rounded to the nearest
 * Owns:     the pieces
 * Fails:    -ENOMEM when a map is made; a conversion saturates at 0 and UINT64_MAX
 * Why 64 bits of slope: the relative error of the slope is below 2^-63, so after 2^62 ns (146
 *           years) the product is still exact to half a nanosecond. A double (53 bits) is wrong by
 *           1 ns after 104 days.
 */
#include "clock/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

struct clock_piece {
	uint64_t time, host;
	uint64_t span;          /* ticks to the next piece; UINT64_MAX in the last */
	uint64_t factor;        /* slope * 2^shift, normalised to 64 significant bits */
	unsigned __int128 bias; /* fraction of host, and one half for rounding, * 2^shift */
	unsigned shift;
};

struct clock_map {
	size_t count, capacity;
	size_t last; /* piece of the previous conversion: times come nearly sorted */
	struct clock_piece pieces[];
};

int clock_map_new(size_t capacity, struct clock_map **ret_map)
{
	struct clock_map *map = calloc(1, sizeof(*map) + capacity * sizeof(map->pieces[0]));

	if (!map)
		return error_set(-ENOMEM, "clock map: out of memory");
	map->capacity = capacity;
	*ret_map = map;
	return 0;
}

void clock_map_free(struct clock_map *map)
{
	free(map);
}

/* Long division by shifting: the quotient's first 64 significant bits and their exponent. */
static void set_slope(struct clock_piece *piece, unsigned __int128 rise, unsigned __int128 run)
{
	unsigned __int128 quotient = rise / run, rest = rise % run;

	piece->shift = 0;
	while (!(quotient >> 63) && piece->shift < 126) {
		rest <<= 1;
		quotient = quotient << 1 | (rest >= run);
		rest -= rest >= run ? run : 0;
		piece->shift++;
	}
	piece->factor = quotient >> 64 ? UINT64_MAX : (uint64_t)quotient;
}

void clock_map_append(struct clock_map *map, uint64_t time, __int128 host, __int128 rise,
		      uint64_t run)
{
	struct clock_piece *piece = &map->pieces[map->count];
	const __int128 top = (__int128)UINT64_MAX << CLOCK_FRACTION_BITS;
	unsigned __int128 fraction;

	host = host < 0 ? 0 : host > top ? top : host;
	fraction = (uint32_t)host;
	piece->time = time;
	piece->host = (uint64_t)(host >> CLOCK_FRACTION_BITS);
	piece->span = UINT64_MAX;
	if (rise > 0 && run)
		set_slope(piece, rise, (unsigned __int128)run << CLOCK_FRACTION_BITS);
	else
		piece->shift = 1;
	if (!piece->shift) /* 2^63 ns per tick leave no bit for the half */
		piece->host += fraction >> (CLOCK_FRACTION_BITS - 1) && piece->host < UINT64_MAX;
	piece->bias = piece->shift ? (unsigned __int128)1 << (piece->shift - 1) : 0;
	piece->bias += piece->shift >= CLOCK_FRACTION_BITS
			       ? fraction << (piece->shift - CLOCK_FRACTION_BITS)
			       : fraction >> (CLOCK_FRACTION_BITS - piece->shift);
	if (map->count)
		piece[-1].span = time - piece[-1].time;
	map->count++;
}

static uint64_t add_saturated(uint64_t host, unsigned __int128 delta)
{
	return delta > UINT64_MAX - host ? UINT64_MAX : host + (uint64_t)delta;
}

static uint64_t forward(const struct clock_piece *piece, uint64_t ticks)
{
	unsigned __int128 product = (unsigned __int128)ticks * piece->factor;

	if (__builtin_add_overflow(product, piece->bias, &product))
		return UINT64_MAX;
	return add_saturated(piece->host, product >> piece->shift);
}

/* Used only before the first piece. */
static uint64_t backward(const struct clock_piece *piece, uint64_t ticks)
{
	unsigned __int128 product = (unsigned __int128)ticks * piece->factor, delta;

	if (product <= piece->bias)
		return add_saturated(piece->host, (piece->bias - product) >> piece->shift);
	delta = ((product - piece->bias - 1) >> piece->shift) + 1;
	return delta > piece->host ? 0 : piece->host - (uint64_t)delta;
}

/* The last piece that starts before or at a time; the first piece if there is none. */
static size_t find_by_time(const struct clock_map *map, uint64_t time)
{
	size_t after = LOWER_BOUND(map->count, i, map->pieces[i].time <= time);

	return after ? after - 1 : 0;
}

static size_t find_by_host(const struct clock_map *map, uint64_t host_ns)
{
	size_t after = LOWER_BOUND(map->count, i, map->pieces[i].host <= host_ns);

	return after ? after - 1 : 0;
}

/* A map never lies in read-only memory. The cached index is only a hint: threads that share a map
 * slow each other down but do not change results. */
static void remember(const struct clock_map *map, size_t index)
{
	__atomic_store_n(&((struct clock_map *)map)->last, index, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) uint64_t to_host_elsewhere(const struct clock_map *map,
							    uint64_t time)
{
	size_t index = find_by_time(map, time);
	const struct clock_piece *piece = &map->pieces[index];

	remember(map, index);
	return time >= piece->time ? forward(piece, time - piece->time)
				   : backward(piece, piece->time - time);
}

uint64_t clock_map_to_host(const struct clock_map *map, uint64_t time)
{
	const struct clock_piece *piece =
		&map->pieces[__atomic_load_n(&map->last, __ATOMIC_RELAXED)];

	if (__builtin_expect(time >= piece->time && time - piece->time < piece->span, 1))
		return forward(piece, time - piece->time);
	return to_host_elsewhere(map, time);
}

/* distance_ns * 2^shift -+ the fraction, divided by the factor and rounded. */
static uint64_t ticks_of(const struct clock_piece *piece, uint64_t distance_ns, bool before)
{
	unsigned __int128 half = piece->shift ? (unsigned __int128)1 << (piece->shift - 1) : 0;
	unsigned __int128 fraction = piece->bias - half, scaled = distance_ns, ticks;

	if (!piece->factor)
		return 0;
	if (piece->shift && scaled >> (127 - piece->shift))
		return UINT64_MAX;
	scaled <<= piece->shift;
	if (before)
		scaled += fraction;
	else
		scaled = scaled > fraction ? scaled - fraction : 0;
	ticks = (scaled + piece->factor / 2) / piece->factor;
	return ticks > UINT64_MAX ? UINT64_MAX : (uint64_t)ticks;
}

uint64_t clock_map_from_host(const struct clock_map *map, uint64_t host_ns)
{
	const struct clock_piece *piece = &map->pieces[find_by_host(map, host_ns)];
	uint64_t ticks;

	if (host_ns < piece->host) {
		ticks = ticks_of(piece, piece->host - host_ns, true);
		return ticks > piece->time ? 0 : piece->time - ticks;
	}
	ticks = ticks_of(piece, host_ns - piece->host, false);
	if (ticks > piece->span)
		ticks = piece->span;
	return add_saturated(piece->time, ticks);
}

int clock_map_copy(const struct clock_map *map, struct clock_map **ret_map)
{
	size_t size = sizeof(*map) + map->count * sizeof(map->pieces[0]);
	struct clock_map *copy = malloc(size);

	if (!copy)
		return error_set(-ENOMEM, "clock map: out of memory");
	memcpy(copy, map, size);
	copy->capacity = copy->count;
	copy->last = 0;
	*ret_map = copy;
	return 0;
}

int clock_map_identity(struct clock_map **ret_map)
{
	int rc = clock_map_new(1, ret_map);

	if (!rc)
		clock_map_append(*ret_map, 0, 0, (__int128)1 << CLOCK_FRACTION_BITS, 1);
	return rc;
}

bool clock_map_is_identity(const struct clock_map *map)
{
	const struct clock_piece *piece = &map->pieces[0];

	return map->count == 1 && piece->time == piece->host && piece->shift == 63 &&
	       piece->factor == (uint64_t)1 << 63 && piece->bias == (unsigned __int128)1 << 62;
}
