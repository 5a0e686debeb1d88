/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/harness/device_opencl.c - a copy, two kernels and a blocking copy back
 */
#include "device_opencl.h"

enum { COUNT = 1 << 14 };

struct device device;
static float host[COUNT];
static const char *source =
	"kernel void forward(global float *x, int n) {\n"
	"	float v = x[get_global_id(0)];\n"
	"	for (int i = 0; i < n; i++) v = v * 0.999f + 0.5f;\n"
	"	x[get_global_id(0)] = v;\n"
	"}\n"
	"kernel void backward(global const float *x, global float *y, int n) {\n"
	"	float v = x[get_global_id(0)];\n"
	"	for (int i = 0; i < n; i++) v = v * 0.998f + 0.25f;\n"
	"	y[get_global_id(0)] = v;\n"
	"}\n";

void device_check(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: OpenCL error %d\n", what, status);
	exit(99);
}

static cl_kernel open_kernel(const char *name)
{
	cl_int status;
	cl_kernel kernel = clCreateKernel(device.program, name, &status);

	device_check(status, name);
	return kernel;
}

static cl_mem open_buffer(void)
{
	cl_int status;
	cl_mem buffer =
		clCreateBuffer(device.context, CL_MEM_READ_WRITE, sizeof(host), NULL, &status);

	device_check(status, "clCreateBuffer");
	return buffer;
}

static void set_arguments(void)
{
	cl_int loops = DEVICE_LOOPS;

	device_check(clSetKernelArg(device.forward, 0, sizeof(cl_mem), &device.input), "argument");
	device_check(clSetKernelArg(device.forward, 1, sizeof(loops), &loops), "argument");
	device_check(clSetKernelArg(device.backward, 0, sizeof(cl_mem), &device.input), "argument");
	device_check(clSetKernelArg(device.backward, 1, sizeof(cl_mem), &device.output),
		     "argument");
	device_check(clSetKernelArg(device.backward, 2, sizeof(loops), &loops), "argument");
}

void device_open(void)
{
	cl_platform_id platform;
	cl_int status;

	device_check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	device_check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, device.devices, &device.count),
		     "clGetDeviceIDs");
	device.count = device.count > 2 ? 2 : device.count;
	device.context = clCreateContext(NULL, device.count, device.devices, NULL, NULL, &status);
	device_check(status, "clCreateContext");
	device.queue = clCreateCommandQueue(device.context, device.devices[0],
					    CL_QUEUE_PROFILING_ENABLE, &status);
	device_check(status, "clCreateCommandQueue");
	device.program = clCreateProgramWithSource(device.context, 1, &source, NULL, &status);
	device_check(status, "clCreateProgramWithSource");
	device_check(clBuildProgram(device.program, 0, NULL, "", NULL, NULL), "clBuildProgram");
	device.forward = open_kernel("forward");
	device.backward = open_kernel("backward");
	device.input = open_buffer();
	device.output = open_buffer();
	set_arguments();
}

static void launch(cl_kernel kernel)
{
	size_t size = COUNT, group = 256;

	device_check(
		clEnqueueNDRangeKernel(device.queue, kernel, 1, NULL, &size, &group, 0, NULL, NULL),
		"launch");
}

void device_launch(void)
{
	device_check(clEnqueueWriteBuffer(device.queue, device.input, CL_FALSE, 0, sizeof(host),
					  host, 0, NULL, NULL),
		     "write");
	launch(device.forward);
	launch(device.backward);
	device_check(clFlush(device.queue), "flush");
}

void device_finish(void)
{
	device_check(clEnqueueReadBuffer(device.queue, device.output, CL_TRUE, 0, sizeof(host),
					 host, 0, NULL, NULL),
		     "read");
}
