/* SPDX-License-Identifier: MIT
 *
 * tests/apps/programs/at_exit_program.c - an exit handler releases a program of which no kernel was
 * made
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>

static cl_program program;

static void release(void)
{
	clReleaseProgram(program);
}

int main(void)
{
	const char *source = "__kernel void k(__global float *a) { a[get_global_id(0)] *= 3; }";
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;

	/* Before OpenCL is loaded, so that it runs after the exit handlers of OpenCL's
	 * libraries. */
	atexit(release);
	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 1;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
	printf("build: %d\n", clBuildProgram(program, 1, &device, "", NULL, NULL));
	return 0;
}
