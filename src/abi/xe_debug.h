/* SPDX-License-Identifier: MIT
 *
 * abi/xe_debug.h - the part of the interface of driver xe for debuggers of execution units that
 * duet uses
 *
 * Source:   xe_drm_prelim.h of Intel's own builds of the driver (xekmd-backports), version 1 of the
 *           interface. No kernel of kernel.org has it. Its calls are numbered downwards from 0x5f,
 *           where the kernel of kernel.org has no calls, so that kernel refuses them. A later
 *           series for kernel.org has other numbers and no code objects, and is not supported. The
 *           driver of sim/mock_xe implements this interface.
 */
#pragma once

#include <linux/ioctl.h>
#include <linux/types.h>

enum xe_debug_command {
	XE_DEBUG_METADATA_DESTROY = 0x5d,
	XE_DEBUG_METADATA_CREATE = 0x5e,
	XE_DEBUG_CONNECT = 0x5f
};
enum { XE_DEBUG_VERSION = 1 };

/* Returns a descriptor. */
struct xe_debug_connect {
	__u64 extensions;
	__u64 pid;
	__u32 flags;   /* 0 */
	__u32 version; /* input 0: any version; output: the driver's version */
};

/* ---- written by a program's runtime for its debugger ---- */

enum xe_debug_metadata_type { XE_DEBUG_ELF = 0, XE_DEBUG_MODULE = 1 };

struct xe_debug_metadata_create {
	__u64 extensions;
	__u64 type; /* enum xe_debug_metadata_type, or another */
	__u64 user_addr, len;
	__u32 metadata_id;
};

struct xe_debug_metadata_destroy {
	__u64 extensions;
	__u32 metadata_id;
};

/* Extension of a bind: the content of the mapped memory. */
struct xe_debug_attach {
	__u64 next_extension;
	__u32 name, pad; /* XE_DEBUG_ATTACH */
	__u64 metadata_id, flags, cookie, reserved;
};
enum { XE_DEBUG_ATTACH = 0 };

/* ---- read by a debugger ---- */

enum xe_debug_event_type {
	XE_DEBUG_EVENT_READ = 1, /* in a request for the next event */
	XE_DEBUG_EVENT_CLIENT = 2,
	XE_DEBUG_EVENT_VM = 3,
	XE_DEBUG_EVENT_QUEUE = 4,
	XE_DEBUG_EVENT_ATTENTION = 5,
	XE_DEBUG_EVENT_BIND = 6,
	XE_DEBUG_EVENT_BIND_OP = 7,
	XE_DEBUG_EVENT_BIND_FENCE = 8,
	XE_DEBUG_EVENT_METADATA = 9,
	XE_DEBUG_EVENT_OP_METADATA = 10,
	XE_DEBUG_EVENT_PAGE_FAULT = 11,
	XE_DEBUG_EVENT_PLACEMENTS = 13
};
enum xe_debug_event_flag {
	XE_DEBUG_CREATE = 1 << 0,
	XE_DEBUG_DESTROY = 1 << 1,
	XE_DEBUG_STATE_CHANGE = 1 << 2,
	XE_DEBUG_NEED_ACK = 1 << 3
};

struct xe_debug_event {
	__u32 len; /* size of the whole event; in a request: room for it */
	__u16 type, flags;
	__u64 seqno;
	__u64 reserved;
};

struct xe_debug_event_client {
	struct xe_debug_event base;
	__u64 client;
};

struct xe_debug_event_vm {
	struct xe_debug_event base;
	__u64 client, vm;
};

struct xe_debug_event_queue {
	struct xe_debug_event base;
	__u64 client, vm, queue;
	__u32 engine_class, width;
	__u64 lrc[]; /* width: bytes of lrc[]; the driver copies only that many, the lowest ones */
};

struct xe_debug_event_placements {
	struct xe_debug_event base;
	__u64 client, vm, queue, lrc;
	__u32 num_placements, pad;
	__u64 instances[];
};

struct xe_debug_event_attention {
	struct xe_debug_event base;
	__u64 client, queue, lrc;
	__u32 flags, bitmask_size;
	__u8 bitmask[]; /* bit set of halted threads */
};

struct xe_debug_event_bind {
	struct xe_debug_event base;
	__u64 client, vm;
	__u32 flags, num_binds;
};

struct xe_debug_event_bind_op {
	struct xe_debug_event base;
	__u64 bind; /* sequence number of the bind */
	__u64 num_extensions;
	__u64 addr, range;
};

struct xe_debug_event_bind_fence {
	struct xe_debug_event base;
	__u64 bind;
};

struct xe_debug_event_metadata {
	struct xe_debug_event base;
	__u64 client, metadata;
	__u64 type, len;
};

struct xe_debug_event_op_metadata {
	struct xe_debug_event base;
	__u64 op; /* sequence number of the operation */
	__u64 metadata, cookie;
};

/* ---- requests of a debugger ---- */

struct xe_debug_ack {
	__u32 type, flags;
	__u64 seqno;
};

struct xe_debug_read_metadata {
	__u64 client, metadata;
	__u32 flags, reserved;
	__u64 ptr, size; /* size 0: query of the size */
};

struct xe_debug_control {
	__u64 client;
	__u32 cmd; /* enum xe_debug_control_command */
	__u32 flags;
	__u64 seqno;
	__u64 queue, lrc;
	__u32 reserved, bitmask_size;
	__u64 bitmask_ptr;
};
enum xe_debug_control_command {
	XE_DEBUG_INTERRUPT_ALL = 0,
	XE_DEBUG_STOPPED = 1, /* the halted threads */
	XE_DEBUG_RESUME = 2
};

#define XE_IOCTL_DEBUG_CONNECT _IOWR('d', 0x40 + XE_DEBUG_CONNECT, struct xe_debug_connect)
#define XE_IOCTL_DEBUG_METADATA_CREATE \
	_IOWR('d', 0x40 + XE_DEBUG_METADATA_CREATE, struct xe_debug_metadata_create)
#define XE_DEBUG_IOCTL_READ_EVENT    _IO('j', 0)
#define XE_DEBUG_IOCTL_CONTROL       _IOWR('j', 2, struct xe_debug_control)
#define XE_DEBUG_IOCTL_READ_METADATA _IOWR('j', 3, struct xe_debug_read_metadata)
#define XE_DEBUG_IOCTL_ACK           _IOW('j', 4, struct xe_debug_ack)
