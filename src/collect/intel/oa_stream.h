/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_stream.h - a GPU's stream of OA reports: opens, reads and reopens it
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/intel/experimental/oa_sets.h"
#include "collect/intel/gpu_node.h"
#include "collect/intel/oa.h"

struct oa_stream;
struct oa_driver;

struct oa_facts {
	const struct oa_driver *driver;
	const struct oa_layout *layout;
	struct gpu_gt gt;  /* its IP is 0.00 if the driver does not report it */
	uint32_t unit;     /* the driver's number of the OA unit */
	uint32_t eu_count; /* number of EUs of the GT; 0: unknown */
	uint32_t exponent;
	uint64_t clock_hz; /* rate of its timestamps */
	uint64_t period_ns;
	/* Name of the metric set as in oa_sets.h; "": duet's own. The caller of oa_stream_open sets
	 * it and the next two members. */
	char set[OA_SET_NAME_BYTES];
	/* Borrowed until close; the library that adds the set to the driver's list. NULL: it is
	 * there already. */
	struct igdmd *igdmd;
	uint32_t igdmd_set; /* index of the set in that library */
};

/* Difference of two consecutive reports. A value that the GPU does not count is absent: has_… is
 * false. */
struct oa_step {
	uint64_t end_ns;  /* CLOCK_MONOTONIC */
	uint64_t took_ns; /* 0: no earlier report; the first of a stream */
	uint64_t clock_hz;
	uint64_t busy_ns, eu_active_ns,
		eu_stalled_ns; /* part of took_ns; EU times are means of all EUs */
	bool has_busy, has_eu;
	/* With a set of the driver's list: the raw counters by position. */
	const uint64_t *raw;
	uint32_t raw_count; /* 0: with duet's own set */
};
typedef void (*oa_on_step)(void *context, const struct oa_step *step);

struct oa_counts {
	uint64_t reports;
	uint64_t losses; /* number of times that the unit had no room */
	/* Estimated number of reports lost, at least one per loss, from the time between those
	 * received. */
	uint64_t lost;
	uint64_t resets;    /* ends of the stream after which another one was opened */
	uint64_t ended_ns;  /* time of the last report before the end; 0: the stream is open */
	uint64_t opened_ns; /* when it was reopened; 0: never */
};

/* nth: index among the GPU's GTs that have a unit. hz: min reports per second. Errors, with the
 * error chain: -ENOENT: there are fewer; -ENOTSUP: the driver has none, or duet does not know it;
 * -errno. */
int oa_stream_ask(const struct gpu_node *node, uint32_t nth, uint32_t hz,
		  struct oa_facts *ret_facts);

/* node: borrowed until close. Errors, with the remedy in the error chain: -EACCES, -EBUSY,
 * -errno. */
int oa_stream_open(const struct gpu_node *node, const struct oa_facts *facts,
		   struct oa_stream **ret_stream);
void oa_stream_close(struct oa_stream *stream); /* NULL-safe */

/* Delivers all available reports without waiting. */
void oa_stream_read(struct oa_stream *stream, oa_on_step on_step, void *context);

/* Facts of the open stream; its layout may differ from the one asked for. */
const struct oa_facts *oa_stream_facts(const struct oa_stream *stream);
struct oa_counts oa_stream_counted(const struct oa_stream *stream);
