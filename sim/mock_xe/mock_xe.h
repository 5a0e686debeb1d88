/* SPDX-License-Identifier: MIT
 *
 * sim/mock_xe/mock_xe.h - parts of a simulated GPU, under the name and the interface of the driver
 * xe
 */
#pragma once

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/gpu_scheduler.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "mock_control.h"
#include "xe_debug.h"
#include "xe.h"

enum { MAX_GPUS = 4 };

/* The only stream that a GPU has at a time, as its one GT allows. */
struct mock_stream {
	struct mock_gpu *gpu;
	wait_queue_head_t waiting;
	u64 wait_rows;
	bool is_enabled;
	/* under the GPU's lock */
	u8 *rows; /* a ring */
	u64 written, taken;
	bool has_lost, is_dead;
};

struct mock_oa;

struct mock_gpu {
	struct drm_device drm;
	struct platform_device *platform;
	u32 index;
	struct drm_gpu_scheduler scheduler;
	struct workqueue_struct *work;
	u64 context;
	atomic64_t number;
	spinlock_t lock; /* of fences and streams */
	struct mock_stream *stream;
	wait_queue_head_t taking; /* for the stream to be read */
	struct mock_oa *oa;       /* the only one, too */
	struct xarray sets;       /* metric sets of OA … */
	struct kobject *metrics;  /* … and where they are listed */
	u64 running, stopped;     /* a queue's id each, under the lock; 0: none */
	struct mutex debug_lock;
	struct list_head debuggers, files;
	struct mutex scripts_lock;
	struct list_head scripts;
};

/* A GPU's address space. */
struct mock_vm {
	struct kref references;
	struct mutex lock;
	struct list_head ranges;
	u64 id; /* for debuggers */
};

struct mock_queue {
	struct drm_sched_entity entity;
	struct mock_vm *vm; /* a reference */
	u16 width;
	u64 id; /* the same */
};

struct mock_file {
	struct mock_gpu *gpu;
	struct xarray vms, queues, metadata;
	struct list_head link; /* of the GPU's */
	struct pid *pid;       /* a reference; the process that opened it */
	u64 id;
};

/* A bound range. */
struct mock_range {
	u64 begin, end, metadata;
};

#define to_gpu(device) container_of(device, struct mock_gpu, drm)

/* ---- xe_main.c ---- */

/* Limits of this machine's kernel: drivers before Linux 6.15 have no EU stalls, before 6.11 no
 * OA. */
extern bool mock_has_stalls, mock_has_oa;
/* 2: it can be debugged, 1: that is switched off, 0: it is a driver that cannot. */
extern int mock_debug_is;
/* True if the caller may observe other processes. */
bool mock_may_observe(void);

/* ---- mock_vm.c ---- */

void mock_vm_put(struct mock_vm *vm);
/* Reads bytes at a GPU address. task: the process whose memory user pointers refer to. */
int mock_vm_read(struct mock_vm *vm, struct task_struct *task, u64 address, void *to, size_t size);

/* The first range that begins there or later; false: there is none. */
bool mock_vm_next(struct mock_vm *vm, u64 from, struct mock_range *ret_range);

int xe_gem_create_ioctl(struct drm_device *device, void *data, struct drm_file *file);
int xe_gem_mmap_offset_ioctl(struct drm_device *device, void *data, struct drm_file *file);
int xe_vm_create_ioctl(struct drm_device *device, void *data, struct drm_file *file);
int xe_vm_destroy_ioctl(struct drm_device *device, void *data, struct drm_file *file);
int xe_vm_bind_ioctl(struct drm_device *device, void *data, struct drm_file *file);

/* ---- mock_exec.c ---- */

int mock_exec_open(struct mock_gpu *gpu);
void mock_queue_free(struct mock_queue *queue);
int mock_script_put(struct mock_gpu *gpu, const struct mock_control *control);

int xe_exec_queue_create_ioctl(struct drm_device *device, void *data, struct drm_file *file);
int xe_exec_queue_destroy_ioctl(struct drm_device *device, void *data, struct drm_file *file);
int xe_exec_ioctl(struct drm_device *device, void *data, struct drm_file *file);

/* ---- mock_stall.c ---- */

/* Adds rows of an instruction to the GPU's stream, if it is open. */
void mock_stall_put(struct mock_gpu *gpu, u64 address, const struct mock_rows *rows);
void mock_stall_reset(struct mock_gpu *gpu);
void mock_stall_drop(struct mock_gpu *gpu);
/* Until there is a stream that lives and has nothing that was not read. */
int mock_stall_wait(struct mock_gpu *gpu);

int xe_observation_ioctl(struct drm_device *device, void *data, struct drm_file *file);
int xe_eu_stall_stream_open(struct drm_device *device, u64 data, struct drm_file *file);
int xe_query_ioctl(struct drm_device *device, void *data, struct drm_file *file);

/* ---- mock_oa.c ---- */

/* Adds reports with these increments, if a stream is open. */
void mock_oa_put(struct mock_gpu *gpu, const struct mock_oa_step *steps, u32 count);
void mock_oa_lose(struct mock_gpu *gpu);
void mock_oa_end(struct mock_gpu *gpu);

/* Before the first. */
int mock_oa_list_sets(struct mock_gpu *gpu);
int mock_oa_add_set(struct mock_gpu *gpu, u64 data);
int mock_oa_remove_set(struct mock_gpu *gpu, u64 data);
int mock_oa_open(struct mock_gpu *gpu, u64 data);

/* ---- mock_debug.c ---- */

u64 mock_debug_id(void);
void mock_debug_open(struct mock_file *mine);
void mock_debug_close(struct mock_file *mine);
void mock_debug_vm(struct mock_file *mine, const struct mock_vm *vm, u16 flags);
void mock_debug_queue(struct mock_file *mine, const struct mock_queue *queue, u16 flags);
/* Returns the content that a bind's extension announces; 0: none. */
u64 mock_debug_find_metadata(struct mock_file *mine, u64 extension);
/* Reports a completed bind. sync: signaled now, or after the debugger's acknowledgement; NULL:
 * none. */
int mock_debug_bind(struct mock_file *mine, const struct mock_vm *vm,
		    const struct xe_vm_bind_op *operation, u64 metadata,
		    const struct xe_sync *sync);
int mock_debug_attention(struct mock_gpu *gpu);

int xe_eudebug_connect_ioctl(struct drm_device *device, void *data, struct drm_file *file);
int xe_debug_metadata_create_ioctl(struct drm_device *device, void *data, struct drm_file *file);
int xe_debug_metadata_destroy_ioctl(struct drm_device *device, void *data, struct drm_file *file);
