/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_source.h - counters of Intel GPUs from their OA units, as a source of a sampler
 */
#pragma once

#include "collect/counter/source.h"
#include "collect/intel/oa_stream.h"
#include "collect/recording.h"

enum { MAX_OA_UNITS = 32, OA_READS_HZ = 20, OA_USUAL_HZ = 100, OA_MAX_HZ = 1000 };

/* The OA unit of a GT. */
struct oa_unit {
	struct gpu_node node;
	struct oa_facts facts;
	struct oa_stream *stream; /* owned */
	struct igdmd *igdmd;      /* owned; Intel's library, for its metric set; NULL: not needed */
	uint32_t device;          /* id of the trace */
	/* totals since the start, as far as known */
	uint64_t emitted_ns, busy_ns, eu_active_ns, eu_stalled_ns;
	uint64_t raw[MAX_OA_RAW];
	struct oa_counts counted; /* counts that are reported already */
	uint64_t ends;            /* ends of its stream that are reported already */
	uint64_t since_ns;        /* time of an end that has no row yet; 0: none */
};

/* The context of the sources. */
struct oa_units {
	struct recording *recording; /* borrowed */
	struct oa_unit all[MAX_OA_UNITS];
	size_t count;
};

/* Opens each OA unit of each GPU of xe and i915. set: a metric set of the driver's list; "": duet's
 * own. Units that cannot be opened are noted with the reason. Errors: -ENODEV with the error chain:
 * no unit; -ENOMEM. */
int oa_units_open(struct recording *recording, uint32_t hz, const char *set,
		  struct oa_units **ret_units);
/* Notes losses and ends, after its reader has stopped. NULL-safe. */
void oa_units_close(void *units);

extern const struct source oa_source;
extern const struct source_list oa_sources;
