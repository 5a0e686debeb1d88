/* SPDX-License-Identifier: MIT
 *
 * collect/intel/stalls.h - rows of Intel's EU stall sampling, summed by instruction
 *
 * Source:   xe_drm.h and xe_eu_stall.c of Linux 6.15 and later (layouts of PVC and Xe2), 7.x
 * (Xe3p). A row is for one instruction pointer in one XeCore. For each reason it counts the EU
 *           threads that stood there since the row before. It has no time, no process and no
 * address space; these follow from the time of the read and from the code that was at the address.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/quota.h"

enum {
	EU_STALL_ROW_BYTES = 64,
	EU_STALL_REASONS = 10,
	EU_STALL_IP_SHIFT =
		3 /* an instruction pointer counts 8 bytes, the size of a compacted instruction */
};

/* Counters of one byte each follow the instruction pointer. */
struct eu_stall_layout {
	const char *name; /* "Xe2" */
	uint32_t ip_bits; /* number of known address bits, after the shift */
	uint32_t reasons; /* number of counters */
	/* Names of the counters, lowest byte first; "active": it executed. */
	const char *stalls[EU_STALL_REASONS];
};

/* Finds the layout for a graphics IP, major and minor ("12.60": PVC). NULL: none is known. */
const struct eu_stall_layout *eu_stall_layout_find(uint32_t major, uint32_t minor);

struct stalls;

/* Max number of instructions: 64 MiB with all of them, 4 MiB with those of a usual program. */
enum { MAX_STALLS_INSTRUCTIONS = 1 << 19 };

/* Counts of one instruction, in the layout's order of reasons. note: 0 at first; the callback may
 * cache the instruction's owner here, and usually finds it again in later calls. */
typedef void (*stalls_on_counts)(void *context, uint64_t address,
				 const uint32_t counts[EU_STALL_REASONS], uint32_t *note);

/* budget: borrowed; several tables may share it across threads. Each table allocates its initial
 * size in any case, and frees the rest if the budget is exceeded. NULL: room for
 * MAX_STALLS_INSTRUCTIONS. Returns NULL: out of memory. */
struct stalls *stalls_new(const struct eu_stall_layout *layout, struct quota *budget);
void stalls_free(struct stalls *stalls); /* NULL-safe */

/* Counts whole rows as they were read; a partial row at the end is ignored. */
void stalls_take(struct stalls *stalls, const void *rows, size_t size);

/* Passes each entry to the callback, in order of first appearance, and resets the counts. Addresses
 * are the low bits that the layout has. */
void stalls_emit(struct stalls *stalls, stalls_on_counts on_counts, void *context);

/* Number of rows that were not counted: instructions beyond MAX_STALLS_INSTRUCTIONS, or beyond the
 * budget. */
uint64_t stalls_lost(const struct stalls *stalls);
