/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eu_driver.h - how a driver is asked for its stream of EU-stall rows
 */
#ifndef COLLECT_INTEL_EU_DRIVER_H
#define COLLECT_INTEL_EU_DRIVER_H

#include <stddef.h>

#include "collect/intel/eu_stream.h"

struct eu_driver {
	/* As eu_stream_ask; facts are all zero before. */
	int (*ask)(const struct gpu_node *node, uint32_t nth, uint64_t wanted_cycles,
		   struct eu_stream_facts *facts);
	/* A descriptor that does not block, of a stream that is on; -errno. */
	int (*open)(const struct gpu_node *node, const struct eu_stream_facts *facts);
	/* What that says, with the error chain. */
	int (*refused)(int error);
	/* How many times rows were lost, as whole rows themselves say. NULL: reading says it, by EIO. */
	uint64_t (*count_losses)(const void *rows, size_t size);
};

extern const struct eu_driver eu_xe_driver, eu_i915_driver;

/* A number of cycles between samples that is a multiple of the hardware's least. */
enum { EU_RATE_CYCLES = 251, EU_RATES = 7, EU_RATE_USUAL = 4 };

#endif
