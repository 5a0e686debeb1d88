/* SPDX-License-Identifier: MIT
 *
 * collect/intel/experimental/eudebug_i915.c - debugger interface of Intel's own i915, for Data
 * Center GPU Max
 *
 * Runs in:  the recorder
 * Gets:     a process; events as bytes
 * Gives:    decoded events
 * Owns:     nothing
 * Fails:    with -errno; other bytes are not events
 * Why no threads are stopped with this driver: it names the engine of a queue's threads only in
 *           events of programs that their runtime has started for debugging. A wrong engine would
 *           stop the threads of another program.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "abi/i915_debug.h"
#include "collect/intel/experimental/eudebug_driver.h"

static int connect_to(const struct gpu_node *node, pid_t pid)
{
	struct i915_debugger_open open = {.pid = (uint64_t)pid, .flags = I915_DEBUG_NONBLOCK};

	return gpu_node_begin(node, node->ioctl(node->fd, I915_IOCTL_DEBUGGER_OPEN, &open), true,
			      0);
}

static ssize_t read_event(const struct gpu_node *node, int fd, void *bytes, size_t size,
			  size_t *ret_needed)
{
	struct i915_debug_event *event = bytes;

	*event = (struct i915_debug_event){.type = I915_DEBUG_EVENT_READ, .size = size};
	if (node->ioctl(fd, I915_DEBUG_IOCTL_READ_EVENT, event) == 0)
		return event->size <= size ? (ssize_t)event->size : -EPROTO;
	*ret_needed = event->size;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static int acknowledge(const struct gpu_node *node, int fd, const struct eudebug_event *event)
{
	struct i915_debug_ack ack = {.type = event->type, .seqno = event->number};

	return node->ioctl(fd, I915_DEBUG_IOCTL_ACK, &ack) ? -errno : 0;
}

static int read_binary(const struct gpu_node *node, int fd, uint64_t client, uint64_t binary,
		       void *bytes, uint64_t *inout_size)
{
	struct i915_debug_read_uuid read = {.client = client,
					    .handle = binary,
					    .payload_ptr = (uintptr_t)bytes,
					    .payload_size = *inout_size};

	if (node->ioctl(fd, I915_DEBUG_IOCTL_READ_UUID, &read))
		return -errno;
	*inout_size = read.payload_size;
	return 0;
}

/* Code objects and other objects of the runtime have the same type; their first bytes differ. */
static bool decode_uuid(const struct i915_debug_event_uuid *uuid, size_t size,
			struct eudebug_event *event)
{
	if (size < sizeof(*uuid))
		return false;
	if (!uuid->payload_size)
		return true;
	event->kind = EUDEBUG_BINARY;
	event->client = uuid->client;
	event->binaries[0] = uuid->handle;
	event->binaries_count = 1;
	event->size = uuid->payload_size;
	return true;
}

static bool decode_bind(const struct i915_debug_event_vm_bind *bind, size_t size,
			struct eudebug_event *event)
{
	const uint8_t *uuids = (const uint8_t *)bind + sizeof(*bind);

	if (size < sizeof(*bind) || (size - sizeof(*bind)) / sizeof(uint64_t) < bind->num_uuids)
		return false;
	event->client = bind->client;
	event->space = bind->vm;
	event->begin = bind->va_start;
	event->size = bind->va_length;
	event->kind = bind->num_uuids && !event->is_end ? EUDEBUG_PLACED : EUDEBUG_BOUND;
	event->binaries_count =
		bind->num_uuids < MAX_EUDEBUG_BINARIES ? bind->num_uuids : MAX_EUDEBUG_BINARIES;
	memcpy(event->binaries, uuids, event->binaries_count * sizeof(uint64_t));
	return true;
}

static bool decode_vm(const struct i915_debug_event_vm *vm, size_t size,
		      struct eudebug_event *event)
{
	if (size < sizeof(*vm))
		return false;
	event->kind = EUDEBUG_SPACE;
	event->client = vm->client;
	event->space = vm->handle;
	return true;
}

static bool decode(struct eudebug_refs *refs, const void *bytes, size_t size,
		   struct eudebug_event *ret_event)
{
	const struct i915_debug_event *base = bytes;

	*ret_event = (struct eudebug_event){.kind = EUDEBUG_NOTHING};
	if (size < sizeof(*base) || base->size != size)
		return false;
	ret_event->type = base->type;
	ret_event->number = base->seqno;
	ret_event->is_end = base->flags & I915_DEBUG_DESTROY;
	ret_event->needs_ack = base->flags & I915_DEBUG_NEED_ACK;
	switch (base->type) {
	case I915_DEBUG_EVENT_UUID:
		return decode_uuid(bytes, size, ret_event);
	case I915_DEBUG_EVENT_VM:
		return decode_vm(bytes, size, ret_event);
	case I915_DEBUG_EVENT_VM_BIND:
		return decode_bind(bytes, size, ret_event);
	case I915_DEBUG_EVENT_ATTENTION:
	case I915_DEBUG_EVENT_PAGE_FAULT:
		ret_event->kind = EUDEBUG_ATTENTION;
		return true;
	default:
		return true;
	}
}

const struct eudebug_driver eudebug_i915_driver = {
	.connect = connect_to,
	.read = read_event,
	.decode = decode,
	.acknowledge = acknowledge,
	.read_binary = read_binary,
	.lacks = "the driver i915 of this kernel has no interface for debuggers: Intel's own build "
		 "of it for Data Center GPU Max has (intel-i915-dkms)",
	.folder_file = "prelim_enable_eu_debug",
};
