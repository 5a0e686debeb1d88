/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm_gpus.c - lists the GPUs that CUDA shows to the recorder
 *
 * Runs in:  the recorder's main thread
 * Gets:     the driver
 * Gives:    UUID and PCI address of each GPU, and the trigger of its samples
 * Owns:     nothing
 * Fails:    a GPU without a UUID and address is left out
 */
#include "collect/nvidia/pm_gpus.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
	TURING = 75,
	GA100 = 80,
	USUAL_SYS_MHZ = 1000, /* used if the clock is not reported */
	MIN_CYCLES = 1000
};

/* Converts "00000000:1B:00.0" or "0000:1B:00.0" to the kernel's form. */
static void read_address(const struct cuda_functions *driver, CUdevice device, char *ret_address,
			 size_t size)
{
	if (!driver->cuDeviceGetPCIBusId ||
	    driver->cuDeviceGetPCIBusId(ret_address, (int)size, device))
		*ret_address = '\0';
	for (char *at = ret_address; *at; at++)
		*at = (char)tolower((unsigned char)*at);
}

static void format_uuid(const CUuuid *uuid, bool is_instance, char *ret_text)
{
	const uint8_t *bytes = (const uint8_t *)uuid->bytes;

	ret_text += sprintf(ret_text, "%s", is_instance ? "MIG-" : "GPU-");
	for (int i = 0; i < 16; i++)
		ret_text += sprintf(ret_text, "%s%02x",
				    i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
}

static int attribute(const struct cuda_functions *driver, CUdevice device, CUdevice_attribute which)
{
	int value = 0;

	return driver->cuDeviceGetAttribute(&value, which, device) || value < 0 ? 0 : value;
}

static bool describe(const struct cuda_functions *driver, CUdevice device, struct pm_gpu *gpu)
{
	CUuuid uuid;
	size_t bytes = 0;

	if (driver->cuDeviceGetUuid_v2(&uuid, device))
		return false;
	read_address(driver, device, gpu->address, sizeof(gpu->address));
	if (!driver->cuDeviceGetName ||
	    driver->cuDeviceGetName(gpu->name, sizeof(gpu->name), device))
		snprintf(gpu->name, sizeof(gpu->name), "an NVIDIA GPU");
	/* Only the name shows that it is an instance. */
	gpu->is_instance = strstr(gpu->name, " MIG ");
	format_uuid(&uuid, gpu->is_instance, gpu->uuid);
	if (driver->cuDeviceTotalMem_v2 && !driver->cuDeviceTotalMem_v2(&bytes, device))
		gpu->memory_bytes = bytes;
	gpu->capability =
		(uint32_t)attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) *
			10 +
		(uint32_t)attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	gpu->sm_hz = (uint64_t)attribute(driver, device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * 1000;
	return true;
}

size_t pm_gpus_find(struct cupti *cupti, struct pm_gpu gpus[MAX_PM_GPUS])
{
	const struct cuda_functions *driver = &cupti->driver;
	int shown = 0;
	size_t count = 0;

	if (driver->cuDeviceGetCount(&shown))
		return 0;
	for (int i = 0; i < shown && count < MAX_PM_GPUS; i++) {
		CUdevice device;

		gpus[count] = (struct pm_gpu){.index = (uint32_t)i};
		if (!driver->cuDeviceGet(&device, i) && describe(driver, device, &gpus[count]))
			count++;
	}
	return count;
}

enum pm_trigger pm_trigger_of(uint32_t capability)
{
	if (capability < TURING)
		return PM_TRIGGER_NONE;
	return capability == TURING || capability == GA100 ? PM_TRIGGER_CYCLE : PM_TRIGGER_TIME;
}

uint64_t pm_cycles_of(uint64_t sm_hz, uint32_t hz)
{
	uint64_t sys_hz = sm_hz ? sm_hz : (uint64_t)USUAL_SYS_MHZ * 1000000;
	uint64_t cycles = (sys_hz + hz / 2) / hz;

	return cycles > MIN_CYCLES ? cycles : MIN_CYCLES;
}
