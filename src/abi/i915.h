/* SPDX-License-Identifier: MIT
 *
 * abi/i915.h - the part of the interface of Linux's driver i915 that duet uses
 *
 * Source:   include/uapi/drm/i915_drm.h of Linux 6.1 to 7.3, in which the parts used are the same.
 *           Own declarations, as abi/xe.h.
 */
#pragma once

#include <linux/ioctl.h>
#include <linux/types.h>

enum i915_command {
	I915_GETPARAM = 0x06,
	I915_GEM_MMAP = 0x1e,
	I915_GEM_MMAP_OFFSET = 0x24, /* also older programs, with fewer fields */
	I915_GEM_EXECBUFFER2 = 0x29,
	I915_GEM_CONTEXT_CREATE = 0x2d,
	I915_GEM_CONTEXT_DESTROY = 0x2e,
	I915_GEM_USERPTR = 0x33,
	I915_GEM_CONTEXT_GETPARAM = 0x34,
	I915_GEM_CONTEXT_SETPARAM = 0x35,
	I915_GEM_VM_CREATE = 0x3a,
	I915_GEM_VM_DESTROY = 0x3b
};
#define I915_COMMAND_BASE 0x40 /* the same for all DRM drivers */

struct i915_getparam {
	__s32 param;
	int *value;
};
enum { I915_PARAM_CHIPSET_ID = 4 };

struct i915_mmap {
	__u32 handle, pad;
	__u64 offset, size;
	__u64 addr_ptr; /* the object's present address in the caller */
	__u64 flags;
};

struct i915_mmap_offset {
	__u32 handle, pad;
	__u64 offset;
	__u64 flags;
	__u64 extensions;
};

struct i915_userptr {
	__u64 user_ptr, user_size;
	__u32 flags, handle;
};

struct i915_exec_object {
	__u32 handle;
	__u32 relocation_count;
	__u64 relocs_ptr;
	__u64 alignment;
	__u64 offset; /* address on the GPU; if it is not pinned, the driver writes it back */
	__u64 flags;
	__u64 rsvd1, rsvd2;
};

struct i915_execbuffer2 {
	__u64 buffers_ptr; /* points to struct i915_exec_object */
	__u32 buffer_count;
	__u32 batch_start_offset, batch_len;
	__u32 DR1, DR4, num_cliprects;
	__u64 cliprects_ptr;
	__u64 flags;
	__u64 rsvd1; /* the context, in the lower half */
	__u64 rsvd2;
};
enum {
	I915_EXEC_BATCH_FIRST = 1 << 18, /* the batch is the first object; otherwise the last */
};

struct i915_context_create {
	__u32 ctx_id, flags;
	__u64 extensions; /* struct i915_context_extension, if the flags announce it */
};
enum { I915_CONTEXT_HAS_EXTENSIONS = 1 << 0 };

struct i915_context_param {
	__u32 ctx_id, size;
	__u64 param; /* enum i915_context_param_number */
	__u64 value;
};
/* A read of this parameter returns a new number of the context's address space in the file. */
enum i915_context_param_number { I915_CONTEXT_VM = 9 };

struct i915_context_extension {
	__u64 next; /* 0: none */
	__u32 name; /* 0: this extension sets a parameter */
	__u32 flags, rsvd[4];
	struct i915_context_param param;
};
enum { I915_EXTENSION_SETPARAM = 0 };

struct i915_vm {
	__u64 extensions;
	__u32 flags, vm_id;
};

struct i915_context_destroy {
	__u32 ctx_id, pad;
};

#define I915_IOCTL_GETPARAM _IOWR('d', I915_COMMAND_BASE + I915_GETPARAM, struct i915_getparam)
