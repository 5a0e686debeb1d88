/* SPDX-License-Identifier: MIT
 *
 * sim/opencl/extensions.c - USM, command buffers, semaphores: functions without a slot in the
 * loader's table, which programs find by name
 *
 * Runs in:  the test program
 * Owns:     the list of USM allocations
 * Fails:    with the extensions' error codes
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* ---- unified shared memory ------------------------------------------------------------------- */

struct allocation {
	struct allocation *next;
	char *bytes;
	size_t size;
	cl_uint type;
	cl_device_id device;
};

static struct allocation *allocations; /* under sim_lock */

static void *allocate(cl_context context, cl_device_id device, cl_uint type, size_t size,
		      cl_uint alignment, cl_int *errcode_ret)
{
	struct allocation *one;

	if (!sim_is(context, SIM_CONTEXT))
		return sim_no(CL_INVALID_CONTEXT, errcode_ret);
	if (!size)
		return sim_no(CL_INVALID_BUFFER_SIZE, errcode_ret);
	if (alignment > 128 || (alignment & (alignment - 1)))
		return sim_no(CL_INVALID_VALUE, errcode_ret);
	one = calloc(1, sizeof(*one));
	if (one)
		one->bytes = aligned_alloc(128, (size + 127) & ~(size_t)127);
	if (!one || !one->bytes) {
		free(one);
		return sim_no(CL_OUT_OF_HOST_MEMORY, errcode_ret);
	}
	one->size = size;
	one->type = type;
	one->device = device;
	pthread_mutex_lock(&sim_lock);
	one->next = allocations;
	allocations = one;
	pthread_mutex_unlock(&sim_lock);
	return sim_yes(one->bytes, errcode_ret);
}

static void *sim_clHostMemAllocINTEL(cl_context context, const cl_mem_properties_intel *properties,
				     size_t size, cl_uint alignment, cl_int *errcode_ret)
{
	return allocate(context, NULL, CL_MEM_TYPE_HOST_INTEL, size, alignment, errcode_ret);
}

static void *sim_clDeviceMemAllocINTEL(cl_context context, cl_device_id device,
				       const cl_mem_properties_intel *properties, size_t size,
				       cl_uint alignment, cl_int *errcode_ret)
{
	if (!sim_is(device, SIM_DEVICE))
		return sim_no(CL_INVALID_DEVICE, errcode_ret);
	return allocate(context, device, CL_MEM_TYPE_DEVICE_INTEL, size, alignment, errcode_ret);
}

static void *sim_clSharedMemAllocINTEL(cl_context context, cl_device_id device,
				       const cl_mem_properties_intel *properties, size_t size,
				       cl_uint alignment, cl_int *errcode_ret)
{
	return allocate(context, device, CL_MEM_TYPE_SHARED_INTEL, size, alignment, errcode_ret);
}

static cl_int sim_clMemFreeINTEL(cl_context context, void *ptr)
{
	struct allocation **link, *one;

	pthread_mutex_lock(&sim_lock);
	for (link = &allocations; *link && (*link)->bytes != ptr; link = &(*link)->next)
		;
	one = *link;
	if (one)
		*link = one->next;
	pthread_mutex_unlock(&sim_lock);
	if (one)
		free(one->bytes);
	free(one);
	return one || !ptr ? CL_SUCCESS : CL_INVALID_VALUE;
}

/* Which commands use the memory is not known, so it waits until the latest engine is idle. */
static cl_int sim_clMemBlockingFreeINTEL(cl_context context, void *ptr)
{
	uint64_t idle_ns = 0;

	pthread_mutex_lock(&sim_lock);
	for (int64_t i = 0; i < sim_options.devices; i++)
		for (int64_t k = 0; k < sim_options.engines; k++)
			if (sim_devices[i].engine_free_ns[k] > idle_ns)
				idle_ns = sim_devices[i].engine_free_ns[k];
	pthread_mutex_unlock(&sim_lock);
	sim_sleep_until(idle_ns);
	return sim_clMemFreeINTEL(context, ptr);
}

static cl_int sim_clGetMemAllocInfoINTEL(cl_context context, const void *ptr,
					 cl_mem_info_intel param_name, size_t param_value_size,
					 void *param_value, size_t *param_value_size_ret)
{
	struct allocation found = {.type = CL_MEM_TYPE_UNKNOWN_INTEL};
	const char *pointer = ptr;

	pthread_mutex_lock(&sim_lock);
	for (struct allocation *one = allocations; one; one = one->next)
		if (pointer >= one->bytes && pointer < one->bytes + one->size)
			found = *one;
	pthread_mutex_unlock(&sim_lock);
	switch (param_name) {
	case CL_MEM_ALLOC_TYPE_INTEL:
		return SIM_ANSWER(cl_uint, found.type);
	case CL_MEM_ALLOC_BASE_PTR_INTEL:
		return SIM_ANSWER(void *, found.bytes);
	case CL_MEM_ALLOC_SIZE_INTEL:
		return SIM_ANSWER(size_t, found.size);
	case CL_MEM_ALLOC_DEVICE_INTEL:
		return SIM_ANSWER(cl_device_id, found.device);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int sim_clSetKernelArgMemPointerINTEL(cl_kernel kernel, cl_uint arg_index,
						const void *arg_value)
{
	return sim_clSetKernelArg(kernel, arg_index, sizeof(void *), &arg_value);
}

static cl_int sim_clEnqueueMemcpyINTEL(cl_command_queue queue, cl_bool blocking, void *dst_ptr,
				       const void *src_ptr, size_t size, cl_uint wait_count,
				       const cl_event *wait_list, cl_event *event)
{
	const struct sim_command command = {.queue = queue,
					    .type = CL_COMMAND_MEMCPY_INTEL,
					    .duration_ns = sim_copy_ns(size),
					    .blocking = blocking,
					    .wait_count = wait_count,
					    .wait_list = wait_list};

	if (!dst_ptr || !src_ptr)
		return CL_INVALID_VALUE;
	if (sim_check(queue, wait_count, wait_list) == CL_SUCCESS)
		memmove(dst_ptr, src_ptr, size);
	return sim_enqueue(&command, event);
}

static cl_int sim_clEnqueueMemFillINTEL(cl_command_queue queue, void *dst_ptr, const void *pattern,
					size_t pattern_size, size_t size, cl_uint wait_count,
					const cl_event *wait_list, cl_event *event)
{
	const struct sim_command command = {.queue = queue,
					    .type = CL_COMMAND_MEMFILL_INTEL,
					    .duration_ns = sim_copy_ns(size),
					    .wait_count = wait_count,
					    .wait_list = wait_list};

	if (!dst_ptr || !pattern || !pattern_size || size % pattern_size)
		return CL_INVALID_VALUE;
	if (sim_check(queue, wait_count, wait_list) == CL_SUCCESS)
		for (size_t i = 0; i < size; i += pattern_size)
			memcpy((char *)dst_ptr + i, pattern, pattern_size);
	return sim_enqueue(&command, event);
}

static cl_int sim_clEnqueueMigrateMemINTEL(cl_command_queue queue, const void *ptr, size_t size,
					   cl_mem_migration_flags flags, cl_uint wait_count,
					   const cl_event *wait_list, cl_event *event)
{
	const struct sim_command command = {.queue = queue,
					    .type = CL_COMMAND_MIGRATEMEM_INTEL,
					    .duration_ns = sim_copy_ns(size),
					    .wait_count = wait_count,
					    .wait_list = wait_list};

	return ptr ? sim_enqueue(&command, event) : CL_INVALID_VALUE;
}

static cl_int sim_clEnqueueMemAdviseINTEL(cl_command_queue queue, const void *ptr, size_t size,
					  cl_mem_advice_intel advice, cl_uint wait_count,
					  const cl_event *wait_list, cl_event *event)
{
	const struct sim_command command = {.queue = queue,
					    .type = CL_COMMAND_MEMADVISE_INTEL,
					    .wait_count = wait_count,
					    .wait_list = wait_list};

	return ptr ? sim_enqueue(&command, event) : CL_INVALID_VALUE;
}

/* ---- command buffers ------------------------------------------------------------------------- */

static cl_command_buffer_khr
sim_clCreateCommandBufferKHR(cl_uint num_queues, const cl_command_queue *queues,
			     const cl_command_buffer_properties_khr *properties,
			     cl_int *errcode_ret)
{
	cl_command_buffer_khr buffer;

	if (num_queues != 1 || !queues)
		return sim_no(CL_INVALID_VALUE, errcode_ret);
	if (!sim_is(queues[0], SIM_QUEUE))
		return sim_no(CL_INVALID_COMMAND_QUEUE, errcode_ret);
	buffer = sim_new(SIM_COMMAND_BUFFER, sizeof(*buffer));
	if (buffer) {
		sim_retain(queues[0]);
		buffer->queue = queues[0];
	}
	return sim_yes(buffer, errcode_ret);
}

static cl_int sim_clFinalizeCommandBufferKHR(cl_command_buffer_khr buffer)
{
	if (!sim_is(buffer, SIM_COMMAND_BUFFER))
		return CL_INVALID_COMMAND_BUFFER_KHR;
	if (buffer->finalized)
		return CL_INVALID_OPERATION;
	buffer->finalized = true;
	return CL_SUCCESS;
}

static cl_int sim_clRetainCommandBufferKHR(cl_command_buffer_khr buffer)
{
	if (!sim_is(buffer, SIM_COMMAND_BUFFER))
		return CL_INVALID_COMMAND_BUFFER_KHR;
	sim_retain(buffer);
	return CL_SUCCESS;
}

static cl_int sim_clReleaseCommandBufferKHR(cl_command_buffer_khr buffer)
{
	if (!sim_is(buffer, SIM_COMMAND_BUFFER))
		return CL_INVALID_COMMAND_BUFFER_KHR;
	if (sim_drop(buffer)) {
		sim_put_queue(buffer->queue);
		free(buffer);
	}
	return CL_SUCCESS;
}

static cl_int
sim_clCommandNDRangeKernelKHR(cl_command_buffer_khr buffer, cl_command_queue queue,
			      const cl_ndrange_kernel_command_properties_khr *properties,
			      cl_kernel kernel, cl_uint work_dim, const size_t *global_work_offset,
			      const size_t *global_work_size, const size_t *local_work_size,
			      cl_uint sync_point_count, const cl_sync_point_khr *sync_points,
			      cl_sync_point_khr *ret_sync_point,
			      cl_mutable_command_khr *mutable_handle)
{
	if (!sim_is(buffer, SIM_COMMAND_BUFFER))
		return CL_INVALID_COMMAND_BUFFER_KHR;
	if (queue)
		return CL_INVALID_COMMAND_QUEUE;
	if (!sim_is(kernel, SIM_KERNEL))
		return CL_INVALID_KERNEL;
	if (buffer->finalized || mutable_handle)
		return CL_INVALID_OPERATION;
	if (work_dim < 1 || work_dim > 3)
		return CL_INVALID_WORK_DIMENSION;
	buffer->duration_ns += sim_kernel_ns(kernel);
	buffer->sync_point++;
	if (ret_sync_point)
		*ret_sync_point = buffer->sync_point;
	return CL_SUCCESS;
}

static cl_int sim_clEnqueueCommandBufferKHR(cl_uint num_queues, cl_command_queue *queues,
					    cl_command_buffer_khr buffer, cl_uint wait_count,
					    const cl_event *wait_list, cl_event *event)
{
	struct sim_command command = {.type = CL_COMMAND_COMMAND_BUFFER_KHR,
				      .wait_count = wait_count,
				      .wait_list = wait_list};

	if (!sim_is(buffer, SIM_COMMAND_BUFFER))
		return CL_INVALID_COMMAND_BUFFER_KHR;
	if (!buffer->finalized)
		return CL_INVALID_OPERATION;
	if (num_queues > 1 || !num_queues != !queues)
		return CL_INVALID_VALUE;
	command.queue = num_queues ? queues[0] : buffer->queue;
	command.duration_ns = buffer->duration_ns;
	return sim_enqueue(&command, event);
}

/* ---- semaphores ------------------------------------------------------------------------------ */

static cl_semaphore_khr sim_clCreateSemaphoreWithPropertiesKHR(
	cl_context context, const cl_semaphore_properties_khr *properties, cl_int *errcode_ret)
{
	cl_semaphore_khr semaphore;

	if (!sim_is(context, SIM_CONTEXT))
		return sim_no(CL_INVALID_CONTEXT, errcode_ret);
	if (!properties || properties[0] != CL_SEMAPHORE_TYPE_KHR ||
	    properties[1] != CL_SEMAPHORE_TYPE_BINARY_KHR)
		return sim_no(CL_INVALID_VALUE, errcode_ret);
	semaphore = sim_new(SIM_SEMAPHORE, sizeof(*semaphore));
	if (semaphore) {
		sim_retain(context);
		semaphore->context = context;
	}
	return sim_yes(semaphore, errcode_ret);
}

static cl_int sim_clRetainSemaphoreKHR(cl_semaphore_khr semaphore)
{
	if (!sim_is(semaphore, SIM_SEMAPHORE))
		return CL_INVALID_SEMAPHORE_KHR;
	sim_retain(semaphore);
	return CL_SUCCESS;
}

static cl_int sim_clReleaseSemaphoreKHR(cl_semaphore_khr semaphore)
{
	if (!sim_is(semaphore, SIM_SEMAPHORE))
		return CL_INVALID_SEMAPHORE_KHR;
	if (sim_drop(semaphore)) {
		sim_put_event(semaphore->signal);
		sim_put_context(semaphore->context);
		free(semaphore);
	}
	return CL_SUCCESS;
}

static cl_int check_semaphores(cl_uint count, const cl_semaphore_khr *semaphores)
{
	if (!count || !semaphores)
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < count; i++)
		if (!sim_is(semaphores[i], SIM_SEMAPHORE))
			return CL_INVALID_SEMAPHORE_KHR;
	return CL_SUCCESS;
}

static cl_int sim_clEnqueueSignalSemaphoresKHR(cl_command_queue queue, cl_uint count,
					       const cl_semaphore_khr *semaphores,
					       const cl_semaphore_payload_khr *payloads,
					       cl_uint wait_count, const cl_event *wait_list,
					       cl_event *event)
{
	const struct sim_command command = {.queue = queue,
					    .type = CL_COMMAND_SEMAPHORE_SIGNAL_KHR,
					    .wait_count = wait_count,
					    .wait_list = wait_list,
					    .signals = (cl_semaphore_khr *)semaphores,
					    .signal_count = count};
	cl_int result = check_semaphores(count, semaphores);

	return result == CL_SUCCESS ? sim_enqueue(&command, event) : result;
}

/* Takes the signals: a binary semaphore is unsignalled by a wait. */
static cl_int sim_clEnqueueWaitSemaphoresKHR(cl_command_queue queue, cl_uint count,
					     const cl_semaphore_khr *semaphores,
					     const cl_semaphore_payload_khr *payloads,
					     cl_uint wait_count, const cl_event *wait_list,
					     cl_event *event)
{
	struct sim_command command = {.queue = queue, .type = CL_COMMAND_SEMAPHORE_WAIT_KHR};
	cl_int result = check_semaphores(count, semaphores);
	cl_event *waits;

	if (result == CL_SUCCESS)
		result = sim_check(queue, wait_count, wait_list);
	if (result != CL_SUCCESS)
		return result;
	waits = calloc((size_t)wait_count + count, sizeof(*waits));
	if (!waits)
		return CL_OUT_OF_HOST_MEMORY;
	if (wait_count)
		memcpy(waits, wait_list, wait_count * sizeof(*waits));
	command.wait_count = wait_count;
	pthread_mutex_lock(&sim_lock);
	for (cl_uint i = 0; i < count; i++) {
		if (semaphores[i]->signal)
			waits[command.wait_count++] = semaphores[i]->signal;
		/* a signal that may still come is not awaited */
		else
			result = CL_INVALID_OPERATION;
		semaphores[i]->signal = NULL;
	}
	pthread_mutex_unlock(&sim_lock);
	command.wait_list = waits;
	if (result == CL_SUCCESS)
		result = sim_enqueue(&command, event);
	for (cl_uint i = wait_count; i < command.wait_count; i++)
		sim_put_event(waits[i]);
	free(waits);
	return result;
}

/* ---- by name --------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void *function;
} functions[] = {
#define ROW(name)                                    \
	{                                            \
#name, (void *)(name##_fn)sim_##name \
	}
	ROW(clHostMemAllocINTEL),           ROW(clDeviceMemAllocINTEL),
	ROW(clSharedMemAllocINTEL),         ROW(clMemFreeINTEL),
	ROW(clMemBlockingFreeINTEL),        ROW(clGetMemAllocInfoINTEL),
	ROW(clSetKernelArgMemPointerINTEL), ROW(clEnqueueMemcpyINTEL),
	ROW(clEnqueueMemFillINTEL),         ROW(clEnqueueMigrateMemINTEL),
	ROW(clEnqueueMemAdviseINTEL),       ROW(clCreateCommandBufferKHR),
	ROW(clFinalizeCommandBufferKHR),    ROW(clRetainCommandBufferKHR),
	ROW(clReleaseCommandBufferKHR),     ROW(clCommandNDRangeKernelKHR),
	ROW(clEnqueueCommandBufferKHR),     ROW(clCreateSemaphoreWithPropertiesKHR),
	ROW(clRetainSemaphoreKHR),          ROW(clReleaseSemaphoreKHR),
	ROW(clEnqueueSignalSemaphoresKHR),  ROW(clEnqueueWaitSemaphoresKHR),
#undef ROW
};

void *sim_extension(const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (strcmp(functions[i].name, name) == 0)
			return functions[i].function;
	return NULL;
}
