/* SPDX-License-Identifier: MIT
 *
 * sim/mock_xe/mock_debug.c - the GPU's interface for debuggers, as in Intel's own builds of the
 * driver
 *
 * Runs in:  the kernel of a virtual machine: ioctls, and a work queue that reports existing objects
 *           to a new debugger
 * Gets:     code objects that programs register and attach to binds; a debugger's connections
 * Gives:    events, fences that wait for an acknowledgement, and threads that are halted until they
 *           may continue
 * Owns:     connections, their events, code objects
 * Why:      it has the driver's limits. At most 64 events are queued, and a thread that causes
 *           another one waits. While existing objects are being reported, a debugger may only read
 *           events
 */
#include <linux/anon_inodes.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "mock_xe.h"

enum { MAX_EVENTS = 64, MAX_BINARY = SZ_16M, MASK_BYTES = 8, THREADS = 24, LRC = 0x1000 };

struct queued {
	struct list_head link;
	u32 size;
	u8 bytes[];
};

/* A fence of a bind, signaled when the debugger has acknowledged it. */
struct held {
	struct list_head link;
	u64 number;
	struct task_struct *task; /* a reference */
	u64 address, value;
};

struct mock_debugger {
	struct kref references;
	struct list_head link; /* of the GPU's, under its debug_lock */
	struct mock_gpu *gpu;
	struct pid *target; /* a reference */
	struct work_struct discovery;
	spinlock_t lock; /* of what follows */
	wait_queue_head_t written, taken;
	struct list_head events, held;
	u32 count;
	u64 number;
	bool is_discovered, is_closed;
};

struct metadata {
	u64 id, type;
	u32 size;
	void *bytes; /* owned */
};

static atomic64_t last_id;
static int connected, unresumed;
module_param_named(debuggers, connected, int, 0444);
module_param(unresumed, int, 0444);

u64 mock_debug_id(void)
{
	return atomic64_inc_return(&last_id);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void free_debugger(struct kref *references)
{
	struct mock_debugger *debugger = container_of(references, struct mock_debugger, references);
	struct queued *event, *next;

	list_for_each_entry_safe(event, next, &debugger->events, link) kfree(event);
	put_pid(debugger->target);
	kfree(debugger);
}

static void put_debugger(struct mock_debugger *debugger)
{
	kref_put(&debugger->references, free_debugger);
}

/* Under the GPU's debug_lock. */
static struct mock_debugger *find_debugger(struct mock_gpu *gpu, const struct pid *pid)
{
	struct mock_debugger *debugger;

	list_for_each_entry(debugger, &gpu->debuggers,
			    link) if (debugger->target == pid) return debugger;
	return NULL;
}

/* Returns a reference to the debugger of the file's owner; NULL: none, or it is still receiving the
 * existing objects. */
static struct mock_debugger *get_debugger(struct mock_file *mine)
{
	struct mock_debugger *debugger;

	mutex_lock(&mine->gpu->debug_lock);
	debugger = find_debugger(mine->gpu, mine->pid);
	if (debugger && !debugger->is_discovered)
		debugger = NULL;
	if (debugger)
		kref_get(&debugger->references);
	mutex_unlock(&mine->gpu->debug_lock);
	return debugger;
}

static void signal_held(struct held *held)
{
	access_process_vm(held->task, held->address, &held->value, sizeof(held->value),
			  FOLL_WRITE | FOLL_FORCE);
	put_task_struct(held->task);
	kfree(held);
}

static struct held *take_held(struct mock_debugger *debugger, bool is_any, u64 number)
{
	struct held *held, *found = NULL;

	spin_lock(&debugger->lock);
	list_for_each_entry(held, &debugger->held, link)
	{
		if (!is_any && held->number != number)
			continue;
		found = held;
		list_del(&held->link);
		break;
	}
	spin_unlock(&debugger->lock);
	return found;
}

/* ---- events ---------------------------------------------------------------------------------- */

static u64 next_number(struct mock_debugger *debugger)
{
	u64 number;

	spin_lock(&debugger->lock);
	number = ++debugger->number;
	spin_unlock(&debugger->lock);
	return number;
}

/* Waits for room. */
static void put_event(struct mock_debugger *debugger, u16 type, u16 flags, u64 number, void *event,
		      u32 size)
{
	struct queued *queued = kmalloc(sizeof(*queued) + size, GFP_KERNEL);

	if (!queued)
		return;
	*(struct xe_debug_event *)event =
		(struct xe_debug_event){.len = size, .type = type, .flags = flags, .seqno = number};
	memcpy(queued->bytes, event, size);
	queued->size = size;
	wait_event_interruptible_timeout(
		debugger->taken, debugger->count < MAX_EVENTS || debugger->is_closed, 25 * HZ);
	spin_lock(&debugger->lock);
	list_add_tail(&queued->link, &debugger->events);
	debugger->count++;
	spin_unlock(&debugger->lock);
	wake_up_all(&debugger->written);
}

static void tell_client(struct mock_debugger *debugger, const struct mock_file *mine, u16 flags)
{
	struct xe_debug_event_client event = {.client = mine->id};

	put_event(debugger, XE_DEBUG_EVENT_CLIENT, flags, next_number(debugger), &event,
		  sizeof(event));
}

static void tell_vm(struct mock_debugger *debugger, const struct mock_file *mine,
		    const struct mock_vm *vm, u16 flags)
{
	struct xe_debug_event_vm event = {.client = mine->id, .vm = vm->id};

	put_event(debugger, XE_DEBUG_EVENT_VM, flags, next_number(debugger), &event, sizeof(event));
}

static void tell_queue(struct mock_debugger *debugger, const struct mock_file *mine,
		       const struct mock_queue *queue, u16 flags)
{
	struct {
		struct xe_debug_event_queue head;
		u64 lrc;
	} event = {{.client = mine->id,
		    .vm = queue->vm->id,
		    .queue = queue->id,
		    .engine_class = 4,
		    .width = 1},
		   /* as the driver does: one byte of it */
		   (LRC + queue->id) & 0xff};
	struct xe_debug_event_placements placements = {.client = mine->id,
						       .vm = queue->vm->id,
						       .queue = queue->id,
						       .lrc = LRC + queue->id};

	put_event(debugger, XE_DEBUG_EVENT_QUEUE, flags, next_number(debugger), &event,
		  sizeof(event));
	if (flags & XE_DEBUG_CREATE)
		put_event(debugger, XE_DEBUG_EVENT_PLACEMENTS, flags, next_number(debugger),
			  &placements, sizeof(placements));
}

static void tell_metadata(struct mock_debugger *debugger, const struct mock_file *mine,
			  const struct metadata *metadata, u16 flags)
{
	struct xe_debug_event_metadata event = {.client = mine->id,
						.metadata = metadata->id,
						.type = metadata->type,
						.len = metadata->size};

	put_event(debugger, XE_DEBUG_EVENT_METADATA, flags, next_number(debugger), &event,
		  sizeof(event));
}

static u64 tell_bind(struct mock_debugger *debugger, const struct mock_file *mine,
		     const struct mock_vm *vm, u32 binds)
{
	struct xe_debug_event_bind event = {.client = mine->id, .vm = vm->id, .num_binds = binds};
	const u64 number = next_number(debugger);

	put_event(debugger, XE_DEBUG_EVENT_BIND, XE_DEBUG_STATE_CHANGE, number, &event,
		  sizeof(event));
	return number;
}

static void tell_operation(struct mock_debugger *debugger, u64 bind, u64 address, u64 range,
			   u64 metadata, u16 flags)
{
	struct xe_debug_event_bind_op event = {
		.bind = bind, .num_extensions = metadata != 0, .addr = address, .range = range};
	struct xe_debug_event_op_metadata what = {.metadata = metadata};

	what.op = next_number(debugger);
	put_event(debugger, XE_DEBUG_EVENT_BIND_OP, flags, what.op, &event, sizeof(event));
	if (metadata)
		put_event(debugger, XE_DEBUG_EVENT_OP_METADATA, flags, next_number(debugger), &what,
			  sizeof(what));
}

/* ---- what is told as it happens -------------------------------------------------------------- */

void mock_debug_vm(struct mock_file *mine, const struct mock_vm *vm, u16 flags)
{
	struct mock_debugger *debugger = get_debugger(mine);

	if (!debugger)
		return;
	tell_vm(debugger, mine, vm, flags);
	put_debugger(debugger);
}

void mock_debug_queue(struct mock_file *mine, const struct mock_queue *queue, u16 flags)
{
	struct mock_debugger *debugger = get_debugger(mine);

	if (!debugger)
		return;
	tell_queue(debugger, mine, queue, flags);
	put_debugger(debugger);
}

static int hold_fence(struct mock_debugger *debugger, u64 bind, const struct xe_sync *sync)
{
	struct xe_debug_event_bind_fence event = {.bind = bind};
	struct held *held = kzalloc(sizeof(*held), GFP_KERNEL);

	if (!held)
		return -ENOMEM;
	held->number = next_number(debugger);
	held->task = get_task_struct(current);
	held->address = sync->addr;
	held->value = sync->timeline_value;
	spin_lock(&debugger->lock);
	list_add_tail(&held->link, &debugger->held);
	spin_unlock(&debugger->lock);
	put_event(debugger, XE_DEBUG_EVENT_BIND_FENCE, XE_DEBUG_CREATE | XE_DEBUG_NEED_ACK,
		  held->number, &event, sizeof(event));
	return 0;
}

int mock_debug_bind(struct mock_file *mine, const struct mock_vm *vm,
		    const struct xe_vm_bind_op *operation, u64 metadata, const struct xe_sync *sync)
{
	struct mock_debugger *debugger = get_debugger(mine);
	const bool is_map = operation->op == XE_BIND_MAP || operation->op == XE_BIND_MAP_USERPTR;
	int error = 0;
	u64 bind;

	if (!debugger) {
		if (sync && copy_to_user(u64_to_user_ptr(sync->addr), &sync->timeline_value,
					 sizeof(sync->timeline_value)))
			error = -EFAULT;
		return error;
	}
	bind = tell_bind(debugger, mine, vm, 1);
	tell_operation(debugger, bind, operation->addr, operation->range, metadata,
		       is_map ? XE_DEBUG_CREATE : XE_DEBUG_DESTROY);
	if (sync)
		error = hold_fence(debugger, bind, sync);
	put_debugger(debugger);
	return error;
}

/* ---- code objects ---------------------------------------------------------------------------- */

u64 mock_debug_find_metadata(struct mock_file *mine, u64 extension)
{
	struct xe_debug_attach attach;
	const struct metadata *metadata;

	if (!extension || copy_from_user(&attach, u64_to_user_ptr(extension), sizeof(attach)) ||
	    attach.name != XE_DEBUG_ATTACH)
		return 0;
	metadata = xa_load(&mine->metadata, attach.metadata_id);
	return metadata ? metadata->id : 0;
}

int xe_debug_metadata_create_ioctl(struct drm_device *device, void *data, struct drm_file *file)
{
	struct xe_debug_metadata_create *arguments = data;
	struct mock_file *mine = file->driver_priv;
	struct mock_debugger *debugger;
	struct metadata *metadata;
	int error;

	if (arguments->extensions || !arguments->len || arguments->len > MAX_BINARY)
		return -EINVAL;
	metadata = kzalloc(sizeof(*metadata), GFP_KERNEL);
	if (!metadata)
		return -ENOMEM;
	metadata->bytes = vmemdup_user(u64_to_user_ptr(arguments->user_addr), arguments->len);
	if (IS_ERR(metadata->bytes)) {
		error = PTR_ERR(metadata->bytes);
		kfree(metadata);
		return error;
	}
	metadata->id = mock_debug_id();
	metadata->type = arguments->type;
	metadata->size = arguments->len;
	error = xa_alloc(&mine->metadata, &arguments->metadata_id, metadata, xa_limit_31b,
			 GFP_KERNEL);
	if (error) {
		kvfree(metadata->bytes);
		kfree(metadata);
		return error;
	}
	debugger = get_debugger(mine);
	if (debugger) {
		tell_metadata(debugger, mine, metadata, XE_DEBUG_CREATE);
		put_debugger(debugger);
	}
	return 0;
}

int xe_debug_metadata_destroy_ioctl(struct drm_device *device, void *data, struct drm_file *file)
{
	const struct xe_debug_metadata_destroy *arguments = data;
	struct mock_file *mine = file->driver_priv;
	struct metadata *metadata = xa_erase(&mine->metadata, arguments->metadata_id);
	struct mock_debugger *debugger;

	if (!metadata)
		return -ENOENT;
	debugger = get_debugger(mine);
	if (debugger) {
		tell_metadata(debugger, mine, metadata, XE_DEBUG_DESTROY);
		put_debugger(debugger);
	}
	kvfree(metadata->bytes);
	kfree(metadata);
	return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

void mock_debug_open(struct mock_file *mine)
{
	struct mock_debugger *debugger;

	mine->id = mock_debug_id();
	mine->pid = get_pid(task_tgid(current));
	xa_init_flags(&mine->metadata, XA_FLAGS_ALLOC1);
	mutex_lock(&mine->gpu->debug_lock);
	list_add_tail(&mine->link, &mine->gpu->files);
	mutex_unlock(&mine->gpu->debug_lock);
	debugger = get_debugger(mine);
	if (debugger) {
		tell_client(debugger, mine, XE_DEBUG_CREATE);
		put_debugger(debugger);
	}
}

void mock_debug_close(struct mock_file *mine)
{
	struct mock_debugger *debugger = get_debugger(mine);
	struct metadata *metadata;
	unsigned long id;

	if (debugger) {
		tell_client(debugger, mine, XE_DEBUG_DESTROY);
		put_debugger(debugger);
	}
	mutex_lock(&mine->gpu->debug_lock);
	list_del(&mine->link);
	mutex_unlock(&mine->gpu->debug_lock);
	xa_for_each(&mine->metadata, id, metadata)
	{
		kvfree(metadata->bytes);
		kfree(metadata);
	}
	xa_destroy(&mine->metadata);
	put_pid(mine->pid);
}

static void discover_vm(struct mock_debugger *debugger, const struct mock_file *mine,
			struct mock_vm *vm)
{
	struct mock_range range;
	u64 bind = 0, after = 0;

	tell_vm(debugger, mine, vm, XE_DEBUG_CREATE);
	for (; mock_vm_next(vm, after, &range); after = range.end) {
		if (!bind)
			bind = tell_bind(debugger, mine, vm, 1);
		tell_operation(debugger, bind, range.begin, range.end - range.begin, range.metadata,
			       XE_DEBUG_CREATE);
	}
}

static void discover(struct work_struct *work)
{
	struct mock_debugger *debugger = container_of(work, struct mock_debugger, discovery);
	struct mock_queue *queue;
	struct mock_file *mine;
	struct metadata *metadata;
	struct mock_vm *vm;
	unsigned long id;

	mutex_lock(&debugger->gpu->debug_lock);
	list_for_each_entry(mine, &debugger->gpu->files, link)
	{
		if (mine->pid != debugger->target)
			continue;
		tell_client(debugger, mine, XE_DEBUG_CREATE);
		xa_for_each(&mine->metadata, id, metadata)
			tell_metadata(debugger, mine, metadata, XE_DEBUG_CREATE);
		xa_for_each(&mine->vms, id, vm) discover_vm(debugger, mine, vm);
		xa_for_each(&mine->queues, id, queue)
			tell_queue(debugger, mine, queue, XE_DEBUG_CREATE);
	}
	debugger->is_discovered = true;
	mutex_unlock(&debugger->gpu->debug_lock);
	put_debugger(debugger);
}

/* ---- the debugger's calls -------------------------------------------------------------------- */

static long read_event(struct mock_debugger *debugger, unsigned long address)
{
	struct xe_debug_event __user *user = (void __user *)address;
	struct xe_debug_event asked;
	struct queued *event;
	long error = 0;

	if (copy_from_user(&asked, user, sizeof(asked)))
		return -EFAULT;
	if (asked.type != XE_DEBUG_EVENT_READ || asked.flags || asked.reserved ||
	    asked.len < sizeof(asked))
		return -EINVAL;
	spin_lock(&debugger->lock);
	event = list_first_entry_or_null(&debugger->events, struct queued, link);
	if (event && event->size > asked.len) {
		error = -EMSGSIZE;
	} else if (event) {
		list_del(&event->link);
		debugger->count--;
	}
	spin_unlock(&debugger->lock);
	wake_up_all(&debugger->taken);
	if (!event)
		return -EAGAIN;
	if (error)
		return put_user(event->size, &user->len) ? -EFAULT : error;
	if (copy_to_user(user, event->bytes, event->size))
		error = -EFAULT;
	kfree(event);
	return error;
}

static long acknowledge(struct mock_debugger *debugger, unsigned long address)
{
	struct xe_debug_ack ack;
	struct held *held;

	if (copy_from_user(&ack, (void __user *)address, sizeof(ack)))
		return -EFAULT;
	held = ack.flags ? NULL : take_held(debugger, false, ack.seqno);
	if (!held)
		return -EINVAL;
	signal_held(held);
	return 0;
}

static const struct metadata *find_metadata(struct mock_debugger *debugger, u64 wanted)
{
	struct metadata *metadata;
	struct mock_file *mine;
	unsigned long id;

	list_for_each_entry(mine, &debugger->gpu->files, link)
	{
		if (mine->pid != debugger->target)
			continue;
		xa_for_each(&mine->metadata, id,
			    metadata) if (metadata->id == wanted) return metadata;
	}
	return NULL;
}

static long read_metadata(struct mock_debugger *debugger, unsigned long address)
{
	struct xe_debug_read_metadata __user *user = (void __user *)address;
	struct xe_debug_read_metadata read;
	const struct metadata *metadata;
	long error = 0;

	if (copy_from_user(&read, user, sizeof(read)))
		return -EFAULT;
	mutex_lock(&debugger->gpu->debug_lock);
	metadata = read.flags ? NULL : find_metadata(debugger, read.metadata);
	if (!metadata || (read.size && read.size < metadata->size))
		error = -EINVAL;
	else if (read.size &&
		 copy_to_user(u64_to_user_ptr(read.ptr), metadata->bytes, metadata->size))
		error = -EFAULT;
	else
		read.size = metadata->size;
	mutex_unlock(&debugger->gpu->debug_lock);
	if (!error && copy_to_user(user, &read, sizeof(read)))
		error = -EFAULT;
	return error;
}

/* ---- threads that stand still ---------------------------------------------------------------- */

static const u8 all_threads[MASK_BYTES] = {0xff, 0xff, 0xff};

/* Halts the running threads. */
static long interrupt(struct mock_gpu *gpu, u64 queue)
{
	long error = 0;

	spin_lock_irq(&gpu->lock);
	if (!queue || gpu->running != queue)
		error = -EINVAL;
	else
		gpu->stopped = queue;
	spin_unlock_irq(&gpu->lock);
	return error;
}

static long resume(struct mock_gpu *gpu, u64 queue, const u8 *mask)
{
	long error = 0;

	spin_lock_irq(&gpu->lock);
	if (gpu->stopped != queue || memcmp(mask, all_threads, MASK_BYTES))
		error = -EINVAL;
	else
		gpu->stopped = 0;
	spin_unlock_irq(&gpu->lock);
	return error;
}

static long control_threads(struct mock_debugger *debugger, unsigned long address)
{
	struct xe_debug_control __user *user = (void __user *)address;
	struct mock_gpu *gpu = debugger->gpu;
	struct xe_debug_control control;
	u8 mask[MASK_BYTES] = {0};
	u32 size;
	long error;

	if (copy_from_user(&control, user, sizeof(control)))
		return -EFAULT;
	size = min_t(u32, control.bitmask_size, MASK_BYTES);
	if (control.flags || control.bitmask_size % 4 || control.lrc != LRC + control.queue ||
	    copy_from_user(mask, u64_to_user_ptr(control.bitmask_ptr), size))
		return -EINVAL;
	switch (control.cmd) {
	case XE_DEBUG_INTERRUPT_ALL:
		error = size ? -EINVAL : interrupt(gpu, control.queue);
		break;
	case XE_DEBUG_STOPPED:
		memset(mask, 0, sizeof(mask));
		if (READ_ONCE(gpu->stopped) == control.queue)
			memcpy(mask, all_threads, sizeof(mask));
		error = copy_to_user(u64_to_user_ptr(control.bitmask_ptr), mask, size) ? -EFAULT
										       : 0;
		break;
	case XE_DEBUG_RESUME:
		error = resume(gpu, control.queue, mask);
		break;
	default:
		error = -EINVAL;
	}
	if (!error && put_user(MASK_BYTES, &user->bitmask_size))
		error = -EFAULT;
	return error;
}

/* Like a breakpoint: the halt was not requested. */
int mock_debug_attention(struct mock_gpu *gpu)
{
	struct {
		struct xe_debug_event_attention head;
		u8 mask[MASK_BYTES];
	} event = {{.bitmask_size = MASK_BYTES}};
	struct mock_debugger *debugger;
	int error;

	memcpy(event.mask, all_threads, MASK_BYTES);
	mutex_lock(&gpu->debug_lock);
	debugger = find_debugger(gpu, task_tgid(current));
	if (debugger)
		kref_get(&debugger->references);
	mutex_unlock(&gpu->debug_lock);
	if (!debugger)
		return -ENOTCONN;
	event.head.queue = READ_ONCE(gpu->running);
	event.head.lrc = LRC + event.head.queue;
	error = interrupt(gpu, event.head.queue);
	if (!error)
		put_event(debugger, XE_DEBUG_EVENT_ATTENTION, XE_DEBUG_STATE_CHANGE,
			  next_number(debugger), &event, sizeof(event));
	put_debugger(debugger);
	return error;
}

/* ---- the descriptor -------------------------------------------------------------------------- */

static long debugger_ioctl(struct file *file, unsigned int command, unsigned long address)
{
	struct mock_debugger *debugger = file->private_data;

	if (command == XE_DEBUG_IOCTL_READ_EVENT)
		return read_event(debugger, address);
	if (!READ_ONCE(debugger->is_discovered))
		return -EBUSY;
	switch (command) {
	case XE_DEBUG_IOCTL_ACK:
		return acknowledge(debugger, address);
	case XE_DEBUG_IOCTL_READ_METADATA:
		return read_metadata(debugger, address);
	case XE_DEBUG_IOCTL_CONTROL:
		return control_threads(debugger, address);
	default:
		return -EINVAL;
	}
}

static __poll_t debugger_poll(struct file *file, poll_table *table)
{
	struct mock_debugger *debugger = file->private_data;

	poll_wait(file, &debugger->written, table);
	return READ_ONCE(debugger->count) ? EPOLLIN : 0;
}

/* Releases waiting threads. The driver resets a GPU whose halted threads have no debugger. */
static int debugger_release(struct inode *inode, struct file *file)
{
	struct mock_debugger *debugger = file->private_data;
	struct mock_gpu *gpu = debugger->gpu;
	struct held *held;

	debugger->is_closed = true;
	wake_up_all(&debugger->taken);
	flush_work(&debugger->discovery);
	mutex_lock(&gpu->debug_lock);
	list_del(&debugger->link);
	connected--;
	mutex_unlock(&gpu->debug_lock);
	while ((held = take_held(debugger, true, 0)))
		signal_held(held);
	spin_lock_irq(&gpu->lock);
	unresumed += gpu->stopped != 0;
	gpu->stopped = 0;
	spin_unlock_irq(&gpu->lock);
	put_debugger(debugger);
	return 0;
}

static const struct file_operations debugger_ops = {
	.owner = THIS_MODULE,
	.poll = debugger_poll,
	.unlocked_ioctl = debugger_ioctl,
	.release = debugger_release,
};

static int attach(struct mock_gpu *gpu, struct mock_debugger *debugger)
{
	int error = 0;

	mutex_lock(&gpu->debug_lock);
	if (find_debugger(gpu, debugger->target)) {
		error = -EBUSY;
	} else {
		list_add_tail(&debugger->link, &gpu->debuggers);
		connected++;
	}
	mutex_unlock(&gpu->debug_lock);
	return error;
}

int xe_eudebug_connect_ioctl(struct drm_device *device, void *data, struct drm_file *file)
{
	struct xe_debug_connect *arguments = data;
	struct mock_debugger *debugger;
	int error, fd;

	if (mock_debug_is < 1 || arguments->extensions || arguments->flags || arguments->version)
		return -EINVAL;
	if (mock_debug_is < 2)
		return -ENODEV;
	arguments->version = XE_DEBUG_VERSION;
	debugger = kzalloc(sizeof(*debugger), GFP_KERNEL);
	if (!debugger)
		return -ENOMEM;
	kref_init(&debugger->references);
	spin_lock_init(&debugger->lock);
	INIT_LIST_HEAD(&debugger->events);
	INIT_LIST_HEAD(&debugger->held);
	INIT_WORK(&debugger->discovery, discover);
	init_waitqueue_head(&debugger->written);
	init_waitqueue_head(&debugger->taken);
	debugger->gpu = to_gpu(device);
	debugger->target = find_get_pid(arguments->pid);
	error = debugger->target ? attach(debugger->gpu, debugger) : -ENOENT;
	if (error) {
		put_debugger(debugger);
		return error;
	}
	/* of the discovery */
	kref_get(&debugger->references);
	queue_work(debugger->gpu->work, &debugger->discovery);
	fd = anon_inode_getfd("[xe_eudebug]", &debugger_ops, debugger, 0);
	if (fd < 0)
		debugger->is_closed = true; /* stays closed; a test has no need to undo it */
	return fd;
}
