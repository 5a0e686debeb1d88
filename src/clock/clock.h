/* SPDX-License-Identifier: MIT
 *
 * clock/clock.h - put every clock on CLOCK_MONOTONIC, and say how well
 *
 * A clock_domain is fed with what is known about one clock and solved into a clock_map (a function
 * to host nanoseconds) and a clock_certificate (its offset, drift, error bound and the number of
 * causality violations). Memory does not grow with the number of bounds fed.
 */
#ifndef CLOCK_CLOCK_H
#define CLOCK_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum clock_method {
	CLOCK_METHOD_NONE = 0,  /* nothing known: times cannot be placed */
	CLOCK_METHOD_SAME = 1,  /* it is CLOCK_MONOTONIC */
	CLOCK_METHOD_HOST = 2,  /* it is a known host clock: exact to the pairing window */
	CLOCK_METHOD_PAIRS = 3, /* device and host timer read together, piecewise linear */
	CLOCK_METHOD_HULL = 4   /* causality alone: the convex hull of the bounds */
};

struct clock_certificate {
	enum clock_method method;
	int candidate;     /* CLOCK_METHOD_HOST and _SAME: index of the candidate, else -1 */
	int64_t offset_ns; /* host = device (in ns) + offset + drift; at reference_time */
	bool has_drift;    /* it is larger than the error allows by chance, or there is no error */
	int64_t drift_ppb; /* how much faster the host clock runs, parts per 10^9; 0 where it is not known */
	uint64_t error_ns;       /* no converted time is further from the truth than this */
	uint64_t reference_time; /* device time of offset_ns */
	uint64_t bounds;         /* causality bounds fed */
	uint64_t
		violations; /* kept bounds that the solution breaks (by more than error_ns, where it
				does not come from the bounds themselves); 0 or it is wrong */
};

struct clock_map;
/* Host nanoseconds of a device time, rounded to the nearest, monotonic, saturating at 0 and
 * UINT64_MAX; outside what was fed the nearest piece is continued. 3 ns where times come nearly
 * sorted, as the last piece is remembered. */
uint64_t clock_map_to_host(const struct clock_map *map, uint64_t time);
/* The device time whose host time is (nearest to) host_ns. */
uint64_t clock_map_from_host(const struct clock_map *map, uint64_t host_ns);
void clock_map_free(struct clock_map *map); /* NULL-safe */

struct clock_domain;

/* frequency_hz: nominal ticks per second; 0: not known, taken from the pairs. Errors: -ENOMEM. */
int clock_domain_new(uint64_t frequency_hz, struct clock_domain **ret_domain);
void clock_domain_free(struct clock_domain *domain); /* NULL-safe */

/* A host clock the device might be showing: `map` is borrowed and must outlive the domain. */
int clock_domain_candidate(struct clock_domain *domain, const struct clock_map *map,
			   uint64_t error_ns);

/* At device `time` the host's clock was in [lower, upper]. */
int clock_domain_pair(struct clock_domain *domain, uint64_t time, uint64_t host_lower_ns,
		      uint64_t host_upper_ns);
/* The host was at host_ns before the device was at `time`: enqueue-enter <= QUEUED. */
int clock_domain_after(struct clock_domain *domain, uint64_t time, uint64_t host_ns);
/* The host was at host_ns after the device was at `time`: END <= completion seen. */
int clock_domain_before(struct clock_domain *domain, uint64_t time, uint64_t host_ns);

/* Chooses: a candidate that brackets every bound and pair, else pairs, else the hull. Of several
 * candidates the one with the least room above an `after` bound (then below a `before` bound, then
 * the first) is taken; one that is the identity gives CLOCK_METHOD_SAME. Where only one kind of
 * bound was fed, a candidate must be within 10 ms of one. Pairs so wide that the hull is 16 times
 * as tight do not decide. error_ns holds for times within the range
 * of what was fed, and for a line as long as the clock's rate is constant; it is UINT64_MAX where
 * nothing bounds one side. More can be fed and solved again afterwards. Errors: -ENOMEM.
 * Nothing known gives method NONE and a map that is the identity, with error_ns = UINT64_MAX. */
int clock_domain_solve(struct clock_domain *domain, struct clock_certificate *ret_certificate,
		       struct clock_map **ret_map);

/* The map of CLOCK_MONOTONIC to itself. */
int clock_map_identity(struct clock_map **ret_map);

#endif
