/* SPDX-License-Identifier: MIT
 *
 * sim/level_zero/memory.c - allocations: all of them are ordinary memory
 *
 * Runs in:  the test program
 * Owns:     the list of allocations, under a lock of its own
 * Why:      the memory type that an allocation reports is the only way to distinguish a copy to the
 *           device from one back
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

struct allocation {
	struct allocation *next;
	char *begin;
	size_t size;
	ze_memory_type_t type;
	ze_context_handle_t context;
	ze_device_handle_t device; /* NULL: host memory */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocation *allocations;

static ze_result_t allocate(size_t size, size_t alignment, const struct allocation *of,
			    void **ret_memory)
{
	struct allocation *allocation = calloc(1, sizeof(*allocation));
	size_t aligned = alignment < 64 ? 64 : alignment;

	if (!size) {
		free(allocation);
		return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
	}
	if (allocation)
		allocation->begin =
			aligned_alloc(aligned, (size + aligned - 1) / aligned * aligned);
	if (!allocation || !allocation->begin) {
		free(allocation);
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	}
	/* like a driver: memory never shows what another process left in it */
	memset(allocation->begin, 0, size);
	allocation->size = size;
	allocation->type = of->type;
	allocation->context = of->context;
	allocation->device = of->device;
	*ret_memory = allocation->begin;
	pthread_mutex_lock(&lock);
	allocation->next = allocations;
	allocations = allocation;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t alloc_shared(ze_context_handle_t context,
				const ze_device_mem_alloc_desc_t *device,
				const ze_host_mem_alloc_desc_t *host, size_t size, size_t alignment,
				ze_device_handle_t on, void **ret_memory)
{
	const struct allocation of = {
		.type = ZE_MEMORY_TYPE_SHARED, .context = context, .device = on};

	return sim_is(context, SIM_CONTEXT) ? allocate(size, alignment, &of, ret_memory)
					    : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

static ze_result_t alloc_device(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc,
				size_t size, size_t alignment, ze_device_handle_t device,
				void **ret_memory)
{
	const struct allocation of = {
		.type = ZE_MEMORY_TYPE_DEVICE, .context = context, .device = device};

	return sim_is(context, SIM_CONTEXT) && sim_is(device, SIM_DEVICE)
		       ? allocate(size, alignment, &of, ret_memory)
		       : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

static ze_result_t alloc_host(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc,
			      size_t size, size_t alignment, void **ret_memory)
{
	const struct allocation of = {.type = ZE_MEMORY_TYPE_HOST, .context = context};

	return sim_is(context, SIM_CONTEXT) ? allocate(size, alignment, &of, ret_memory)
					    : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

static ze_result_t free_memory(ze_context_handle_t context, void *memory)
{
	struct allocation **link, *found = NULL;

	pthread_mutex_lock(&lock);
	for (link = &allocations; *link && !found; link = found ? link : &(*link)->next) {
		if ((*link)->begin != memory)
			continue;
		found = *link;
		*link = found->next;
	}
	pthread_mutex_unlock(&lock);
	if (!found)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	free(found->begin);
	free(found);
	return ZE_RESULT_SUCCESS;
}

/* NULL: none of ours. The caller holds the lock. */
static const struct allocation *find(const void *memory)
{
	for (const struct allocation *at = allocations; at; at = at->next)
		if ((const char *)memory >= at->begin &&
		    (const char *)memory < at->begin + at->size)
			return at;
	return NULL;
}

ze_memory_type_t sim_memory_type(const void *memory, uint64_t *ret_begin, uint64_t *ret_size)
{
	ze_memory_type_t type = ZE_MEMORY_TYPE_UNKNOWN;
	const struct allocation *found;

	*ret_begin = *ret_size = 0;
	pthread_mutex_lock(&lock);
	found = find(memory);
	if (found) {
		type = found->type;
		*ret_begin = (uintptr_t)found->begin;
		*ret_size = found->size;
	}
	pthread_mutex_unlock(&lock);
	return type;
}

/* Memory of another context is unknown to a context. */
static ze_result_t get_properties(ze_context_handle_t context, const void *memory,
				  ze_memory_allocation_properties_t *properties,
				  ze_device_handle_t *ret_device)
{
	struct allocation found = {.type = ZE_MEMORY_TYPE_UNKNOWN};
	const struct allocation *at;

	if (!sim_is(context, SIM_CONTEXT) || !properties)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	pthread_mutex_lock(&lock);
	at = find(memory);
	if (at && at->context == context)
		found = *at;
	pthread_mutex_unlock(&lock);
	properties->type = found.type;
	properties->id = (uintptr_t)found.begin;
	properties->pageSize = 4096;
	if (ret_device)
		*ret_device = found.device;
	return ZE_RESULT_SUCCESS;
}

void sim_fill_memory(ze_mem_dditable_t *table)
{
	table->pfnAllocShared = alloc_shared;
	table->pfnAllocDevice = alloc_device;
	table->pfnAllocHost = alloc_host;
	table->pfnFree = free_memory;
	table->pfnGetAllocProperties = get_properties;
}
