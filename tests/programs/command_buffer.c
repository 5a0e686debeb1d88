/* SPDX-License-Identifier: MIT
 *
 * tests/programs/command_buffer.c - kernels launched one by one, and the same kernel three times in
 * a command buffer
 *
 * Runs in:  a process of its own
 * Gives:    one line of JSON: whether the platform has command buffers, ns of the buffer from
 *           launch to clFinish
 * Fails:    status 99, as work_check
 * Why own clocks: what the device did while the buffer ran is compared with the program's own
 * measurement.
 */
#include "opencl_work.h"

#include <CL/cl_ext.h>
#include <string.h>

enum { ITEMS = 4096, NODES = 3 };

static const char source[] = "__kernel void heavy(__global float *a, int rounds)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	float x = a[i];\n"
			     "	for (int k = 0; k < rounds; k++)\n"
			     "		x = x * 1.0001f + 0.5f;\n"
			     "	a[i] = x;\n"
			     "}\n";

#ifdef cl_khr_command_buffer
static clCreateCommandBufferKHR_fn create_buffer;
static clCommandNDRangeKernelKHR_fn add_kernel;
static clFinalizeCommandBufferKHR_fn finalize_buffer;
static clEnqueueCommandBufferKHR_fn enqueue_buffer;
static clReleaseCommandBufferKHR_fn release_buffer;

static void *find(cl_platform_id platform, const char *name)
{
	return clGetExtensionFunctionAddressForPlatform(platform, name);
}

static int has_buffers(cl_platform_id platform)
{
	create_buffer = (clCreateCommandBufferKHR_fn)find(platform, "clCreateCommandBufferKHR");
	add_kernel = (clCommandNDRangeKernelKHR_fn)find(platform, "clCommandNDRangeKernelKHR");
	finalize_buffer =
		(clFinalizeCommandBufferKHR_fn)find(platform, "clFinalizeCommandBufferKHR");
	enqueue_buffer = (clEnqueueCommandBufferKHR_fn)find(platform, "clEnqueueCommandBufferKHR");
	release_buffer = (clReleaseCommandBufferKHR_fn)find(platform, "clReleaseCommandBufferKHR");
	return create_buffer && add_kernel && finalize_buffer && enqueue_buffer && release_buffer;
}

static uint64_t run_buffer(struct work *work)
{
	const size_t size = ITEMS;
	cl_command_buffer_khr buffer;
	uint64_t begin;
	cl_int status;

	buffer = create_buffer(1, &work->queue, NULL, &status);
	work_check(status, "clCreateCommandBufferKHR");
	for (int i = 0; i < NODES; i++)
		work_check(add_kernel(buffer, NULL, NULL, work->kernel, 1, NULL, &size, NULL, 0,
				      NULL, NULL, NULL),
			   "clCommandNDRangeKernelKHR");
	work_check(finalize_buffer(buffer), "clFinalizeCommandBufferKHR");
	begin = work_now_ns(CLOCK_MONOTONIC);
	work_check(enqueue_buffer(0, NULL, buffer, 0, NULL, NULL), "clEnqueueCommandBufferKHR");
	work_check(clFinish(work->queue), "clFinish");
	begin = work_now_ns(CLOCK_MONOTONIC) - begin;
	work_check(release_buffer(buffer), "clReleaseCommandBufferKHR");
	return begin;
}
#else
static int has_buffers(cl_platform_id platform)
{
	(void)platform;
	return 0;
}

static uint64_t run_buffer(struct work *work)
{
	(void)work;
	return 0;
}
#endif

static void open_work(struct work *work)
{
	const char *text = source;
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
	work->kernel = clCreateKernel(work->program, "heavy", &status);
	work_check(status, "clCreateKernel");
	work->buffer = clCreateBuffer(work->context, CL_MEM_READ_WRITE, ITEMS * sizeof(float), NULL,
				      &status);
	work_check(status, "clCreateBuffer");
}

static void run_kernel(struct work *work)
{
	const size_t size = ITEMS;

	work_check(clEnqueueNDRangeKernel(work->queue, work->kernel, 1, NULL, &size, NULL, 0, NULL,
					  NULL),
		   "clEnqueueNDRangeKernel");
	work_check(clFinish(work->queue), "clFinish");
}

int main(void)
{
	const cl_int rounds = 5000;
	struct work work;
	uint64_t buffer_ns = 0;
	int has;

	memset(&work, 0, sizeof(work));
	open_work(&work);
	work_check(clSetKernelArg(work.kernel, 0, sizeof(work.buffer), &work.buffer), "argument");
	work_check(clSetKernelArg(work.kernel, 1, sizeof(rounds), &rounds), "argument");
	run_kernel(&work);
	has = has_buffers(work.platform);
	if (has)
		buffer_ns = run_buffer(&work);
	run_kernel(&work);
	printf("{\"has\": %d, \"buffer_ns\": %llu}\n", has, (unsigned long long)buffer_ns);
	return 0;
}
