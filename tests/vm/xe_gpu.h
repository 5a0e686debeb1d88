/* SPDX-License-Identifier: MIT
 *
 * tests/vm/xe_gpu.h - a program's way to a GPU of the driver xe: its interface and nothing above it
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../sim/xe_calls.h"
#include "../../sim/xe_commands.h"

struct xe_gpu {
	int fd;
	uint32_t vm, queue;
};

struct xe_buffer {
	uint32_t handle;
	uint64_t address; /* the GPU's */
	uint64_t size;
	uint32_t *dwords; /* ours */
};

static inline void give_up(const char *what)
{
	printf("failed %s: %s\n", what, strerror(errno));
	fflush(stdout);
	exit(1);
}

/* The so-manieth render node of the driver; -1: there are not so many. */
static inline int xe_open(int index)
{
	for (int minor = 128; minor < 192; minor++) {
		char path[64], name[16] = "";
		struct xe_version version = {.name_length = sizeof(name) - 1, .name = name};
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && ioctl(fd, XE_IOCTL_VERSION, &version) == 0 &&
		    strcmp(name, "xe") == 0 && index-- == 0)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* An address space, and a queue of it. */
static inline void xe_make_queue(struct xe_gpu *gpu)
{
	struct xe_vm_create vm = {.flags = 0};
	uint64_t engine = 4; /* of class compute */
	struct xe_exec_queue_create queue = {
		.width = 1, .num_placements = 1, .instances = (uintptr_t)&engine};

	if (ioctl(gpu->fd, XE_IOCTL_VM_CREATE, &vm))
		give_up("vm");
	gpu->vm = queue.vm_id = vm.vm_id;
	if (ioctl(gpu->fd, XE_IOCTL_EXEC_QUEUE_CREATE, &queue))
		give_up("queue");
	gpu->queue = queue.exec_queue_id;
}

static inline void xe_begin(struct xe_gpu *gpu, int index)
{
	gpu->fd = xe_open(index);
	if (gpu->fd < 0)
		give_up("no such GPU");
	xe_make_queue(gpu);
}

static inline void xe_bind(struct xe_gpu *gpu, struct xe_buffer *buffer, uint64_t address)
{
	struct xe_vm_bind bind = {.vm_id = gpu->vm,
				  .num_binds = 1,
				  .bind = {.obj = buffer->handle,
					   .range = buffer->size,
					   .addr = address,
					   .op = XE_BIND_MAP}};

	buffer->address = address;
	if (ioctl(gpu->fd, XE_IOCTL_VM_BIND, &bind))
		give_up("bind");
}

static inline void xe_unbind(struct xe_gpu *gpu, struct xe_buffer *buffer)
{
	struct xe_vm_bind bind = {
		.vm_id = gpu->vm,
		.num_binds = 1,
		.bind = {.range = buffer->size, .addr = buffer->address, .op = XE_BIND_UNMAP}};

	if (ioctl(gpu->fd, XE_IOCTL_VM_BIND, &bind))
		give_up("unbind");
}

static inline void xe_make(struct xe_gpu *gpu, struct xe_buffer *buffer, uint64_t size)
{
	struct xe_gem_create create = {.size = size, .placement = 1, .cpu_caching = 1};
	struct xe_gem_mmap_offset offset = {.handle = 0};

	if (ioctl(gpu->fd, XE_IOCTL_GEM_CREATE, &create))
		give_up("buffer");
	buffer->handle = offset.handle = create.handle;
	buffer->size = size;
	if (ioctl(gpu->fd, XE_IOCTL_GEM_MMAP_OFFSET, &offset))
		give_up("mmap offset");
	buffer->dwords =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, gpu->fd, (off_t)offset.offset);
	if (buffer->dwords == MAP_FAILED)
		give_up("mmap");
}

static inline int xe_submit(const struct xe_gpu *gpu, uint64_t address)
{
	struct xe_exec exec = {
		.exec_queue_id = gpu->queue, .address = address, .num_batch_buffer = 1};

	return ioctl(gpu->fd, XE_IOCTL_EXEC, &exec);
}
