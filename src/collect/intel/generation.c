/* SPDX-License-Identifier: MIT
 *
 * collect/intel/generation.c - finds the generation of an Intel GPU's commands
 *
 * Runs in:  the recorder
 * Gets:     a GPU's render node
 * Gives:    its generation, numbered as in event/batch.h
 * Owns:     nothing
 * Fails:    returns 0: its batches are not parsed
 * Source:   xe reports its graphics IP; i915 reports only the PCI device id, whose upper byte is
 *           looked up as in Linux 7.3's include/drm/intel/pciids.h
 */
#include "collect/intel/generation.h"

#include <string.h>

#include "abi/i915.h"
#include "base/array.h"
#include "base/error.h"

uint32_t generation_of_ip(uint32_t major, uint32_t minor)
{
	if (major >= 35)
		return BATCH_XE3P + 1;
	if (major >= 30)
		return BATCH_XE3 + 1;
	if (major >= 20)
		return BATCH_XE2 + 1;
	if (major != 12)
		return 0;
	if (minor == 60)
		return BATCH_XE_HPC + 1;
	return minor >= 55 ? BATCH_XE_HPG + 1 : BATCH_GEN12 + 1;
}

static const struct {
	uint8_t upper, generation;
} devices[] = {
	{0x19, BATCH_GEN9},   {0x0a, BATCH_GEN9},   {0x1a, BATCH_GEN9},   {0x5a, BATCH_GEN9},
	{0x31, BATCH_GEN9},   {0x59, BATCH_GEN9},   {0x87, BATCH_GEN9},   {0x3e, BATCH_GEN9},
	{0x9b, BATCH_GEN9},   {0x8a, BATCH_GEN11},  {0x45, BATCH_GEN11},  {0x4e, BATCH_GEN11},
	{0x9a, BATCH_GEN12},  {0x4c, BATCH_GEN12},  {0x46, BATCH_GEN12},  {0x49, BATCH_GEN12},
	{0xa7, BATCH_GEN12},  {0x56, BATCH_XE_HPG}, {0x4f, BATCH_XE_HPG}, {0x7d, BATCH_XE_HPG},
	{0xb6, BATCH_XE_HPG}, {0x0b, BATCH_XE_HPC},
};

uint32_t generation_of_pci(uint32_t device)
{
	for (size_t i = 0; i < ARRAY_COUNT(devices); i++)
		if (devices[i].upper == device >> 8)
			return devices[i].generation + 1u;
	return 0;
}

static uint32_t ask_xe(const struct gpu_node *node)
{
	struct gpu_gt gt;

	if (gpu_node_find_gt(node, 0, &gt)) {
		error_clear();
		return 0;
	}
	return generation_of_ip(gt.major, gt.minor);
}

static uint32_t ask_i915(const struct gpu_node *node)
{
	int device = 0;
	struct i915_getparam question = {.param = I915_PARAM_CHIPSET_ID, .value = &device};

	if (node->ioctl(node->fd, I915_IOCTL_GETPARAM, &question))
		return 0;
	return generation_of_pci((uint32_t)device);
}

uint32_t generation_of(const struct gpu_node *node)
{
	return strcmp(node->driver, "xe") == 0 ? ask_xe(node) : ask_i915(node);
}
