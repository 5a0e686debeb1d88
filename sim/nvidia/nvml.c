/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/nvml.c - the simulated NVML: devices, their identity and their processes
 *
 * Runs in:  a program that watches GPUs, in place of libnvidia-ml.so.1; it needs no driver beside
 *           it
 * Gives:    the same devices as the simulated libcuda
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nvml.h"

enum { BUS_FIRST = 0x1b };

static _Atomic int init_count;
/* Each GPU, and behind it its MIG instances. */
enum { HANDLES = 1 + MAX_SIM_INSTANCES };
static struct nvmlDevice_st devices[MAX_SIM_DEVICES * HANDLES];

bool sim_nvml_is_ready(void)
{
	return init_count > 0;
}

bool sim_nvml_is_device(nvmlDevice_t device)
{
	return device >= devices && device < devices + sim_options()->devices * HANDLES;
}

static nvmlReturn_t answer(const char *text, char *ret_text, unsigned bytes)
{
	if (!ret_text)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (strlen(text) >= bytes)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(ret_text, text);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit_v2(void)
{
	int asked = sim_failure(__func__);

	if (asked)
		return (nvmlReturn_t)asked;
	for (uint32_t i = 0; !init_count && i < MAX_SIM_DEVICES * HANDLES; i++)
		devices[i] = (struct nvmlDevice_st){.index = i / HANDLES, .instance = i % HANDLES};
	if (!init_count)
		sim_nvml_begin();
	init_count++;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown(void)
{
	SIM_CHECK_NVML();
	init_count--;
	return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS:
		return "The operation was successful";
	case NVML_ERROR_UNINITIALIZED:
		return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT:
		return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED:
		return "Not Supported";
	case NVML_ERROR_NO_PERMISSION:
		return "Insufficient Permissions";
	case NVML_ERROR_NOT_FOUND:
		return "Not Found";
	case NVML_ERROR_INSUFFICIENT_SIZE:
		return "Insufficient Size";
	case NVML_ERROR_GPU_IS_LOST:
		return "GPU is lost";
	default:
		return "Unknown Error";
	}
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *ret_text, unsigned bytes)
{
	SIM_CHECK_NVML();
	return answer("580.159.01", ret_text, bytes);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *ret_text, unsigned bytes)
{
	SIM_CHECK_NVML();
	return answer("13.580.159.01", ret_text, bytes);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *ret_version)
{
	SIM_CHECK_NVML();
	if (!ret_version)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret_version = (int)sim_options()->driver;
	return NVML_SUCCESS;
}

/* ---- devices --------------------------------------------------------------------------------- */

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *ret_count)
{
	SIM_CHECK_NVML();
	if (!ret_count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret_count = (unsigned)sim_options()->devices;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *ret_device)
{
	SIM_CHECK_NVML();
	if (!ret_device || index >= sim_options()->devices)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret_device = &devices[index * HANDLES];
	return NVML_SUCCESS;
}

static void write_uuid(const struct nvmlDevice_st *device, char *ret_text)
{
	uint8_t uuid[16];

	sim_instance_uuid(device->index, device->instance, uuid);
	ret_text += sprintf(ret_text, "%s", device->instance ? "MIG-" : "GPU-");
	for (int i = 0; i < 16; i++)
		ret_text += sprintf(ret_text, "%s%02x",
				    i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *ret_device)
{
	char text[64];

	SIM_CHECK_NVML();
	for (uint32_t i = 0; uuid && ret_device && i < sim_options()->devices; i++) {
		write_uuid(&devices[i * HANDLES], text);
		if (strcmp(text, uuid) != 0)
			continue;
		*ret_device = &devices[i * HANDLES];
		return NVML_SUCCESS;
	}
	return uuid && ret_device ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT;
}

/* "0000:1B:00.0", with four or eight digits in front */
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *ret_device)
{
	unsigned domain, bus, index;

	SIM_CHECK_NVML();
	if (!bus_id || !ret_device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (sscanf(bus_id, "%x:%x:", &domain, &bus) != 2)
		return NVML_ERROR_INVALID_ARGUMENT;
	index = bus - BUS_FIRST;
	if (domain || index >= sim_options()->devices)
		return NVML_ERROR_NOT_FOUND;
	*ret_device = &devices[index * HANDLES];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *ret_text, unsigned bytes)
{
	char text[SIM_NAME_BYTES + 16];

	SIM_CHECK_DEVICE(ret_text);
	snprintf(text, sizeof(text), "%s%s", sim_device_name(),
		 device->instance ? " MIG 1g.18gb" : "");
	return answer(text, ret_text, bytes);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *ret_text, unsigned bytes)
{
	char text[64];

	SIM_CHECK_DEVICE(ret_text);
	write_uuid(device, text);
	return answer(text, ret_text, bytes);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, struct nvml_pci_info *ret_info)
{
	SIM_CHECK_DEVICE(ret_info);
	*ret_info = (struct nvml_pci_info){.bus = BUS_FIRST + device->index,
					   .device_id = 0x233510de,
					   .subsystem_id = 0x18be10de};
	snprintf(ret_info->legacy_bus_id, sizeof(ret_info->legacy_bus_id), "0000:%02X:00.0",
		 ret_info->bus);
	snprintf(ret_info->bus_id, sizeof(ret_info->bus_id), "00000000:%02X:00.0", ret_info->bus);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *ret_major, int *ret_minor)
{
	SIM_CHECK_DEVICE(ret_major && ret_minor);
	*ret_major = (int)sim_capability() / 10;
	*ret_minor = (int)sim_capability() % 10;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *ret_current, unsigned *ret_pending)
{
	SIM_CHECK_LUXURY(ret_current && ret_pending);
	*ret_current = *ret_pending = sim_options()->mig > 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *ret_count)
{
	SIM_CHECK_LUXURY(ret_count);
	*ret_count = MAX_SIM_INSTANCES;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
						 nvmlDevice_t *ret_instance)
{
	SIM_CHECK_LUXURY(ret_instance && !device->instance && index < MAX_SIM_INSTANCES);
	if (index >= sim_options()->mig)
		return NVML_ERROR_NOT_FOUND;
	*ret_instance = device + 1 + index;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned *ret_id)
{
	SIM_CHECK_LUXURY(ret_id && device->instance);
	*ret_id = device->instance;
	return NVML_SUCCESS;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* 0: none */
static uint32_t pid(void)
{
	if (sim_options()->nvml_pid)
		return (uint32_t)sim_options()->nvml_pid;
	return sim_find_driver() ? (uint32_t)getpid() : 0;
}

/* Returns one process: from the options, or this process if it uses the GPU. -> 0, or the error for
 * the caller's buffer */
static nvmlReturn_t check_room(unsigned *count, const void *ret_processes, unsigned *ret_count)
{
	unsigned room = *count;

	*ret_count = *count = pid() != 0;
	if (room < *ret_count)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	return *ret_count && !ret_processes ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

static nvmlReturn_t list_processes(unsigned *count, struct nvml_process_v2 *ret_processes)
{
	unsigned found;
	nvmlReturn_t result = check_room(count, ret_processes, &found);

	if (!result && found)
		ret_processes[0] = (struct nvml_process_v2){.pid = pid(),
							    .used_bytes = 512u << 20,
							    .gpu_instance_id = UINT32_MAX,
							    .compute_instance_id = UINT32_MAX};
	return result;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count,
						     struct nvml_process_v2 *ret_processes)
{
	SIM_CHECK_LUXURY(count);
	return list_processes(count, ret_processes);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned *count,
						     struct nvml_process_v2 *ret_processes)
{
	SIM_CHECK_LUXURY(count);
	return list_processes(count, ret_processes);
}

/* Nobody draws. */
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned *count,
						      struct nvml_process_v2 *ret_processes)
{
	SIM_CHECK_LUXURY(count);
	*count = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned *count,
						  struct nvml_process *ret_processes)
{
	nvmlReturn_t result;
	unsigned found;

	SIM_CHECK_LUXURY(count);
	result = check_room(count, ret_processes, &found);
	if (!result && found)
		ret_processes[0] = (struct nvml_process){.pid = pid(), .used_bytes = 512u << 20};
	return result;
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
					     struct nvml_process_utilization *ret_samples,
					     unsigned *count, unsigned long long after_us)
{
	uint64_t now_ns = sim_now();
	nvmlReturn_t result;
	unsigned found;
	uint32_t percent;

	SIM_CHECK_LUXURY(count);
	result = check_room(count, ret_samples, &found);
	percent = (uint32_t)(100 * sim_nvml_load(device, now_ns - 500000000, now_ns));
	/* A process without activity in the last period has no sample. */
	if (!result && (!found || !percent)) {
		*count = 0;
		return NVML_ERROR_NOT_FOUND;
	}
	if (!result)
		ret_samples[0] = (struct nvml_process_utilization){
			.pid = pid(), .timestamp_us = sim_realtime() / 1000, .sm_percent = percent};
	return result;
}
