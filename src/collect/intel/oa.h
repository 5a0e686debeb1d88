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

/* Counters of a report, whatever they count: 64 since Xe2, before that 54 and less. */
enum { OA_RAW_MOST = 64, OA_RAW_NAME_BYTES = 8 };

enum oa_width { OA_ABSENT, OA_32, OA_40, OA_64 };

struct oa_place {
	uint8_t width;   /* enum oa_width */
	uint16_t offset; /* bytes from the report's begin */
	uint16_t high;   /* of the upper 8 bits of 40 */
};

struct oa_register {
	uint32_t address, value;
};

/* How a report's counters lie. */
enum oa_positions {
	OA_POSITIONS_GEN12,  /* A0 to A35, of which 32 have 40 bits; B0 to B7; C0 to C7 */
	OA_POSITIONS_XE_HPG, /* … A0 to A37, of which 24 have 40 bits */
	OA_POSITIONS_PEC     /* 64 of 64 bits */
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
	uint8_t positions;    /* enum oa_positions */
	bool is_wired;        /* what stands in the places does so by whatever set */
	struct oa_place places[OA_COUNTERS];
	const struct oa_set *set;
};

/* The two formats that i915 has, of which a GPU has one: DG2 and later; Gen8 to Gen12. */
extern const struct oa_layout oa_xe_hpg_layout, oa_gen12_layout;

/* Whether a driver lists it because a recorder of ours is about to open a stream. */
bool oa_is_own_set(const char *uuid);

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
	uint64_t raw[OA_RAW_MOST]; /* by position */
};

/* How many there are, and where. */
uint32_t oa_raw_count(const struct oa_layout *layout);
struct oa_place oa_raw_place(const struct oa_layout *layout, uint32_t nth);
/* "A7", "PEC20". */
void oa_raw_name(const struct oa_layout *layout, uint32_t nth, char ret_name[OA_RAW_NAME_BYTES]);

/* bytes: of the layout's size. False: nothing was written there. */
bool oa_report_read(const struct oa_layout *layout, const void *bytes,
		    struct oa_report *ret_report);

/* What came between two reports: time, ticks, counters; each was less than its width holds. */
struct oa_report oa_report_since(const struct oa_layout *layout, const struct oa_report *before,
				 const struct oa_report *now);

/* The exponent by which a unit with so many time stamps a second reports at least hz times a second. */
uint32_t oa_exponent_find(uint64_t clock_hz, uint32_t hz);
uint64_t oa_period_ns(uint64_t clock_hz, uint32_t exponent);
/* A time of so many of them, without its overflow. */
uint64_t oa_time_ns(uint64_t clock_hz, uint64_t time);

#endif
