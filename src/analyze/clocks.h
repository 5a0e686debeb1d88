/* SPDX-License-Identifier: MIT
 *
 * analyze/clocks.h - every clock domain of a trace, solved
 */
#ifndef ANALYZE_CLOCKS_H
#define ANALYZE_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock/clock.h"
#include "event/event.h"

struct trace_reader;
struct clocks;

struct clocks_domain {
	uint32_t id;
	struct event_clock clock; /* as the file has it; for CLOCK_ID_MONOTONIC made up if absent */
	struct clock_certificate certificate; /* candidate: index of the domain it is */
	struct clock_map *map;
	uint64_t bounds_without_launch; /* executions whose launch is not in the file */
};

/* One pass over launches and executions where a device clock needs it, none otherwise. Errors:
 * -ENOMEM and what the reader fails with; damaged chunks are left out. */
int clocks_new(struct trace_reader *reader, struct clocks **ret_clocks);
void clocks_free(struct clocks *clocks); /* NULL-safe */

size_t clocks_count(const struct clocks *clocks);
const struct clocks_domain *clocks_at(const struct clocks *clocks, size_t index);

/* NULL where the file does not describe the domain. */
const struct clocks_domain *clocks_find(const struct clocks *clocks, uint32_t id);

/* Whether times of the domain have a place in host time. */
bool clocks_is_placed(const struct clocks *clocks, uint32_t id);

/* Host nanoseconds; for a domain without a place its own time in ns, from its own origin. */
uint64_t clocks_to_host(const struct clocks *clocks, uint32_t id, uint64_t time);
/* The same for many times of one domain; NULL: one that is not described. */
uint64_t clocks_domain_to_host(const struct clocks_domain *domain, uint64_t time);

/* What a clock that has a place showed at a host time, in its own unit. */
uint64_t clocks_from_host(const struct clocks *clocks, uint32_t id, uint64_t host_ns);

/* The largest error of the device domains that have a place, at most 10 ms. */
uint64_t clocks_device_error_ns(const struct clocks *clocks);

/* "TSC", "MONOTONIC", … or the domain's device's name; "hull", "pairs", … */
const char *clocks_name(const struct clocks *clocks, const struct trace_reader *reader,
			const struct clocks_domain *domain);
const char *clocks_method_name(enum clock_method method);

#endif
