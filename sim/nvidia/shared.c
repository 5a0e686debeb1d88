/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/shared.c - common code of the three libraries: the GPU's identity, the driver's
 * address, a checksum
 *
 * Runs in:  a program that uses CUDA, in each of the three libraries
 * Owns:     a reference to the driver, once it was found
 * Why:      it uses RTLD_NOLOAD, because CUPTI and NVML must not load a driver that the program did
 *           not load itself
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

void sim_device_uuid(uint32_t device_id, uint8_t ret_uuid[16])
{
	static const uint8_t uuid[15] = {0x51, 0x6d, 0x0d, 0x00, 0x1a, 0x2b, 0x4c, 0x3d,
					 0x80, 0x01, 0x48, 0x32, 0x30, 0x30, 0x00};

	memcpy(ret_uuid, uuid, sizeof(uuid));
	ret_uuid[15] = (uint8_t)device_id;
}

/* Instances count from 1. */
void sim_instance_uuid(uint32_t device_id, uint32_t instance, uint8_t ret_uuid[16])
{
	sim_device_uuid(device_id, ret_uuid);
	ret_uuid[14] = (uint8_t)(ret_uuid[14] + instance);
}

/* ---- which of them CUDA shows ---------------------------------------------------------------- */

static void write_uuid(uint32_t device_id, uint32_t instance, char text[64])
{
	uint8_t uuid[16];

	sim_instance_uuid(device_id, instance, uuid);
	text += sprintf(text, "%s", instance ? "MIG-" : "GPU-");
	for (int i = 0; i < 16; i++)
		text += sprintf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				uuid[i]);
}

/* A number, or a UUID or its begin. -1: it is none, and ends the list. */
static int device_named(const char *word, size_t length, uint32_t *ret_instance)
{
	char *end, text[64];
	long number = strtol(word, &end, 10);

	*ret_instance = 0;
	if (length && end == word + length)
		return number >= 0 && number < sim_options()->devices ? (int)number : -1;
	for (uint32_t i = 0; length > 4 && i < (uint32_t)sim_options()->devices; i++)
		for (uint32_t instance = 0; instance <= (uint32_t)sim_options()->mig; instance++) {
			write_uuid(i, instance, text);
			*ret_instance = instance;
			if (strncmp(text, word, length) == 0)
				return (int)i;
		}
	return -1;
}

struct visible {
	uint32_t count, instance, devices[MAX_SIM_DEVICES];
};

static struct visible find_visible(void)
{
	const char *word = getenv("CUDA_VISIBLE_DEVICES");
	struct visible visible = {0};

	for (uint32_t i = 0; !word && i < (uint32_t)sim_options()->devices; i++)
		visible.devices[visible.count++] = i;
	while (word && *word && visible.count < MAX_SIM_DEVICES) {
		size_t length = strcspn(word, ",");
		int device = device_named(word, length, &visible.instance);

		if (device < 0)
			break;
		visible.devices[visible.count++] = (uint32_t)device;
		word += length + (word[length] == ',');
	}
	/* A process sees one instance, and no whole GPU beside it. */
	if (sim_options()->mig && visible.count) {
		visible.count = 1;
		visible.instance = visible.instance ? visible.instance : 1;
	}
	return visible;
}

uint32_t sim_visible_count(void)
{
	return find_visible().count;
}

uint32_t sim_visible_device(uint32_t ordinal)
{
	const struct visible visible = find_visible();

	return ordinal < visible.count ? visible.devices[ordinal] : ordinal;
}

uint32_t sim_visible_instance(void)
{
	return find_visible().instance;
}

void sim_visible_uuid(uint32_t ordinal, uint8_t ret_uuid[16])
{
	sim_instance_uuid(sim_visible_device(ordinal), sim_visible_instance(), ret_uuid);
}

uint32_t sim_capability(void)
{
	static const struct {
		const char *chip;
		uint32_t capability;
	} all[] = {{"GV", 70}, {"TU", 75}, {"GA100", 80}, {"GA", 86},
		   {"AD", 89}, {"GH", 90}, {"GB1", 100},  {"GB2", 120}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strncmp(sim_options()->chip, all[i].chip, strlen(all[i].chip)) == 0)
			return all[i].capability;
	return 90;
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
