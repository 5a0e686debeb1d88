/* SPDX-License-Identifier: MIT
 *
 * tests/programs/launch_work.h - launch a kernel that need not compute anything, for programs whose
 * subject is where they launch from. Failures end the program with status 99.
 */
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>

static cl_command_queue launch_queue;
static cl_kernel launch_kernel;
static volatile int launch_sink;

static inline void launch_check(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: OpenCL error %d\n", what, status);
	exit(99);
}

static inline void launch_open(void)
{
	const char *text = "kernel void scale(global float *x) { x[0] *= 2; }";
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_int status;

	launch_check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	launch_check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL),
		     "clGetDeviceIDs");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	launch_check(status, "clCreateContext");
	launch_queue = clCreateCommandQueue(context, device, 0, &status);
	launch_check(status, "clCreateCommandQueue");
	program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
	launch_check(status, "clCreateProgramWithSource");
	launch_check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	launch_kernel = clCreateKernel(program, "scale", &status);
	launch_check(status, "clCreateKernel");
}

static __attribute__((noinline, unused)) void launch_once(void)
{
	size_t size = 64;

	launch_check(clEnqueueNDRangeKernel(launch_queue, launch_kernel, 1, NULL, &size, NULL, 0,
					    NULL, NULL),
		     "clEnqueueNDRangeKernel");
	launch_sink++;
}

static inline void launch_finish(void)
{
	launch_check(clFinish(launch_queue), "clFinish");
}
