/* SPDX-License-Identifier: MIT
 *
 * tests/programs/flame_shapes.c - one kernel launched from known functions in known shares
 *
 *	Over the simulated driver, whose kernels last as long as it is told. warm_up launches it
 *	    once, three_times
 *	three times; then libc's qsort calls compare, which launches from 20 calls deep. Built with
 *	    -O2
 *	-fomit-frame-pointer.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

static cl_command_queue queue;
static cl_kernel kernel;
static volatile int sink;

static void must(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "flame_shapes: %s: OpenCL error %d\n", what, status);
	exit(1);
}

static NOINLINE void launch(void)
{
	size_t size = 64;

	must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL), "launch");
	sink++;
}

static NOINLINE void warm_up(void)
{
	launch();
	sink++;
}

static NOINLINE void three_times(void)
{
	for (int i = 0; i < 3; i++)
		launch();
	sink++;
}

static int launched;

static NOINLINE int deeper(int depth)
{
	int result = depth ? deeper(depth - 1) : 0;

	if (!depth && !launched++)
		launch();
	return result + sink % 2;
}

static int compare(const void *a, const void *b)
{
	sink += deeper(19);
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void sort_something(void)
{
	int numbers[] = {3, 1, 2};

	qsort(numbers, 3, sizeof numbers[0], compare);
	sink += numbers[0];
}

int main(void)
{
	const char *source = "kernel void scale(global float *x) { x[0] *= 2; }";
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_int status;

	must(clGetPlatformIDs(1, &platform, NULL), "platform");
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	must(status, "context");
	queue = clCreateCommandQueue(context, device, 0, &status);
	must(status, "queue");
	program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
	must(status, "program");
	must(clBuildProgram(program, 0, NULL, "", NULL, NULL), "build");
	kernel = clCreateKernel(program, "scale", &status);
	must(status, "kernel");
	warm_up();
	three_times();
	sort_something();
	must(clFinish(queue), "finish");
	return 0;
}
