/* SPDX-License-Identifier: MIT
 *
 * sim/mock_xe/xe_main.c - simulated GPUs, under the name and the interface of Intel's driver xe
 *
 * Runs in:  the kernel of a virtual machine, instead of the driver: insmod xe.ko gpus=2
 * Gets:     its ioctls, and commands written into /dev/mock_xe (mock_control.h)
 * Gives:    DRM devices on the kernel's real core: buffers, scheduler, fences; functions with the
 *           names of the real driver's
 * Owns:     everything, until the machine ends: the module cannot be unloaded
 * Why:      BPF programs, the batch parser and the stream of stall rows can be tested together on
 *           any machine. It shows what the interface does, and nothing about hardware.
 */
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>
#include <linux/capability.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>

#include "mock_xe.h"

enum { FIRST_BUS = 3 };

static unsigned int gpus = 1;
module_param(gpus, uint, 0444);

bool mock_has_stalls = true, mock_has_oa = true;
module_param_named(stalls, mock_has_stalls, bool, 0644);
module_param_named(oa, mock_has_oa, bool, 0644);
int mock_debug_is = 2;
module_param_named(debug, mock_debug_is, int, 0644);

static struct mock_gpu *all[MAX_GPUS];

/* ---- rights ---------------------------------------------------------------------------------- */

/* Under the name that the driver has for it: dev.xe.observation_paranoid. */
static int observation_paranoid = 1;
static struct ctl_table observation_table[] = {
	{
		.procname = "observation_paranoid",
		.data = &observation_paranoid,
		.maxlen = sizeof(observation_paranoid),
		.mode = 0644,
		.proc_handler = proc_dointvec,
	},
};

bool mock_may_observe(void)
{
	return !observation_paranoid || perfmon_capable();
}

/* ---- files ----------------------------------------------------------------------------------- */

static int open_file(struct drm_device *device, struct drm_file *file)
{
	struct mock_file *mine = kzalloc(sizeof(*mine), GFP_KERNEL);

	if (!mine)
		return -ENOMEM;
	mine->gpu = to_gpu(device);
	xa_init_flags(&mine->vms, XA_FLAGS_ALLOC1);
	xa_init_flags(&mine->queues, XA_FLAGS_ALLOC1);
	file->driver_priv = mine;
	mock_debug_open(mine);
	return 0;
}

/* Under the name that the driver has for it. */
static noinline void xe_file_close(struct drm_device *device, struct drm_file *file)
{
	struct mock_file *mine = file->driver_priv;
	struct mock_queue *queue;
	struct mock_vm *vm;
	unsigned long id;

	mock_debug_close(mine);
	xa_for_each(&mine->queues, id, queue) mock_queue_free(queue);
	xa_for_each(&mine->vms, id, vm) mock_vm_put(vm);
	xa_destroy(&mine->queues);
	xa_destroy(&mine->vms);
	kfree(mine);
}

/* As numbered in xe.h. */
#define ENTRY(command, direction, type, function)                                         \
	[command] = {.cmd = _IOC(direction, DRM_IOCTL_BASE, DRM_COMMAND_BASE + (command), \
				 sizeof(type)),                                           \
		     .flags = DRM_RENDER_ALLOW,                                           \
		     .func = function,                                                    \
		     .name = #command}
#define BOTH (_IOC_READ | _IOC_WRITE)
static const struct drm_ioctl_desc ioctls[] = {
	ENTRY(XE_DEVICE_QUERY, BOTH, struct xe_device_query, xe_query_ioctl),
	ENTRY(XE_GEM_CREATE, BOTH, struct xe_gem_create, xe_gem_create_ioctl),
	ENTRY(XE_GEM_MMAP_OFFSET, BOTH, struct xe_gem_mmap_offset, xe_gem_mmap_offset_ioctl),
	ENTRY(XE_VM_CREATE, BOTH, struct xe_vm_create, xe_vm_create_ioctl),
	ENTRY(XE_VM_DESTROY, _IOC_WRITE, struct xe_vm_destroy, xe_vm_destroy_ioctl),
	ENTRY(XE_VM_BIND, _IOC_WRITE, struct xe_vm_bind, xe_vm_bind_ioctl),
	ENTRY(XE_EXEC_QUEUE_CREATE, BOTH, struct xe_exec_queue_create, xe_exec_queue_create_ioctl),
	ENTRY(XE_EXEC_QUEUE_DESTROY, _IOC_WRITE, struct xe_exec_queue_destroy,
	      xe_exec_queue_destroy_ioctl),
	ENTRY(XE_EXEC, _IOC_WRITE, struct xe_exec, xe_exec_ioctl),
	ENTRY(XE_OBSERVATION, _IOC_WRITE, struct xe_observation_param, xe_observation_ioctl),
	ENTRY(XE_DEBUG_CONNECT, BOTH, struct xe_debug_connect, xe_eudebug_connect_ioctl),
	ENTRY(XE_DEBUG_METADATA_CREATE, BOTH, struct xe_debug_metadata_create,
	      xe_debug_metadata_create_ioctl),
	ENTRY(XE_DEBUG_METADATA_DESTROY, _IOC_WRITE, struct xe_debug_metadata_destroy,
	      xe_debug_metadata_destroy_ioctl),
};

static const struct file_operations file_ops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = drm_release_noglobal,
	.unlocked_ioctl = drm_ioctl,
	.mmap = drm_gem_mmap,
	.poll = drm_poll,
	.read = drm_read,
#ifdef FOP_UNSIGNED_OFFSET
	.fop_flags = FOP_UNSIGNED_OFFSET,
#endif
};

static const struct drm_driver driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER | DRIVER_SYNCOBJ,
	.open = open_file,
	.postclose = xe_file_close,
	.ioctls = ioctls,
	.num_ioctls = ARRAY_SIZE(ioctls),
	.fops = &file_ops,
	.name = "xe",
	.desc = "GPUs that there are none of",
	.major = 1,
	.minor = 1,
};

/* ---- control --------------------------------------------------------------------------------- */

static_assert(sizeof(struct mock_oa_step) == sizeof(struct mock_rows), "rows of one size");

static int obey(const struct mock_control *control, size_t size)
{
	struct mock_gpu *gpu = control->gpu < gpus ? all[control->gpu] : NULL;

	if (!gpu || control->rows_count > MAX_MOCK_ROWS ||
	    size != struct_size(control, rows, control->rows_count))
		return -EINVAL;
	switch (control->what) {
	case MOCK_SCRIPT:
		return mock_script_put(gpu, control);
	case MOCK_RESET:
		mock_stall_reset(gpu);
		return 0;
	case MOCK_DROP:
		mock_stall_drop(gpu);
		return 0;
	case MOCK_ROWS:
		for (u32 i = 0; i < control->rows_count; i++)
			mock_stall_put(gpu, control->address, &control->rows[i]);
		return 0;
	case MOCK_WAIT:
		return mock_stall_wait(gpu);
	case MOCK_OA_STEPS:
		mock_oa_put(gpu, (const struct mock_oa_step *)control->rows, control->rows_count);
		return 0;
	case MOCK_OA_LOSE:
		mock_oa_lose(gpu);
		return 0;
	case MOCK_OA_END:
		mock_oa_end(gpu);
		return 0;
	case MOCK_ATTENTION:
		return mock_debug_attention(gpu);
	default:
		return -EINVAL;
	}
}

static ssize_t write_control(struct file *file, const char __user *user, size_t size,
			     loff_t *offset)
{
	struct mock_control *control;
	int error;

	if (size < sizeof(*control) ||
	    size > sizeof(*control) + MAX_MOCK_ROWS * sizeof(control->rows[0]))
		return -EINVAL;
	control = memdup_user(user, size);
	if (IS_ERR(control))
		return PTR_ERR(control);
	error = obey(control, size);
	kfree(control);
	return error ? error : size;
}

static const struct file_operations control_ops = {
	.owner = THIS_MODULE,
	.write = write_control,
};

static struct miscdevice control = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "mock_xe",
	.fops = &control_ops,
};

/* ---- beginning ------------------------------------------------------------------------------- */

static int add_gpu(u32 index)
{
	struct platform_device *platform;
	struct mock_gpu *gpu;
	char address[16];
	int error;

	/* Reports a PCI address, by which other programs identify a GPU. */
	snprintf(address, sizeof(address), "0000:%02x:00.0", FIRST_BUS + index);
	platform = platform_device_register_simple(address, PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(platform))
		return PTR_ERR(platform);
	gpu = devm_drm_dev_alloc(&platform->dev, &driver, struct mock_gpu, drm);
	if (IS_ERR(gpu))
		return PTR_ERR(gpu);
	gpu->platform = platform;
	gpu->index = index;
	spin_lock_init(&gpu->lock);
	init_waitqueue_head(&gpu->taking);
	mutex_init(&gpu->debug_lock);
	INIT_LIST_HEAD(&gpu->debuggers);
	INIT_LIST_HEAD(&gpu->files);
	xa_init_flags(&gpu->sets, XA_FLAGS_ALLOC1);
	error = mock_exec_open(gpu);
	if (!error)
		error = drm_dev_register(&gpu->drm, 0);
	if (!error)
		error = mock_oa_list_sets(gpu);
	if (!error)
		all[index] = gpu;
	return error;
}

static int __init start(void)
{
	int error = 0;

	if (!gpus || gpus > MAX_GPUS)
		return -EINVAL;
	if (!register_sysctl("dev/xe", observation_table))
		return -ENOMEM;
	for (u32 i = 0; i < gpus && !error; i++)
		error = add_gpu(i);
	return error ? error : misc_register(&control);
}

module_init(start);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("GPUs that there are none of, under the name of Intel's driver xe");
