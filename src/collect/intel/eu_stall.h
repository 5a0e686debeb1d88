/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eu_stall.h - what a row of Intel's EU-stall sampling says
 *
 * Source: xe_drm.h and xe_eu_stall.c of Linux 6.15 and later (layouts of PVC and Xe2), 7.x (Xe3p). A row is of one instruction
 * pointer in one XeCore: how many EU threads stood at it since the row before, each with the reason why it did not
 * execute. It has no time, no process and no address space: those are known by when it was read and what was where.
 */
#ifndef COLLECT_INTEL_EU_STALL_H
#define COLLECT_INTEL_EU_STALL_H

#include <stdint.h>

enum {
	EU_STALL_ROW_BYTES = 64,
	EU_STALL_REASONS = 10,
	EU_STALL_IP_SHIFT = 3 /* an instruction pointer counts 8 bytes: a compacted instruction */
};

/* Counters lie side by side, a byte each, right behind the instruction pointer. */
struct eu_stall_layout {
	const char *name; /* "Xe2" */
	uint32_t ip_bits; /* of the address only as many, shifted, are known */
	uint32_t reasons; /* counters there are */
	const char *stalls
		[EU_STALL_REASONS]; /* their reasons, lowest byte first; "active": it executed */
};

/* Of a GPU's graphics IP, major and minor ("12.60": PVC). NULL: it has none that is known. */
const struct eu_stall_layout *eu_stall_layout_find(uint32_t major, uint32_t minor);

#endif
