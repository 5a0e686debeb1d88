/* SPDX-License-Identifier: MIT
 *
 * sim/xe_commands.h - commands of Xe2, for simulated drivers and tests that write them into batches
 *
 * Source:   Mesa's genxml, gen200: numbers, lengths, and the dwords that contain addresses
 */
#pragma once

#include <stdint.h>
#include <string.h>

enum {
	XE2_BATCH_END = 0x0a << 23,
	XE2_BATCH_START = 0x31 << 23 | 1,
	XE2_SECOND_LEVEL = 1 << 22,
	XE2_STATE_BASE_ADDRESS = 0x6101 << 16 | 20,
	XE2_WALKER = 0x7208 << 16 | 38,
	XE2_BASE_DWORDS = 22,
	XE2_WALKER_DWORDS = 40
};

/* Each returns where the next command goes. */
static inline uint32_t *xe_put_base(uint32_t *dwords, uint64_t instructions)
{
	memset(dwords, 0, XE2_BASE_DWORDS * sizeof(*dwords));
	dwords[0] = XE2_STATE_BASE_ADDRESS;
	dwords[10] = (uint32_t)instructions | 1;
	dwords[11] = (uint32_t)(instructions >> 32);
	return dwords + XE2_BASE_DWORDS;
}

static inline uint32_t *xe_put_walker(uint32_t *dwords, uint32_t kernel_offset)
{
	memset(dwords, 0, XE2_WALKER_DWORDS * sizeof(*dwords));
	dwords[0] = XE2_WALKER;
	dwords[19] = kernel_offset;
	return dwords + XE2_WALKER_DWORDS;
}

static inline uint32_t *xe_put_end(uint32_t *dwords)
{
	*dwords = XE2_BATCH_END;
	return dwords + 1;
}
