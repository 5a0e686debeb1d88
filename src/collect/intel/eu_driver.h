/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eu_driver.h - the functions of a driver for its stream of EU stall rows
 */
#pragma once

#include <stddef.h>

#include "collect/intel/eu_stream.h"

struct eu_driver {
	/* As eu_stream_ask; facts is all zero before. */
	int (*ask)(const struct gpu_node *node, uint32_t nth, uint64_t wanted_cycles,
		   struct eu_stream_facts *facts);
	/* Returns a non-blocking descriptor of an enabled stream; -errno. */
	int (*open)(const struct gpu_node *node, const struct eu_stream_facts *facts);
	/* Sets the error chain for that errno and returns an error. */
	int (*refused)(int error);
	/* Number of losses that the rows contain. NULL: read() reports losses with EIO. */
	uint64_t (*count_losses)(const void *rows, size_t size);
};

static const struct gpu_stream_words eu_words = {"EU stalls", "them", "samples this GPU",
						 "their stream"};

extern const struct eu_driver eu_xe_driver, eu_i915_driver;

/* The cycles between samples are a multiple of the hardware's smallest number. */
enum { EU_RATE_CYCLES = 251, EU_RATES = 7, EU_RATE_USUAL = 4 };
