/* SPDX-License-Identifier: MIT
 *
 * sim/kfd/libdrm.c - the functions of libdrm_amdgpu by which the thunk learns the product's name
 *
 * Runs in:  a program that uses ROCr
 * Gives:    a name; the real library would ask the kernel driver which GPU it is
 * Why:      our own declarations: three functions are not worth the headers of libdrm
 */
#include "sim.h"

int amdgpu_device_initialize(int file, uint32_t *ret_major, uint32_t *ret_minor, void **ret_device);
int amdgpu_device_deinitialize(void *device);
const char *amdgpu_get_marketing_name(void *device);

SIM_EXPORT int amdgpu_device_initialize(int file, uint32_t *ret_major, uint32_t *ret_minor,
					void **ret_device)
{
	static char the_device;

	*ret_major = 3;
	*ret_minor = 57;
	*ret_device = &the_device;
	return 0;
}

SIM_EXPORT int amdgpu_device_deinitialize(void *device)
{
	return 0;
}

SIM_EXPORT const char *amdgpu_get_marketing_name(void *device)
{
	return "Simulated GPU";
}
