/* SPDX-License-Identifier: MIT
 *
 * abi/xe.h - the part of the interface of Linux's driver xe that duet uses
 *
 * Source:   include/uapi/drm/xe_drm.h of Linux 7.3; the numbers have not changed since they were
 *           added to the driver (Linux 6.8; OA 6.11; EU stalls 6.15). Own declarations, because few
 *           machines have the header, and on most of them it is older than the kernel. A test
 *           compares them with the kernel's numbers (tests/unit/event/test_xe_abi.c). BPF programs
 *           and the driver of sim/mock_xe use them too.
 */
#pragma once

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
#define XE_COMMAND_BASE 0x40 /* the same for all DRM drivers */

/* The same for all DRM drivers; sizes have the width of the machine's word. */
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
	__u32 size;  /* 0: query of the size */
	__u64 data;
	__u64 reserved[2];
};
enum xe_query {
	XE_QUERY_CONFIG = 2,
	XE_QUERY_GT_LIST = 3,
	XE_QUERY_GT_TOPOLOGY = 5,
	XE_QUERY_OA_UNITS = 8,
	XE_QUERY_EU_STALL = 10
};

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
/* Flags of a bind that maps addresses without a buffer object. */
enum xe_bind_flag {
	XE_BIND_NULL = 1 << 2,           /* reads return 0, writes are dropped */
	XE_BIND_CPU_ADDR_MIRROR = 1 << 5 /* maps the process's memory at the same address (6.15) */
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
	__u32 op;    /* enum xe_bind_operation */
	__u32 flags; /* enum xe_bind_flag, and others */
	__u32 prefetch_mem_region_instance, pad2;
	__u64 reserved[3];
};

struct xe_vm_bind {
	__u64 extensions;
	__u32 vm_id, exec_queue_id, pad;
	__u32 num_binds;
	union {
		struct xe_vm_bind_op bind; /* if there is one bind */
		__u64 vector_of_binds;     /* if there are several: their address */
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

/* Object that a submission signals or waits for. */
struct xe_sync {
	__u64 extensions;
	__u32 type; /* XE_SYNC_OBJECT; other types are not used here */
	__u32 flags;
	union {
		__u32 handle;
		__u64 addr;
	};
	__u64 timeline_value;
	__u64 reserved[2];
};
enum { XE_SYNC_OBJECT = 0, XE_SYNC_USER_FENCE = 2 }; /* types */
enum { XE_SYNC_SIGNAL = 1 };                         /* a flag */

struct xe_exec {
	__u64 extensions;
	__u32 exec_queue_id, num_syncs;
	__u64 syncs;
	/* address of the batch if there is one; otherwise of the list of addresses */
	__u64 address;
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

enum xe_topology {
	XE_TOPOLOGY_DSS_GEOMETRY = 1,
	XE_TOPOLOGY_DSS_COMPUTE = 2,
	XE_TOPOLOGY_EU_PER_DSS = 4, /* EUs with eight lanes … */
	XE_TOPOLOGY_SIMD16_EU_PER_DSS = 5
};

/* Part of the answer; parts follow each other. */
struct xe_topology_mask {
	__u16 gt_id, type; /* enum xe_topology */
	__u32 num_bytes;
	__u8 mask[];
};

enum { XE_OA_UNIT_OAG = 0 };

struct xe_engine_instance {
	__u16 engine_class, engine_instance, gt_id, pad;
};

struct xe_oa_unit {
	__u64 extensions;
	__u32 oa_unit_id, oa_unit_type;
	__u64 capabilities; /* enum xe_oa_capability */
	__u64 oa_timestamp_freq;
	__u16 gt_id, pad[3]; /* only with XE_OA_HAS_GT */
	__u64 reserved[3];
	__u64 num_engines;
	struct xe_engine_instance engines[];
};
enum xe_oa_capability { XE_OA_HAS_GT = 1 << 5 };

struct xe_query_oa_units {
	__u64 extensions;
	__u32 num_oa_units, pad;
	__u64 oa_units[]; /* struct xe_oa_unit, one after the other */
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
enum { XE_OBSERVATION_OA = 0, XE_OBSERVATION_EU_STALL = 1 };
enum {
	XE_OBSERVATION_OPEN = 0,
	XE_OBSERVATION_ADD_CONFIG = 1,
	XE_OBSERVATION_REMOVE_CONFIG = 2 /* param points to the config's number, a __u64 */
};

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

enum xe_oa_property {
	XE_OA_UNIT_ID = 1,
	XE_OA_SAMPLE = 2,
	XE_OA_METRIC_SET = 3,
	/* type | counter select << 8 | counter size << 16 | B and C counters << 24 */
	XE_OA_FORMAT = 4,
	XE_OA_PERIOD_EXPONENT = 5, /* one report per 2^(exponent + 1) timestamps */
	XE_OA_DISABLED = 6
};
enum xe_oa_format_type { XE_OA_FORMAT_OAG = 0, XE_OA_FORMAT_PEC = 5 };
enum { XE_OA_UUID_CHARACTERS = 36 };

struct xe_oa_config {
	__u64 extensions;
	char uuid[XE_OA_UUID_CHARACTERS];
	__u32 n_regs;
	__u64 regs_ptr; /* pairs of address and value, __u32 each */
};

struct xe_oa_stream_status {
	__u64 extensions;
	__u64 oa_status; /* enum xe_oa_status, since the last read */
	__u64 reserved[3];
};
enum xe_oa_status {
	XE_OA_REPORT_LOST = 1 << 0,
	XE_OA_BUFFER_OVERFLOW = 1 << 1,
	XE_OA_COUNTER_OVERFLOW = 1 << 2,
	XE_OA_TRIGGER_QUEUE_FULL = 1 << 3
};

#define XE_IOCTL_VERSION      _IOWR('d', 0x00, struct xe_version)
#define XE_IOCTL_DEVICE_QUERY _IOWR('d', XE_COMMAND_BASE + XE_DEVICE_QUERY, struct xe_device_query)
#define XE_IOCTL_OBSERVATION \
	_IOW('d', XE_COMMAND_BASE + XE_OBSERVATION, struct xe_observation_param)
#define XE_STREAM_ENABLE  _IO('i', 0)
#define XE_STREAM_DISABLE _IO('i', 1)
#define XE_STREAM_STATUS  _IO('i', 3) /* only OA streams */
