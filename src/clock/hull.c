/* SPDX-License-Identifier: MIT
 *
 * clock/hull.c - streaming convex hulls and the set of lines between them
 *
 * Runs in:  our own process
 * Gets:     bounds, roughly by time
 * Gives:    the middle of all lines that satisfy the bounds, and the maximum distance of the true
 *           line from it
 * Owns:     two arrays of at most CLOCK_HULL_POINTS points per band
 * Fails:    -ENOMEM; -ERANGE for a bound too far from the others to calculate with
 * Why only the extreme slopes: over a range [first, last] that contains all bounds, the highest and
 *           lowest values that a line within the bounds can have at both ends are reached at the
 *           greatest and the least possible slope. The rectangle of these four values is the
 *           feasible set's bounding box in the plane (value at first, value at last), its centre
 *           always lies in the (convex) set, and no other line has a smaller maximum distance to
 *           the truth. The feasible width is convex in time, so it is largest at one of the two
 *           ends. All calculations use 128-bit integers: times are within 2^61 of the origin and
 *           differences below 2^62, so every product is below 2^125.
 */
#include "clock/hull.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

#define REACH ((int64_t)1 << 61)

/* ---- one hull ---- */

static bool is_corner(const struct clock_point *a, const struct clock_point *b,
		      const struct clock_point *c)
{
	return (__int128)(b->time - a->time) * (c->host - a->host) <
	       (__int128)(c->time - a->time) * (b->host - a->host);
}

static void hull_remove(struct clock_hull *hull, uint32_t index)
{
	hull->count--;
	memmove(&hull->points[index], &hull->points[index + 1],
		(hull->count - index) * sizeof(hull->points[0]));
}

/* How far the middle point is above the line through its neighbours, rounded up. */
static int64_t height(const struct clock_point *point)
{
	const struct clock_point *a = point - 1, *c = point + 1;
	int64_t run = c->time - a->time;
	__int128 cross = (__int128)run * (point->host - a->host) -
			 (__int128)(point->time - a->time) * (c->host - a->host);

	return (int64_t)((cross + run - 1) / run);
}

/* Drops a quarter of the points, the flattest corners, never two neighbours. The dropped corners
 * rise at most slack_ns above the hull; bounds are made stricter by that when a line is chosen. */
static void hull_thin(struct clock_hull *hull)
{
	uint32_t target = hull->capacity - hull->capacity / 4;
	int64_t threshold = 1, dropped = 0;

	while (hull->count > target) {
		for (uint32_t i = hull->count - 2; i >= 1 && hull->count > target; i--) {
			int64_t lost = height(&hull->points[i]);

			if (lost > threshold)
				continue;
			dropped = lost > dropped ? lost : dropped;
			hull_remove(hull, i);
			if (i-- == 1)
				break;
		}
		if (hull->count <= target)
			break;
		hull->slack_ns += dropped;
		dropped = 0;
		threshold = threshold < REACH ? threshold * 4 : INT64_MAX;
	}
	hull->slack_ns += dropped;
	if (hull->slack_ns > REACH)
		hull->slack_ns = REACH;
}

static int hull_reserve(struct clock_hull *hull)
{
	uint32_t capacity = hull->capacity ? hull->capacity * 2 : 16;
	struct clock_point *points;

	if (hull->count < hull->capacity)
		return 0;
	if (hull->capacity >= CLOCK_HULL_POINTS) {
		hull_thin(hull);
		return 0;
	}
	points = realloc(hull->points, capacity * sizeof(*points));
	if (!points)
		return error_set(-ENOMEM, "clock bounds: out of memory");
	hull->points = points;
	hull->capacity = capacity;
	return 0;
}

static uint32_t find_place(const struct clock_hull *hull, int64_t time)
{
	return LOWER_BOUND(hull->count, i, hull->points[i].time < time);
}

static void hull_insert(struct clock_hull *hull, struct clock_point point)
{
	uint32_t at = find_place(hull, point.time);
	struct clock_point *points = hull->points;

	if (at < hull->count && points[at].time == point.time) {
		if (point.host <= points[at].host)
			return;
		points[at] = point;
	} else {
		if (at > 0 && at < hull->count && !is_corner(&points[at - 1], &point, &points[at]))
			return;
		memmove(&points[at + 1], &points[at], (hull->count - at) * sizeof(*points));
		points[at] = point;
		hull->count++;
	}
	while (at + 2 < hull->count && !is_corner(&points[at], &points[at + 1], &points[at + 2]))
		hull_remove(hull, at + 1);
	for (; at >= 2 && !is_corner(&points[at - 2], &points[at - 1], &points[at]); at--)
		hull_remove(hull, at - 1);
}

static int hull_add(struct clock_hull *hull, struct clock_point point)
{
	int rc = hull_reserve(hull);

	if (rc)
		return rc;
	if (hull->count && point.time <= hull->points[hull->count - 1].time) {
		hull_insert(hull, point);
		return 0;
	}
	while (hull->count >= 2 &&
	       !is_corner(&hull->points[hull->count - 2], &hull->points[hull->count - 1], &point))
		hull->count--;
	hull->points[hull->count++] = point;
	return 0;
}

/* The point furthest in the direction of a slope: greatest host - slope * time. */
static const struct clock_point *hull_extreme(const struct clock_hull *hull,
					      struct clock_slope slope)
{
	uint32_t low = 0, high = hull->count - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		const struct clock_point *a = &hull->points[middle], *b = a + 1;

		if ((__int128)(b->host - a->host) * slope.run_ticks >
		    (__int128)(b->time - a->time) * slope.rise_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return &hull->points[low];
}

/* ---- a band: floors and ceilings ---- */

void clock_band_fini(struct clock_band *band)
{
	free(band->hulls[CLOCK_FLOOR].points);
	free(band->hulls[CLOCK_CEILING].points);
}

static bool is_near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) < (uint64_t)REACH;
}

bool clock_band_reaches(const struct clock_band *band, uint64_t time, uint64_t host_ns)
{
	return !band->bounds ||
	       (is_near(time, band->origin_time) && is_near(host_ns, band->origin_host));
}

static struct clock_point relative(const struct clock_band *band, enum clock_side side,
				   uint64_t time, uint64_t host_ns)
{
	struct clock_point point = {(int64_t)(time - band->origin_time),
				    (int64_t)(host_ns - band->origin_host)};

	if (side == CLOCK_CEILING)
		point.host = -point.host;
	return point;
}

int clock_band_add(struct clock_band *band, enum clock_side side, uint64_t time, uint64_t host_ns)
{
	int rc;

	if (!clock_band_reaches(band, time, host_ns))
		return -ERANGE;
	if (!band->bounds) {
		band->origin_time = band->first = band->last = time;
		band->origin_host = host_ns;
	}
	rc = hull_add(&band->hulls[side], relative(band, side, time, host_ns));
	if (rc)
		return rc;
	band->first = time < band->first ? time : band->first;
	band->last = time > band->last ? time : band->last;
	band->bounds++;
	return 0;
}

int clock_band_add_band(struct clock_band *band, const struct clock_band *other)
{
	uint64_t bounds = band->bounds + other->bounds;

	if (!band->bounds && other->bounds) { /* everything in reach of the other band is then in
					       * reach */
		band->origin_time = other->origin_time;
		band->origin_host = other->origin_host;
		band->first = other->first;
		band->last = other->last;
		band->bounds = 1;
	}
	for (int side = CLOCK_FLOOR; side <= CLOCK_CEILING; side++) {
		const struct clock_hull *hull = &other->hulls[side];

		for (uint32_t i = 0; i < hull->count; i++) {
			const struct clock_point *point = &hull->points[i];
			int64_t host = side == CLOCK_CEILING ? -point->host : point->host;
			int rc = clock_band_add(band, side,
						other->origin_time + (uint64_t)point->time,
						other->origin_host + (uint64_t)host);

			if (rc)
				return rc;
		}
		if (hull->slack_ns > band->hulls[side].slack_ns)
			band->hulls[side].slack_ns = hull->slack_ns;
	}
	band->bounds = bounds;
	return 0;
}

/* ---- the lines that fit ---- */

/* A band, optionally with one more bound, with all bounds moved inwards by shrink_ns. */
struct query {
	const struct clock_band *band;
	const struct clock_prior *prior;
	const struct clock_point *extra; /* an additional bound on extra_side; may be NULL */
	enum clock_side extra_side;
	__int128 shrink_ns;
};

/* Lowest (floor) or highest (ceiling) offset of a line of this slope, times its run; false if that
 * side is open. */
static bool offset_at(const struct query *query, enum clock_side side, struct clock_slope slope,
		      __int128 *ret_offset, struct clock_point *ret_point)
{
	const struct clock_hull *hull = &query->band->hulls[side];
	const struct clock_point *extra = query->extra_side == side ? query->extra : NULL;
	const struct clock_point *point = NULL;
	struct clock_slope seen = slope;
	__int128 best = 0;

	if (side == CLOCK_CEILING)
		seen.rise_ns = -slope.rise_ns;
	if (hull->count) {
		point = hull_extreme(hull, seen);
		best = (__int128)point->host * seen.run_ticks -
		       (__int128)point->time * seen.rise_ns;
	}
	if (extra) {
		__int128 other = (__int128)extra->host * seen.run_ticks -
				 (__int128)extra->time * seen.rise_ns;

		if (!point || other > best) {
			point = extra;
			best = other;
		}
	}
	if (!point)
		return false;
	best += query->shrink_ns * seen.run_ticks;
	*ret_offset = side == CLOCK_CEILING ? -best : best;
	*ret_point = *point;
	if (side == CLOCK_CEILING)
		ret_point->host = -ret_point->host;
	return true;
}

/* -1, 0, 1 */
static int compare_slopes(struct clock_slope a, struct clock_slope b)
{
	__int128 left = (__int128)a.rise_ns * b.run_ticks;
	__int128 right = (__int128)b.rise_ns * a.run_ticks;

	return left < right ? -1 : left > right;
}

/* The greatest (direction 1) or least (-1) slope of any fitting line. Newton's method on the
 * concave function slope -> room between floor and ceiling, from outside. Each step takes the slope
 * at which the two touching points just leave room, so it ends after at most as many steps as there
 * are corners, in practice after less than ten. */
static bool extreme_slope(const struct query *query, int direction, struct clock_slope *ret_slope)
{
	struct clock_slope slope = direction > 0 ? query->prior->greatest : query->prior->least;
	struct clock_slope limit = direction > 0 ? query->prior->least : query->prior->greatest;

	for (int step = 0; step < 4 * CLOCK_HULL_POINTS; step++) {
		struct clock_point low, high;
		__int128 floor_offset, ceiling_offset, rise;
		int64_t run;

		if (!offset_at(query, CLOCK_FLOOR, slope, &floor_offset, &low) ||
		    !offset_at(query, CLOCK_CEILING, slope, &ceiling_offset, &high) ||
		    floor_offset <= ceiling_offset) {
			*ret_slope = slope;
			return true;
		}
		run = direction > 0 ? high.time - low.time : low.time - high.time;
		rise = direction > 0 ? (__int128)high.host - low.host
				     : (__int128)low.host - high.host;
		rise -= direction > 0 ? 2 * query->shrink_ns : -2 * query->shrink_ns;
		if (run <= 0 || rise > 2 * (__int128)REACH || rise < -2 * (__int128)REACH)
			return false;
		slope.rise_ns = (int64_t)rise;
		slope.run_ticks = run;
		if (compare_slopes(slope, limit) * direction < 0)
			return false;
	}
	return false;
}

static __int128 divide_down(__int128 value, __int128 by)
{
	__int128 quotient = value / by;

	return quotient - (value % by < 0);
}

/* (offset + rise * time) / run, with fraction. */
static __int128 value_at(struct clock_slope slope, __int128 offset, int64_t time)
{
	__int128 value = offset + (__int128)slope.rise_ns * time;
	__int128 whole = divide_down(value, slope.run_ticks);
	__int128 rest = value - whole * slope.run_ticks;

	return whole * ((__int128)1 << CLOCK_FRACTION_BITS) +
	       (rest << CLOCK_FRACTION_BITS) / slope.run_ticks;
}

/* Bounding box of the feasible set in the plane (value at first, value at last). */
struct box {
	__int128 least[2], greatest[2];
};

static bool feasible_box(const struct query *query, const int64_t ends[2], struct box *ret_box,
			 struct clock_slope ret_slopes[2])
{
	struct clock_point point;
	__int128 offset;

	if (!extreme_slope(query, 1, &ret_slopes[1]) || !extreme_slope(query, -1, &ret_slopes[0]))
		return false;
	for (int end = 0; end < 2; end++) {
		struct clock_slope down = ret_slopes[end ? 0 : 1], up = ret_slopes[end ? 1 : 0];

		if (!offset_at(query, CLOCK_FLOOR, down, &offset, &point))
			return false;
		ret_box->least[end] = value_at(down, offset, ends[end]);
		if (!offset_at(query, CLOCK_CEILING, up, &offset, &point))
			return false;
		ret_box->greatest[end] = value_at(up, offset, ends[end]);
	}
	return true;
}

static __int128 larger(__int128 a, __int128 b)
{
	return a > b ? a : b;
}

static __int128 distance_to_box(const struct box *box, const __int128 values[2])
{
	__int128 distance = 0;

	for (int end = 0; end < 2; end++) {
		distance = larger(distance, box->greatest[end] - values[end]);
		distance = larger(distance, values[end] - box->least[end]);
	}
	return distance;
}

/* With few bounds the slope is hardly determined and the centre may have any slope. Take the
 * nominal slope if that costs (almost) nothing, so that times outside the range stay plausible. */
static void prefer_nominal(const struct query *query, const struct box *box,
			   const struct clock_slope slopes[2], const int64_t ends[2],
			   __int128 values[2])
{
	struct clock_slope slope = query->prior->nominal;
	__int128 low, high, other[2], distance = distance_to_box(box, values);
	struct clock_point point;

	if (compare_slopes(slope, slopes[0]) < 0 || compare_slopes(slope, slopes[1]) > 0 ||
	    !offset_at(query, CLOCK_FLOOR, slope, &low, &point) ||
	    !offset_at(query, CLOCK_CEILING, slope, &high, &point))
		return;
	for (int end = 0; end < 2; end++)
		other[end] = value_at(slope, low + (high - low) / 2, ends[end]);
	if (distance_to_box(box, other) <=
	    distance + distance / 16 + ((__int128)1 << CLOCK_FRACTION_BITS)) {
		values[0] = other[0];
		values[1] = other[1];
	}
}

static void centre(const struct query *query, const struct box *box,
		   const struct clock_slope slopes[2], const int64_t ends[2], __int128 values[2])
{
	for (int end = 0; end < 2; end++)
		values[end] = box->least[end] + (box->greatest[end] - box->least[end]) / 2;
	prefer_nominal(query, box, slopes, ends, values);
}

/* One side is open: the line of nominal slope that touches the other. */
static void touch(const struct query *query, const int64_t ends[2], __int128 values[2])
{
	struct clock_slope slope = query->prior->nominal;
	struct clock_point point;
	__int128 offset = 0;

	if (!offset_at(query, CLOCK_FLOOR, slope, &offset, &point))
		offset_at(query, CLOCK_CEILING, slope, &offset, &point);
	for (int end = 0; end < 2; end++)
		values[end] = value_at(slope, offset, ends[end]);
}

static int64_t clamp_relative(const struct clock_band *band, uint64_t time)
{
	if (is_near(time, band->origin_time))
		return (int64_t)(time - band->origin_time);
	return time > band->origin_time ? REACH : -REACH;
}

static bool solve(const struct query *query, uint64_t first, uint64_t last,
		  struct clock_line *ret_line)
{
	const struct clock_band *band = query->band;
	int64_t ends[2] = {clamp_relative(band, first), clamp_relative(band, last)};
	const __int128 origin = (__int128)band->origin_host << CLOCK_FRACTION_BITS;
	struct clock_slope slopes[2], strict_slopes[2];
	struct query strict = *query;
	struct box box, strict_box;
	__int128 values[2], error;

	*ret_line = (struct clock_line){.first = first, .last = last, .error_ns = UINT64_MAX};
	if (!band->hulls[CLOCK_FLOOR].count || !band->hulls[CLOCK_CEILING].count) {
		touch(query, ends, values);
	} else {
		if (!feasible_box(query, ends, &box, slopes))
			return false;
		strict.shrink_ns += larger(band->hulls[CLOCK_FLOOR].slack_ns,
					   band->hulls[CLOCK_CEILING].slack_ns);
		if (strict.shrink_ns != query->shrink_ns &&
		    feasible_box(&strict, ends, &strict_box, strict_slopes))
			centre(&strict, &strict_box, strict_slopes, ends, values);
		else
			centre(query, &box, slopes, ends, values);
		/* one half for rounding to a nanosecond, and upwards */
		error = distance_to_box(&box, values) + ((__int128)3 << CLOCK_FRACTION_BITS) / 2 -
			1;
		error >>= CLOCK_FRACTION_BITS;
		ret_line->error_ns = error > (__int128)UINT64_MAX ? UINT64_MAX : (uint64_t)error;
	}
	ret_line->host_first = values[0] + origin;
	ret_line->host_last = values[1] + origin;
	return true;
}

int clock_band_solve(const struct clock_band *band, const struct clock_prior *prior, uint64_t first,
		     uint64_t last, struct clock_line *ret_line)
{
	struct query query = {.band = band, .prior = prior};

	return solve(&query, first, last, ret_line) ? 0 : -EDOM;
}

/* Contradicting bounds that are centuries apart: any line of nominal slope is as good. */
static void solve_blindly(const struct query *query, struct clock_line *line)
{
	const struct clock_band *band = query->band;
	const struct clock_slope slope = query->prior->nominal;
	const __int128 origin = (__int128)band->origin_host << CLOCK_FRACTION_BITS;

	line->host_first = origin + value_at(slope, 0, clamp_relative(band, line->first));
	line->host_last = origin + value_at(slope, 0, clamp_relative(band, line->last));
	line->error_ns = UINT64_MAX;
}

void clock_band_solve_relaxed(const struct clock_band *band, const struct clock_prior *prior,
			      uint64_t first, uint64_t last, struct clock_line *ret_line)
{
	struct query query = {.band = band, .prior = prior};
	int64_t infeasible = 0, feasible = REACH;

	if (solve(&query, first, last, ret_line))
		return;
	while (feasible - infeasible > 1) {
		int64_t middle = infeasible + (feasible - infeasible) / 2;

		query.shrink_ns = -middle;
		if (solve(&query, first, last, ret_line))
			feasible = middle;
		else
			infeasible = middle;
	}
	query.shrink_ns = -feasible;
	if (!solve(&query, first, last, ret_line))
		solve_blindly(&query, ret_line);
	ret_line->relaxed_ns = (uint64_t)feasible;
}

bool clock_band_admits(struct clock_band *band, const struct clock_prior *prior,
		       enum clock_side side, uint64_t time, uint64_t host_ns)
{
	struct clock_point point = relative(band, side, time, host_ns), touched;
	struct query query = {band, prior, &point, side, 0};
	struct clock_slope slopes[2], slope = band->witness;
	__int128 low, high, room;

	if (band->has_witness) {
		room = (__int128)point.time * slope.rise_ns + band->witness_offset;
		if (side == CLOCK_CEILING)
			room = -room;
		if (room >= (__int128)point.host * slope.run_ticks)
			return true;
	}
	if (!extreme_slope(&query, 1, &slopes[1]) || !extreme_slope(&query, -1, &slopes[0]))
		return false;
	/* the mediant lies between both: a witness at the edge would be broken by the next bound */
	slope.rise_ns = slopes[0].rise_ns / 2 + slopes[1].rise_ns / 2;
	slope.run_ticks = slopes[0].run_ticks / 2 + slopes[1].run_ticks / 2;
	for (int attempt = 0; attempt < 3; attempt++) {
		if (slope.run_ticks <= 0)
			slope = slopes[1];
		if (!offset_at(&query, CLOCK_FLOOR, slope, &low, &touched) ||
		    !offset_at(&query, CLOCK_CEILING, slope, &high, &touched)) {
			/* one side is open: nothing contradicts, and there is no middle to remember
			 */
			band->has_witness = false;
			return true;
		}
		if (low <= high)
			break;
		slope = slopes[attempt];
	}
	band->witness = slope;
	band->witness_offset = low + (high - low) / 2;
	band->has_witness = true;
	return true;
}

uint64_t clock_band_violations(const struct clock_band *band, const struct clock_map *map,
			       uint64_t tolerance_ns)
{
	uint64_t violations = 0;

	for (int side = CLOCK_FLOOR; side <= CLOCK_CEILING; side++) {
		const struct clock_hull *hull = &band->hulls[side];

		for (uint32_t i = 0; i < hull->count; i++) {
			const struct clock_point *point = &hull->points[i];
			__int128 host =
				clock_map_to_host(map, band->origin_time + (uint64_t)point->time);
			__int128 bound = side == CLOCK_CEILING ? -point->host : point->host;

			bound += band->origin_host;
			bound = side == CLOCK_CEILING ? host - bound : bound - host;
			violations += bound > (__int128)tolerance_ns;
		}
	}
	return violations;
}
