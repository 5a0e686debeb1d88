/* SPDX-License-Identifier: MIT
 *
 * event/drm_record.h - records of GPU jobs and fences, from the BPF programs to the recorder
 *
 * Written by src/bpf/drm.bpf.c, read by src/collect/drm. Like event/kernel_record.h, the format may
 * change at any time. A job is identified by the fence that is signaled at its end: the fence's
 * context, whose number is unique until the machine reboots, and a sequence number that grows
 * within the context.
 */
#pragma once

#include <linux/types.h>

#include "event/kernel_record.h"

enum { DRM_NAME_BYTES = 32 };

enum drm_record_kind {
	DRM_RECORD_QUEUED = 1, /* struct drm_job: a thread passed it to the DRM scheduler */
	DRM_RECORD_RUN = 2, /* struct drm_job: the scheduler passed it to the hardware; no thread */
	DRM_RECORD_DONE = 3, /* struct drm_fence: the hardware ended it; no thread */
	DRM_RECORD_RETIRED =
		4,           /* struct drm_fence: it has ended, perhaps some time ago; no thread */
	DRM_RECORD_INIT = 5, /* struct drm_fence: a thread made a fence */
	DRM_RECORD_EMIT = 6, /* struct drm_fence: a thread wrote its command into a ring */
	DRM_RECORD_SIGNALED = 7,   /* struct drm_fence; no thread */
	DRM_RECORD_WAIT_START = 8, /* struct drm_fence: a thread waits for it */
	DRM_RECORD_WAIT_END = 9,   /* struct drm_fence */
	DRM_RECORD_TIMELINE =
		10, /* struct drm_timeline: the names of a context, sent once; no thread */
};

/* head.tid and head.tgid are 0 for kinds marked "no thread": the thread that ran at that moment is
 * unrelated. */
struct drm_fence {
	struct kernel_head head; /* kind: enum drm_record_kind; flags: 0 */
	__u64 context, number;
	char thread[KERNEL_NAME_BYTES]; /* name of head.tid */
};

struct drm_job {
	struct drm_fence fence;
	__u64 client; /* drm-client-id as in fdinfo; 0: this kernel does not report it */
	/* Kernel address of the ring's scheduler (i915: of its engine), unique while that exists.
	 * It is never written to the trace. */
	__u64 scheduler;
	char driver[DRM_NAME_BYTES]; /* "amdgpu" */
	char device[DRM_NAME_BYTES]; /* name on its bus: "0000:03:00.0" */
	char ring[DRM_NAME_BYTES];   /* "gfx_0.0.0", "rcs0"; several rings may have the same name */
};

struct drm_timeline {
	struct kernel_head head;
	__u64 context; /* only the lower 32 bits, because the kernel reports no more together with
			  the names */
	char driver[DRM_NAME_BYTES];
	char timeline[DRM_NAME_BYTES];
};
