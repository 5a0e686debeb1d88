/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/memory.c - memory of the simulated driver, copies and sets
 *
 * Runs in:  a program that uses CUDA
 * Owns:     the allocations, all of them in host memory, and their list
 * Fails:    INVALID_VALUE for device addresses that no allocation covers
 */
#include <stdlib.h>

#include "driver.h"

struct allocation {
	struct allocation *next;
	char *bytes;
	size_t size;
	uint8_t kind; /* CUPTI_ACTIVITY_MEMORY_KIND_… */
	CUcontext context;
};

static struct allocation *allocations; /* under sim_lock */
static uint64_t allocated_bytes;

/* Under the lock. */
static struct allocation *find(const void *address, size_t size)
{
	const char *first = address;

	for (struct allocation *one = allocations; one; one = one->next)
		if (first >= one->bytes && first < one->bytes + one->size &&
		    size <= (size_t)(one->bytes + one->size - first))
			return one;
	return NULL;
}

/* Pageable: not allocated here. */
static uint8_t kind_of(const void *address, size_t size)
{
	const struct allocation *found;
	uint8_t kind;

	pthread_mutex_lock(&sim_lock);
	found = find(address, size);
	kind = found ? found->kind : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
	pthread_mutex_unlock(&sim_lock);
	return kind;
}

static void tell(const struct sim_call *call, uint32_t operation, const struct allocation *one)
{
	struct sim_memory memory = {.operation = operation,
				    .memory_kind = one->kind,
				    .correlation_id = call->correlation_id,
				    .address = (uint64_t)(uintptr_t)one->bytes,
				    .size_bytes = one->size,
				    .at_ns = sim_now()};

	sim_context_ids(one->context, &memory.context_id, &memory.device_id);
	if (call->hooks)
		call->hooks->memory(&memory);
}

static CUresult allocate(const struct sim_call *call, size_t size, uint8_t kind, void **ret_address)
{
	struct allocation *one;

	if (!ret_address || !size)
		return CUDA_ERROR_INVALID_VALUE;
	one = calloc(1, sizeof(*one));
	if (size < SIM_MEMORY_BYTES && one)
		one->bytes = aligned_alloc(256, (size + 255) / 256 * 256);
	if (!one || !one->bytes) {
		free(one);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	one->size = size;
	one->kind = kind;
	one->context = call->context;
	pthread_mutex_lock(&sim_lock);
	one->next = allocations;
	allocations = one;
	allocated_bytes += size;
	pthread_mutex_unlock(&sim_lock);
	*ret_address = one->bytes;
	tell(call, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, one);
	return CUDA_SUCCESS;
}

static CUresult release(const struct sim_call *call, void *address)
{
	struct allocation *found = NULL;

	if (!address)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&sim_lock);
	for (struct allocation **link = &allocations; *link; link = &(*link)->next) {
		if ((*link)->bytes != address)
			continue;
		found = *link;
		*link = found->next;
		allocated_bytes -= found->size;
		break;
	}
	pthread_mutex_unlock(&sim_lock);
	if (!found)
		return CUDA_ERROR_INVALID_VALUE;
	tell(call, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, found);
	free(found->bytes);
	free(found);
	return CUDA_SUCCESS;
}

static CUresult allocate_device(const struct sim_call *call, size_t size, uint8_t kind,
				CUdeviceptr *ret_address)
{
	void *address = NULL;
	CUresult result =
		ret_address ? allocate(call, size, kind, &address) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*ret_address = (CUdeviceptr)(uintptr_t)address;
	return result;
}

CUresult cuMemGetInfo_v2(size_t *ret_free_bytes, size_t *ret_total_bytes)
{
	const struct {
		size_t *ret_free_bytes, *ret_total_bytes;
	} parameters = {ret_free_bytes, ret_total_bytes};
	SIM_CALL(cuMemGetInfo_v2, &parameters);

	if (sim_call_begin_in_context(&call)) {
		pthread_mutex_lock(&sim_lock);
		if (ret_free_bytes)
			*ret_free_bytes = SIM_MEMORY_BYTES - allocated_bytes;
		if (ret_total_bytes)
			*ret_total_bytes = SIM_MEMORY_BYTES;
		pthread_mutex_unlock(&sim_lock);
	}
	return sim_call_end(&call);
}

CUresult cuMemAlloc_v2(CUdeviceptr *ret_address, size_t bytes)
{
	const struct {
		CUdeviceptr *ret_address;
		size_t bytes;
	} parameters = {ret_address, bytes};
	SIM_CALL(cuMemAlloc_v2, &parameters);

	if (sim_call_begin_in_context(&call))
		call.result = allocate_device(&call, bytes, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
					      ret_address);
	return sim_call_end(&call);
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
	SIM_CALL(cuMemFree_v2, &address);

	if (sim_call_begin_in_context(&call))
		call.result = release(&call, (void *)(uintptr_t)address);
	return sim_call_end(&call);
}

CUresult cuMemAllocHost_v2(void **ret_address, size_t bytes)
{
	const struct {
		void **ret_address;
		size_t bytes;
	} parameters = {ret_address, bytes};
	SIM_CALL(cuMemAllocHost_v2, &parameters);

	if (sim_call_begin_in_context(&call))
		call.result =
			allocate(&call, bytes, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, ret_address);
	return sim_call_end(&call);
}

CUresult cuMemFreeHost(void *address)
{
	SIM_CALL(cuMemFreeHost, &address);

	if (sim_call_begin_in_context(&call))
		call.result = release(&call, address);
	return sim_call_end(&call);
}

CUresult cuMemAllocManaged(CUdeviceptr *ret_address, size_t bytes, unsigned flags)
{
	const struct {
		CUdeviceptr *ret_address;
		size_t bytes;
		unsigned flags;
	} parameters = {ret_address, bytes, flags};
	SIM_CALL(cuMemAllocManaged, &parameters);

	if (sim_call_begin_in_context(&call))
		call.result = allocate_device(&call, bytes, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED,
					      ret_address);
	return sim_call_end(&call);
}

CUresult cuMemAllocAsync(CUdeviceptr *ret_address, size_t bytes, CUstream stream)
{
	const struct {
		CUdeviceptr *ret_address;
		size_t bytes;
		CUstream stream;
	} parameters = {ret_address, bytes, stream};
	SIM_CALL(cuMemAllocAsync, &parameters);

	if (sim_call_begin_in_context(&call)) {
		if (sim_stream_of(stream))
			call.result = allocate_device(
				&call, bytes, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, ret_address);
		else
			call.result = CUDA_ERROR_INVALID_HANDLE;
	}
	return sim_call_end(&call);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	const struct {
		CUdeviceptr address;
		CUstream stream;
	} parameters = {address, stream};
	SIM_CALL(cuMemFreeAsync, &parameters);

	if (sim_call_begin_in_context(&call))
		call.result = sim_stream_of(stream) ? release(&call, (void *)(uintptr_t)address)
						    : CUDA_ERROR_INVALID_HANDLE;
	return sim_call_end(&call);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static bool is_host(uint8_t kind)
{
	return kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE ||
	       kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
}

static uint8_t direction(uint8_t from, uint8_t to)
{
	if (is_host(from))
		return is_host(to) ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOH
				   : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
	return is_host(to) ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
}

/* wanted: the direction in the function's name; 0: determined by the addresses. */
static CUresult copy(struct sim_call *call, void *to, const void *from, size_t bytes,
		     CUstream stream, bool is_async, uint8_t wanted)
{
	struct sim_task task = {.type = SIM_TASK_COPY,
				.is_async = is_async,
				.to = to,
				.from = from,
				.size_bytes = bytes};

	if (!bytes)
		return CUDA_SUCCESS;
	task.source_kind = kind_of(from, bytes);
	task.destination_kind = kind_of(to, bytes);
	task.copy_kind = direction(task.source_kind, task.destination_kind);
	if (!to || !from || (wanted && wanted != task.copy_kind))
		return CUDA_ERROR_INVALID_VALUE;
	return sim_submit(call, stream, &task);
}

#define AT(address) ((void *)(uintptr_t)(address))

#define COPY(function, to_type, from_type, wanted)                                               \
	CUresult function(to_type to, from_type from, size_t bytes)                              \
	{                                                                                        \
		const struct {                                                                   \
			to_type to;                                                              \
			from_type from;                                                          \
			size_t bytes;                                                            \
		} parameters = {to, from, bytes};                                                \
		SIM_CALL(function, &parameters);                                                 \
                                                                                                 \
		if (sim_call_begin_in_context(&call))                                            \
			call.result = copy(&call, AT(to), AT(from), bytes, NULL, false, wanted); \
		return sim_call_end(&call);                                                      \
	}

#define COPY_ASYNC(function, to_type, from_type, wanted)                                          \
	CUresult function(to_type to, from_type from, size_t bytes, CUstream stream)              \
	{                                                                                         \
		const struct {                                                                    \
			to_type to;                                                               \
			from_type from;                                                           \
			size_t bytes;                                                             \
			CUstream stream;                                                          \
		} parameters = {to, from, bytes, stream};                                         \
		SIM_CALL(function, &parameters);                                                  \
                                                                                                  \
		if (sim_call_begin_in_context(&call))                                             \
			call.result = copy(&call, AT(to), AT(from), bytes, stream, true, wanted); \
		return sim_call_end(&call);                                                       \
	}

COPY(cuMemcpy, CUdeviceptr, CUdeviceptr, 0)
COPY(cuMemcpyHtoD_v2, CUdeviceptr, const void *, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD)
COPY(cuMemcpyDtoH_v2, void *, CUdeviceptr, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH)
COPY(cuMemcpyDtoD_v2, CUdeviceptr, CUdeviceptr, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD)
COPY_ASYNC(cuMemcpyAsync, CUdeviceptr, CUdeviceptr, 0)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void *, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, void *, CUdeviceptr, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD)

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
			   CUcontext from_context, size_t bytes, CUstream stream)
{
	const struct {
		CUdeviceptr to;
		CUcontext to_context;
		CUdeviceptr from;
		CUcontext from_context;
		size_t bytes;
		CUstream stream;
	} parameters = {to, to_context, from, from_context, bytes, stream};
	const struct sim_task task = {.type = SIM_TASK_COPY,
				      .is_async = true,
				      .is_peer = true,
				      .to = AT(to),
				      .from = AT(from),
				      .size_bytes = bytes,
				      .source_context = from_context,
				      .destination_context = to_context,
				      .copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
				      .source_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
				      .destination_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE};
	SIM_CALL(cuMemcpyPeerAsync, &parameters);

	if (sim_call_begin_in_context(&call)) {
		if (!sim_is_context(to_context) || !sim_is_context(from_context))
			call.result = CUDA_ERROR_INVALID_CONTEXT;
		else if (is_host(kind_of(task.from, bytes)) || is_host(kind_of(task.to, bytes)))
			call.result = CUDA_ERROR_INVALID_VALUE;
		else
			call.result = sim_submit(&call, stream, &task);
	}
	return sim_call_end(&call);
}

/* ---- sets ------------------------------------------------------------------------------------ */

static CUresult set(struct sim_call *call, CUdeviceptr address, uint32_t value,
		    uint32_t element_bytes, size_t count, CUstream stream, bool is_async)
{
	struct sim_task task = {.type = SIM_TASK_SET,
				.is_async = is_async,
				.to = AT(address),
				.value = value,
				.element_bytes = element_bytes,
				.size_bytes = count * element_bytes};

	if (!count)
		return CUDA_SUCCESS;
	task.destination_kind = kind_of(task.to, task.size_bytes);
	if (is_host(task.destination_kind) || (address & (element_bytes - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	return sim_submit(call, stream, &task);
}

#define SET(function, type)                                                                   \
	CUresult function(CUdeviceptr address, type value, size_t count)                      \
	{                                                                                     \
		const struct {                                                                \
			CUdeviceptr address;                                                  \
			type value;                                                           \
			size_t count;                                                         \
		} parameters = {address, value, count};                                       \
		SIM_CALL(function, &parameters);                                              \
                                                                                              \
		if (sim_call_begin_in_context(&call))                                         \
			call.result =                                                         \
				set(&call, address, value, sizeof(type), count, NULL, false); \
		return sim_call_end(&call);                                                   \
	}

#define SET_ASYNC(function, type)                                                              \
	CUresult function(CUdeviceptr address, type value, size_t count, CUstream stream)      \
	{                                                                                      \
		const struct {                                                                 \
			CUdeviceptr address;                                                   \
			type value;                                                            \
			size_t count;                                                          \
			CUstream stream;                                                       \
		} parameters = {address, value, count, stream};                                \
		SIM_CALL(function, &parameters);                                               \
                                                                                               \
		if (sim_call_begin_in_context(&call))                                          \
			call.result =                                                          \
				set(&call, address, value, sizeof(type), count, stream, true); \
		return sim_call_end(&call);                                                    \
	}

SET(cuMemsetD8_v2, unsigned char)
SET(cuMemsetD32_v2, unsigned)
SET_ASYNC(cuMemsetD8Async, unsigned char)
SET_ASYNC(cuMemsetD32Async, unsigned)
