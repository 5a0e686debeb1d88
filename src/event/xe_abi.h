/* SPDX-License-Identifier: MIT
 *
 * event/xe_abi.h - of the interface of Linux's driver xe, what we use of it
 *
 * Source:   include/uapi/drm/xe_drm.h of Linux 7.3; the numbers are the same since the driver has them (6.8; EU stalls
 *           6.15). Own declarations: the header is on few machines, and older than the kernel on most. Where it is
 *           installed a test compares both. Also what programs inside the kernel read, and the driver of sim/mock_xe.
 */
#ifndef EVENT_XE_ABI_H
#define EVENT_XE_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum xe_command {
	XE_DEVICE_QUERY = 0x00,
	XE_GEM_CREATE = 0x01,
	XE_GEM_MMAP_OFFSET = 0x02,
	XE_VM_CREATE = 0x03,
	XE_VM_DESTROY = 0x04,
	XE_VM_BIND = 0x05,
	XE_EXEC_QUEUE_CREATE = 0x06,
	XE_EXEC_QUEUE_DESTROY = 0x07,
	XE_EXEC = 0x09,
	XE_OBSERVATION = 0x0b,
};
#define XE_COMMAND_BASE 0x40 /* of all DRM drivers */

/* Of all DRM drivers; a size is the machine's word. */
struct xe_version {
	int major, minor, patch;
	unsigned long name_length;
	char *name;
	unsigned long date_length;
	char *date;
	unsigned long text_length;
	char *text;
};

struct xe_device_query {
	__u64 extensions;
	__u32 query; /* enum xe_query */
	__u32 size;  /* 0: asks for it */
	__u64 data;
	__u64 reserved[2];
};
enum xe_query { XE_QUERY_CONFIG = 2, XE_QUERY_GT_LIST = 3, XE_QUERY_EU_STALL = 10 };

struct xe_gem_create {
	__u64 extensions;
	__u64 size;
	__u32 placement, flags, vm_id, handle;
	__u16 cpu_caching, pad[3];
	__u64 reserved[2];
};

struct xe_gem_mmap_offset {
	__u64 extensions;
	__u32 handle, flags;
	__u64 offset;
	__u64 reserved[2];
};

/* Of all DRM drivers. */
struct xe_gem_close {
	__u32 handle, pad;
};

struct xe_vm_create {
	__u64 extensions;
	__u32 flags, vm_id;
	__u64 reserved[2];
};

struct xe_vm_destroy {
	__u32 vm_id, pad;
	__u64 reserved[2];
};

enum xe_bind_operation {
	XE_BIND_MAP = 0,
	XE_BIND_UNMAP = 1,
	XE_BIND_MAP_USERPTR = 2,
	XE_BIND_UNMAP_ALL = 3,
	XE_BIND_PREFETCH = 4
};

struct xe_vm_bind_op {
	__u64 extensions;
	__u32 obj;
	__u16 pat_index, pad;
	union {
		__u64 obj_offset;
		__u64 userptr;
	};
	__u64 range;
	__u64 addr;
	__u32 op; /* enum xe_bind_operation */
	__u32 flags;
	__u32 prefetch_mem_region_instance, pad2;
	__u64 reserved[3];
};

struct xe_vm_bind {
	__u64 extensions;
	__u32 vm_id, exec_queue_id, pad;
	__u32 num_binds;
	union {
		struct xe_vm_bind_op bind; /* of one */
		__u64 vector_of_binds;     /* of several: where they are */
	};
	__u32 pad2, num_syncs;
	__u64 syncs;
	__u64 reserved[2];
};

struct xe_exec_queue_create {
	__u64 extensions;
	__u16 width, num_placements;
	__u32 vm_id, flags, exec_queue_id;
	__u64 instances;
	__u64 reserved[2];
};

struct xe_exec_queue_destroy {
	__u32 exec_queue_id, pad;
	__u64 reserved[2];
};

struct xe_exec {
	__u64 extensions;
	__u32 exec_queue_id, num_syncs;
	__u64 syncs;
	__u64 address; /* of the batch, where there is one; else where their addresses are */
	__u16 num_batch_buffer, pad[3];
	__u64 reserved[2];
};

struct xe_gt {
	__u16 type; /* 0: main, 1: media */
	__u16 tile_id, gt_id, pad[3];
	__u32 reference_clock;
	__u64 near_mem_regions, far_mem_regions;
	__u16 ip_ver_major, ip_ver_minor, ip_ver_rev, pad2;
	__u64 reserved[7];
};

struct xe_query_gt_list {
	__u32 num_gt, pad;
	struct xe_gt gt_list[];
};

struct xe_query_eu_stall {
	__u64 extensions;
	__u64 capabilities;
	__u64 record_size;
	__u64 per_xecore_buf_size;
	__u64 reserved[5];
	__u64 num_sampling_rates;
	__u64 sampling_rates[]; /* cycles between samples, the shortest first */
};

struct xe_observation_param {
	__u64 extensions;
	__u64 observation_type, observation_op;
	__u64 param;
};
enum { XE_OBSERVATION_OA = 0, XE_OBSERVATION_EU_STALL = 1, XE_OBSERVATION_OPEN = 0 };

struct xe_set_property {
	__u64 next_extension;
	__u32 name, pad;
	__u32 property, pad2;
	__u64 value;
	__u64 reserved[2];
};
enum xe_eu_stall_property {
	XE_EU_STALL_GT_ID = 1,
	XE_EU_STALL_SAMPLE_RATE = 2,
	XE_EU_STALL_WAIT_NUM_REPORTS = 3
};

#define XE_IOCTL_VERSION      _IOWR('d', 0x00, struct xe_version)
#define XE_IOCTL_DEVICE_QUERY _IOWR('d', XE_COMMAND_BASE + XE_DEVICE_QUERY, struct xe_device_query)
#define XE_IOCTL_GEM_CREATE   _IOWR('d', XE_COMMAND_BASE + XE_GEM_CREATE, struct xe_gem_create)
#define XE_IOCTL_GEM_MMAP_OFFSET \
	_IOWR('d', XE_COMMAND_BASE + XE_GEM_MMAP_OFFSET, struct xe_gem_mmap_offset)
#define XE_IOCTL_GEM_CLOSE  _IOW('d', 0x09, struct xe_gem_close)
#define XE_IOCTL_VM_CREATE  _IOWR('d', XE_COMMAND_BASE + XE_VM_CREATE, struct xe_vm_create)
#define XE_IOCTL_VM_DESTROY _IOW('d', XE_COMMAND_BASE + XE_VM_DESTROY, struct xe_vm_destroy)
#define XE_IOCTL_VM_BIND    _IOW('d', XE_COMMAND_BASE + XE_VM_BIND, struct xe_vm_bind)
#define XE_IOCTL_EXEC_QUEUE_CREATE \
	_IOWR('d', XE_COMMAND_BASE + XE_EXEC_QUEUE_CREATE, struct xe_exec_queue_create)
#define XE_IOCTL_EXEC_QUEUE_DESTROY \
	_IOW('d', XE_COMMAND_BASE + XE_EXEC_QUEUE_DESTROY, struct xe_exec_queue_destroy)
#define XE_IOCTL_EXEC _IOW('d', XE_COMMAND_BASE + XE_EXEC, struct xe_exec)
#define XE_IOCTL_OBSERVATION \
	_IOW('d', XE_COMMAND_BASE + XE_OBSERVATION, struct xe_observation_param)
#define XE_STREAM_ENABLE  _IO('i', 0)
#define XE_STREAM_DISABLE _IO('i', 1)

#endif
