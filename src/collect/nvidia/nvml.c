/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/nvml.c - libnvidia-ml, loaded where it is there, and the GPUs it shows
 *
 * Runs in:  the recorder
 * Gets:     the library of the driver   Gives: its functions, and who the GPUs are
 * Owns:     the library, and its state from nvmlInit to nvmlShutdown
 * Fails:    -ENOENT, -ENODEV with what to do
 * Why not linked: the library comes with the driver and with nothing else. Functions are taken by name, each by itself: what
 *           an older driver lacks is a value less and no reason to do without the others.
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
	{NVML_SUCCESS, "it worked"},
	{NVML_ERROR_UNINITIALIZED, "NVML was not initialised: an error of duet's own"},
	{NVML_ERROR_INVALID_ARGUMENT,
	 "the driver took an argument for wrong: it is of a release that duet does not know"},
	{NVML_ERROR_NOT_SUPPORTED, "this GPU, or its driver in this mode, has no such value"},
	{NVML_ERROR_NO_PERMISSION,
	 "not for this user: record as root, or have the administrator allow it"},
	{NVML_ERROR_ALREADY_INITIALIZED, "NVML had been initialised before"},
	{NVML_ERROR_NOT_FOUND, "there is none"},
	{NVML_ERROR_INSUFFICIENT_SIZE, "there is more than there was room for"},
	{NVML_ERROR_INSUFFICIENT_POWER,
	 "the power cables of the GPU are not all plugged in: have a look at it"},
	{NVML_ERROR_DRIVER_NOT_LOADED, "the kernel driver of NVIDIA is not loaded: modprobe "
				       "nvidia, or in a container start it with the GPUs "
				       "(--gpus all)"},
	{NVML_ERROR_TIMEOUT, "the driver did not answer in time"},
	{NVML_ERROR_IRQ_ISSUE, "the kernel has trouble with the GPU's interrupts: see dmesg"},
	{NVML_ERROR_LIBRARY_NOT_FOUND,
	 "libnvidia-ml found no other library of its own driver: install the driver again"},
	{NVML_ERROR_FUNCTION_NOT_FOUND, "this driver is too old for it"},
	{NVML_ERROR_CORRUPTED_INFOROM, "the GPU's own memory of facts (infoROM) is damaged"},
	{NVML_ERROR_GPU_IS_LOST, "the GPU is lost: it does not answer on its bus any more; see "
				 "dmesg for 'Xid', and restart the machine"},
	{NVML_ERROR_RESET_REQUIRED, "the GPU has to be reset: nvidia-smi --gpu-reset, by root"},
	{NVML_ERROR_OPERATING_SYSTEM,
	 "the system, often a control group without the GPU's device files, refuses it"},
	{NVML_ERROR_LIB_RM_VERSION_MISMATCH, "libnvidia-ml and the kernel's driver are of two "
					     "releases: restart the machine, or load the driver "
					     "anew, after an update"},
	{NVML_ERROR_IN_USE, "somebody else uses the GPU in a way that excludes it"},
	{NVML_ERROR_MEMORY, "out of memory"},
	{NVML_ERROR_NO_DATA, "there is no value yet"},
	{NVML_ERROR_VGPU_ECC_NOT_SUPPORTED, "not while the GPU corrects its memory's errors (ECC)"},
	{NVML_ERROR_INSUFFICIENT_RESOURCES, "the driver ran out of something that is not memory"},
	{NVML_ERROR_FREQ_NOT_SUPPORTED, "the GPU has no such frequency"},
	{NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
	 "the driver knows this call in another version than duet"},
	{NVML_ERROR_DEPRECATED, "the driver has given this up"},
	{NVML_ERROR_NOT_READY, "the driver is not ready for it yet"},
	{NVML_ERROR_GPU_NOT_FOUND, "no GPU was found"},
	{NVML_ERROR_INVALID_STATE, "not in the state in which the GPU is"},
	{NVML_ERROR_RESET_TYPE_NOT_SUPPORTED, "the GPU cannot be reset in this way"},
	{NVML_ERROR_UNKNOWN, "the driver does not know why: see dmesg"},
};

const char *nvml_result_text(nvmlReturn_t result)
{
	for (size_t i = 0; i < ARRAY_COUNT(results); i++)
		if (results[i].result == result)
			return results[i].text;
	return "an error that duet does not know: the driver is newer";
}

/* ---- the library ------------------------------------------------------------------------------- */

enum { OPTIONAL, REQUIRED };

static int take_functions(struct nvml *nvml)
{
	struct nvml_functions *functions = &nvml->functions;

#define TAKE(need, name, parameters)                                                 \
	functions->name = (__typeof__(functions->name))dlsym(nvml->handle, #name);   \
	if (need == REQUIRED && !functions->name)                                    \
		return error_set(-ENOENT,                                            \
				 LIBRARY " has no %s: it is of no driver that duet " \
					 "knows; install one of 2015 or later",      \
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
				 "%s: there is no driver of NVIDIA here, or, in a container, it "
				 "was not let in "
				 "(NVIDIA_DRIVER_CAPABILITIES=utility)",
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

/* ---- the GPUs ---------------------------------------------------------------------------------- */

void nvidia_address_format(const char *bus_id, char *ret_address, size_t size)
{
	size_t domain = strcspn(bus_id, ":");

	/* NVML writes eight digits of the domain, the kernel as many as it takes, at least four. */
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

/* Without a UUID nothing can be joined with it. */
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
		/* Its GPU's address is no instance's own. */
		instances[count].address[0] = '\0';
		instances[count].whole = whole;
		instances[count++].gpu_instance_id = id;
	}
	return count;
}

size_t nvidia_devices_find(const struct nvml *nvml,
			   struct nvidia_device devices[NVIDIA_DEVICES_MOST],
			   nvmlReturn_t *ret_result)
{
	unsigned gpus = 0;
	size_t count = 0;

	*ret_result = nvml->functions.nvmlDeviceGetCount_v2(&gpus);
	for (unsigned i = 0; i < gpus && count < NVIDIA_DEVICES_MOST; i++) {
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
						NVIDIA_DEVICES_MOST - count);
	}
	return count;
}
