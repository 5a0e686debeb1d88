/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/device.c - the devices of the simulated driver
 *
 * Runs in:  a program that uses CUDA
 * Gives:    the properties of an H200
 */
#include <stdio.h>
#include <string.h>

#include "driver.h"

enum { BUS_FIRST = 0x1b };

static bool is_device(CUdevice device)
{
	return device >= 0 && device < (CUdevice)sim_visible_count();
}

CUresult cuDeviceGet(CUdevice *ret_device, int ordinal)
{
	const struct {
		CUdevice *ret_device;
		int ordinal;
	} parameters = {ret_device, ordinal};
	SIM_CALL(cuDeviceGet, &parameters);

	if (sim_call_begin(&call)) {
		if (!ret_device)
			call.result = CUDA_ERROR_INVALID_VALUE;
		else if (!is_device(ordinal))
			call.result = CUDA_ERROR_INVALID_DEVICE;
		else
			*ret_device = ordinal;
	}
	return sim_call_end(&call);
}

CUresult cuDeviceGetCount(int *ret_count)
{
	SIM_CALL(cuDeviceGetCount, &ret_count);

	if (sim_call_begin(&call)) {
		if (ret_count)
			*ret_count = (int)sim_visible_count();
		else
			call.result = CUDA_ERROR_INVALID_VALUE;
	}
	return sim_call_end(&call);
}

CUresult cuDeviceGetName(char *ret_name, int bytes, CUdevice device)
{
	const struct {
		char *ret_name;
		int bytes;
		CUdevice device;
	} parameters = {ret_name, bytes, device};
	SIM_CALL(cuDeviceGetName, &parameters);

	if (sim_call_begin(&call)) {
		if (!ret_name || bytes <= 0)
			call.result = CUDA_ERROR_INVALID_VALUE;
		else if (!is_device(device))
			call.result = CUDA_ERROR_INVALID_DEVICE;
		else
			snprintf(ret_name, (size_t)bytes, "%s%s", sim_device_name(),
				 sim_visible_instance() ? " MIG 1g.18gb" : "");
	}
	return sim_call_end(&call);
}

CUresult cuDeviceGetUuid_v2(CUuuid *ret_uuid, CUdevice device)
{
	const struct {
		CUuuid *ret_uuid;
		CUdevice device;
	} parameters = {ret_uuid, device};
	SIM_CALL(cuDeviceGetUuid_v2, &parameters);

	if (sim_call_begin(&call)) {
		if (!ret_uuid)
			call.result = CUDA_ERROR_INVALID_VALUE;
		else if (!is_device(device))
			call.result = CUDA_ERROR_INVALID_DEVICE;
		else
			sim_visible_uuid((uint32_t)device, (uint8_t *)ret_uuid->bytes);
	}
	return sim_call_end(&call);
}

CUresult cuDeviceGetPCIBusId(char *ret_text, int bytes, CUdevice device)
{
	const struct {
		char *ret_text;
		int bytes;
		CUdevice device;
	} parameters = {ret_text, bytes, device};
	SIM_CALL(cuDeviceGetPCIBusId, &parameters);

	if (sim_call_begin(&call)) {
		if (!ret_text || bytes <= 0)
			call.result = CUDA_ERROR_INVALID_VALUE;
		else if (!is_device(device))
			call.result = CUDA_ERROR_INVALID_DEVICE;
		else
			snprintf(ret_text, (size_t)bytes, "0000:%02X:00.0",
				 (unsigned)BUS_FIRST + sim_visible_device((uint32_t)device));
	}
	return sim_call_end(&call);
}

CUresult cuDeviceTotalMem_v2(size_t *ret_bytes, CUdevice device)
{
	const struct {
		size_t *ret_bytes;
		CUdevice device;
	} parameters = {ret_bytes, device};
	SIM_CALL(cuDeviceTotalMem_v2, &parameters);

	if (sim_call_begin(&call)) {
		if (!ret_bytes)
			call.result = CUDA_ERROR_INVALID_VALUE;
		else if (!is_device(device))
			call.result = CUDA_ERROR_INVALID_DEVICE;
		else
			*ret_bytes = SIM_MEMORY_BYTES;
	}
	return sim_call_end(&call);
}

static const struct {
	CUdevice_attribute attribute;
	int value;
} attributes[] = {
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
	{CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
	{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
	{CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
	{CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
	{CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
	{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3201000},
	{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144},
	{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 62914560},
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
	{CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
	{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
	{CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
	{CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
	{CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
	{CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
	{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
};

static CUresult attribute_of(CUdevice device, CUdevice_attribute attribute, int *ret_value)
{
	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*ret_value = (int)sim_options()->sms;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
		*ret_value = (int)sim_options()->sm_mhz * 1000;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*ret_value = (int)sim_capability() / 10;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*ret_value = (int)sim_capability() % 10;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*ret_value = BUS_FIRST + (int)sim_visible_device((uint32_t)device);
		return CUDA_SUCCESS;
	default:
		break;
	}
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].attribute != attribute)
			continue;
		*ret_value = attributes[i].value;
		return CUDA_SUCCESS;
	}
	if (attribute == 0 || attribute > 150)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_value = 0; /* what else an H200 has, this one lacks */
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *ret_value, CUdevice_attribute attribute, CUdevice device)
{
	const struct {
		int *ret_value;
		CUdevice_attribute attribute;
		CUdevice device;
	} parameters = {ret_value, attribute, device};
	SIM_CALL(cuDeviceGetAttribute, &parameters);

	if (sim_call_begin(&call)) {
		if (!ret_value)
			call.result = CUDA_ERROR_INVALID_VALUE;
		else if (!is_device(device))
			call.result = CUDA_ERROR_INVALID_DEVICE;
		else
			call.result = attribute_of(device, attribute, ret_value);
	}
	return sim_call_end(&call);
}
