/* SPDX-License-Identifier: MIT
 *
 * sim/mock_xe/mock_exec.c - queues, jobs on the kernel's real scheduler, and the effects of batches
 * on the GPU
 *
 * Runs in:  the kernel of a virtual machine: ioctls, the scheduler's thread, a work queue
 * Gets:     batches
 * Gives:    kernels that take as long as their scripts request, and their stall rows
 * Owns:     queues, jobs, scripts
 * Why:      the walk through a batch is as simple as possible and supports only Xe2: its results
 *           are those that duet's parser must find
 */
#include <drm/drm_syncobj.h>
#include <linux/delay.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "mock_xe.h"

enum {
	MAX_KERNELS = 64,
	MAX_COMMANDS = 65536,
	MAX_LEVELS = 4,
	/* Type of a command, by its first dword. */
	MI_NOOP = 0x00,
	MI_BATCH_BUFFER_END = 0x0a,
	MI_BATCH_BUFFER_START = 0x31,
	SECOND_LEVEL = 1 << 22,
	COMPUTE_WALKER = 0x7208,
	WALKER_DWORDS = 40,
	WALKER_KERNEL = 19, /* dword of the kernel's address, low */
	STATE_BASE_ADDRESS = 0x6101,
	BASE_INSTRUCTION = 10 /* dword of the instruction base, low; bit 0: it is set */
};

struct script {
	struct list_head link;
	struct mock_control *control; /* owned; rows behind it */
};

struct job {
	struct drm_sched_job base;
	struct dma_fence fence; /* the hardware's fence; the last user frees the job */
	bool is_run;            /* or the fence is none yet */
	struct delayed_work end;
	struct mock_gpu *gpu;
	struct mock_vm *vm;       /* a reference */
	struct task_struct *task; /* a reference; the submitting process */
	u64 queue;                /* its id */
	u64 address;
	u64 kernels[MAX_KERNELS];
	u32 kernels_count;
};

enum { MAX_SYNCS = 8 };

/* ---- scripts --------------------------------------------------------------------------------- */

int mock_script_put(struct mock_gpu *gpu, const struct mock_control *control)
{
	struct script *script = kzalloc(sizeof(*script), GFP_KERNEL), *old;

	if (script)
		script->control = kmemdup(control, struct_size(control, rows, control->rows_count),
					  GFP_KERNEL);
	if (!script || !script->control) {
		kfree(script);
		return -ENOMEM;
	}
	mutex_lock(&gpu->scripts_lock);
	list_for_each_entry(old, &gpu->scripts, link) if (old->control->address == control->address)
	{
		list_del(&old->link);
		kfree(old->control);
		kfree(old);
		break;
	}
	list_add_tail(&script->link, &gpu->scripts);
	mutex_unlock(&gpu->scripts_lock);
	return 0;
}

/* Under the lock; NULL: the kernel does nothing. */
static const struct mock_control *script_of(struct mock_gpu *gpu, u64 address)
{
	struct script *script;

	list_for_each_entry(script, &gpu->scripts,
			    link) if (script->control->address == address) return script->control;
	return NULL;
}

/* ---- the walk -------------------------------------------------------------------------------- */

struct walk {
	struct job *job;
	u64 at, returns[MAX_LEVELS];
	u32 level;
	u64 base; /* of instructions */
};

static u64 pair(const u32 *dwords)
{
	return (dwords[0] & ~0x3fu) | (u64)(dwords[1] & 0xffff) << 32;
}

static bool end_level(struct walk *walk)
{
	if (!walk->level)
		return false;
	walk->at = walk->returns[--walk->level];
	return true;
}

static bool start_other(struct walk *walk, const u32 *dwords, u32 length)
{
	if (dwords[0] & SECOND_LEVEL) {
		if (walk->level == MAX_LEVELS)
			return false;
		walk->returns[walk->level++] = walk->at + 4 * length;
	}
	walk->at = (dwords[1] & ~3u) | (u64)(dwords[2] & 0xffff) << 32;
	return true;
}

/* One command; false: the batch ends here. */
static bool step(struct walk *walk)
{
	struct job *job = walk->job;
	u32 dwords[WALKER_DWORDS] = {0}, length, what;

	if (mock_vm_read(job->vm, job->task, walk->at, dwords, 4))
		return false;
	if (dwords[0] >> 29 == 0) {
		what = dwords[0] >> 23 & 0x3f;
		length = what < 0x10 ? 1 : (dwords[0] & 0xff) + 2;
		if (what == MI_BATCH_BUFFER_END)
			return end_level(walk);
	} else {
		what = dwords[0] >> 16;
		length = (dwords[0] & 0xff) + 2;
	}
	if (mock_vm_read(job->vm, job->task, walk->at, dwords,
			 min_t(size_t, 4 * length, sizeof(dwords))))
		return false;
	if (what == MI_BATCH_BUFFER_START && dwords[0] >> 29 == 0)
		return start_other(walk, dwords, length);
	if (what == STATE_BASE_ADDRESS && dwords[BASE_INSTRUCTION] & 1)
		walk->base = pair(dwords + BASE_INSTRUCTION) & ~0xfffull;
	if (what == COMPUTE_WALKER && job->kernels_count < MAX_KERNELS)
		job->kernels[job->kernels_count++] = walk->base + pair(dwords + WALKER_KERNEL);
	walk->at += 4 * length;
	return true;
}

static void walk_batch(struct job *job)
{
	struct walk walk = {.job = job, .at = job->address};

	for (u32 i = 0; i < MAX_COMMANDS && step(&walk); i++)
		;
}

/* ---- running --------------------------------------------------------------------------------- */

static const char *driver_name(struct dma_fence *fence)
{
	return "xe";
}

static const char *timeline_name(struct dma_fence *fence)
{
	return "ccs0";
}

static void release_fence(struct dma_fence *fence)
{
	kfree_rcu(container_of(fence, struct job, fence), fence.rcu);
}

static const struct dma_fence_ops fence_ops = {
	.release = release_fence,
	.get_driver_name = driver_name,
	.get_timeline_name = timeline_name,
};

/* Whether its threads stand still: then it does not end. */
static bool is_stopped(struct job *job)
{
	bool is_it;

	spin_lock_irq(&job->gpu->lock);
	is_it = job->gpu->stopped == job->queue;
	if (!is_it)
		job->gpu->running = 0;
	spin_unlock_irq(&job->gpu->lock);
	return is_it;
}

static void on_end(struct work_struct *work)
{
	struct job *job = container_of(to_delayed_work(work), struct job, end);
	const struct mock_control *script;

	if (is_stopped(job)) {
		queue_delayed_work(job->gpu->work, &job->end, 1);
		return;
	}
	mutex_lock(&job->gpu->scripts_lock);
	for (u32 i = 0; i < job->kernels_count; i++) {
		script = script_of(job->gpu, job->kernels[i]);
		for (u32 j = 0; script && j < script->rows_count; j++)
			mock_stall_put(job->gpu, job->kernels[i], &script->rows[j]);
	}
	mutex_unlock(&job->gpu->scripts_lock);
	dma_fence_signal(&job->fence);
	dma_fence_put(&job->fence);
}

/* Under the name that the driver has for it. */
static noinline struct dma_fence *guc_exec_queue_run_job(struct drm_sched_job *base)
{
	struct job *job = container_of(base, struct job, base);
	const struct mock_control *script;
	u64 duration_us = 0;

	dma_fence_init(&job->fence, &fence_ops, &job->gpu->lock, job->gpu->context,
		       atomic64_inc_return(&job->gpu->number));
	walk_batch(job);
	mutex_lock(&job->gpu->scripts_lock);
	for (u32 i = 0; i < job->kernels_count; i++) {
		script = script_of(job->gpu, job->kernels[i]);
		duration_us += script ? script->duration_us : 0;
	}
	mutex_unlock(&job->gpu->scripts_lock);
	spin_lock_irq(&job->gpu->lock);
	job->gpu->running = job->queue;
	spin_unlock_irq(&job->gpu->lock);
	INIT_DELAYED_WORK(&job->end, on_end);
	job->is_run = true;
	dma_fence_get(&job->fence); /* of the end's */
	dma_fence_get(&job->fence); /* of the job's: the one that is returned is the scheduler's */
	queue_delayed_work(job->gpu->work, &job->end, usecs_to_jiffies(duration_us));
	return &job->fence;
}

/* Others may still hold its fence. */
static void free_job(struct drm_sched_job *base)
{
	struct job *job = container_of(base, struct job, base);

	drm_sched_job_cleanup(base);
	mock_vm_put(job->vm);
	put_task_struct(job->task);
	if (job->is_run)
		dma_fence_put(&job->fence);
	else
		kfree(job);
}

static const struct drm_sched_backend_ops scheduler_ops = {
	.run_job = guc_exec_queue_run_job,
	.free_job = free_job,
};

int mock_exec_open(struct mock_gpu *gpu)
{
	const struct drm_sched_init_args arguments = {
		.ops = &scheduler_ops,
#ifdef HAS_RUN_QUEUES
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
#endif
		.credit_limit = 1,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.name = "ccs0",
		.dev = gpu->drm.dev,
	};

	gpu->work = alloc_workqueue("mock-xe", WQ_UNBOUND, 0);
	if (!gpu->work)
		return -ENOMEM;
	gpu->context = dma_fence_context_alloc(1);
	mutex_init(&gpu->scripts_lock);
	INIT_LIST_HEAD(&gpu->scripts);
	return drm_sched_init(&gpu->scheduler, &arguments);
}

/* ---- queues ---------------------------------------------------------------------------------- */

int xe_exec_queue_create_ioctl(struct drm_device *device, void *data, struct drm_file *file)
{
	struct xe_exec_queue_create *arguments = data;
	struct mock_file *mine = file->driver_priv;
	struct mock_vm *vm = xa_load(&mine->vms, arguments->vm_id);
	struct drm_gpu_scheduler *scheduler = &mine->gpu->scheduler;
	struct mock_queue *queue;
	int error;

	if (!vm)
		return -ENOENT;
	queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	if (!queue)
		return -ENOMEM;
	queue->width = arguments->width;
	error = drm_sched_entity_init(&queue->entity, DRM_SCHED_PRIORITY_NORMAL, &scheduler, 1,
				      NULL);
	if (error) {
		kfree(queue);
		return error;
	}
	kref_get(&vm->references);
	queue->vm = vm;
	queue->id = mock_debug_id();
	error = xa_alloc(&mine->queues, &arguments->exec_queue_id, queue, xa_limit_31b, GFP_KERNEL);
	if (error)
		mock_queue_free(queue);
	else
		mock_debug_queue(mine, queue, XE_DEBUG_CREATE);
	return error;
}

void mock_queue_free(struct mock_queue *queue)
{
	drm_sched_entity_destroy(&queue->entity);
	mock_vm_put(queue->vm);
	kfree(queue);
}

int xe_exec_queue_destroy_ioctl(struct drm_device *device, void *data, struct drm_file *file)
{
	struct xe_exec_queue_destroy *arguments = data;
	struct mock_file *mine = file->driver_priv;
	struct mock_queue *queue = xa_erase(&mine->queues, arguments->exec_queue_id);

	if (!queue)
		return -ENOENT;
	mock_debug_queue(mine, queue, XE_DEBUG_DESTROY);
	mock_queue_free(queue);
	return 0;
}

static int init_job(struct job *job, struct mock_queue *queue, struct drm_file *file)
{
#if defined(HAS_CLIENT)
	return drm_sched_job_init(&job->base, &queue->entity, 1, file, file->client_id);
#else
	return drm_sched_job_init(&job->base, &queue->entity, 1, file);
#endif
}

/* Objects that the submission signals, with a reference each. Other types, and objects to wait for,
 * are refused. */
static int take_syncs(struct drm_file *file, const struct xe_exec *arguments,
		      struct drm_syncobj **syncs)
{
	struct xe_sync sync;

	for (u32 i = 0; i < arguments->num_syncs; i++) {
		if (copy_from_user(&sync, u64_to_user_ptr(arguments->syncs + i * sizeof(sync)),
				   sizeof(sync)))
			return -EFAULT;
		if (sync.type != XE_SYNC_OBJECT || sync.flags != XE_SYNC_SIGNAL)
			return -EINVAL;
		syncs[i] = drm_syncobj_find(file, sync.handle);
		if (!syncs[i])
			return -ENOENT;
	}
	return 0;
}

static void put_syncs(struct drm_syncobj **syncs)
{
	for (u32 i = 0; i < MAX_SYNCS; i++)
		if (syncs[i])
			drm_syncobj_put(syncs[i]);
}

static int submit(struct mock_file *mine, struct mock_queue *queue, struct drm_file *file,
		  const struct xe_exec *arguments, struct drm_syncobj **syncs)
{
	struct job *job = kzalloc(sizeof(*job), GFP_KERNEL);
	int error;

	if (!job)
		return -ENOMEM;
	job->gpu = mine->gpu;
	job->address = arguments->address;
	/* Several: one for each engine, of which this GPU has one that does anything. */
	if (queue->width > 1 && copy_from_user(&job->address, u64_to_user_ptr(arguments->address),
					       sizeof(job->address)))
		error = -EFAULT;
	else
		error = init_job(job, queue, file);
	if (error) {
		kfree(job);
		return error;
	}
	job->vm = queue->vm;
	kref_get(&job->vm->references);
	job->queue = queue->id;
	job->task = get_task_struct(current);
	drm_sched_job_arm(&job->base);
	for (u32 i = 0; i < arguments->num_syncs; i++)
		drm_syncobj_replace_fence(syncs[i], &job->base.s_fence->finished);
	drm_sched_entity_push_job(&job->base);
	return 0;
}

int xe_exec_ioctl(struct drm_device *device, void *data, struct drm_file *file)
{
	struct xe_exec *arguments = data;
	struct mock_file *mine = file->driver_priv;
	struct mock_queue *queue = xa_load(&mine->queues, arguments->exec_queue_id);
	struct drm_syncobj *syncs[MAX_SYNCS] = {NULL};
	int error;

	if (!queue)
		return -ENOENT;
	if (arguments->num_batch_buffer != queue->width || arguments->num_syncs > MAX_SYNCS)
		return -EINVAL;
	error = take_syncs(file, arguments, syncs);
	if (!error)
		error = submit(mine, queue, file, arguments, syncs);
	put_syncs(syncs);
	return error;
}
