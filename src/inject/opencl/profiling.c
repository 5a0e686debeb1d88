/* SPDX-License-Identifier: MIT
 *
 * inject/opencl/profiling.c - add the profiling flag to queues, and hide it from the program
 *
 * Runs in:  the profiled process, in calls that create or query a queue, or query an event's times
 * Gets:     the program's arguments
 * Gives:    queues whose events have timestamps
 * Owns:     nothing; a queue's structure has the properties that the program requested
 * Fails:    by creating the queue as the program requested it: its commands have no times
 * Why:      OpenCL has timestamps only for queues that were created with the profiling flag. If the
 *           program did not request the flag, its queries return its own properties and no times.
 */
#include <string.h>

#include "inject/opencl/profiling.h"

bool opencl_adds_profiling_idle;

static bool wants_device_time(const struct guest_thread *thread)
{
	if (guest_exit_has_begun())
		return false;
	return thread ? (thread->options & RING_OPTION_DEVICE_TIME) != 0
		      : opencl_adds_profiling_idle;
}

/* Returns the error of the attempt with duet's properties, but only if it created a queue. The
 * program must not get a refusal, because some runtimes write no error for the queue that is
 * created instead. */
static void pass_error(cl_command_queue queue, cl_int error, cl_int *errcode_ret)
{
	if (queue && errcode_ret && error != OPENCL_UNWRITTEN)
		*errcode_ret = error;
}

cl_command_queue own_clCreateCommandQueue(cl_context context, cl_device_id device,
					  cl_ulong properties, cl_int *errcode_ret)
{
	struct guest_thread *thread = guest_enter();
	bool force = wants_device_time(thread) && !(properties & CL_QUEUE_PROFILING_ENABLE);
	cl_command_queue queue = NULL;
	cl_int error = OPENCL_UNWRITTEN;

	if (force)
		queue = next.clCreateCommandQueue(context, device,
						  properties | CL_QUEUE_PROFILING_ENABLE, &error);
	pass_error(queue, error, errcode_ret);
	if (!queue) {
		force = false;
		queue = next.clCreateCommandQueue(context, device, properties, errcode_ret);
	}
	if (queue)
		opencl_queue_made(queue, force, &properties, 1, false);
	return queue;
}

/* Copies a list of properties that ends with 0, and adds the profiling flag. False: the flag is
 * already set, or there is no room. ret_count: entries of the original list, the 0 included. */
static bool add_profiling(const cl_ulong *properties, cl_ulong *copy, uint32_t *ret_count)
{
	uint32_t count = 0;
	bool added = false;

	for (; properties && properties[count]; count += 2) {
		if (count + 5 > MAX_QUEUE_PROPERTIES)
			return false;
		copy[count] = properties[count];
		copy[count + 1] = properties[count + 1];
		if (properties[count] != CL_QUEUE_PROPERTIES)
			continue;
		if (properties[count + 1] & CL_QUEUE_PROFILING_ENABLE)
			return false;
		copy[count + 1] |= CL_QUEUE_PROFILING_ENABLE;
		added = true;
	}
	*ret_count = properties ? count + 1 : 0;
	if (!added) {
		copy[count++] = CL_QUEUE_PROPERTIES;
		copy[count++] = CL_QUEUE_PROFILING_ENABLE;
	}
	copy[count] = 0;
	return true;
}

typedef cl_command_queue create_with_properties(cl_context, cl_device_id, const cl_ulong *,
						cl_int *);

static cl_command_queue create_queue(create_with_properties *create, cl_context context,
				     cl_device_id device, const cl_ulong *properties,
				     cl_int *errcode_ret)
{
	struct guest_thread *thread = guest_enter();
	cl_ulong copy[MAX_QUEUE_PROPERTIES + 2];
	uint32_t count = 0;
	bool force = wants_device_time(thread) && add_profiling(properties, copy, &count);
	cl_command_queue queue = NULL;
	cl_int error = OPENCL_UNWRITTEN;

	if (force)
		queue = create(context, device, copy, &error);
	pass_error(queue, error, errcode_ret);
	if (!queue) {
		force = false;
		queue = create(context, device, properties, errcode_ret);
	}
	if (queue)
		opencl_queue_made(queue, force, properties, count, true);
	return queue;
}

cl_command_queue own_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
							const cl_ulong *properties,
							cl_int *errcode_ret)
{
	return create_queue(next.clCreateCommandQueueWithProperties, context, device, properties,
			    errcode_ret);
}

cl_command_queue own_clCreateCommandQueueWithPropertiesKHR(cl_context context, cl_device_id device,
							   const cl_ulong *properties,
							   cl_int *errcode_ret)
{
	return create_queue(next.clCreateCommandQueueWithPropertiesKHR, context, device, properties,
			    errcode_ret);
}

/* Returns the properties that the program requested. */
cl_int own_clGetCommandQueueInfo(cl_command_queue queue, cl_uint param_name,
				 size_t param_value_size, void *param_value,
				 size_t *param_value_size_ret)
{
	const struct opencl_queue *forced = opencl_forced_queue(queue);
	cl_int result;

	if (forced && param_name == CL_QUEUE_PROPERTIES_ARRAY && forced->asked_as_array) {
		size_t size = forced->asked_count * sizeof(forced->asked[0]);

		if (param_value && param_value_size < size)
			return CL_INVALID_VALUE;
		if (param_value)
			memcpy(param_value, forced->asked, size);
		if (param_value_size_ret)
			*param_value_size_ret = size;
		return CL_SUCCESS;
	}
	result = next.clGetCommandQueueInfo(queue, param_name, param_value_size, param_value,
					    param_value_size_ret);
	if (forced && result == CL_SUCCESS && param_name == CL_QUEUE_PROPERTIES && param_value)
		*(cl_ulong *)param_value &= ~(cl_ulong)CL_QUEUE_PROFILING_ENABLE;
	return result;
}

/* Hides timestamps that the program did not request. */
cl_int own_clGetEventProfilingInfo(cl_event event, cl_uint param_name, size_t param_value_size,
				   void *param_value, size_t *param_value_size_ret)
{
	cl_command_queue queue = NULL;

	/* Checked before the query, because a refused query must not change the program's memory.
	 */
	if (opencl_any_forced() &&
	    next.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL) ==
		    CL_SUCCESS &&
	    queue && opencl_forced_queue(queue))
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return next.clGetEventProfilingInfo(event, param_name, param_value_size, param_value,
					    param_value_size_ret);
}

/* From now on the program's setting of the flag applies, and queries return it. */
cl_int own_clSetCommandQueueProperty(cl_command_queue queue, cl_ulong properties, cl_bool enable,
				     cl_ulong *old_properties)
{
	struct opencl_queue *forced = opencl_forced_queue(queue);
	cl_int result = next.clSetCommandQueueProperty(queue, properties, enable, old_properties);

	if (result != CL_SUCCESS)
		return result;
	if (forced && old_properties)
		*old_properties &= ~(cl_ulong)CL_QUEUE_PROFILING_ENABLE;
	if (forced && (properties & CL_QUEUE_PROFILING_ENABLE))
		forced->flags &= ~(uint32_t)QUEUE_TIMING_FORCED;
	opencl_describe_again(queue);
	return result;
}
