/* SPDX-License-Identifier: MIT
 *
 * clock/clock.h - convert every clock to CLOCK_MONOTONIC, with an error bound
 *
 * A clock_domain collects readings and bounds of one clock. Solving it gives a clock_map (a
 * function to host nanoseconds) and a clock_certificate (its offset, drift, error bound and the
 * number of causality violations). Memory does not grow with the number of bounds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum clock_method {
	CLOCK_METHOD_NONE = 0,  /* no readings and no bounds: times cannot be converted */
	CLOCK_METHOD_SAME = 1,  /* it is CLOCK_MONOTONIC */
	CLOCK_METHOD_HOST = 2,  /* it is a known host clock: exact to the pairing window */
	CLOCK_METHOD_PAIRS = 3, /* device and host timer read together, piecewise linear */
	CLOCK_METHOD_HULL = 4   /* causality alone: the convex hull of the bounds */
};

struct clock_certificate {
	enum clock_method method;
	int candidate;     /* CLOCK_METHOD_HOST and _SAME: index of the candidate, otherwise -1 */
	int64_t offset_ns; /* host = device (in ns) + offset + drift; at reference_time */
	/* the drift exceeds what the error allows by chance, or there is no error */
	bool has_drift;
	int64_t drift_ppb; /* how much faster the host clock runs, parts per 10^9; 0 if unknown */
	uint64_t error_ns; /* max distance of a converted time from the truth */
	uint64_t reference_time; /* device time of offset_ns */
	uint64_t bounds;         /* causality bounds fed */
	/* kept bounds that the solution breaks (by more than error_ns, unless the solution comes
	 * from the bounds themselves), bounds too far from all others to be
	 * kept, and pairs that it misses by more
	 * than error_ns; if not 0, the solution is wrong */
	uint64_t violations;
};

struct clock_map;
/* Host nanoseconds of a device time, rounded to the nearest, monotonic, saturating at 0 and
 * UINT64_MAX. Outside the known range the nearest piece is extrapolated. 3 ns if times come nearly
 * sorted, because the last piece is remembered. */
uint64_t clock_map_to_host(const struct clock_map *map, uint64_t time);
/* The device time that maps to host_ns, or nearest to it. */
uint64_t clock_map_from_host(const struct clock_map *map, uint64_t host_ns);
void clock_map_free(struct clock_map *map); /* NULL-safe */

struct clock_domain;

/* frequency_hz: nominal ticks per second; 0: unknown, estimated from the pairs. Errors: -ENOMEM. */
int clock_domain_new(uint64_t frequency_hz, struct clock_domain **ret_domain);
void clock_domain_free(struct clock_domain *domain); /* NULL-safe */

/* A host clock that may be the device's clock: `map` is borrowed and must outlive the domain. */
int clock_domain_candidate(struct clock_domain *domain, const struct clock_map *map,
			   uint64_t error_ns);

/* At device time `time` the host clock was in [lower, upper]. */
int clock_domain_pair(struct clock_domain *domain, uint64_t time, uint64_t host_lower_ns,
		      uint64_t host_upper_ns);
/* The host was at host_ns before the device was at `time`: start of the enqueue call <= QUEUED. */
int clock_domain_after(struct clock_domain *domain, uint64_t time, uint64_t host_ns);
/* The host was at host_ns after the device was at `time`: END <= completion seen. */
int clock_domain_before(struct clock_domain *domain, uint64_t time, uint64_t host_ns);

/* Chooses a candidate that brackets every bound and pair, otherwise the pairs, otherwise the hull.
 * Among several candidates it takes the one with the least room above an `after` bound (then below
 * a `before` bound, then the first). The identity gives CLOCK_METHOD_SAME. If there are bounds of
 * one kind only, a candidate must be within 10 ms of one. Pairs so wide that the hull is 16 times
 * as tight do not decide. error_ns holds for times within the known range, and for a line as long
 * as the clock's rate is constant; it is UINT64_MAX if one side has no bound. More readings can be
 * added and solved again afterwards. Errors: -ENOMEM. Without readings and bounds the method is
 * NONE and the map is the identity, with error_ns = UINT64_MAX. */
int clock_domain_solve(struct clock_domain *domain, struct clock_certificate *ret_certificate,
		       struct clock_map **ret_map);

/* The map of CLOCK_MONOTONIC to itself. */
int clock_map_identity(struct clock_map **ret_map);
