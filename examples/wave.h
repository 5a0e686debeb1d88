/* SPDX-License-Identifier: MIT
 *
 * examples/wave.h - some work for an OpenCL device, for examples whose subject is something else
 */
#ifndef EXAMPLES_WAVE_H
#define EXAMPLES_WAVE_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>

#define WAVE_POINTS 16384u

struct wave {
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_mem points;
	float host[WAVE_POINTS];
};

static inline void wave_check(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: OpenCL error %d\n", what, status);
	exit(1);
}

static inline void wave_open(struct wave *wave)
{
	const char *source = "kernel void swing(global float *x)\n"
			     "{\n"
			     "	float y = x[get_global_id(0)];\n"
			     "	for (int i = 0; i < 16; i++)\n"
			     "		y = sin(y) + 1.0f;\n"
			     "	x[get_global_id(0)] = y;\n"
			     "}\n";
	cl_platform_id platform;
	cl_device_id device;
	cl_int status;

	wave_check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	wave_check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL),
		   "clGetDeviceIDs");
	wave->context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	wave_check(status, "clCreateContext");
	wave->queue = clCreateCommandQueue(wave->context, device, 0, &status);
	wave_check(status, "clCreateCommandQueue");
	wave->program = clCreateProgramWithSource(wave->context, 1, &source, NULL, &status);
	wave_check(status, "clCreateProgramWithSource");
	wave_check(clBuildProgram(wave->program, 1, &device, "", NULL, NULL), "clBuildProgram");
	wave->kernel = clCreateKernel(wave->program, "swing", &status);
	wave_check(status, "clCreateKernel");
	wave->points =
		clCreateBuffer(wave->context, CL_MEM_READ_WRITE, sizeof(wave->host), NULL, &status);
	wave_check(status, "clCreateBuffer");
	wave_check(clSetKernelArg(wave->kernel, 0, sizeof(wave->points), &wave->points),
		   "clSetKernelArg");
}

static inline void wave_upload(struct wave *wave)
{
	wave_check(clEnqueueWriteBuffer(wave->queue, wave->points, CL_TRUE, 0, sizeof(wave->host),
					wave->host, 0, NULL, NULL),
		   "clEnqueueWriteBuffer");
}

/* One kernel, and what it made read back. */
static inline void wave_swing(struct wave *wave)
{
	size_t items = WAVE_POINTS;

	wave_check(clEnqueueNDRangeKernel(wave->queue, wave->kernel, 1, NULL, &items, NULL, 0, NULL,
					  NULL),
		   "clEnqueueNDRangeKernel");
	wave_check(clEnqueueReadBuffer(wave->queue, wave->points, CL_TRUE, 0, sizeof(wave->host),
				       wave->host, 0, NULL, NULL),
		   "clEnqueueReadBuffer");
}

static inline void wave_close(struct wave *wave)
{
	clReleaseMemObject(wave->points);
	clReleaseKernel(wave->kernel);
	clReleaseProgram(wave->program);
	clReleaseCommandQueue(wave->queue);
	clReleaseContext(wave->context);
}

#endif
