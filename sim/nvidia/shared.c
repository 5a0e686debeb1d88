/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/shared.c - what the three libraries agree on: who the GPU is, where the driver is, a checksum
 *
 * Runs in:  a program that uses CUDA, in each of the three libraries
 * Owns:     a reference to the driver once it was found
 * Why:      RTLD_NOLOAD: CUPTI and NVML must not bring a driver in that the program did not load itself
 */
#include <dlfcn.h>
#include <string.h>

#include "sim.h"

void sim_device_uuid(uint32_t device_id, uint8_t ret_uuid[16])
{
	static const uint8_t uuid[15] = {0x51, 0x6d, 0x0d, 0x00, 0x1a, 0x2b, 0x4c, 0x3d,
					 0x80, 0x01, 0x48, 0x32, 0x30, 0x30, 0x00};

	memcpy(ret_uuid, uuid, sizeof(uuid));
	ret_uuid[15] = (uint8_t)device_id;
}

const char *sim_device_name(void)
{
	return "NVIDIA H200 (simulated)";
}

const struct sim_driver *sim_find_driver(void)
{
	static _Atomic(const struct sim_driver *) known;
	const struct sim_driver *(*find)(void) = NULL;
	const struct sim_driver *driver = known;
	void *library;

	if (!driver) {
		library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
		if (library)
			find = (const struct sim_driver *(*)(void))dlsym(library,
									 "sim_nvidia_driver");
		if (find)
			known = driver = find();
		else if (library)
			dlclose(library);
	}
	return driver && driver->is_ready() ? driver : NULL;
}

/* FNV-1a; the vendor's is no usual CRC either. */
uint64_t sim_cubin_crc(const void *bytes, size_t size)
{
	const uint8_t *byte = bytes;
	uint64_t crc = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		crc = (crc ^ byte[i]) * UINT64_C(0x100000001b3);
	return crc;
}
