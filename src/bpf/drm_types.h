/* SPDX-License-Identifier: MIT
 *
 * bpf/drm_types.h - the fields of the kernel's GPU structures that duet reads; as
 * bpf/kernel_types.h
 */
#pragma once

#include "bpf/kernel_types.h"

struct kobject {
	const char *name;
} KERNEL_TYPE;

struct device_driver {
	const char *name;
} KERNEL_TYPE;

struct device {
	struct kobject kobj;
	struct device_driver *driver;
} KERNEL_TYPE;

struct dma_fence {
	__u64 context, seqno;
} KERNEL_TYPE;

struct drm_gpu_scheduler {
	const char *name;
	struct device *dev;
} KERNEL_TYPE;

struct drm_sched_fence {
	struct dma_fence finished;
	__u64 drm_client_id; /* from 6.17 on, and in older kernels with a backport */
} KERNEL_TYPE;

struct drm_sched_job {
	struct drm_gpu_scheduler *sched;
	struct drm_sched_fence *s_fence;
} KERNEL_TYPE;

struct drm_driver {
	const char *name;
} KERNEL_TYPE;

struct drm_device {
	struct device *dev;
	const struct drm_driver *driver;
	struct drm_minor *render;
} KERNEL_TYPE;

struct drm_minor {
	int index;
	struct drm_device *dev;
} KERNEL_TYPE;

struct drm_file {
	struct drm_minor *minor;
} KERNEL_TYPE;

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff;
	struct file *vm_file;
	void *vm_private_data;
} KERNEL_TYPE;

struct drm_i915_private {
	struct drm_device drm;
} KERNEL_TYPE;

struct intel_engine_cs {
	struct drm_i915_private *i915;
	char name[8];
} KERNEL_TYPE;

struct i915_request {
	struct dma_fence fence;
	struct intel_engine_cs *engine;
} KERNEL_TYPE;

/* The event dma_fence:dma_fence_init, with the names that only the driver can provide. */
struct trace_event_raw_dma_fence {
	__u32 __data_loc_driver, __data_loc_timeline;
	__u32 context;
} KERNEL_TYPE;
