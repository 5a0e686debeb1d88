/* SPDX-License-Identifier: MIT
 *
 * sim/amd/libdrm.c - functions of libdrm_amdgpu with which the thunk identifies the GPU
 *
 * Runs in:  a program that uses ROCr
 * Gives:    a name and, from ROCm 6 on, a family and the counter's frequency; the real library asks
 *           the driver
 * Owns:     a device for each open call, with its descriptor
 * Fails:    as libdrm does, with -errno
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "libdrm.h"
#include "sim.h"

struct device {
	int file;
};

enum { FAMILY_AI = 141 }; /* of gfx9, as the kernel numbers it */

/* With a descriptor of its own, as libdrm's has: the thunk closes the one that it gave and takes
 * ours. */
SIM_EXPORT int amdgpu_device_initialize(int file, uint32_t *ret_major, uint32_t *ret_minor,
					struct device **ret_device)
{
	struct device *device = malloc(sizeof(*device));

	if (!device)
		return -ENOMEM;
	device->file = fcntl(file, F_DUPFD_CLOEXEC, 0);
	if (device->file < 0) {
		free(device);
		return -EBADF;
	}
	*ret_major = 3;
	*ret_minor = 57;
	*ret_device = device;
	return 0;
}

SIM_EXPORT int amdgpu_device_get_fd(const struct device *device)
{
	return device->file;
}

SIM_EXPORT int amdgpu_device_deinitialize(struct device *device)
{
	close(device->file);
	free(device);
	return 0;
}

SIM_EXPORT const char *amdgpu_get_marketing_name(const struct device *device)
{
	return "Simulated GPU";
}

SIM_EXPORT int amdgpu_query_gpu_info(const struct device *device, struct gpu_info *ret_info)
{
	*ret_info = (struct gpu_info){.family_id = FAMILY_AI, .counter_khz = SIM_COUNTER_KHZ};
	return 0;
}
