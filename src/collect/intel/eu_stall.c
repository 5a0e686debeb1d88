/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eu_stall.c - layouts of the rows of Intel's EU stall sampling
 *
 * Runs in:  the recorder
 * Gets:     a GPU's graphics IP
 * Gives:    the layout of its rows
 * Owns:     nothing
 * Fails:    NULL for GPUs before PVC, which cannot sample
 */
#include "collect/intel/eu_stall.h"

#include <stddef.h>

enum { PVC = 1260, XE2 = 2000, XE3P = 3500 };

static const struct eu_stall_layout pvc = {"PVC",
					   29,
					   9,
					   {"active", "other", "control", "pipestall", "send",
					    "dist_acc", "sbid", "sync", "inst_fetch"}};
static const struct eu_stall_layout xe2 = {"Xe2",
					   29,
					   10,
					   {"tdr", "other", "control", "pipestall", "send",
					    "dist_acc", "sbid", "sync", "inst_fetch", "active"}};
static const struct eu_stall_layout xe3p = {"Xe3p",
					    61,
					    10,
					    {"tdr", "other", "control", "pipestall", "send",
					     "dist_acc", "sbid", "sync", "inst_fetch", "active"}};

const struct eu_stall_layout *eu_stall_layout_find(uint32_t major, uint32_t minor)
{
	const uint32_t version = major * 100 + minor;

	if (version >= XE3P)
		return &xe3p;
	if (version >= XE2)
		return &xe2;
	return version == PVC ? &pvc : NULL;
}
