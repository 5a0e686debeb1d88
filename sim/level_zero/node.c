/* SPDX-License-Identifier: MIT
 *
 * sim/level_zero/node.c - devices that are GPUs of the driver xe: code, batches and submissions
 * through its interface
 *
 * Runs in:  the test program; submissions run in the launching thread, as in drivers without a ring
 *           of their own
 * Gets:     render nodes, native code, addresses of kernels
 * Gives:    the code at a GPU address, batches of Xe2 that run kernels, and the times of their
 *           completion
 * Owns:     the nodes, buffers, an address space per node, and one of the driver's queues for each
 *           queue here
 * Fails:    with a line on stderr, because without its node a test has nothing to check
 * Why:      tools that watch a kernel driver see nothing of a purely computed simulation. This file
 *           makes the ioctls of a user-space driver, below the real loader; the GPU behind them is
 *           sim/mock_xe, in a virtual machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../xe_calls.h"
#include "../xe_commands.h"
#include "sim.h"

enum {
	PAGE = 4096,
	SLOTS = 16, /* of batches of one queue, at once */
	COMPUTE = 4 /* class of an engine */
};
_Static_assert((XE2_BASE_DWORDS + MAX_SIM_BATCH_KERNELS * XE2_WALKER_DWORDS + 1) * 4 <= PAGE,
	       "a batch is a page");

struct sim_node {
	int file;
	uint32_t vm;
	ze_pci_address_ext_t pci;
	pthread_mutex_t lock;
	uint64_t next_code,
		next_batches; /* under the lock: addresses that nothing was ever bound at */
};

struct buffer {
	struct sim_node *node;
	uint32_t handle;
	uint64_t address; /* the GPU's */
	size_t size;
	void *bytes;
};

struct sim_code {
	struct buffer buffer;
};

struct sim_batches {
	struct buffer buffer; /* a page each */
	uint32_t queue;
	pthread_mutex_t lock;
	pthread_cond_t is_over;
	uint64_t submitted, over; /* under the lock */
};

static bool fail(const char *what)
{
	fprintf(stderr, "sim-level_zero: %s: %s\n", what, strerror(errno));
	return false;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void find_pci(struct sim_node *node, const char *path)
{
	char copy[512], link[600], target[512];
	ssize_t length;

	snprintf(copy, sizeof(copy), "%s", path);
	snprintf(link, sizeof(link), "/sys/class/drm/%s/device", basename(copy));
	length = readlink(link, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	sscanf(basename(target), "%x:%x:%x.%x", &node->pci.domain, &node->pci.bus,
	       &node->pci.device, &node->pci.function);
}

static struct sim_node *open_node(const char *path)
{
	struct sim_node *node = calloc(1, sizeof(*node));
	struct xe_vm_create vm = {.flags = 0};

	if (!node)
		abort();
	node->file = open(path, O_RDWR | O_CLOEXEC);
	if (node->file < 0 || ioctl(node->file, XE_IOCTL_VM_CREATE, &vm)) {
		fail(path);
		free(node);
		return NULL;
	}
	node->vm = vm.vm_id;
	pthread_mutex_init(&node->lock, NULL);
	node->next_code = (uint64_t)sim_options.code;
	node->next_batches = 0x100000;
	find_pci(node, path);
	return node;
}

bool sim_nodes_open(void)
{
	char copy[sizeof(sim_options.node)], *rest = NULL;
	uint32_t count = 0;

	if (!sim_options.node[0])
		return true;
	strcpy(copy, sim_options.node);
	for (char *one = strtok_r(copy, ":", &rest); one && count < MAX_SIM_DEVICES;
	     one = strtok_r(NULL, ":", &rest)) {
		sim_devices[count].node = open_node(one);
		if (!sim_devices[count++].node)
			return false;
	}
	sim_options.devices = count;
	return count > 0;
}

ze_pci_address_ext_t sim_node_pci(const struct sim_node *node)
{
	return node->pci;
}

/* ---- buffers --------------------------------------------------------------------------------- */

static void unbind(struct buffer *buffer)
{
	struct xe_vm_bind bind = {
		.vm_id = buffer->node->vm,
		.num_binds = 1,
		.bind = {.range = buffer->size, .addr = buffer->address, .op = XE_BIND_UNMAP}};
	struct xe_gem_close gem = {.handle = buffer->handle};

	if (ioctl(buffer->node->file, XE_IOCTL_VM_BIND, &bind))
		fail("unbind");
	munmap(buffer->bytes, buffer->size);
	if (ioctl(buffer->node->file, XE_IOCTL_GEM_CLOSE, &gem))
		fail("close");
}

static bool map(struct buffer *buffer)
{
	struct xe_gem_mmap_offset offset = {.handle = buffer->handle};

	if (ioctl(buffer->node->file, XE_IOCTL_GEM_MMAP_OFFSET, &offset))
		return fail("mmap offset");
	buffer->bytes = mmap(NULL, buffer->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			     buffer->node->file, (off_t)offset.offset);
	return buffer->bytes != MAP_FAILED || fail("mmap");
}

/* next: first free position; moved behind what is added. */
static bool bind_new(struct buffer *buffer, struct sim_node *node, size_t size, uint64_t *next)
{
	struct xe_gem_create create = {.placement = 1, .cpu_caching = 1};
	struct xe_vm_bind bind = {.vm_id = node->vm, .num_binds = 1};

	buffer->node = node;
	buffer->size = create.size = (size + PAGE - 1) / PAGE * PAGE;
	if (ioctl(node->file, XE_IOCTL_GEM_CREATE, &create))
		return fail("buffer");
	buffer->handle = create.handle;
	if (!map(buffer))
		return false;
	pthread_mutex_lock(&node->lock);
	buffer->address = *next;
	*next += buffer->size;
	pthread_mutex_unlock(&node->lock);
	bind.bind = (struct xe_vm_bind_op){.obj = buffer->handle,
					   .range = buffer->size,
					   .addr = buffer->address,
					   .op = XE_BIND_MAP};
	return ioctl(node->file, XE_IOCTL_VM_BIND, &bind) == 0 || fail("bind");
}

struct sim_code *sim_code_new(struct sim_node *node, const void *bytes, size_t size,
			      uint64_t *ret_address)
{
	struct sim_code *code = calloc(1, sizeof(*code));

	if (!code || !size || !bind_new(&code->buffer, node, size, &node->next_code)) {
		free(code);
		return NULL;
	}
	memcpy(code->buffer.bytes, bytes, size);
	*ret_address = code->buffer.address;
	return code;
}

void sim_code_free(struct sim_code *code)
{
	if (!code)
		return;
	unbind(&code->buffer);
	free(code);
}

/* ---- batches --------------------------------------------------------------------------------- */

struct sim_batches *sim_batches_new(struct sim_node *node)
{
	struct sim_batches *batches = calloc(1, sizeof(*batches));
	uint64_t engine = COMPUTE;
	struct xe_exec_queue_create queue = {.width = 1,
					     .num_placements = 1,
					     .vm_id = node->vm,
					     .instances = (uintptr_t)&engine};

	if (!batches ||
	    !bind_new(&batches->buffer, node, (size_t)SLOTS * PAGE, &node->next_batches) ||
	    (ioctl(node->file, XE_IOCTL_EXEC_QUEUE_CREATE, &queue) && !fail("queue"))) {
		free(batches);
		return NULL;
	}
	batches->queue = queue.exec_queue_id;
	pthread_mutex_init(&batches->lock, NULL);
	pthread_cond_init(&batches->is_over, NULL);
	return batches;
}

void sim_batches_free(struct sim_batches *batches)
{
	struct xe_exec_queue_destroy queue = {0};

	if (!batches)
		return;
	queue.exec_queue_id = batches->queue;
	if (ioctl(batches->buffer.node->file, XE_IOCTL_EXEC_QUEUE_DESTROY, &queue))
		fail("queue's end");
	unbind(&batches->buffer);
	free(batches);
}

static void write_batch(uint32_t *dwords, const struct sim_node *node, const uint64_t *addresses,
			uint32_t count)
{
	dwords = xe_put_base(dwords, (uint64_t)sim_options.code);
	for (uint32_t i = 0; i < count; i++)
		dwords = xe_put_walker(dwords,
				       (uint32_t)(addresses[i] - (uint64_t)sim_options.code));
	xe_put_end(dwords);
}

/* Below the launch of the program, so that its stack is that of the ioctl. 0: it failed. */
static __attribute__((noinline)) uint32_t execute_batch(const struct sim_batches *batches,
							uint64_t address)
{
	const struct sim_node *node = batches->buffer.node;
	struct xe_sync_object object = {0};
	struct xe_sync sync = {.type = XE_SYNC_OBJECT, .flags = XE_SYNC_SIGNAL};
	struct xe_exec exec = {.exec_queue_id = batches->queue,
			       .num_syncs = 1,
			       .syncs = (uintptr_t)&sync,
			       .address = address,
			       .num_batch_buffer = 1};

	if (ioctl(node->file, XE_IOCTL_SYNC_CREATE, &object)) {
		fail("sync");
		return 0;
	}
	sync.handle = object.handle;
	if (ioctl(node->file, XE_IOCTL_EXEC, &exec) == 0)
		return object.handle;
	fail("exec");
	ioctl(node->file, XE_IOCTL_SYNC_DESTROY, &object);
	return 0;
}

uint32_t sim_batches_submit(struct sim_batches *batches, const uint64_t *addresses, uint32_t count)
{
	const struct buffer *buffer = &batches->buffer;
	uint32_t sync;
	size_t at;

	/* also orders submissions as they are put into the queue's own list, by one thread at a
	 * time */
	pthread_mutex_lock(&batches->lock);
	while (batches->submitted - batches->over == SLOTS)
		pthread_cond_wait(&batches->is_over, &batches->lock);
	at = batches->submitted % SLOTS * PAGE;
	write_batch((uint32_t *)((char *)buffer->bytes + at), buffer->node, addresses, count);
	sync = execute_batch(batches, buffer->address + at);
	batches->submitted += sync != 0;
	pthread_mutex_unlock(&batches->lock);
	return sync;
}

void sim_batches_wait(struct sim_batches *batches, uint32_t sync)
{
	struct xe_sync_wait wait = {
		.handles = (uintptr_t)&sync, .timeout_ns = INT64_MAX, .count = 1};
	struct xe_sync_object object = {.handle = sync};

	while (ioctl(batches->buffer.node->file, XE_IOCTL_SYNC_WAIT, &wait))
		if (errno != EINTR && !fail("wait"))
			break;
	ioctl(batches->buffer.node->file, XE_IOCTL_SYNC_DESTROY, &object);
	pthread_mutex_lock(&batches->lock);
	batches->over++;
	pthread_cond_broadcast(&batches->is_over);
	pthread_mutex_unlock(&batches->lock);
}
