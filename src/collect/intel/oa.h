/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa.h - decodes reports of Intel's OA unit (observation architecture)
 *
 * Source:   xe_oa.c of Linux 7.3 (formats, their sizes and headers), the descriptions of metric
 *           sets that Intel publishes for drivers (which counter is which; the selectors of Xe2 and
 *           later). A report holds the values of all counters at one time. The counters never
 *           reset, so that the count between two reports is their difference.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oa_counter {
	OA_BUSY,       /* cycles in which the GPU was busy */
	OA_EU_ACTIVE,  /* cycles in which an EU executed, summed over all EUs */
	OA_EU_STALLED, /* cycles in which an EU had threads and none executed */
	OA_COUNTERS
};

/* Max number of counters in a report: 64 since Xe2, at most 54 before. */
enum { MAX_OA_RAW = 64, OA_RAW_NAME_BYTES = 8 };

enum oa_width { OA_ABSENT, OA_32, OA_40, OA_64 };

struct oa_place {
	uint8_t width;   /* enum oa_width */
	uint16_t offset; /* bytes from the start of the report */
	uint16_t high;   /* offset of the upper 8 of 40 bits */
};

struct oa_register {
	uint32_t address, value;
};

/* Layout of a report's counters. */
enum oa_positions {
	OA_POSITIONS_GEN12,  /* A0 to A35 (32 of them have 40 bits), B0 to B7, C0 to C7 */
	OA_POSITIONS_XE_HPG, /* the same with A0 to A37 (24 of them have 40 bits) */
	OA_POSITIONS_PEC     /* 64 counters of 64 bits */
};

/* A metric set of our own. Its registers select the counters that the layout names. */
struct oa_set {
	const char *uuid; /* folder name in the driver's list */
	const struct oa_register *registers;
	uint32_t count;
};

struct oa_layout {
	const char *name;     /* as the driver's source calls it */
	uint64_t xe_format;   /* XE_OA_FORMAT */
	uint32_t i915_format; /* I915_PERF_OA_FORMAT; 0: i915 does not have it */
	uint32_t bytes;
	bool has_long_header; /* header of four 64-bit words instead of 32-bit words */
	uint8_t positions;    /* enum oa_positions */
	bool is_wired;        /* the counters used here are the same in every metric set */
	struct oa_place places[OA_COUNTERS];
	const struct oa_set *set;
};

/* The two formats of i915: DG2 and later; Gen8 to Gen12. */
extern const struct oa_layout oa_xe_hpg_layout, oa_gen12_layout;

/* Whether a driver lists the set only because duet is about to open a stream. */
bool oa_is_own_set(const char *uuid);

/* Finds the layout for a graphics IP. NULL: before Gen12, for which xe has no OA. */
const struct oa_layout *oa_layout_find(uint32_t major, uint32_t minor);

enum oa_reason { OA_TIMER = 1 << 0, OA_CONTEXT_SWITCH = 1 << 3 };
#define OA_NO_CONTEXT UINT32_MAX

struct oa_report {
	uint64_t time;    /* timestamp of the unit, 32 or 56 bits */
	uint32_t ticks;   /* cycles of the GPU's clock */
	uint32_t reasons; /* enum oa_reason: why the report was written */
	uint32_t context; /* context on the engine; OA_NO_CONTEXT: none or unknown */
	uint64_t counters[OA_COUNTERS];
	uint64_t raw[MAX_OA_RAW]; /* by position */
};

/* Number and place of the raw counters. */
uint32_t oa_raw_count(const struct oa_layout *layout);
struct oa_place oa_raw_place(const struct oa_layout *layout, uint32_t nth);
/* Writes "A7", "PEC20". */
void oa_raw_name(const struct oa_layout *layout, uint32_t nth, char ret_name[OA_RAW_NAME_BYTES]);

/* bytes: one report of the layout's size. False: the GPU has not written it. */
bool oa_report_read(const struct oa_layout *layout, const void *bytes,
		    struct oa_report *ret_report);

/* Difference of two reports: time, ticks, counters. Each counter wraps at most once between
 * them. */
struct oa_report oa_report_since(const struct oa_layout *layout, const struct oa_report *before,
				 const struct oa_report *now);

/* Finds the exponent with which a unit reports at least hz times a second, from the rate of its
 * clock. */
uint32_t oa_exponent_find(uint64_t clock_hz, uint32_t hz);
uint64_t oa_period_ns(uint64_t clock_hz, uint32_t exponent);
/* Converts clock ticks to ns without overflow. */
uint64_t oa_time_ns(uint64_t clock_hz, uint64_t time);
