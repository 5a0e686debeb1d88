/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/nvml.c - loads libnvidia-ml if it is installed, and lists the GPUs
 *
 * Runs in:  the recorder
 * Gets:     the driver's library
 * Gives:    its functions, and the identities of the GPUs
 * Owns:     the library, and its state from nvmlInit to nvmlShutdown
 * Fails:    -ENOENT, -ENODEV with a remedy
 * Why:      The library is not linked, because it comes only with the driver. Each function is
 *           looked up by name: if an older driver lacks one, one value is missing and the others
 *           work.
 */
#include "collect/nvidia/nvml.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

#define LIBRARY "libnvidia-ml.so.1"

static const struct {
	nvmlReturn_t result;
	const char *text;
} results[] = {
#define RESULT(name, number, text) {name, text},
	NVML_RESULTS(RESULT)
#undef RESULT
};

const char *nvml_result_text(nvmlReturn_t result)
{
	for (size_t i = 0; i < ARRAY_COUNT(results); i++)
		if (results[i].result == result)
			return results[i].text;
	return "unknown error code; the driver is newer than this duet";
}

/* ---- the library ----------------------------------------------------------------------------- */

enum { OPTIONAL, REQUIRED };

static int take_functions(struct nvml *nvml)
{
	struct nvml_functions *functions = &nvml->functions;

#define TAKE(need, name, parameters)                                                \
	functions->name = (__typeof__(functions->name))dlsym(nvml->handle, #name);  \
	if (need == REQUIRED && !functions->name)                                   \
		return error_set(-ENOENT,                                           \
				 LIBRARY " has no %s; install a driver of 2015 or " \
					 "later",                                   \
				 #name);
	NVML_FUNCTIONS(TAKE)
#undef TAKE
	return 0;
}

int nvml_open(struct nvml *nvml)
{
	nvmlReturn_t result;
	int error;

	*nvml = (struct nvml){.handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)};
	if (!nvml->handle)
		return error_set(-ENOENT,
				 "%s: NVIDIA driver not found; in a container, start it with the "
				 "NVIDIA runtime and NVIDIA_DRIVER_CAPABILITIES=utility,compute",
				 dlerror());
	error = take_functions(nvml);
	if (error)
		return error;
	result = nvml->functions.nvmlInit_v2();
	if (result)
		return error_set(-ENODEV, "nvmlInit: %s (%u)", nvml_result_text(result), result);
	nvml->is_ready = true;
	return 0;
}

void nvml_close(struct nvml *nvml)
{
	if (nvml->is_ready)
		nvml->functions.nvmlShutdown();
	if (nvml->handle)
		dlclose(nvml->handle);
	*nvml = (struct nvml){.handle = NULL};
}

/* ---- the GPUs -------------------------------------------------------------------------------- */

void nvidia_address_format(const char *bus_id, char *ret_address, size_t size)
{
	size_t domain = strcspn(bus_id, ":");

	/* NVML writes eight digits of the PCI domain; the kernel writes as many as needed, at least
	 * four. */
	while (domain > 4 && *bus_id == '0') {
		bus_id++;
		domain--;
	}
	snprintf(ret_address, size, "%s", bus_id);
	for (; *ret_address; ret_address++)
		*ret_address = (char)tolower((unsigned char)*ret_address);
}

static uint64_t memory_of(const struct nvml *nvml, nvmlDevice_t handle)
{
	struct nvml_memory_v2 newer = {.version = NVML_MEMORY_V2};
	struct nvml_memory memory;

	if (!NVML_CALL(nvml, nvmlDeviceGetMemoryInfo_v2, handle, &newer))
		return newer.total_bytes;
	return NVML_CALL(nvml, nvmlDeviceGetMemoryInfo, handle, &memory) ? 0 : memory.total_bytes;
}

/* A device without a UUID is left out, because its data cannot be joined with others. */
static nvmlReturn_t describe(const struct nvml *nvml, nvmlDevice_t handle,
			     struct nvidia_device *ret_device)
{
	struct nvidia_device device = {.handle = handle};
	nvmlReturn_t result =
		nvml->functions.nvmlDeviceGetUUID(handle, device.uuid, sizeof(device.uuid));
	struct nvml_pci_info pci;

	if (result)
		return result;
	if (nvml->functions.nvmlDeviceGetName(handle, device.name, sizeof(device.name)))
		snprintf(device.name, sizeof(device.name), "NVIDIA GPU");
	if (!NVML_CALL(nvml, nvmlDeviceGetPciInfo_v3, handle, &pci)) {
		pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
		nvidia_address_format(pci.bus_id, device.address, sizeof(device.address));
	}
	device.memory_bytes = memory_of(nvml, handle);
	*ret_device = device;
	return NVML_SUCCESS;
}

static bool is_divided(const struct nvml *nvml, nvmlDevice_t handle)
{
	unsigned now = 0, later;

	return !NVML_CALL(nvml, nvmlDeviceGetMigMode, handle, &now, &later) && now;
}

static size_t find_instances(const struct nvml *nvml, nvmlDevice_t whole,
			     struct nvidia_device *instances, size_t room)
{
	unsigned most = 0, id = 0;
	nvmlDevice_t handle;
	size_t count = 0;

	if (NVML_CALL(nvml, nvmlDeviceGetMaxMigDeviceCount, whole, &most))
		return 0;
	for (unsigned i = 0; i < most && count < room; i++) {
		if (NVML_CALL(nvml, nvmlDeviceGetMigDeviceHandleByIndex, whole, i, &handle) ||
		    NVML_CALL(nvml, nvmlDeviceGetGpuInstanceId, handle, &id) ||
		    describe(nvml, handle, &instances[count]))
			continue;
		/* the address belongs to the whole GPU, not to an instance */
		instances[count].address[0] = '\0';
		instances[count].whole = whole;
		instances[count++].gpu_instance_id = id;
	}
	return count;
}

size_t nvidia_devices_find(const struct nvml *nvml,
			   struct nvidia_device devices[MAX_NVIDIA_DEVICES],
			   nvmlReturn_t *ret_result)
{
	unsigned gpus = 0;
	size_t count = 0;

	*ret_result = nvml->functions.nvmlDeviceGetCount_v2(&gpus);
	for (unsigned i = 0; i < gpus && count < MAX_NVIDIA_DEVICES; i++) {
		struct nvidia_device *gpu = &devices[count];
		nvmlDevice_t handle;
		nvmlReturn_t result = nvml->functions.nvmlDeviceGetHandleByIndex_v2(i, &handle);

		if (!result)
			result = describe(nvml, handle, gpu);
		if (result) {
			*ret_result = result;
			continue;
		}
		gpu->has_instances = is_divided(nvml, handle);
		count++;
		if (gpu->has_instances)
			count += find_instances(nvml, handle, &devices[count],
						MAX_NVIDIA_DEVICES - count);
	}
	return count;
}
