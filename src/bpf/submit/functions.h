/* SPDX-License-Identifier: MIT
 *
 * bpf/submit/functions.h - the functions of Intel's drivers at which BPF programs are attached
 *
 * Runs in:  the kernel (bpf/submit/programs.bpf.h makes the programs of each row) and the recorder
 *           (collect/intel/driver.c loads them)
 *
 *	CALL(name, function, number, lacks)	at its start and its end; lacks: data that is
 *						missing without its end, or NULL
 *	BEGIN(name, function, does)		only at its start
 *
 * Both drivers also have the functions exec, file_close and mmap.
 */
#pragma once

#define LACKS_KERNELS "kernels of batches in buffers that are bound from now on"

/* clang-format off */
#define XE_FUNCTIONS(CALL, BEGIN) \
	CALL(vm_create, xe_vm_create_ioctl, SUBMIT_XE_VM_CREATE, NULL) \
	CALL(vm_bind, xe_vm_bind_ioctl, SUBMIT_XE_VM_BIND, LACKS_KERNELS) \
	CALL(queue_create, xe_exec_queue_create_ioctl, SUBMIT_XE_QUEUE_CREATE, LACKS_KERNELS) \
	CALL(mmap_offset, xe_gem_mmap_offset_ioctl, SUBMIT_XE_MMAP_OFFSET, LACKS_KERNELS) \
	CALL(vm_destroy, xe_vm_destroy_ioctl, SUBMIT_XE_VM_DESTROY, NULL) \
	BEGIN(queue_destroy, xe_exec_queue_destroy_ioctl, on_queue_destroy) \
	BEGIN(gem_close, drm_gem_close_ioctl, on_gem_close)

#define I915_FUNCTIONS(CALL, BEGIN) \
	CALL(context_create, i915_gem_context_create_ioctl, SUBMIT_I915_CONTEXT_CREATE, NULL) \
	CALL(mmap_offset, i915_gem_mmap_offset_ioctl, SUBMIT_I915_MMAP_OFFSET, LACKS_KERNELS) \
	CALL(gem_mmap, i915_gem_mmap_ioctl, SUBMIT_I915_GEM_MMAP, NULL) \
	CALL(userptr, i915_gem_userptr_ioctl, SUBMIT_I915_USERPTR, NULL) \
	CALL(setparam, i915_gem_context_setparam_ioctl, SUBMIT_I915_CONTEXT_SETPARAM, NULL) \
	CALL(getparam, i915_gem_context_getparam_ioctl, SUBMIT_I915_CONTEXT_GETPARAM, NULL) \
	CALL(vm_create, i915_gem_vm_create_ioctl, SUBMIT_I915_VM_CREATE, NULL) \
	BEGIN(vm_destroy, i915_gem_vm_destroy_ioctl, on_vm_destroy) \
	BEGIN(context_destroy, i915_gem_context_destroy_ioctl, on_context_destroy) \
	BEGIN(gem_close, drm_gem_close_ioctl, on_gem_close)
/* clang-format on */
