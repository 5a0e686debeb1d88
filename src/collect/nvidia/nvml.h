/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/nvml.h - libnvidia-ml, loaded where it is there, and the GPUs it shows
 */
#ifndef COLLECT_NVIDIA_NVML_H
#define COLLECT_NVIDIA_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/nvidia/nvml_abi.h"

struct nvml {
	void *handle;                    /* owned; of the library */
	bool is_ready;                   /* nvmlInit was called */
	struct nvml_functions functions; /* what this release has not is NULL */
};

/* NVML_ERROR_FUNCTION_NOT_FOUND, as newer releases say themselves, where this one lacks it. */
#define NVML_CALL(nvml, name, ...)                                    \
	((nvml)->functions.name ? (nvml)->functions.name(__VA_ARGS__) \
				: (nvmlReturn_t)NVML_ERROR_FUNCTION_NOT_FOUND)

/* Errors: -ENOENT: no such library, or one without what every release has; -ENODEV: no driver behind it, or none that
 * lets us in; each with what to do in the error chain. */
int nvml_open(struct nvml *nvml);
void nvml_close(struct nvml *nvml); /* half-built-safe */

/* What a result means and what to do about it: a sentence without its end. */
const char *nvml_result_text(nvmlReturn_t result);

/* ---- the GPUs ---- */

enum { NVIDIA_DEVICES_MOST = 64 };

struct nvidia_device {
	nvmlDevice_t handle;
	nvmlDevice_t whole; /* of a MIG instance: its GPU; NULL: it is one */
	uint32_t gpu_instance_id;
	char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE]; /* "GPU-…", "MIG-…" */
	char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
	char address
		[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE]; /* "0000:1b:00.0", as the kernel writes it; "": not known */
	uint64_t memory_bytes;                        /* 0: not known */
	bool has_instances;                           /* MIG divides it */
};

/* All GPUs, each with its MIG instances behind it. Those beyond the room are left out; *ret_result: why one could not be
 * asked, NVML_SUCCESS where all were. Returns how many there are. */
size_t nvidia_devices_find(const struct nvml *nvml,
			   struct nvidia_device devices[NVIDIA_DEVICES_MOST],
			   nvmlReturn_t *ret_result);

/* Writes "00000000:1B:00.0" as the kernel would, "0000:1b:00.0". */
void nvidia_address_format(const char *bus_id, char *ret_address, size_t size);

#endif
