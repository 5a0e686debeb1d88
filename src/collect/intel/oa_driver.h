/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_driver.h - the functions of a driver for the reports of an OA unit
 */
#pragma once

#include <stddef.h>

#include "collect/intel/oa_stream.h"

/* The next item in the bytes that were read. */
enum oa_next {
	OA_NEXT_END,    /* nothing */
	OA_NEXT_REPORT, /* a report of the layout's size */
	OA_NEXT_LOSS    /* reports are missing here */
};

struct oa_driver {
	/* Fills in all but the period. As oa_stream_ask; facts is all zero before. */
	int (*ask)(const struct gpu_node *node, uint32_t nth, struct oa_facts *facts);
	/* Returns the id of the metric set that was added; -errno: -EADDRINUSE: the driver lists it
	 * already. */
	int (*add_set)(const struct gpu_node *node, const struct oa_set *set);
	void (*remove_set)(const struct gpu_node *node, int set);
	/* Returns a non-blocking descriptor of an enabled stream; -errno. May change the layout. */
	int (*open)(const struct gpu_node *node, struct oa_facts *facts, int set);
	/* Sets the error chain for that errno and returns an error. */
	int (*refused)(int error);
	/* *at starts with 0. */
	enum oa_next (*next)(const struct oa_layout *layout, const uint8_t *bytes, size_t size,
			     size_t *at, const uint8_t **ret_report);
	/* Returns enum xe_oa_status after EIO. NULL: read() does not report EIO. */
	uint64_t (*status)(const struct gpu_node *node, int fd);
};

static const struct gpu_stream_words oa_words = {"OA", "reports", "reads this GPU's OA unit",
						 "a stream of reports"};

extern const struct oa_driver oa_xe_driver, oa_i915_driver;
