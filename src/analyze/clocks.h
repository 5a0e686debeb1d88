/* SPDX-License-Identifier: MIT
 *
 * analyze/clocks.h - aligns every clock domain of a trace with host time
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock/clock.h"
#include "event/event.h"

struct trace_reader;
struct clocks;

struct clocks_domain {
	uint32_t id;
	struct event_clock
		clock; /* the row of the file; for CLOCK_ID_MONOTONIC a default one if absent */
	struct clock_certificate
		certificate; /* certificate.candidate is an index of clocks_at, or -1 */
	struct clock_map *map;
	uint64_t bounds_without_launch; /* executions that bound nothing because their launch is not
					   in the file */
};

/* Reads all launches and executions once if the trace has a device clock; otherwise it reads no
 * rows. Errors: -ENOMEM and those of the reader. Damaged chunks are skipped. */
int clocks_new(struct trace_reader *reader, struct clocks **ret_clocks);
void clocks_free(struct clocks *clocks); /* NULL-safe */

size_t clocks_count(const struct clocks *clocks);
const struct clocks_domain *clocks_at(const struct clocks *clocks, size_t index);

/* The domain with this id; NULL if the trace has no row for it. */
const struct clocks_domain *clocks_find(const struct clocks *clocks, uint32_t id);

/* Whether times of the domain can be converted to host time. */
bool clocks_is_placed(const struct clocks *clocks, uint32_t id);

/* Converts a time to host ns. For a domain that is not aligned: ns from the domain's own origin. */
uint64_t clocks_to_host(const struct clocks *clocks, uint32_t id, uint64_t time);
/* The same without the lookup by id, for many times of one domain. NULL: an unknown domain, the
 * time is returned unchanged. */
uint64_t clocks_domain_to_host(const struct clocks_domain *domain, uint64_t time);

/* Converts host ns to a time of the domain, in the domain's own unit. The domain must be
 * aligned. */
uint64_t clocks_from_host(const struct clocks *clocks, uint32_t id, uint64_t host_ns);

/* The largest error bound of all aligned device domains in ns, limited to 10 ms. */
uint64_t clocks_device_error_ns(const struct clocks *clocks);

/* "TSC", "MONOTONIC", … or the name of the domain's device. The second returns "hull", "pairs",
 * … */
const char *clocks_name(const struct clocks *clocks, const struct trace_reader *reader,
			const struct clocks_domain *domain);
const char *clocks_method_name(enum clock_method method);
