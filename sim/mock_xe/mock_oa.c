/* SPDX-License-Identifier: MIT
 *
 * sim/mock_xe/mock_oa.c - the OA unit: metric sets, and a stream of reports in Xe2's format of 64
 * counters
 *
 * Runs in:  the kernel of a virtual machine
 * Gets:     changes of counters between reports
 * Gives:    reports, by poll and read
 * Owns:     metric sets and their list in sysfs, a ring of reports
 * Why:      it behaves like the driver. A stream needs a set, and keeps it when the set is removed;
 *           EIO once if the unit has an error, with the reason by STATUS; EBUSY for a second
 *           stream. A counter counts the event that its selector in the set chooses, so a wrong
 *           selector counts nothing.
 */
#include <drm/drm_file.h>
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "mock_xe.h"

enum {
	REPORT_BYTES = 576,
	MAX_REPORTS = 2048,
	COUNTERS = 64,
	HEADER_WORDS = 4,
	MAX_PROPERTIES = 16,
	MAX_REGISTERS = 1024,
	MAX_EXPONENT = 31,
	FORMAT = XE_OA_FORMAT_PEC | 1 << 8 | 1 << 16,
	TIMER = 1 << 19, /* the reason of a report */
	/* of a counter's selector: level * SELECTOR_LEVEL + counter * 8 */
	SELECTORS = 0x13000,
	SELECTOR_LEVEL = 0x200,
	SELECTORS_END = 0x13800,
	/* events that selectors choose */
	EU_ACTIVE = 0x605,
	EU_STALLED = 0x606,
	BUSY = 0x5a00
};

struct mock_set {
	char uuid[XE_OA_UUID_CHARACTERS];
	u32 events[COUNTERS]; /* of the first level that chooses one */
	u32 id;
	/* metrics/UUID/id of the card */
	char name[XE_OA_UUID_CHARACTERS + 1];
	struct kobj_attribute file;
	struct attribute *files[2];
	struct attribute_group group;
};

struct mock_oa {
	struct mock_gpu *gpu;
	struct mock_set set;
	wait_queue_head_t waiting;
	bool is_enabled;
	/* under the GPU's lock */
	u8 *reports; /* a ring */
	u64 written, taken;
	u64 words[REPORT_BYTES / 8]; /* of the last report */
	u32 status, reported_status; /* enum xe_oa_status */
	bool is_dead;
};

/* ---- reports --------------------------------------------------------------------------------- */

/* Under the lock. */
static void write_report(struct mock_oa *oa)
{
	if (oa->written - oa->taken == MAX_REPORTS) {
		oa->status |= XE_OA_BUFFER_OVERFLOW;
		return;
	}
	memcpy(oa->reports + oa->written++ % MAX_REPORTS * REPORT_BYTES, oa->words, REPORT_BYTES);
}

static u32 count_of(const struct mock_oa_step *step, u32 event)
{
	switch (event) {
	case EU_ACTIVE:
		return step->active;
	case EU_STALLED:
		return step->stalled;
	case BUSY:
		return step->busy;
	default:
		return 0;
	}
}

void mock_oa_put(struct mock_gpu *gpu, const struct mock_oa_step *steps, u32 count)
{
	struct mock_oa *oa;

	spin_lock_irq(&gpu->lock);
	oa = gpu->oa;
	for (u32 i = 0; oa && oa->is_enabled && !oa->is_dead && i < count; i++) {
		oa->words[1] = (oa->words[1] + steps[i].time) & GENMASK_ULL(55, 0);
		oa->words[3] = (u32)(oa->words[3] + steps[i].ticks);
		for (u32 j = 0; j < COUNTERS; j++)
			oa->words[HEADER_WORDS + j] += count_of(&steps[i], oa->set.events[j]);
		write_report(oa);
	}
	if (oa)
		wake_up(&oa->waiting);
	spin_unlock_irq(&gpu->lock);
}

void mock_oa_lose(struct mock_gpu *gpu)
{
	spin_lock_irq(&gpu->lock);
	if (gpu->oa)
		gpu->oa->status |= XE_OA_REPORT_LOST;
	spin_unlock_irq(&gpu->lock);
}

void mock_oa_end(struct mock_gpu *gpu)
{
	spin_lock_irq(&gpu->lock);
	if (gpu->oa) {
		gpu->oa->is_dead = true;
		wake_up(&gpu->oa->waiting);
	}
	spin_unlock_irq(&gpu->lock);
}

/* ---- the stream ------------------------------------------------------------------------------ */

static bool has_something(struct mock_oa *oa)
{
	bool has;

	spin_lock_irq(&oa->gpu->lock);
	has = oa->is_dead || oa->status || oa->written != oa->taken;
	spin_unlock_irq(&oa->gpu->lock);
	return has;
}

/* Bytes; 0: there are none. */
static ssize_t take(struct mock_oa *oa, u8 *reports, size_t size)
{
	size_t count = 0;
	ssize_t result = 0;

	spin_lock_irq(&oa->gpu->lock);
	oa->reported_status = oa->status;
	if (oa->is_dead) {
		result = -ENODEV;
	} else if (oa->status) {
		oa->status = 0;
		result = -EIO;
	} else {
		for (; (count + 1) * REPORT_BYTES <= size && oa->taken < oa->written; count++)
			memcpy(reports + count * REPORT_BYTES,
			       oa->reports + oa->taken++ % MAX_REPORTS * REPORT_BYTES,
			       REPORT_BYTES);
		result = count * REPORT_BYTES;
	}
	spin_unlock_irq(&oa->gpu->lock);
	return result;
}

static ssize_t oa_read(struct file *file, char __user *user, size_t size, loff_t *offset)
{
	struct mock_oa *oa = file->private_data;
	ssize_t result;
	u8 *reports;

	size = min_t(size_t, size, MAX_REPORTS * REPORT_BYTES);
	if (size < REPORT_BYTES)
		return -ENOSPC;
	reports = vmalloc(size);
	if (!reports)
		return -ENOMEM;
	while (!(result = take(oa, reports, size))) {
		if (file->f_flags & O_NONBLOCK)
			result = -EAGAIN;
		else if (wait_event_interruptible(oa->waiting, has_something(oa)))
			result = -EINTR;
		if (result)
			break;
	}
	if (result > 0 && copy_to_user(user, reports, result))
		result = -EFAULT;
	vfree(reports);
	return result;
}

static __poll_t oa_poll(struct file *file, poll_table *table)
{
	struct mock_oa *oa = file->private_data;

	poll_wait(file, &oa->waiting, table);
	return has_something(oa) ? EPOLLIN : 0;
}

static long tell_status(struct mock_oa *oa, unsigned long argument)
{
	const struct xe_oa_stream_status status = {.oa_status = oa->reported_status};

	return copy_to_user((void __user *)argument, &status, sizeof(status)) ? -EFAULT : 0;
}

static long oa_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct mock_oa *oa = file->private_data;

	if (command == XE_STREAM_STATUS)
		return tell_status(oa, argument);
	if (command != XE_STREAM_ENABLE && command != XE_STREAM_DISABLE)
		return -EINVAL;
	spin_lock_irq(&oa->gpu->lock);
	if (command == XE_STREAM_ENABLE && !oa->is_enabled)
		write_report(oa);
	oa->is_enabled = command == XE_STREAM_ENABLE;
	spin_unlock_irq(&oa->gpu->lock);
	return 0;
}

static int oa_release(struct inode *inode, struct file *file)
{
	struct mock_oa *oa = file->private_data;

	spin_lock_irq(&oa->gpu->lock);
	oa->gpu->oa = NULL;
	spin_unlock_irq(&oa->gpu->lock);
	vfree(oa->reports);
	kfree(oa);
	return 0;
}

static const struct file_operations oa_ops = {
	.owner = THIS_MODULE,
	.read = oa_read,
	.poll = oa_poll,
	.unlocked_ioctl = oa_ioctl,
	.release = oa_release,
};

/* ---- metric sets ----------------------------------------------------------------------------- */

int mock_oa_list_sets(struct mock_gpu *gpu)
{
	gpu->metrics = kobject_create_and_add("metrics", &gpu->drm.primary->kdev->kobj);
	return gpu->metrics ? 0 : -ENOMEM;
}

static ssize_t show_id(struct kobject *folder, struct kobj_attribute *file, char *text)
{
	return sysfs_emit(text, "%u\n", container_of(file, struct mock_set, file)->id);
}

static int list(struct mock_gpu *gpu, struct mock_set *set)
{
	memcpy(set->name, set->uuid, sizeof(set->uuid));
	sysfs_attr_init(&set->file.attr);
	set->file.attr.name = "id";
	set->file.attr.mode = 0444;
	set->file.show = show_id;
	set->files[0] = &set->file.attr;
	set->group.name = set->name;
	set->group.attrs = set->files;
	return sysfs_create_group(gpu->metrics, &set->group);
}

static void choose(struct mock_set *set, u32 address, u32 value)
{
	const u32 counter = (address - SELECTORS) % SELECTOR_LEVEL / 8;

	if (address >= SELECTORS && address < SELECTORS_END && address % 8 == 0 &&
	    !set->events[counter])
		set->events[counter] = value;
}

static int read_registers(struct mock_set *set, const struct xe_oa_config *config)
{
	const u64 __user *user = u64_to_user_ptr(config->regs_ptr);

	for (u32 i = 0; i < config->n_regs; i++) {
		u64 pair;

		if (get_user(pair, user + i))
			return -EFAULT;
		choose(set, (u32)pair, (u32)(pair >> 32));
	}
	return 0;
}

static bool has_set(struct mock_gpu *gpu, const char *uuid)
{
	struct mock_set *set;
	unsigned long id;

	xa_for_each(&gpu->sets, id,
		    set) if (memcmp(set->uuid, uuid, sizeof(set->uuid)) == 0) return true;
	return false;
}

/* The set's number. */
int mock_oa_add_set(struct mock_gpu *gpu, u64 data)
{
	struct xe_oa_config config;
	struct mock_set *set;
	int error;

	if (!mock_may_observe())
		return -EACCES;
	if (copy_from_user(&config, u64_to_user_ptr(data), sizeof(config)))
		return -EFAULT;
	if (config.extensions || !config.n_regs || config.n_regs > MAX_REGISTERS)
		return -EINVAL;
	if (has_set(gpu, config.uuid))
		return -EADDRINUSE;
	set = kzalloc(sizeof(*set), GFP_KERNEL);
	if (!set)
		return -ENOMEM;
	memcpy(set->uuid, config.uuid, sizeof(set->uuid));
	error = read_registers(set, &config);
	if (!error)
		error = xa_alloc(&gpu->sets, &set->id, set, xa_limit_31b, GFP_KERNEL);
	if (!error) {
		error = list(gpu, set);
		if (!error)
			return set->id;
		xa_erase(&gpu->sets, set->id);
	}
	kfree(set);
	return error;
}

int mock_oa_remove_set(struct mock_gpu *gpu, u64 data)
{
	struct mock_set *set;
	u64 id;

	if (!mock_may_observe())
		return -EACCES;
	if (get_user(id, (const u64 __user *)u64_to_user_ptr(data)))
		return -EFAULT;
	set = xa_erase(&gpu->sets, id);
	if (set)
		sysfs_remove_group(gpu->metrics, &set->group);
	kfree(set);
	return set ? 0 : -ENOENT;
}

/* ---- opening --------------------------------------------------------------------------------- */

struct wanted {
	u64 unit, sample, set, format, exponent, disabled;
	bool has_exponent;
};

static int read_property(const struct xe_set_property *property, struct wanted *wanted)
{
	switch (property->property) {
	case XE_OA_UNIT_ID:
		wanted->unit = property->value;
		return 0;
	case XE_OA_SAMPLE:
		wanted->sample = property->value;
		return 0;
	case XE_OA_METRIC_SET:
		wanted->set = property->value;
		return 0;
	case XE_OA_FORMAT:
		wanted->format = property->value;
		return 0;
	case XE_OA_PERIOD_EXPONENT:
		wanted->exponent = property->value;
		wanted->has_exponent = true;
		return property->value > MAX_EXPONENT ? -EINVAL : 0;
	case XE_OA_DISABLED:
		wanted->disabled = property->value;
		return 0;
	default:
		return -EINVAL;
	}
}

static int read_properties(u64 address, struct wanted *wanted)
{
	struct xe_set_property property;
	int error;

	for (u32 i = 0; address; i++) {
		if (i == MAX_PROPERTIES)
			return -E2BIG;
		if (copy_from_user(&property, u64_to_user_ptr(address), sizeof(property)))
			return -EFAULT;
		if (property.name || property.pad)
			return -EINVAL;
		error = read_property(&property, wanted);
		if (error)
			return error;
		address = property.next_extension;
	}
	return wanted->unit || !wanted->sample || wanted->format != FORMAT || !wanted->has_exponent
		       ? -EINVAL
		       : 0;
}

static int take_place(struct mock_gpu *gpu, struct mock_oa *oa)
{
	int error = 0;

	spin_lock_irq(&gpu->lock);
	if (gpu->oa)
		error = -EBUSY;
	else
		gpu->oa = oa;
	spin_unlock_irq(&gpu->lock);
	return error;
}

int mock_oa_open(struct mock_gpu *gpu, u64 data)
{
	struct wanted wanted = {.unit = 0};
	const struct mock_set *set;
	struct mock_oa *oa;
	int result = read_properties(data, &wanted);

	if (result)
		return result;
	if (!mock_may_observe())
		return -EACCES;
	set = xa_load(&gpu->sets, wanted.set);
	oa = set ? kzalloc(sizeof(*oa), GFP_KERNEL) : NULL;
	if (!oa)
		return set ? -ENOMEM : -EINVAL;
	oa->gpu = gpu;
	oa->set = *set;
	oa->is_enabled = !wanted.disabled;
	oa->words[0] = TIMER;
	oa->words[1] = 1000;
	init_waitqueue_head(&oa->waiting);
	oa->reports = vzalloc(MAX_REPORTS * REPORT_BYTES);
	result = oa->reports ? take_place(gpu, oa) : -ENOMEM;
	if (!result) {
		/* as the driver does, without O_CLOEXEC */
		result = anon_inode_getfd("[xe_oa]", &oa_ops, oa, 0);
		if (result >= 0)
			return result;
		gpu->oa = NULL;
	}
	vfree(oa->reports);
	kfree(oa);
	return result;
}
