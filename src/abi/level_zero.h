/* SPDX-License-Identifier: MIT
 *
 * abi/level_zero.h - the part of Level Zero's binary interface that the guest uses
 *
 * Our own declarations, so that building duet needs no Level Zero header; tests compare them with
 * the real ones where those are installed. Source: ze_api.h and ze_ddi.h of Level Zero 1.4 (Debian
 * 12) to 1.17, the loader's public releases.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef uint32_t ze_result;
/* a driver, a device, a context, a command list, an event …: all are pointers */
typedef void *ze_handle;

/* Versions: major << 16 | minor. A table of functions only grows while the major number stays. */
enum { ZE_VERSION_MAJOR = 1 };
#define ZE_VERSION(minor) ((uint32_t)ZE_VERSION_MAJOR << 16 | (minor))

enum {
	ZE_SUCCESS = 0,
	ZE_NOT_READY = 1,
	ZE_ERROR_UNINITIALIZED = 0x78000001,
	ZE_ERROR_INVALID_ARGUMENT = 0x78000004,
	ZE_ERROR_UNSUPPORTED_FEATURE = 0x78000003,

	/* stype of structures */
	ZE_TYPE_DRIVER_PROPERTIES = 0x1,
	ZE_TYPE_DEVICE_PROPERTIES = 0x3,
	ZE_TYPE_DEVICE_COMPUTE_PROPERTIES = 0x4,
	ZE_TYPE_QUEUE_GROUP_PROPERTIES = 0x6,
	ZE_TYPE_DEVICE_MEMORY_PROPERTIES = 0x7,
	ZE_TYPE_EVENT_POOL_DESC = 0x10,
	ZE_TYPE_EVENT_DESC = 0x11,
	ZE_TYPE_MEMORY_ALLOCATION_PROPERTIES = 0x17,
	ZE_TYPE_KERNEL_PROPERTIES = 0x1e,
	ZE_TYPE_PCI_EXT_PROPERTIES = 0x10008,
	/* … the same structure, with the timer's resolution in cycles per second instead of
	 * nanoseconds */
	ZE_TYPE_DEVICE_PROPERTIES_1_2 = 0x20006,
	/* in the list of a launch with parameters, from 1.14 on */
	ZE_TYPE_COOPERATIVE_DESC = 0x20036,

	ZE_DEVICE_GPU = 1,
	ZE_DEVICE_CPU = 2,
	ZE_DEVICE_IS_SUBDEVICE = 2, /* flag */

	ZE_MEMORY_UNKNOWN = 0,
	ZE_MEMORY_HOST = 1,
	ZE_MEMORY_DEVICE = 2,
	ZE_MEMORY_SHARED = 3,

	ZE_QUEUE_GROUP_COMPUTE = 1, /* flag */
	ZE_QUEUE_MODE_SYNCHRONOUS = 1,
	ZE_QUEUE_IN_ORDER = 2, /* flag, from 1.9 on */

	/* flags of event pools */
	ZE_EVENT_POOL_HOST_VISIBLE = 1,
	ZE_EVENT_POOL_IPC = 2,
	ZE_EVENT_POOL_KERNEL_TIMESTAMP = 4,

	/* zel_handle_type_t */
	ZEL_KERNEL = 11
};

struct ze_queue_desc {
	uint32_t type;
	const void *next;
	uint32_t ordinal, index, flags, mode, priority;
};

/* Engines of a device that can do the same; the desc of a queue chooses one of them. */
struct ze_queue_group {
	uint32_t type;
	void *next;
	uint32_t flags;
	size_t max_pattern_bytes;
	uint32_t engines;
};

/* The beginning of every description, and one of a launch. */
struct ze_desc {
	uint32_t type;
	const void *next;
};
struct ze_cooperative_desc {
	struct ze_desc desc;
	uint8_t is_cooperative;
};

struct ze_event_pool_desc {
	uint32_t type;
	const void *next;
	uint32_t flags, count;
};

struct ze_event_desc {
	uint32_t type;
	const void *next;
	uint32_t index, signal, wait;
};

/* Number of groups in a launch, or of work items in a group. */
struct ze_size {
	uint32_t x, y, z;
};

struct ze_region {
	uint32_t x, y, z, width, height, depth;
};

struct ze_stamps {
	uint64_t start, end; /* ticks of the device's timer */
};

struct ze_kernel_stamps {
	struct ze_stamps global, context;
};

struct ze_driver_properties {
	uint32_t type;
	void *next;
	uint8_t uuid[16];
	uint32_t version;
};

struct ze_device_properties {
	uint32_t type;
	void *next;
	uint32_t device_type, vendor_id, device_id, flags, subdevice_id, core_mhz;
	uint64_t allocation_max_bytes;
	uint32_t max_contexts, max_priority, threads_per_eu, simd_width, eus_per_subslice,
		subslices_per_slice, slices;
	uint64_t timer_resolution;
	uint32_t timestamp_bits, kernel_timestamp_bits;
	uint8_t uuid[16];
	char name[256];
};

struct ze_compute_properties {
	uint32_t type;
	void *next;
	uint32_t group_most, max_group_x, max_group_y, max_group_z, max_groups_x, max_groups_y,
		max_groups_z, shared_local_bytes, subgroup_sizes_count, subgroup_sizes[8];
};

struct ze_memory_properties {
	uint32_t type;
	void *next;
	uint32_t flags, clock_mhz, bus_width;
	uint64_t total_bytes;
	char name[256];
};

struct ze_pci_properties {
	uint32_t type;
	void *next;
	uint32_t domain, bus, device, function;
	int32_t generation, lanes;
	int64_t bandwidth;
};

struct ze_allocation_properties {
	uint32_t type;
	void *next;
	uint32_t memory_type;
	uint64_t id, page_bytes;
};

struct ze_kernel_properties {
	uint32_t type;
	void *next;
	uint32_t arguments_count, required_x, required_y, required_z, required_subgroups_count,
		required_subgroup_size, max_subgroup, max_subgroups, local_bytes, private_bytes,
		spill_bytes;
	uint8_t kernel_uuid[16], module_uuid[16];
};

/* From zeDriverGetExtensionFunctionAddress of Intel's drivers; takes the driver's own handles, not
 * the loader's. */
typedef ze_result zex_kernel_get_base_address(ze_handle kernel, uint64_t *ret_address);
#define ZEX_KERNEL_GET_BASE_ADDRESS "zexKernelGetBaseAddress"

/* Function of the loader: returns the driver's handle for a handle of the loader. */
typedef ze_result zel_translate_handle(uint32_t type, ze_handle handle, ze_handle *ret_handle);
