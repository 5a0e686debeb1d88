/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/old_nvml.c - libnvidia-ml of an old driver: what every release has, memory,
 * and nothing else
 */
#include <stdio.h>

#include "abi/nvml.h"

#define VISIBLE __attribute__((visibility("default")))

struct nvmlDevice_st {
	int unused;
};
static struct nvmlDevice_st gpu;

VISIBLE nvmlReturn_t nvmlInit_v2(void);
VISIBLE nvmlReturn_t nvmlShutdown(void);
VISIBLE nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *ret_count);
VISIBLE nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *ret_device);
VISIBLE nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *ret_text, unsigned bytes);
VISIBLE nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *ret_text, unsigned bytes);
VISIBLE nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, struct nvml_memory *ret_memory);

nvmlReturn_t nvmlInit_v2(void)
{
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown(void)
{
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *ret_count)
{
	*ret_count = 2;
	return NVML_SUCCESS;
}

/* The second one is not ours. */
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *ret_device)
{
	*ret_device = &gpu;
	return index ? NVML_ERROR_NO_PERMISSION : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *ret_text, unsigned bytes)
{
	snprintf(ret_text, bytes, "Tesla K80");
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *ret_text, unsigned bytes)
{
	snprintf(ret_text, bytes, "GPU-00000000-0000-0000-0000-00000000000a");
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, struct nvml_memory *ret_memory)
{
	*ret_memory = (struct nvml_memory){.total_bytes = 12u << 28};
	return NVML_SUCCESS;
}
