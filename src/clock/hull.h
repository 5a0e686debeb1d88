/* SPDX-License-Identifier: MIT
 *
 * clock/hull.h - causality bounds kept as two convex hulls, and the lines between them
 *
 * A band is a set of bounds on the host time of one clock: floors (host <= f(time)) and ceilings
 * (f(time) <= host). A line can touch only corners of the two convex hulls, so only these are kept,
 * at most CLOCK_HULL_POINTS of each.
 */
#pragma once

#include "clock/map.h"

#define CLOCK_HULL_POINTS 256

struct clock_point {
	int64_t time, host; /* relative to the band's origin; ceilings have the host negated */
};

/* The upper hull of points, by increasing time. */
struct clock_hull {
	struct clock_point *points;
	uint32_t count, capacity;
	int64_t slack_ns; /* max height of a dropped point above the kept hull */
};

enum clock_side { CLOCK_FLOOR = 0, CLOCK_CEILING = 1 };

/* The range of plausible slopes. */
struct clock_prior {
	struct clock_slope least, nominal, greatest;
};

struct clock_band {
	struct clock_hull hulls[2]; /* by enum clock_side */
	uint64_t origin_time, origin_host;
	uint64_t first, last; /* times of the bounds */
	uint64_t bounds;
	bool contradictory; /* no line fits */
	/* A line that fits every bound so far: offset / run + rise / run * time. */
	bool has_witness;
	struct clock_slope witness;
	__int128 witness_offset;
};

struct clock_line {
	uint64_t first, last;           /* times */
	__int128 host_first, host_last; /* with fraction */
	/* half the height of the feasible set; UINT64_MAX: one side is open */
	uint64_t error_ns;
	/* bounds had to be moved apart by this to let a line through */
	uint64_t relaxed_ns;
};

void clock_band_fini(struct clock_band *band);

/* Whether this bound can be kept together with those of the band: it must be within 2^61 of them.
 */
bool clock_band_reaches(const struct clock_band *band, uint64_t time, uint64_t host_ns);

/* Whether a line fits all of the band and this bound. Moves the witness so that it does. */
bool clock_band_admits(struct clock_band *band, const struct clock_prior *prior,
		       enum clock_side side, uint64_t time, uint64_t host_ns);

/* Errors: -ENOMEM, -ERANGE (out of reach). */
int clock_band_add(struct clock_band *band, enum clock_side side, uint64_t time, uint64_t host_ns);

/* All of another band's bounds. */
int clock_band_add_band(struct clock_band *band, const struct clock_band *other);

/* The line through the middle of the feasible set over [first, last], which holds all bounds.
 * Errors: -EDOM if no line fits. */
int clock_band_solve(const struct clock_band *band, const struct clock_prior *prior, uint64_t first,
		     uint64_t last, struct clock_line *ret_line);

/* As above; if no line fits, the bounds are moved apart by the least amount that lets one through.
 */
void clock_band_solve_relaxed(const struct clock_band *band, const struct clock_prior *prior,
			      uint64_t first, uint64_t last, struct clock_line *ret_line);

/* Number of kept bounds that the map breaks by more than tolerance_ns. */
uint64_t clock_band_violations(const struct clock_band *band, const struct clock_map *map,
			       uint64_t tolerance_ns);
