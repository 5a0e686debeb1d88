/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_driver.h - how a driver is asked for the reports of an OA unit
 */
#ifndef COLLECT_INTEL_OA_DRIVER_H
#define COLLECT_INTEL_OA_DRIVER_H

#include <stddef.h>

#include "collect/intel/oa_stream.h"

/* What stands next in what was read. */
enum oa_next {
	OA_NEXT_END,    /* nothing */
	OA_NEXT_REPORT, /* … of the layout's size */
	OA_NEXT_LOSS    /* reports are missing here */
};

struct oa_driver {
	/* Fills in all but the period. As oa_stream_ask; facts are all zero before. */
	int (*ask)(const struct gpu_node *node, uint32_t nth, struct oa_facts *facts);
	/* The number of a metric set that was added; -errno: -EADDRINUSE: it is there already. */
	int (*add_set)(const struct gpu_node *node, const struct oa_set *set);
	void (*remove_set)(const struct gpu_node *node, int set);
	/* A descriptor that does not block, of a stream that is on; -errno. The layout may become another. */
	int (*open)(const struct gpu_node *node, struct oa_facts *facts, int set);
	/* What that says, with the error chain. */
	int (*refused)(int error);
	/* at: from 0 on. */
	enum oa_next (*next)(const struct oa_layout *layout, const uint8_t *bytes, size_t size,
			     size_t *at, const uint8_t **ret_report);
	/* After EIO: of enum xe_oa_status. NULL: reading does not say so. */
	uint64_t (*status)(const struct gpu_node *node, int fd);
};

extern const struct oa_driver oa_xe_driver, oa_i915_driver;

#endif
