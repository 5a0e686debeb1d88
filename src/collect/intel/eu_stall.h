/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eu_stall.h - layouts of the rows of Intel's EU stall sampling
 *
 * Source:   xe_drm.h and xe_eu_stall.c of Linux 6.15 and later (layouts of PVC and Xe2), 7.x
 *           (Xe3p). A row is for one instruction pointer in one XeCore. For each reason it counts
 *           the EU threads that were stopped at the instruction since the previous row. A row has
 *           no time, no process and no address space; these follow from the time of the read and
 *           from the code that was at the address.
 */
#ifndef COLLECT_INTEL_EU_STALL_H
#define COLLECT_INTEL_EU_STALL_H

#include <stdint.h>

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

#endif
