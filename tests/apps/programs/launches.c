/* SPDX-License-Identifier: MIT
 *
 * tests/apps/programs/launches.c - a known number of commands, for programs in several languages
 */
#define CL_TARGET_OPENCL_VERSION 120
#include "launches.h"

#include <CL/cl.h>

#include <pthread.h>

#define ITEMS 1024

struct objects {
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_mem buffer;
};

/* PoCL 3.1 crashes by itself where threads open or close contexts beside each other. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *source =
	"__kernel void increment(__global float *a) { a[get_global_id(0)] += 1; }";

static int objects_open(struct objects *o)
{
	cl_platform_id platform;
	cl_device_id device;
	float zeros[ITEMS] = {0};

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return -1;
	o->context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	o->queue = clCreateCommandQueue(o->context, device, 0, NULL);
	o->program = clCreateProgramWithSource(o->context, 1, &source, NULL, NULL);
	if (clBuildProgram(o->program, 1, &device, "", NULL, NULL))
		return -2;
	o->kernel = clCreateKernel(o->program, "increment", NULL);
	o->buffer = clCreateBuffer(o->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				   sizeof(zeros), zeros, NULL);
	return clSetKernelArg(o->kernel, 0, sizeof(o->buffer), &o->buffer) ? -3 : 0;
}

static double objects_run(struct objects *o, int count)
{
	size_t items = ITEMS;
	float result[ITEMS];
	double sum = 0;

	for (int i = 0; i < count; i++) {
		if (clEnqueueNDRangeKernel(o->queue, o->kernel, 1, NULL, &items, NULL, 0, NULL,
					   NULL))
			return -4;
	}
	if (clEnqueueReadBuffer(o->queue, o->buffer, CL_TRUE, 0, sizeof(result), result, 0, NULL,
				NULL))
		return -5;
	for (int i = 0; i < ITEMS; i++)
		sum += result[i];
	return sum;
}

static void objects_close(struct objects *o)
{
	clReleaseMemObject(o->buffer);
	clReleaseKernel(o->kernel);
	clReleaseProgram(o->program);
	clReleaseCommandQueue(o->queue);
	clReleaseContext(o->context);
}

double launches_run(int count)
{
	struct objects objects = {0};
	double sum;

	pthread_mutex_lock(&lock);
	sum = objects_open(&objects);
	pthread_mutex_unlock(&lock);
	if (sum < 0)
		return sum;
	sum = objects_run(&objects, count);
	pthread_mutex_lock(&lock);
	objects_close(&objects);
	pthread_mutex_unlock(&lock);
	return sum;
}
