/* SPDX-License-Identifier: MIT
 *
 * collect/intel/experimental/eudebug_xe.c - debugger interface of Intel's own builds of the driver
 * xe
 *
 * Runs in:  the recorder
 * Gets:     a process; events as bytes
 * Gives:    decoded events
 * Owns:     nothing
 * Fails:    with -errno; other bytes are not events
 * Why:      A bind is one event. Each operation of the bind is a second event that refers to the
 *           first, and the code that it binds is a third event that refers to the second. 256
 *           references are kept; a bind whose events are further apart is lost and counted
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "abi/xe_debug.h"
#include "collect/intel/experimental/eudebug_driver.h"

/* ---- calls ----------------------------------------------------------------------------------- */

static int connect_to(const struct gpu_node *node, pid_t pid)
{
	struct xe_debug_connect connect = {.pid = (uint64_t)pid};
	const int fd = node->ioctl(node->fd, XE_IOCTL_DEBUG_CONNECT, &connect);

	if (fd >= 0 && connect.version != XE_DEBUG_VERSION) {
		close(fd);
		return -ENOTTY;
	}
	return gpu_node_begin(node, fd, true, 0);
}

static ssize_t read_event(const struct gpu_node *node, int fd, void *bytes, size_t size,
			  size_t *ret_needed)
{
	struct xe_debug_event *event = bytes;

	*event = (struct xe_debug_event){.len = (uint32_t)size, .type = XE_DEBUG_EVENT_READ};
	if (node->ioctl(fd, XE_DEBUG_IOCTL_READ_EVENT, event) == 0)
		return event->len <= size ? (ssize_t)event->len : -EPROTO;
	*ret_needed = event->len;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static int acknowledge(const struct gpu_node *node, int fd, const struct eudebug_event *event)
{
	struct xe_debug_ack ack = {.type = event->type, .seqno = event->number};

	return node->ioctl(fd, XE_DEBUG_IOCTL_ACK, &ack) ? -errno : 0;
}

static int read_binary(const struct gpu_node *node, int fd, uint64_t client, uint64_t binary,
		       void *bytes, uint64_t *inout_size)
{
	struct xe_debug_read_metadata read = {
		.client = client, .metadata = binary, .ptr = (uintptr_t)bytes, .size = *inout_size};

	if (node->ioctl(fd, XE_DEBUG_IOCTL_READ_METADATA, &read))
		return -errno;
	*inout_size = read.size;
	return 0;
}

static int control(const struct gpu_node *node, int fd, const struct eudebug_event *queue,
		   uint32_t command, const uint8_t *mask, uint32_t *inout_bytes)
{
	struct xe_debug_control control = {.client = queue->client,
					   .cmd = command,
					   .queue = queue->queue,
					   .lrc = queue->context,
					   .bitmask_size = *inout_bytes,
					   .bitmask_ptr = (uintptr_t)mask};

	if (node->ioctl(fd, XE_DEBUG_IOCTL_CONTROL, &control))
		return -errno;
	*inout_bytes = control.bitmask_size;
	return 0;
}

static int interrupt(const struct gpu_node *node, int fd, const struct eudebug_event *queue)
{
	uint32_t none = 0;

	return control(node, fd, queue, XE_DEBUG_INTERRUPT_ALL, NULL, &none);
}

/* The buffer was too small; the driver reported the size. */
static int stopped(const struct gpu_node *node, int fd, const struct eudebug_event *queue,
		   uint8_t *mask, uint32_t *inout_bytes)
{
	return control(node, fd, queue, XE_DEBUG_STOPPED, mask, inout_bytes);
}

static int resume(const struct gpu_node *node, int fd, const struct eudebug_event *queue,
		  const uint8_t *mask, uint32_t bytes)
{
	return control(node, fd, queue, XE_DEBUG_RESUME, mask, &bytes);
}

/* ---- events ---------------------------------------------------------------------------------- */

static const struct eudebug_ref *find_ref(const struct eudebug_refs *refs, uint64_t number)
{
	for (uint32_t i = 0; number && i < EUDEBUG_REFS; i++)
		if (refs->all[i].number == number)
			return &refs->all[i];
	return NULL;
}

static void keep_ref(struct eudebug_refs *refs, const struct eudebug_ref *ref)
{
	refs->all[refs->next++ % EUDEBUG_REFS] = *ref;
}

static void set_place(struct eudebug_event *event, const struct eudebug_ref *ref)
{
	event->client = ref->client;
	event->space = ref->space;
	event->begin = ref->begin;
	event->size = ref->size;
}

static void decode_bind(struct eudebug_refs *refs, const void *bytes, struct eudebug_event *event)
{
	const struct xe_debug_event_bind *bind = bytes;
	const struct eudebug_ref ref = {
		.number = bind->base.seqno, .client = bind->client, .space = bind->vm};

	keep_ref(refs, &ref);
}

static void decode_operation(struct eudebug_refs *refs, const void *bytes,
			     struct eudebug_event *event)
{
	const struct xe_debug_event_bind_op *operation = bytes;
	const struct eudebug_ref *bind = find_ref(refs, operation->bind);
	struct eudebug_ref ref;

	if (!bind) {
		event->kind = EUDEBUG_UNKNOWN;
		return;
	}
	ref = (struct eudebug_ref){.number = operation->base.seqno,
				   .client = bind->client,
				   .space = bind->space,
				   .begin = operation->addr,
				   .size = operation->range};
	keep_ref(refs, &ref);
	set_place(event, &ref);
	event->kind = EUDEBUG_BOUND;
}

static void decode_placed(struct eudebug_refs *refs, const void *bytes, struct eudebug_event *event)
{
	const struct xe_debug_event_op_metadata *placed = bytes;
	const struct eudebug_ref *operation = find_ref(refs, placed->op);

	event->kind = EUDEBUG_UNKNOWN;
	if (!operation)
		return;
	set_place(event, operation);
	event->kind = EUDEBUG_PLACED;
	event->binaries[0] = placed->metadata;
	event->binaries_count = 1;
}

static void decode_metadata(struct eudebug_refs *refs, const void *bytes,
			    struct eudebug_event *event)
{
	const struct xe_debug_event_metadata *metadata = bytes;

	if (metadata->type != XE_DEBUG_ELF)
		return;
	event->kind = EUDEBUG_BINARY;
	event->client = metadata->client;
	event->binaries[0] = metadata->metadata;
	event->binaries_count = 1;
	event->size = metadata->len;
}

static void decode_vm(struct eudebug_refs *refs, const void *bytes, struct eudebug_event *event)
{
	const struct xe_debug_event_vm *vm = bytes;

	event->kind = EUDEBUG_SPACE;
	event->client = vm->client;
	event->space = vm->vm;
}

static void decode_queue(struct eudebug_refs *refs, const void *bytes, struct eudebug_event *event)
{
	const struct xe_debug_event_queue *queue = bytes;

	event->kind = EUDEBUG_QUEUE;
	event->client = queue->client;
	event->queue = queue->queue;
	if (queue->width && queue->base.len >= sizeof(*queue) + sizeof(queue->lrc[0]))
		event->context =
			queue->lrc[0] & 0xff; /* the placements are complete with the binary */
}

static void decode_placements(struct eudebug_refs *refs, const void *bytes,
			      struct eudebug_event *event)
{
	const struct xe_debug_event_placements *placements = bytes;

	event->kind = EUDEBUG_QUEUE;
	event->client = placements->client;
	event->queue = placements->queue;
	event->context = placements->lrc;
}

static void decode_attention(struct eudebug_refs *refs, const void *bytes,
			     struct eudebug_event *event)
{
	const struct xe_debug_event_attention *attention = bytes;
	const uint32_t room = attention->base.len - (uint32_t)sizeof(*attention);

	event->kind = EUDEBUG_ATTENTION;
	event->client = attention->client;
	event->queue = attention->queue;
	event->context = attention->lrc;
	/* a page fault has three masks of earlier moments, so the stopped threads are queried
	 * instead */
	if (attention->base.type != XE_DEBUG_EVENT_ATTENTION || attention->bitmask_size > room)
		return;
	event->mask = attention->bitmask;
	event->mask_bytes = attention->bitmask_size;
}

static const struct {
	void (*decode)(struct eudebug_refs *refs, const void *bytes, struct eudebug_event *event);
	size_t least;
} types[] = {
	[XE_DEBUG_EVENT_VM] = {decode_vm, sizeof(struct xe_debug_event_vm)},
	[XE_DEBUG_EVENT_QUEUE] = {decode_queue, sizeof(struct xe_debug_event_queue)},
	[XE_DEBUG_EVENT_ATTENTION] = {decode_attention, sizeof(struct xe_debug_event_attention)},
	[XE_DEBUG_EVENT_BIND] = {decode_bind, sizeof(struct xe_debug_event_bind)},
	[XE_DEBUG_EVENT_BIND_OP] = {decode_operation, sizeof(struct xe_debug_event_bind_op)},
	[XE_DEBUG_EVENT_METADATA] = {decode_metadata, sizeof(struct xe_debug_event_metadata)},
	[XE_DEBUG_EVENT_OP_METADATA] = {decode_placed, sizeof(struct xe_debug_event_op_metadata)},
	[XE_DEBUG_EVENT_PAGE_FAULT] = {decode_attention, sizeof(struct xe_debug_event_attention)},
	[XE_DEBUG_EVENT_PLACEMENTS] = {decode_placements, sizeof(struct xe_debug_event_placements)},
};

static bool decode(struct eudebug_refs *refs, const void *bytes, size_t size,
		   struct eudebug_event *ret_event)
{
	const struct xe_debug_event *base = bytes;

	*ret_event = (struct eudebug_event){.kind = EUDEBUG_NOTHING};
	if (size < sizeof(*base) || base->len != size)
		return false;
	ret_event->type = base->type;
	ret_event->number = base->seqno;
	ret_event->is_end = base->flags & XE_DEBUG_DESTROY;
	ret_event->needs_ack = base->flags & XE_DEBUG_NEED_ACK;
	if (base->type >= sizeof(types) / sizeof(types[0]) || !types[base->type].decode)
		return true;
	if (size < types[base->type].least)
		return false;
	types[base->type].decode(refs, bytes, ret_event);
	return true;
}

const struct eudebug_driver eudebug_xe_driver = {
	.connect = connect_to,
	.read = read_event,
	.decode = decode,
	.acknowledge = acknowledge,
	.read_binary = read_binary,
	.interrupt = interrupt,
	.stopped = stopped,
	.resume = resume,
	.lacks = "the driver xe of this kernel has no interface for debuggers; Intel's own builds "
		 "of it have one (xekmd-backports)",
	.folder_file = "prelim_enable_eudebug",
};
