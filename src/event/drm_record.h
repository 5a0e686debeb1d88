/* SPDX-License-Identifier: MIT
 *
 * event/drm_record.h - what our programs inside the kernel tell of GPUs' jobs and fences
 *
 * Written by src/bpf/drm.bpf.c, read by src/collect/drm; as event/kernel_record.h, no format that lasts. A job is named
 * by the fence that is signaled when it has ended: a context, which is numbered once while a machine runs, and a number
 * that grows within it.
 */
#ifndef EVENT_DRM_RECORD_H
#define EVENT_DRM_RECORD_H

#include <linux/types.h>

#include "event/kernel_record.h"

enum { DRM_NAME_BYTES = 32 };

enum drm_record_kind {
	DRM_RECORD_QUEUED = 1, /* struct drm_job: a thread gave it to the kernel's scheduler */
	DRM_RECORD_RUN = 2,  /* struct drm_job: the scheduler gave it to the hardware; no thread */
	DRM_RECORD_DONE = 3, /* struct drm_fence: the hardware has ended it; no thread */
	DRM_RECORD_RETIRED = 4, /* struct drm_fence: it has ended, perhaps a while ago; no thread */
	DRM_RECORD_INIT = 5,    /* struct drm_fence: a thread made a fence */
	DRM_RECORD_EMIT = 6,    /* struct drm_fence: a thread wrote its command into a ring */
	DRM_RECORD_SIGNALED = 7,   /* struct drm_fence; no thread */
	DRM_RECORD_WAIT_START = 8, /* struct drm_fence: a thread waits for it */
	DRM_RECORD_WAIT_END = 9,   /* struct drm_fence */
	DRM_RECORD_TIMELINE = 10,  /* struct drm_timeline: names of a context, once; no thread */
};

/* head.tid and head.tgid are 0 where a kind tells of no thread: whoever ran then had nothing to do with it. */
struct drm_fence {
	struct kernel_head head; /* kind: enum drm_record_kind; flags: 0 */
	__u64 context, number;
	char thread[KERNEL_NAME_BYTES]; /* name of head.tid */
};

struct drm_job {
	struct drm_fence fence;
	__u64 client; /* as drm-client-id in fdinfo; 0: this kernel does not tell */
	/* Address of the ring's scheduler, of i915 of its engine: one as long as it is there. Never written down. */
	__u64 scheduler;
	char driver[DRM_NAME_BYTES]; /* "amdgpu" */
	char device[DRM_NAME_BYTES]; /* as the bus calls it: "0000:03:00.0" */
	char ring[DRM_NAME_BYTES];   /* "gfx_0.0.0", "rcs0"; may be the same of many */
};

struct drm_timeline {
	struct kernel_head head;
	__u64 context; /* the lower 32 bits: the kernel tells no more of a context with its names */
	char driver[DRM_NAME_BYTES];
	char timeline[DRM_NAME_BYTES];
};

#endif
