/* SPDX-License-Identifier: MIT
 *
 * sim/mock_xe/mock_vm.c - buffers, and a GPU's address spaces
 *
 * Runs in:  the kernel of a virtual machine, in ioctls; mock_vm_read in any thread
 * Gets:     binds
 * Gives:    the content at a GPU address
 * Owns:     address spaces; a reference to each bound buffer
 * Why:      batches are followed as hardware does, through the addresses in them
 */
#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_vma_manager.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "mock_xe.h"

struct mapped {
	struct list_head link;
	u64 begin, end;
	struct drm_gem_object *buffer; /* a reference; NULL: a user pointer */
	void *bytes;                   /* of the buffer, mapped */
	u64 offset;                    /* in it; or the pointer */
	u64 metadata;                  /* content that is reported to debuggers; 0: none */
};

/* ---- buffers --------------------------------------------------------------------------------- */

int xe_gem_create_ioctl(struct drm_device *device, void *data, struct drm_file *file)
{
	struct xe_gem_create *arguments = data;
	struct drm_gem_shmem_object *buffer;
	int error;

	if (arguments->extensions || !arguments->size || arguments->size > SZ_64M)
		return -EINVAL;
	buffer = drm_gem_shmem_create(device, arguments->size);
	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	error = drm_gem_handle_create(file, &buffer->base, &arguments->handle);
	drm_gem_object_put(&buffer->base);
	return error;
}

int xe_gem_mmap_offset_ioctl(struct drm_device *device, void *data, struct drm_file *file)
{
	struct xe_gem_mmap_offset *arguments = data;
	struct drm_gem_object *buffer = drm_gem_object_lookup(file, arguments->handle);
	int error;

	if (!buffer)
		return -ENOENT;
	error = drm_gem_create_mmap_offset(buffer);
	if (!error)
		arguments->offset = drm_vma_node_offset_addr(&buffer->vma_node);
	drm_gem_object_put(buffer);
	return error;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void free_mapped(struct mapped *range)
{
	list_del(&range->link);
	if (range->buffer) {
		struct iosys_map map = IOSYS_MAP_INIT_VADDR(range->bytes);

		drm_gem_vunmap_unlocked(range->buffer, &map);
		drm_gem_object_put(range->buffer);
	}
	kfree(range);
}

/* A partly affected mapping is removed as a whole, because no test unmaps a part. */
static void unmap(struct mock_vm *vm, u64 begin, u64 end)
{
	struct mapped *range, *next;

	list_for_each_entry_safe(range, next, &vm->ranges,
				 link) if (range->begin < end && range->end > begin)
		free_mapped(range);
}

static int take_buffer(struct mapped *range, struct drm_file *file, u32 handle)
{
	struct iosys_map map;
	int error;

	range->buffer = drm_gem_object_lookup(file, handle);
	if (!range->buffer)
		return -ENOENT;
	if (range->offset + (range->end - range->begin) > range->buffer->size)
		error = -EINVAL;
	else
		error = drm_gem_vmap_unlocked(range->buffer, &map);
	if (error)
		drm_gem_object_put(range->buffer);
	else
		range->bytes = map.vaddr;
	return error;
}

static int map_range(struct mock_vm *vm, const struct xe_vm_bind_op *bind, u64 metadata,
		     struct drm_file *file)
{
	struct mapped *range = kzalloc(sizeof(*range), GFP_KERNEL);
	int error = 0;

	if (!range)
		return -ENOMEM;
	range->begin = bind->addr;
	range->end = bind->addr + bind->range;
	range->offset = bind->obj_offset;
	range->metadata = metadata;
	if (bind->op == XE_BIND_MAP)
		error = take_buffer(range, file, bind->obj);
	if (error) {
		kfree(range);
		return error;
	}
	unmap(vm, range->begin, range->end);
	list_add_tail(&range->link, &vm->ranges);
	return 0;
}

static void unmap_buffer(struct mock_vm *vm, struct drm_file *file, u32 handle)
{
	struct drm_gem_object *buffer = drm_gem_object_lookup(file, handle);
	struct mapped *range, *next;

	list_for_each_entry_safe(range, next, &vm->ranges,
				 link) if (buffer && range->buffer == buffer) free_mapped(range);
	if (buffer)
		drm_gem_object_put(buffer);
}

static int bind(struct mock_vm *vm, const struct xe_vm_bind_op *bind, u64 metadata,
		struct drm_file *file)
{
	if ((bind->addr | bind->range) & (PAGE_SIZE - 1) ||
	    (!bind->range && bind->op != XE_BIND_UNMAP_ALL))
		return -EINVAL;
	switch (bind->op) {
	case XE_BIND_MAP:
	case XE_BIND_MAP_USERPTR:
		return map_range(vm, bind, metadata, file);
	case XE_BIND_UNMAP:
		unmap(vm, bind->addr, bind->addr + bind->range);
		return 0;
	case XE_BIND_UNMAP_ALL:
		unmap_buffer(vm, file, bind->obj);
		return 0;
	case XE_BIND_PREFETCH:
		return 0;
	default:
		return -EINVAL;
	}
}

/* ---- address spaces -------------------------------------------------------------------------- */

int xe_vm_create_ioctl(struct drm_device *device, void *data, struct drm_file *file)
{
	struct xe_vm_create *arguments = data;
	struct mock_file *mine = file->driver_priv;
	struct mock_vm *vm;
	int error;

	if (arguments->extensions)
		return -EINVAL;
	vm = kzalloc(sizeof(*vm), GFP_KERNEL);
	if (!vm)
		return -ENOMEM;
	kref_init(&vm->references);
	mutex_init(&vm->lock);
	INIT_LIST_HEAD(&vm->ranges);
	vm->id = mock_debug_id();
	error = xa_alloc(&mine->vms, &arguments->vm_id, vm, xa_limit_31b, GFP_KERNEL);
	if (error)
		mock_vm_put(vm);
	else
		mock_debug_vm(mine, vm, XE_DEBUG_CREATE);
	return error;
}

static void release(struct kref *references)
{
	struct mock_vm *vm = container_of(references, struct mock_vm, references);

	unmap(vm, 0, U64_MAX);
	kfree(vm);
}

void mock_vm_put(struct mock_vm *vm)
{
	kref_put(&vm->references, release);
}

int xe_vm_destroy_ioctl(struct drm_device *device, void *data, struct drm_file *file)
{
	struct xe_vm_destroy *arguments = data;
	struct mock_file *mine = file->driver_priv;
	struct mock_vm *vm = xa_erase(&mine->vms, arguments->vm_id);

	if (!vm)
		return -ENOENT;
	mock_debug_vm(mine, vm, XE_DEBUG_DESTROY);
	mock_vm_put(vm);
	return 0;
}

/* One operation, and the content that is reported to debuggers. */
static int bind_one(struct mock_file *mine, struct mock_vm *vm, const struct xe_vm_bind_op *what,
		    const struct xe_sync *sync, struct drm_file *file)
{
	const u64 metadata = mock_debug_find_metadata(mine, what->extensions);
	int error;

	mutex_lock(&vm->lock);
	error = bind(vm, what, metadata, file);
	mutex_unlock(&vm->lock);
	return error ? error : mock_debug_bind(mine, vm, what, metadata, sync);
}

/* A bind may signal one fence in its program's memory, when it is done; others are refused. */
static int read_sync(const struct xe_vm_bind *arguments, struct xe_sync *sync)
{
	if (!arguments->num_syncs)
		return 0;
	if (copy_from_user(sync, u64_to_user_ptr(arguments->syncs), sizeof(*sync)))
		return -EFAULT;
	return arguments->num_syncs > 1 || sync->type != XE_SYNC_USER_FENCE ||
			       sync->flags != XE_SYNC_SIGNAL
		       ? -EINVAL
		       : 0;
}

int xe_vm_bind_ioctl(struct drm_device *device, void *data, struct drm_file *file)
{
	struct xe_vm_bind *arguments = data;
	struct mock_file *mine = file->driver_priv;
	struct mock_vm *vm = xa_load(&mine->vms, arguments->vm_id);
	const struct xe_sync *last = NULL;
	struct xe_vm_bind_op further;
	struct xe_sync sync;
	int error;

	if (!vm)
		return -ENOENT;
	error = read_sync(arguments, &sync);
	last = arguments->num_syncs ? &sync : NULL;
	if (arguments->num_binds == 1 && !error)
		error = bind_one(mine, vm, &arguments->bind, last, file);
	for (u32 i = 0; arguments->num_binds > 1 && i < arguments->num_binds && !error; i++) {
		if (copy_from_user(
			    &further,
			    u64_to_user_ptr(arguments->vector_of_binds + i * sizeof(further)),
			    sizeof(further)))
			error = -EFAULT;
		else
			error = bind_one(mine, vm, &further,
					 i + 1 == arguments->num_binds ? last : NULL, file);
	}
	return error;
}

bool mock_vm_next(struct mock_vm *vm, u64 from, struct mock_range *ret_range)
{
	struct mapped *range;
	bool has_any = false;

	mutex_lock(&vm->lock);
	list_for_each_entry(range, &vm->ranges, link)
	{
		if (range->begin < from || (has_any && range->begin >= ret_range->begin))
			continue;
		*ret_range = (struct mock_range){range->begin, range->end, range->metadata};
		has_any = true;
	}
	mutex_unlock(&vm->lock);
	return has_any;
}

static int read_range(const struct mapped *range, struct task_struct *task, u64 offset, void *to,
		      size_t size)
{
	if (range->buffer) {
		memcpy(to, (char *)range->bytes + range->offset + offset, size);
		return 0;
	}
	return access_process_vm(task, range->offset + offset, to, size, FOLL_FORCE) == size
		       ? 0
		       : -EFAULT;
}

int mock_vm_read(struct mock_vm *vm, struct task_struct *task, u64 address, void *to, size_t size)
{
	int error = -EFAULT;
	struct mapped *range;

	mutex_lock(&vm->lock);
	list_for_each_entry(range, &vm->ranges,
			    link) if (range->begin <= address && address + size <= range->end)
		error = read_range(range, task, address - range->begin, to, size);
	mutex_unlock(&vm->lock);
	return error;
}
