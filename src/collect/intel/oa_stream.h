/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_stream.h - the reports of a GPU's OA unit: asked for, read as they come, and opened again
 */
#ifndef COLLECT_INTEL_OA_STREAM_H
#define COLLECT_INTEL_OA_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/intel/gpu_node.h"
#include "collect/intel/oa.h"
#include "collect/intel/oa_sets.h"

struct oa_stream;
struct oa_driver;

struct oa_facts {
	const struct oa_driver *driver;
	const struct oa_layout *layout;
	struct gpu_gt gt;  /* its IP is 0.00 where the driver does not tell it */
	uint32_t unit;     /* the driver's number of the OA unit */
	uint32_t eu_count; /* of the GT; 0: not told */
	uint32_t exponent;
	uint64_t clock_hz; /* of its time stamps */
	uint64_t period_ns;
	/* As oa_sets.h names it; "": duet's own. Set by who opens the stream … */
	char set[OA_SET_NAME_BYTES];
	/* … borrowed to its end: has the driver list the set; NULL: it does already */
	struct igdmd *igdmd;
	uint32_t igdmd_set; /* … as this one */
};

/* From one report to the next. What the GPU does not count is absent: has_… */
struct oa_step {
	uint64_t end_ns;  /* CLOCK_MONOTONIC */
	uint64_t took_ns; /* 0: nothing is known of before: it begins */
	uint64_t clock_hz;
	uint64_t busy_ns, eu_active_ns, eu_stalled_ns; /* of took_ns; of EUs their mean */
	bool has_busy, has_eu;
	/* With a set of the driver's list: what each counter counted, by its position. */
	const uint64_t *raw;
	uint32_t raw_count; /* 0: with duet's own set */
};
typedef void (*oa_on_step)(void *context, const struct oa_step *step);

struct oa_counts {
	uint64_t reports;
	uint64_t losses; /* times that the unit had no room … */
	uint64_t
		lost; /* … for so many reports, by the time between those that came; each time one at least */
	uint64_t resets;    /* the stream ended, and another is opened */
	uint64_t ended_ns;  /* the last that was told before; 0: it is open */
	uint64_t opened_ns; /* … again; 0: it never had to be */
};

/* nth: of its GTs that have a unit. hz: reports a second, at least. Errors, with the error chain: -ENOENT: it has not so
 * many; -ENOTSUP where the driver or duet knows of none; -errno. */
int oa_stream_ask(const struct gpu_node *node, uint32_t nth, uint32_t hz,
		  struct oa_facts *ret_facts);

/* node: borrowed to the end. Errors, with what mends it in the error chain: -EACCES, -EBUSY, -errno. */
int oa_stream_open(const struct gpu_node *node, const struct oa_facts *facts,
		   struct oa_stream **ret_stream);
void oa_stream_close(struct oa_stream *stream); /* NULL-safe */

/* Tells all that there is, and never waits. */
void oa_stream_read(struct oa_stream *stream, oa_on_step on_step, void *context);

/* As it was opened: its layout may be another than was asked for. */
const struct oa_facts *oa_stream_facts(const struct oa_stream *stream);
struct oa_counts oa_stream_counted(const struct oa_stream *stream);

#endif
