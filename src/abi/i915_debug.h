/* SPDX-License-Identifier: MIT
 *
 * abi/i915_debug.h - the part of the debugger interface of Intel's own i915 that duet uses
 *
 * Source:   i915_drm_prelim.h of intel-i915-dkms (Data Center GPU Max), version 3 of the interface.
 *           No other i915 has it; all others refuse the call.
 */
#pragma once

#include <linux/ioctl.h>
#include <linux/types.h>

enum { I915_DEBUGGER_OPEN = 0x56 };

struct i915_debugger_open {
	__u64 pid;
	__u32 flags;   /* I915_DEBUG_NONBLOCK */
	__u32 version; /* version that the driver supports */
	__u64 events;  /* requested events; 0: all */
	__u64 extensions;
};
#define I915_DEBUG_NONBLOCK (1u << 31)

enum i915_debug_event_type {
	I915_DEBUG_EVENT_READ = 1,
	I915_DEBUG_EVENT_UUID = 4,
	I915_DEBUG_EVENT_VM = 5,
	I915_DEBUG_EVENT_VM_BIND = 6,
	I915_DEBUG_EVENT_ATTENTION = 8,
	I915_DEBUG_EVENT_PAGE_FAULT = 10
};
#define I915_DEBUG_CREATE   (1u << 31)
#define I915_DEBUG_DESTROY  (1u << 30)
#define I915_DEBUG_NEED_ACK (1u << 28)

struct i915_debug_event {
	__u32 type, flags;
	__u64 seqno;
	__u64 size; /* size of the whole event; in a request: room for it */
} __attribute__((packed));

struct i915_debug_event_uuid {
	struct i915_debug_event base;
	__u64 client, handle;
	__u64 class_handle, payload_size;
} __attribute__((packed));

struct i915_debug_event_vm {
	struct i915_debug_event base;
	__u64 client, handle;
} __attribute__((packed));

struct i915_debug_event_vm_bind {
	struct i915_debug_event base;
	__u64 client, vm;
	__u64 va_start, va_length;
	__u32 num_uuids, flags;
	__u64 uuids[];
} __attribute__((packed));

struct i915_debug_read_uuid {
	__u64 client, handle;
	__u32 flags;
	char uuid[36];
	__u64 payload_ptr, payload_size;
} __attribute__((packed));

struct i915_debug_ack {
	__u32 type, flags;
	__u64 seqno;
} __attribute__((packed));

#define I915_IOCTL_DEBUGGER_OPEN    _IOWR('d', 0x40 + I915_DEBUGGER_OPEN, struct i915_debugger_open)
#define I915_DEBUG_IOCTL_READ_EVENT _IO('j', 0)
#define I915_DEBUG_IOCTL_READ_UUID  _IOWR('j', 1, struct i915_debug_read_uuid)
#define I915_DEBUG_IOCTL_ACK        _IOW('j', 4, struct i915_debug_ack)
