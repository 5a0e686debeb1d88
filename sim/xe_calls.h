/* SPDX-License-Identifier: MIT
 *
 * sim/xe_calls.h - calls of Linux's driver xe that only simulated programs and tests make
 *
 * Continues abi/xe.h by the same rules.
 */
#pragma once

#include "abi/xe.h"

/* The same for all DRM drivers: objects to wait for, and the release of a buffer. */
struct xe_sync_object {
	__u32 handle, flags;
};

struct xe_gem_close {
	__u32 handle, pad;
};

struct xe_sync_wait {
	__u64 handles;
	__s64 timeout_ns; /* CLOCK_MONOTONIC */
	__u32 count, flags;
	__u32 first_signaled, pad;
};

#define XE_IOCTL_GEM_CREATE _IOWR('d', XE_COMMAND_BASE + XE_GEM_CREATE, struct xe_gem_create)
#define XE_IOCTL_GEM_MMAP_OFFSET \
	_IOWR('d', XE_COMMAND_BASE + XE_GEM_MMAP_OFFSET, struct xe_gem_mmap_offset)
#define XE_IOCTL_VM_CREATE  _IOWR('d', XE_COMMAND_BASE + XE_VM_CREATE, struct xe_vm_create)
#define XE_IOCTL_VM_DESTROY _IOW('d', XE_COMMAND_BASE + XE_VM_DESTROY, struct xe_vm_destroy)
#define XE_IOCTL_VM_BIND    _IOW('d', XE_COMMAND_BASE + XE_VM_BIND, struct xe_vm_bind)
#define XE_IOCTL_EXEC_QUEUE_CREATE \
	_IOWR('d', XE_COMMAND_BASE + XE_EXEC_QUEUE_CREATE, struct xe_exec_queue_create)
#define XE_IOCTL_EXEC_QUEUE_DESTROY \
	_IOW('d', XE_COMMAND_BASE + XE_EXEC_QUEUE_DESTROY, struct xe_exec_queue_destroy)
#define XE_IOCTL_EXEC         _IOW('d', XE_COMMAND_BASE + XE_EXEC, struct xe_exec)
#define XE_IOCTL_GEM_CLOSE    _IOW('d', 0x09, struct xe_gem_close)
#define XE_IOCTL_SYNC_CREATE  _IOWR('d', 0xbf, struct xe_sync_object)
#define XE_IOCTL_SYNC_DESTROY _IOWR('d', 0xc0, struct xe_sync_object)
#define XE_IOCTL_SYNC_WAIT    _IOWR('d', 0xc3, struct xe_sync_wait)
