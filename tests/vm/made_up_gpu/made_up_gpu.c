/* SPDX-License-Identifier: MIT
 *
 * tests/vm/made_up_gpu/made_up_gpu.c - a GPU that there is none of, on the kernel's real scheduler
 *
 * Runs in:  the kernel of a virtual machine
 * Gets:     write: a job of so many milliseconds (__u32)
 * Gives:    read: what became of the oldest job that has ended
 * Owns:     jobs, until the machine ends
 * Why:      no GPU that qemu has uses the scheduler, whose events are told of jobs of real ones.
 *           One job runs at a time. This shows when the kernel says what, and nothing about any
 *           hardware.
 */
#include <drm/gpu_scheduler.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "report.h"

#define NAME "made_up_gpu"
enum { CLIENT = 4242 };

static struct gpu {
	struct platform_device *device;
	struct drm_gpu_scheduler scheduler;
	struct drm_sched_entity entity;
	spinlock_t lock; /* of fences, and of `ended` */
	u64 context;
	atomic64_t number;
	struct list_head ended;
	wait_queue_head_t waiting;
} gpu;

struct job {
	struct drm_sched_job base;
	struct dma_fence fence; /* the hardware's */
	struct delayed_work end;
	struct list_head link;
	u32 duration_ms;
	struct gpu_report report;
};

static const char *driver_name(struct dma_fence *fence)
{
	return NAME;
}

static const char *timeline_name(struct dma_fence *fence)
{
	return "hardware";
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = driver_name,
	.get_timeline_name = timeline_name,
};

static void on_end(struct work_struct *work)
{
	struct job *job = container_of(to_delayed_work(work), struct job, end);

	job->report.done_ns = ktime_get_ns();
	dma_fence_signal(&job->fence);
	spin_lock_irq(&gpu.lock);
	list_add_tail(&job->link, &gpu.ended);
	spin_unlock_irq(&gpu.lock);
	wake_up(&gpu.waiting);
}

static struct dma_fence *run_job(struct drm_sched_job *base)
{
	struct job *job = container_of(base, struct job, base);

	job->report.run_ns = ktime_get_ns();
	dma_fence_init(&job->fence, &fence_ops, &gpu.lock, gpu.context,
		       atomic64_inc_return(&gpu.number));
	INIT_DELAYED_WORK(&job->end, on_end);
	schedule_delayed_work(&job->end, msecs_to_jiffies(job->duration_ms));
	return dma_fence_get(&job->fence);
}

static void free_job(struct drm_sched_job *base)
{
	drm_sched_job_cleanup(base);
}

static const struct drm_sched_backend_ops scheduler_ops = {
	.run_job = run_job,
	.free_job = free_job,
};

static int init_job(struct job *job)
{
#if defined(HAS_CLIENT)
	job->report.client = CLIENT;
	return drm_sched_job_init(&job->base, &gpu.entity, 1, NULL, CLIENT);
#elif defined(HAS_CREDITS)
	return drm_sched_job_init(&job->base, &gpu.entity, 1, NULL);
#else
	return drm_sched_job_init(&job->base, &gpu.entity, NULL);
#endif
}

static ssize_t submit(struct file *file, const char __user *user, size_t size, loff_t *offset)
{
	struct job *job = kzalloc(sizeof(*job), GFP_KERNEL);
	int error;

	if (!job)
		return -ENOMEM;
	if (size != sizeof(job->duration_ms) || copy_from_user(&job->duration_ms, user, size))
		error = -EINVAL;
	else
		error = init_job(job);
	if (error) {
		kfree(job);
		return error;
	}
	drm_sched_job_arm(&job->base);
	drm_sched_entity_push_job(&job->base);
	return size;
}

static struct job *take_ended(void)
{
	struct job *job;

	spin_lock_irq(&gpu.lock);
	job = list_first_entry_or_null(&gpu.ended, struct job, link);
	if (job)
		list_del(&job->link);
	spin_unlock_irq(&gpu.lock);
	return job;
}

static ssize_t report(struct file *file, char __user *user, size_t size, loff_t *offset)
{
	struct job *job;

	if (size != sizeof(job->report))
		return -EINVAL;
	if (wait_event_interruptible(gpu.waiting, (job = take_ended())))
		return -EINTR;
	return copy_to_user(user, &job->report, size) ? -EFAULT : size;
}

static const struct file_operations file_ops = {
	.owner = THIS_MODULE,
	.write = submit,
	.read = report,
};

static struct miscdevice file = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = NAME,
	.fops = &file_ops,
};

static int probe(struct platform_device *device)
{
	const struct drm_sched_init_args arguments = {
		.ops = &scheduler_ops,
#ifdef HAS_RUN_QUEUES
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
#endif
		.credit_limit = 1,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.name = "shader",
		.dev = &device->dev,
	};
	struct drm_gpu_scheduler *schedulers[] = {&gpu.scheduler};
	int error = drm_sched_init(&gpu.scheduler, &arguments);

	if (!error)
		error = drm_sched_entity_init(&gpu.entity, DRM_SCHED_PRIORITY_NORMAL, schedulers, 1,
					      NULL);
	return error ? error : misc_register(&file);
}

static struct platform_driver driver = {
	.driver.name = NAME,
	.probe = probe,
};

/* There is no way back: nothing is taken away before the machine ends. */
static int __init start(void)
{
	int error;

	spin_lock_init(&gpu.lock);
	INIT_LIST_HEAD(&gpu.ended);
	init_waitqueue_head(&gpu.waiting);
	gpu.context = dma_fence_context_alloc(1);
	error = platform_driver_register(&driver);
	if (error)
		return error;
	gpu.device = platform_device_register_simple(NAME, -1, NULL, 0);
	return PTR_ERR_OR_ZERO(gpu.device);
}

module_init(start);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A GPU that there is none of");
