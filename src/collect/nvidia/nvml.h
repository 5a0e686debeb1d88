/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/nvml.h - loads libnvidia-ml if it is installed, and lists the GPUs
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/nvml.h"

struct nvml {
	void *handle;                    /* owned; the library */
	bool is_ready;                   /* nvmlInit was called */
	struct nvml_functions functions; /* functions that this release lacks are NULL */
};

/* Calls a function; NVML_ERROR_FUNCTION_NOT_FOUND, as newer releases return, if this release lacks
 * it. */
#define NVML_CALL(nvml, name, ...)                                    \
	((nvml)->functions.name ? (nvml)->functions.name(__VA_ARGS__) \
				: (nvmlReturn_t)NVML_ERROR_FUNCTION_NOT_FOUND)

/* Errors, with the remedy in the error chain: -ENOENT: no such library, or one without the
 * functions of every release; -ENODEV: no driver behind it, or no access to it. */
int nvml_open(struct nvml *nvml);
void nvml_close(struct nvml *nvml); /* safe on a half-built object */

/* The meaning of a result and a remedy, without a final period. */
const char *nvml_result_text(nvmlReturn_t result);

/* ---- the GPUs ---- */

enum { MAX_NVIDIA_DEVICES = 64 };

struct nvidia_device {
	nvmlDevice_t handle;
	nvmlDevice_t whole; /* the GPU of a MIG instance; NULL: not an instance */
	uint32_t gpu_instance_id;
	char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE]; /* "GPU-…", "MIG-…" */
	char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
	/* "0000:1b:00.0", as the kernel writes it; "": unknown. */
	char address[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
	uint64_t memory_bytes; /* 0: unknown */
	bool has_instances;    /* divided by MIG */
};

/* Lists all GPUs, each followed by its MIG instances, up to the room. *ret_result: the error of a
 * device that could not be read, otherwise NVML_SUCCESS. Returns their number. */
size_t nvidia_devices_find(const struct nvml *nvml,
			   struct nvidia_device devices[MAX_NVIDIA_DEVICES],
			   nvmlReturn_t *ret_result);

/* Writes "00000000:1B:00.0" as the kernel would, "0000:1b:00.0". */
void nvidia_address_format(const char *bus_id, char *ret_address, size_t size);
