/* SPDX-License-Identifier: MIT
 *
 * abi/hip.h - the part of HIP's binary interface that the guest uses
 *
 * Our own declarations, so that building duet needs no HIP header; tests compare them with the real
 * ones where those are installed. Source: hip_runtime_api.h and driver_types.h of HIP 5.2. Structs
 * that grow from release to release are declared only in part, from their start.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int hip_error;
typedef void *hip_handle; /* a stream, an event, a module, a graph …: all are pointers */

enum {
	HIP_SUCCESS = 0,
	HIP_ERROR_SYMBOL_NOT_FOUND = 302,
	HIP_ERROR_NOT_READY = 600,

	HIP_COPY_HOST_TO_DEVICE = 1,
	HIP_COPY_DEVICE_TO_HOST = 2
};

/* The real name is dim3; passed by value, as are the next two. */
struct hip_size {
	uint32_t x, y, z;
};

struct hip_pitched {
	void *memory;
	size_t pitch, width, height;
};

struct hip_extent {
	size_t width, height, depth; /* width: bytes; elements if an array takes part */
};

struct hip_copy_3d {
	hip_handle from_array;
	size_t from_place[3];
	struct hip_pitched from;
	hip_handle to_array;
	size_t to_place[3];
	struct hip_pitched to;
	struct hip_extent extent;
	int kind;
};

struct hip_copy_2d {
	size_t from_x, from_y;
	int from_type;
	const void *from_host;
	void *from_device;
	hip_handle from_array;
	size_t from_pitch;
	size_t to_x, to_y;
	int to_type;
	void *to_host, *to_device;
	hip_handle to_array;
	size_t to_pitch;
	size_t width_bytes, height;
};

struct hip_drv_copy_3d {
	uint32_t from_x, from_y, from_z, from_lod;
	int from_type;
	const void *from_host;
	void *from_device;
	hip_handle from_array;
	uint32_t from_pitch, from_height;
	uint32_t to_x, to_y, to_z, to_lod;
	int to_type;
	void *to_host, *to_device;
	hip_handle to_array;
	uint32_t to_pitch, to_height;
	uint32_t width_bytes, height, depth;
};
