/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa.h - what a report of Intel's OA unit (observation architecture) says
 *
 * Source: xe_oa.c of Linux 7.3 (formats, their sizes and headers), the descriptions of metric sets that Intel publishes for
 * drivers (which counter is which; the selectors of Xe2 and later). A report is all counters at one moment: what they
 * count goes on from report to report, so that what came between two is their difference.
 */
#ifndef COLLECT_INTEL_OA_H
#define COLLECT_INTEL_OA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oa_counter {
	OA_BUSY,       /* cycles of the GPU in which it had something to do */
	OA_EU_ACTIVE,  /* cycles in which an EU executed, of all EUs together */
	OA_EU_STALLED, /* … in which it had threads, and none of them executed */
	OA_COUNTERS
};

enum oa_width { OA_ABSENT, OA_32, OA_40, OA_64 };

struct oa_place {
	uint8_t width;   /* enum oa_width */
	uint16_t offset; /* bytes from the report's begin */
	uint16_t high;   /* of the upper 8 bits of 40 */
};

struct oa_register {
	uint32_t address, value;
};

/* A metric set of our own: what its registers choose stands in the places of a layout. */
struct oa_set {
	const char *uuid; /* under which drivers list it */
	const struct oa_register *registers;
	uint32_t count;
};

struct oa_layout {
	const char *name;     /* as the driver's source calls it */
	uint64_t xe_format;   /* XE_OA_FORMAT */
	uint32_t i915_format; /* I915_PERF_OA_FORMAT; 0: that driver has it not */
	uint32_t bytes;
	bool has_long_header; /* of four words of 64 bits instead of 32 */
	struct oa_place places[OA_COUNTERS];
	const struct oa_set *set;
};

/* The two formats that i915 has, of which a GPU has one: DG2 and later; Gen8 to Gen12. */
extern const struct oa_layout oa_xe_hpg_layout, oa_gen12_layout;

/* Of a GPU's graphics IP. NULL: older than Gen12, of which the driver xe has no OA. */
const struct oa_layout *oa_layout_find(uint32_t major, uint32_t minor);

enum oa_reason { OA_TIMER = 1 << 0, OA_CONTEXT_SWITCH = 1 << 3 };
#define OA_NO_CONTEXT UINT32_MAX

struct oa_report {
	uint64_t time;    /* the unit's time stamps: 32 or 56 bits */
	uint32_t ticks;   /* cycles of the GPU's clock */
	uint32_t reasons; /* enum oa_reason: why it was written */
	uint32_t context; /* which runs on the engine; OA_NO_CONTEXT: none, or not told */
	uint64_t counters[OA_COUNTERS];
};

/* bytes: of the layout's size. False: nothing was written there. */
bool oa_report_read(const struct oa_layout *layout, const void *bytes,
		    struct oa_report *ret_report);

/* What came between two reports: time, ticks and counters; each was less than its width holds. */
struct oa_report oa_report_since(const struct oa_layout *layout, const struct oa_report *before,
				 const struct oa_report *now);

/* The exponent by which a unit with so many time stamps a second reports at least hz times a second. */
uint32_t oa_exponent_find(uint64_t clock_hz, uint32_t hz);
uint64_t oa_period_ns(uint64_t clock_hz, uint32_t exponent);
/* A time of so many of them, without its overflow. */
uint64_t oa_time_ns(uint64_t clock_hz, uint64_t time);

#endif
