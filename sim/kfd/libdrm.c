/* SPDX-License-Identifier: MIT
 *
 * sim/kfd/libdrm.c - the functions of libdrm_amdgpu by which the thunk learns what the product is
 *
 * Runs in:  a program that uses ROCr
 * Gives:    a name, and from ROCm 6 on a family; the real library would ask the kernel driver which GPU it is
 * Why:      our own declarations: five functions are not worth the headers of libdrm
 */
#include "sim.h"

int amdgpu_device_initialize(int file, uint32_t *ret_major, uint32_t *ret_minor, void **ret_device);
int amdgpu_device_deinitialize(void *device);
int amdgpu_device_get_fd(void *device);
const char *amdgpu_get_marketing_name(void *device);

/* The first fields of libdrm's amdgpu_gpu_info; the rest stays as the caller has it. */
struct gpu_info {
	uint32_t asic_id, chip_rev, chip_external_rev, family_id;
};
int amdgpu_query_gpu_info(void *device, struct gpu_info *ret_info);

enum { FAMILY_AI = 141 }; /* of gfx9, as the kernel numbers it */

SIM_EXPORT int amdgpu_device_initialize(int file, uint32_t *ret_major, uint32_t *ret_minor,
					void **ret_device)
{
	static int the_device; /* the file that it was opened with */

	the_device = file;
	*ret_major = 3;
	*ret_minor = 57;
	*ret_device = &the_device;
	return 0;
}

/* The file of whichever GPU was opened last: they all are the same memory. */
SIM_EXPORT int amdgpu_device_get_fd(void *device)
{
	return *(const int *)device;
}

SIM_EXPORT int amdgpu_device_deinitialize(void *device)
{
	return 0;
}

SIM_EXPORT const char *amdgpu_get_marketing_name(void *device)
{
	return "Simulated GPU";
}

SIM_EXPORT int amdgpu_query_gpu_info(void *device, struct gpu_info *ret_info)
{
	*ret_info = (struct gpu_info){.family_id = FAMILY_AI};
	return 0;
}
