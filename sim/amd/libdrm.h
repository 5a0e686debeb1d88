/* SPDX-License-Identifier: MIT
 *
 * sim/amd/libdrm.h - the functions of libdrm_amdgpu that ROCm calls; for five functions its headers
 * are not worth a dependency
 */
#pragma once

#include <stdint.h>

struct device;

/* The first fields of libdrm's amdgpu_gpu_info; the rest stays as the caller has it. */
struct gpu_info {
	uint32_t asic_id, chip_rev, chip_external_rev, family_id;
	uint64_t flags, max_engine_khz, max_memory_khz;
	uint32_t of_graphics[8], counter_khz;
};

/* The file stays the caller's. */
int amdgpu_device_initialize(int file, uint32_t *ret_major, uint32_t *ret_minor,
			     struct device **ret_device);
int amdgpu_device_deinitialize(struct device *device);
/* Valid until the device is given back. */
int amdgpu_device_get_fd(const struct device *device);
const char *amdgpu_get_marketing_name(const struct device *device);
int amdgpu_query_gpu_info(const struct device *device, struct gpu_info *ret_info);
