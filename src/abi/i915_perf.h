/* SPDX-License-Identifier: MIT
 *
 * abi/i915_perf.h - the part of the interface of Linux's driver i915 for streams of counters,
 * beside abi/i915.h
 *
 * Source:   include/uapi/drm/i915_drm.h of Linux 7.3. Names that start with PRELIM exist only in
 *           Intel's own driver for Data Center GPU Max (intel-i915-dkms; its header is
 *           i915_drm_prelim.h). Their numbers differ from all others, so every other i915 refuses
 *           them.
 */
#pragma once

#include "abi/i915.h"

enum i915_perf_command {
	I915_PERF_OPEN = 0x36,
	I915_PERF_ADD_CONFIG = 0x37,
	I915_PERF_REMOVE_CONFIG = 0x38,
	I915_QUERY = 0x39,
};

struct i915_query_item {
	__u64 query_id;
	__s32 length; /* 0: query of the length; then bytes, or -errno */
	__u32 flags;
	__u64 data_ptr;
};
enum { I915_QUERY_ENGINE_INFO = 2 };

struct i915_query {
	__u32 num_items, flags;
	__u64 items_ptr;
};

struct i915_engine_info {
	__u16 engine_class, engine_instance;
	__u32 reserved;
	__u64 flags, capabilities;
	__u16 logical_instance, reserved2[3];
	__u64 reserved3[3];
};
enum { I915_ENGINE_CLASS_COMPUTE = 4 };

struct i915_query_engine_info {
	__u32 num_engines, reserved[3];
	struct i915_engine_info engines[];
};

struct i915_perf_open_param {
	__u32 flags; /* enum i915_perf_flag */
	__u32 num_properties;
	__u64 properties_ptr; /* pairs of number and value, __u64 each */
};
enum i915_perf_flag {
	I915_PERF_CLOEXEC = 1 << 0,
	I915_PERF_NONBLOCK = 1 << 1,
	I915_PERF_DISABLED = 1 << 2,
	PRELIM_I915_PERF_EU_STALL = 1 << 16
};

enum i915_param {
	I915_PARAM_EU_TOTAL = 34,
	I915_PARAM_CS_TIMESTAMP_FREQUENCY = 51,
	I915_PARAM_OA_TIMESTAMP_FREQUENCY = 57 /* Linux 6.2 */
};

enum i915_perf_property {
	I915_PERF_SAMPLE_OA = 2,
	I915_PERF_OA_METRICS_SET = 3,
	I915_PERF_OA_FORMAT = 4,
	I915_PERF_OA_EXPONENT = 5
};
enum i915_oa_format { I915_OA_A32U40_A4U32_B8_C8 = 10, I915_OA_A24U40_A14U32_B8_C8 = 12 };

struct i915_perf_oa_config {
	char uuid[36];
	__u32 n_mux_regs, n_boolean_regs, n_flex_regs;
	__u64 mux_regs_ptr, boolean_regs_ptr,
		flex_regs_ptr; /* pairs of address and value, __u32 each */
};

/* Header of a record; a read returns records one after the other. */
struct i915_perf_record_header {
	__u32 type; /* enum i915_perf_record */
	__u16 pad;
	__u16 size; /* including this header */
};
enum i915_perf_record {
	I915_PERF_RECORD_SAMPLE = 1, /* contains a report */
	I915_PERF_RECORD_REPORT_LOST = 2,
	I915_PERF_RECORD_BUFFER_LOST = 3
};

enum prelim_eu_stall_property {
	PRELIM_EU_STALL_BUF_SZ = 1001,      /* buffer per subslice: 128, 256 or 512 KiB */
	PRELIM_EU_STALL_SAMPLE_RATE = 1002, /* 1 to 7, in units of 251 cycles */
	PRELIM_EU_STALL_POLL_PERIOD = 1003, /* ns */
	PRELIM_EU_STALL_ENGINE_CLASS = 1004,
	PRELIM_EU_STALL_ENGINE_INSTANCE = 1005, /* repeated for each engine */
	PRELIM_EU_STALL_EVENT_REPORT_COUNT = 1006
};

/* Position in each row; the hardware leaves these bytes empty. */
enum { PRELIM_EU_STALL_INFO = 48 };
struct prelim_eu_stall_info {
	__u16 subslice;
	__u16 flags;
};
enum { PRELIM_EU_STALL_DROPPED = 1 << 8 /* rows of this subslice were lost before this one */ };

#define I915_IOCTL_QUERY _IOWR('d', I915_COMMAND_BASE + I915_QUERY, struct i915_query)
#define I915_IOCTL_PERF_ADD_CONFIG \
	_IOW('d', I915_COMMAND_BASE + I915_PERF_ADD_CONFIG, struct i915_perf_oa_config)
#define I915_IOCTL_PERF_REMOVE_CONFIG _IOW('d', I915_COMMAND_BASE + I915_PERF_REMOVE_CONFIG, __u64)
#define I915_IOCTL_PERF_OPEN \
	_IOW('d', I915_COMMAND_BASE + I915_PERF_OPEN, struct i915_perf_open_param)
#define I915_STREAM_ENABLE _IO('i', 0)
