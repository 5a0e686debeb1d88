/* SPDX-License-Identifier: MIT
 *
 * sim/mock_xe/mock_stall.c - the stream of EU-stall rows in the layout of Xe2, and the driver's
 * description of it
 *
 * Runs in:  the kernel of a virtual machine
 * Gets:     rows of scripts
 * Gives:    these rows, by poll and read
 * Owns:     a ring of rows
 * Why:      it behaves like the driver: EIO once if rows were lost, ENODEV forever after a reset,
 *           EBUSY for a second stream
 */
#include <drm/drm_file.h>
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "mock_xe.h"

enum {
	ROW_BYTES = 64,
	MAX_ROWS = 8192,
	RATE_UNIT = 251, /* cycles */
	RATES = 7,
	MAX_WAIT = 15 * HZ,
	MAX_PROPERTIES = 5,
	IP_BITS = 29
};

/* ---- rows ------------------------------------------------------------------------------------ */

static void make_row(u8 *row, u64 address, const u8 *counts)
{
	unsigned __int128 value = address >> 3 & ((1u << IP_BITS) - 1);

	for (u32 i = 0; i < MOCK_REASONS; i++)
		value |= (unsigned __int128)counts[i] << (IP_BITS + 8 * i);
	memset(row, 0, ROW_BYTES);
	memcpy(row, &value, sizeof(value));
}

void mock_stall_put(struct mock_gpu *gpu, u64 address, const struct mock_rows *rows)
{
	struct mock_stream *stream;

	spin_lock_irq(&gpu->lock);
	stream = gpu->stream;
	for (u32 i = 0; stream && stream->is_enabled && !stream->is_dead && i < rows->count; i++) {
		if (stream->written - stream->taken == MAX_ROWS) {
			stream->has_lost = true;
			break;
		}
		make_row(stream->rows + stream->written++ % MAX_ROWS * ROW_BYTES,
			 address + rows->offset, rows->counts);
	}
	if (stream)
		wake_up(&stream->waiting);
	spin_unlock_irq(&gpu->lock);
}

void mock_stall_reset(struct mock_gpu *gpu)
{
	spin_lock_irq(&gpu->lock);
	if (gpu->stream) {
		gpu->stream->is_dead = true;
		wake_up(&gpu->stream->waiting);
	}
	spin_unlock_irq(&gpu->lock);
}

void mock_stall_drop(struct mock_gpu *gpu)
{
	spin_lock_irq(&gpu->lock);
	if (gpu->stream) {
		gpu->stream->has_lost = true;
		wake_up(&gpu->stream->waiting);
	}
	spin_unlock_irq(&gpu->lock);
}

static bool is_taken(struct mock_gpu *gpu)
{
	const struct mock_stream *stream;
	bool is;

	spin_lock_irq(&gpu->lock);
	stream = gpu->stream;
	is = stream && stream->is_enabled && !stream->is_dead && !stream->has_lost &&
	     stream->taken == stream->written;
	spin_unlock_irq(&gpu->lock);
	return is;
}

int mock_stall_wait(struct mock_gpu *gpu)
{
	const long left = wait_event_interruptible_timeout(gpu->taking, is_taken(gpu), MAX_WAIT);

	return left > 0 ? 0 : left ? left : -ETIMEDOUT;
}

/* ---- the stream ------------------------------------------------------------------------------ */

static bool has_something(struct mock_stream *stream)
{
	bool has;

	spin_lock_irq(&stream->gpu->lock);
	has = stream->is_dead || stream->has_lost ||
	      stream->written - stream->taken >= stream->wait_rows;
	spin_unlock_irq(&stream->gpu->lock);
	return has;
}

/* Bytes; 0: there are none. */
static ssize_t take(struct mock_stream *stream, u8 *rows, size_t size)
{
	size_t count = 0;
	ssize_t result = 0;

	spin_lock_irq(&stream->gpu->lock);
	if (stream->is_dead) {
		result = -ENODEV;
	} else if (stream->has_lost) {
		stream->has_lost = false;
		result = -EIO;
	} else {
		for (; (count + 1) * ROW_BYTES <= size && stream->taken < stream->written; count++)
			memcpy(rows + count * ROW_BYTES,
			       stream->rows + stream->taken++ % MAX_ROWS * ROW_BYTES, ROW_BYTES);
		result = count * ROW_BYTES;
	}
	spin_unlock_irq(&stream->gpu->lock);
	return result;
}

static ssize_t stream_read(struct file *file, char __user *user, size_t size, loff_t *offset)
{
	struct mock_stream *stream = file->private_data;
	ssize_t result;
	u8 *rows;

	size = min_t(size_t, size, MAX_ROWS * ROW_BYTES);
	if (!stream->is_enabled || size < ROW_BYTES)
		return -EINVAL;
	rows = vmalloc(size);
	if (!rows)
		return -ENOMEM;
	while (!(result = take(stream, rows, size))) {
		if (file->f_flags & O_NONBLOCK)
			result = -EAGAIN;
		else if (wait_event_interruptible(stream->waiting, has_something(stream)))
			result = -EINTR;
		if (result)
			break;
	}
	if (result > 0 && copy_to_user(user, rows, result))
		result = -EFAULT;
	vfree(rows);
	wake_up(&stream->gpu->taking);
	return result;
}

static __poll_t stream_poll(struct file *file, poll_table *table)
{
	struct mock_stream *stream = file->private_data;

	poll_wait(file, &stream->waiting, table);
	return has_something(stream) ? EPOLLIN : 0;
}

static long stream_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct mock_stream *stream = file->private_data;

	if (command != XE_STREAM_ENABLE && command != XE_STREAM_DISABLE)
		return -EINVAL;
	spin_lock_irq(&stream->gpu->lock);
	stream->is_enabled = command == XE_STREAM_ENABLE;
	spin_unlock_irq(&stream->gpu->lock);
	wake_up(&stream->gpu->taking);
	return 0;
}

static int stream_release(struct inode *inode, struct file *file)
{
	struct mock_stream *stream = file->private_data;

	spin_lock_irq(&stream->gpu->lock);
	stream->gpu->stream = NULL;
	spin_unlock_irq(&stream->gpu->lock);
	vfree(stream->rows);
	kfree(stream);
	return 0;
}

static const struct file_operations stream_ops = {
	.owner = THIS_MODULE,
	.read = stream_read,
	.poll = stream_poll,
	.unlocked_ioctl = stream_ioctl,
	.release = stream_release,
};

struct wanted {
	u64 rate, wait_rows, gt;
	bool has_gt;
};

static int read_properties(u64 address, struct wanted *wanted)
{
	struct xe_set_property property;

	for (u32 i = 0; address; i++) {
		if (i == MAX_PROPERTIES)
			return -E2BIG;
		if (copy_from_user(&property, u64_to_user_ptr(address), sizeof(property)))
			return -EFAULT;
		if (property.name || property.pad || property.pad2)
			return -EINVAL;
		switch (property.property) {
		case XE_EU_STALL_GT_ID:
			wanted->gt = property.value;
			wanted->has_gt = true;
			break;
		case XE_EU_STALL_SAMPLE_RATE:
			wanted->rate = property.value;
			break;
		case XE_EU_STALL_WAIT_NUM_REPORTS:
			wanted->wait_rows = property.value;
			break;
		default:
			return -EINVAL;
		}
		address = property.next_extension;
	}
	if (!wanted->has_gt || wanted->gt || wanted->rate % RATE_UNIT || wanted->rate < RATE_UNIT ||
	    wanted->rate > RATES * RATE_UNIT || !wanted->wait_rows)
		return -EINVAL;
	return 0;
}

static int take_place(struct mock_gpu *gpu, struct mock_stream *stream)
{
	int error = 0;

	spin_lock_irq(&gpu->lock);
	if (gpu->stream)
		error = -EBUSY;
	else
		gpu->stream = stream;
	spin_unlock_irq(&gpu->lock);
	return error;
}

int xe_eu_stall_stream_open(struct drm_device *device, u64 data, struct drm_file *file)
{
	struct mock_gpu *gpu = to_gpu(device);
	struct wanted wanted = {.rate = 4 * RATE_UNIT, .wait_rows = 1};
	struct mock_stream *stream;
	int result;

	if (!mock_may_observe())
		return -EACCES;
	result = read_properties(data, &wanted);
	if (result)
		return result;
	stream = kzalloc(sizeof(*stream), GFP_KERNEL);
	if (!stream)
		return -ENOMEM;
	stream->gpu = gpu;
	stream->wait_rows = wanted.wait_rows;
	init_waitqueue_head(&stream->waiting);
	stream->rows = vzalloc(MAX_ROWS * ROW_BYTES);
	result = stream->rows ? take_place(gpu, stream) : -ENOMEM;
	if (!result) {
		/* like the driver, without O_CLOEXEC; the caller sets it */
		result = anon_inode_getfd("[xe_eu_stall]", &stream_ops, stream, 0);
		if (result >= 0)
			return result;
		gpu->stream = NULL;
	}
	vfree(stream->rows);
	kfree(stream);
	return result;
}

static int observe_oa(struct mock_gpu *gpu, const struct xe_observation_param *arguments)
{
	switch (arguments->observation_op) {
	case XE_OBSERVATION_OPEN:
		return mock_oa_open(gpu, arguments->param);
	case XE_OBSERVATION_ADD_CONFIG:
		return mock_oa_add_set(gpu, arguments->param);
	case XE_OBSERVATION_REMOVE_CONFIG:
		return mock_oa_remove_set(gpu, arguments->param);
	default:
		return -EINVAL;
	}
}

int xe_observation_ioctl(struct drm_device *device, void *data, struct drm_file *file)
{
	const struct xe_observation_param *arguments = data;

	if (arguments->extensions)
		return -EINVAL;
	if (arguments->observation_type == XE_OBSERVATION_OA && mock_has_oa)
		return observe_oa(to_gpu(device), arguments);
	if (arguments->observation_type != XE_OBSERVATION_EU_STALL || !mock_has_stalls ||
	    arguments->observation_op != XE_OBSERVATION_OPEN)
		return -EINVAL;
	return xe_eu_stall_stream_open(device, arguments->param, file);
}

/* ---- queries --------------------------------------------------------------------------------- */

static const struct {
	struct xe_query_gt_list head;
	struct xe_gt gt;
} gts = {{.num_gt = 1}, {.reference_clock = 19200000, .ip_ver_major = 20, .ip_ver_minor = 1}};

static const struct {
	struct xe_query_eu_stall head;
	u64 rates[RATES];
} eu_stall = {{.capabilities = 1,
	       .record_size = ROW_BYTES,
	       .per_xecore_buf_size = SZ_512K,
	       .num_sampling_rates = RATES},
	      {251, 502, 753, 1004, 1255, 1506, 1757}};

static const struct {
	struct xe_query_oa_units head;
	struct xe_oa_unit unit;
	struct xe_engine_instance engine;
} oa_units = {{.num_oa_units = 1},
	      {.oa_unit_type = XE_OA_UNIT_OAG, .oa_timestamp_freq = 19200000, .num_engines = 1},
	      {.engine_class = 4}};

/* Two parts with eight EUs each. */
static const struct {
	struct xe_topology_mask parts;
	u8 parts_mask[4];
	struct xe_topology_mask eus;
	u8 eus_mask[4];
} topology = {{.type = XE_TOPOLOGY_DSS_COMPUTE, .num_bytes = 4},
	      {0x03},
	      {.type = XE_TOPOLOGY_SIMD16_EU_PER_DSS, .num_bytes = 4},
	      {0xff}};

int xe_query_ioctl(struct drm_device *device, void *data, struct drm_file *file)
{
	struct xe_device_query *arguments = data;
	const void *answer;
	u32 size;

	switch (arguments->query) {
	case XE_QUERY_GT_LIST:
		answer = &gts;
		size = sizeof(gts);
		break;
	case XE_QUERY_EU_STALL:
		answer = mock_has_stalls ? &eu_stall : NULL;
		size = sizeof(eu_stall);
		break;
	case XE_QUERY_OA_UNITS:
		answer = mock_has_oa ? &oa_units : NULL;
		size = sizeof(oa_units);
		break;
	case XE_QUERY_GT_TOPOLOGY:
		answer = &topology;
		size = sizeof(topology);
		break;
	default:
		return -EINVAL;
	}
	if (!answer)
		return -EINVAL;
	if (!arguments->size) {
		arguments->size = size;
		return 0;
	}
	if (arguments->size != size)
		return -EINVAL;
	return copy_to_user(u64_to_user_ptr(arguments->data), answer, size) ? -EFAULT : 0;
}
