/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_source.h - counters of Intel's GPUs by their OA units, as a source of a sampler
 */
#ifndef COLLECT_INTEL_OA_SOURCE_H
#define COLLECT_INTEL_OA_SOURCE_H

#include "collect/intel/oa_stream.h"
#include "collect/recording.h"
#include "collect/source.h"

enum { OA_UNITS_MOST = 32, OA_READS_HZ = 20, OA_USUAL_HZ = 100, OA_MOST_HZ = 1000 };

/* Of a GT. */
struct oa_unit {
	struct gpu_node node;
	struct oa_facts facts;
	struct oa_stream *stream; /* owned */
	struct igdmd *igdmd;      /* owned; of its metric set; NULL: it takes none */
	uint32_t device;          /* the trace's */
	/* since the beginning, as far as it is known */
	uint64_t told_ns, busy_ns, eu_active_ns, eu_stalled_ns;
	uint64_t raw[OA_RAW_MOST];
	struct oa_counts counted; /* so far as it was told */
	uint64_t ends;            /* of its stream, likewise */
	uint64_t since_ns;        /* an end is not told yet: of when it is; 0: there is none */
};

/* The context of the sources. */
struct oa_units {
	struct recording *recording; /* borrowed */
	struct oa_unit all[OA_UNITS_MOST];
	size_t count;
};

/* set: a metric set of the drivers' lists; "": duet's own. Opens each unit of each GPU of xe and i915. Those that cannot be opened are noted with the reason. Errors: -ENODEV with the error
 * chain where there is none; -ENOMEM. */
int oa_units_open(struct recording *recording, uint32_t hz, const char *set,
		  struct oa_units **ret_units);
/* Notes what was lost, and what ended; nobody reads any more. NULL-safe. */
void oa_units_close(void *units);

extern const struct source_list oa_sources;

#endif
