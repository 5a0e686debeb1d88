/* SPDX-License-Identifier: MIT
 *
 * inject/opencl/profiling.h - calls whose arguments or results the guest changes
 *
 * Called by the wrappers in opencl.c in place of the runtime's functions of the same names.
 */
#pragma once

#include "inject/opencl/opencl.h"

#pragma GCC visibility push(hidden)

/* Marks that the runtime has not written an error code; not an error of OpenCL. A written error
 * counts even if an object is returned: PoCL returns a context with CL_DEVICE_NOT_FOUND. */
#define OPENCL_UNWRITTEN INT32_MAX

/* DUET_OPENCL_PROFILING: enables timestamps without a recorder, so that a recorder that comes later
 * finds queues with them. */
extern bool opencl_adds_profiling_idle;

cl_command_queue own_clCreateCommandQueue(cl_context context, cl_device_id device,
					  cl_ulong properties, cl_int *errcode_ret);
cl_command_queue own_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
							const cl_ulong *properties,
							cl_int *errcode_ret);
cl_command_queue own_clCreateCommandQueueWithPropertiesKHR(cl_context context, cl_device_id device,
							   const cl_ulong *properties,
							   cl_int *errcode_ret);
cl_int own_clGetCommandQueueInfo(cl_command_queue queue, cl_uint param_name,
				 size_t param_value_size, void *param_value,
				 size_t *param_value_size_ret);
cl_int own_clGetEventProfilingInfo(cl_event event, cl_uint param_name, size_t param_value_size,
				   void *param_value, size_t *param_value_size_ret);
cl_int own_clSetCommandQueueProperty(cl_command_queue queue, cl_ulong properties, cl_bool enable,
				     cl_ulong *old_properties);

#pragma GCC visibility pop
