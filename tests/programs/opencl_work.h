/* SPDX-License-Identifier: MIT
 *
 * tests/programs/opencl_work.h - the least OpenCL program as two functions, for programs whose
 * subject is something else, and the clocks. Failures are told on stderr and end the program with
 * status 99.
 */
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t work_now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct work {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_mem buffer;
	float host[256];
};

static inline void work_check(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: OpenCL error %d\n", what, status);
	exit(99);
}

static inline void work_open(struct work *work)
{
	const char *text = "kernel void twice(global float *x) { x[get_global_id(0)] *= 2.0f; }\n";
	cl_int status;

	work_check(clGetPlatformIDs(1, &work->platform, NULL), "clGetPlatformIDs");
	work_check(clGetDeviceIDs(work->platform, CL_DEVICE_TYPE_ALL, 1, &work->device, NULL),
		   "clGetDeviceIDs");
	work->context = clCreateContext(NULL, 1, &work->device, NULL, NULL, &status);
	work_check(status, "clCreateContext");
	work->queue = clCreateCommandQueue(work->context, work->device, 0, &status);
	work_check(status, "clCreateCommandQueue");
	work->program = clCreateProgramWithSource(work->context, 1, &text, NULL, &status);
	work_check(status, "clCreateProgramWithSource");
	work_check(clBuildProgram(work->program, 1, &work->device, "", NULL, NULL),
		   "clBuildProgram");
	work->kernel = clCreateKernel(work->program, "twice", &status);
	work_check(status, "clCreateKernel");
	work->buffer =
		clCreateBuffer(work->context, CL_MEM_READ_WRITE, sizeof work->host, NULL, &status);
	work_check(status, "clCreateBuffer");
	work_check(clSetKernelArg(work->kernel, 0, sizeof work->buffer, &work->buffer),
		   "clSetKernelArg");
	for (int i = 0; i < 256; i++)
		work->host[i] = (float)i;
}

/* One write, one kernel and one blocking read; what is read back is checked. */
static inline void work_step(struct work *work)
{
	size_t size = 256;

	work->host[255] = 255.0f;
	work_check(clEnqueueWriteBuffer(work->queue, work->buffer, CL_FALSE, 0, sizeof work->host,
					work->host, 0, NULL, NULL),
		   "clEnqueueWriteBuffer");
	work_check(clEnqueueNDRangeKernel(work->queue, work->kernel, 1, NULL, &size, NULL, 0, NULL,
					  NULL),
		   "clEnqueueNDRangeKernel");
	work_check(clEnqueueReadBuffer(work->queue, work->buffer, CL_TRUE, 0, sizeof work->host,
				       work->host, 0, NULL, NULL),
		   "clEnqueueReadBuffer");
	work_check(work->host[255] == 510.0f ? CL_SUCCESS : CL_INVALID_VALUE, "the result");
}

static inline void work_close(struct work *work)
{
	clReleaseMemObject(work->buffer);
	clReleaseKernel(work->kernel);
	clReleaseProgram(work->program);
	clReleaseCommandQueue(work->queue);
	clReleaseContext(work->context);
}
