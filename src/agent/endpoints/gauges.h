/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/gauges.h - the last values of counters: memory, power, clocks, …
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/endpoints/families.h"
#include "base/hash.h"

enum { GAUGE_LABELS = 6, GAUGES_MAX = 1000, GAUGE_FAMILIES_MAX = 256 };

struct gauge_key {
	const char *name, *unit;          /* as in `duet report --by metric` */
	const char *labels[GAUGE_LABELS]; /* values, in the order of gauge_labels */
};

struct gauge_family {
	struct metric_family family; /* its texts are in `texts` */
	char *texts;                 /* owned */
	double factor;
	uint64_t hash; /* from name and unit */
};

struct gauge {
	size_t family;
	char *labels[GAUGE_LABELS]; /* one allocation, owned by labels[0] */
	uint64_t hash;              /* from family and labels */
	double value;
	uint64_t set_ns;
};

/* All zero: empty. */
struct gauges {
	struct gauge_family *families;
	size_t families_count, families_capacity;
	struct gauge *all;
	size_t count, capacity;
	struct hash_map index; /* gauge.hash -> gauge */
	uint64_t refused;      /* readings without room */
};

void gauges_fini(struct gauges *gauges);

/* Sets a value; NAN and infinity are ignored. Errors: -ENOMEM. */
int gauges_set(struct gauges *gauges, const struct gauge_key *key, double value, uint64_t now_ns);

/* Removes values that were not set for a minute. */
void gauges_forget(struct gauges *gauges, uint64_t now_ns);

void gauges_visit(const struct gauges *gauges, const struct metric_visitor *visitor);
