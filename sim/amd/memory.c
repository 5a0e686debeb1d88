/* SPDX-License-Identifier: MIT
 *
 * sim/amd/memory.c - memory that the GPU can access
 *
 * Runs in:  a program that uses ROCr, on the threads that call ioctl and on that of the GPU
 * Gets:     /dev/kfd's ioctls of memory
 * Gives:    the host address of a GPU address
 * Owns:     the list of allocations, ordered by address, under a lock
 * Fails:    ENOMEM; EINVAL for a handle that does not exist
 * Why:      the thunk chooses the addresses. The GPU uses the host's addresses, except for memory
 *           of the program that it registers: the GPU has that at another address, so addresses are
 *           looked up.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

struct range {
	uint64_t address, size_bytes, host_address, handle;
};

static struct {
	struct range *ranges;
	size_t count, room;
	uint64_t handles;
} memory;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void sim_memory_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	memory.count = 0;
}

/* Under the lock. How many ranges begin at or below an address. */
static size_t count_below(uint64_t address)
{
	size_t low = 0, high = memory.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (memory.ranges[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int insert(const struct range *range)
{
	size_t at = count_below(range->address), room = memory.room ? memory.room * 2 : 256;
	struct range *grown;

	if (memory.count == memory.room) {
		grown = realloc(memory.ranges, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memory.ranges = grown;
		memory.room = room;
	}
	memmove(&memory.ranges[at + 1], &memory.ranges[at],
		(memory.count - at) * sizeof(*memory.ranges));
	memory.ranges[at] = *range;
	memory.count++;
	return 0;
}

int sim_memory_alloc(void *arguments)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args *given = arguments;
	bool is_users = given->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR;
	struct range range = {.address = given->va_addr,
			      .size_bytes = given->size,
			      .host_address = is_users ? given->mmap_offset : given->va_addr};
	int result;

	pthread_mutex_lock(&lock);
	range.handle = ++memory.handles;
	result = insert(&range);
	pthread_mutex_unlock(&lock);
	given->handle = range.handle;
	if (!(given->flags & (KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_USERPTR)))
		given->mmap_offset = range.handle << 12;
	return result;
}

int sim_memory_free(void *arguments)
{
	uint64_t handle = ((struct kfd_ioctl_free_memory_of_gpu_args *)arguments)->handle;
	size_t at = 0;
	bool found;

	pthread_mutex_lock(&lock);
	while (at < memory.count && memory.ranges[at].handle != handle)
		at++;
	found = at < memory.count;
	if (found)
		memmove(&memory.ranges[at], &memory.ranges[at + 1],
			(--memory.count - at) * sizeof(*memory.ranges));
	pthread_mutex_unlock(&lock);
	return found ? 0 : -EINVAL;
}

int sim_memory_map(void *arguments)
{
	struct kfd_ioctl_map_memory_to_gpu_args *given = arguments;

	given->n_success = given->n_devices;
	return 0;
}

int sim_memory_unmap(void *arguments)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args *given = arguments;

	given->n_success = given->n_devices;
	return 0;
}

static bool find(uint64_t address, struct range *ret_range)
{
	bool found = false;
	size_t below;

	pthread_mutex_lock(&lock);
	below = count_below(address);
	if (below &&
	    address - memory.ranges[below - 1].address < memory.ranges[below - 1].size_bytes) {
		*ret_range = memory.ranges[below - 1];
		found = true;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void *sim_host_pointer(uint64_t address, uint64_t size_bytes)
{
	struct range range;

	if (!find(address, &range) || size_bytes > range.size_bytes - (address - range.address))
		return NULL;
	return (void *)(uintptr_t)(range.host_address + (address - range.address));
}

uint64_t sim_memory_base(uint64_t address)
{
	struct range range;

	return find(address, &range) ? range.address : 0;
}
