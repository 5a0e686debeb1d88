/* SPDX-License-Identifier: MIT
 *
 * tests/programs/idle_causes.c - a device that idles for known reasons
 *
 *	idle_causes ROUNDS SLEEP_MS COMPUTE_MS
 *
 * Over the simulated driver, whose kernels last as long as it is told. A round is one kernel that is
 * waited for, then a sleep below sleep_a, then processor time below compute_b. Prints how long each took in all, in
 * nanoseconds.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

static void must(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "idle_causes: %s: OpenCL error %d\n", what, status);
	exit(1);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

NOINLINE static uint64_t sleep_a(uint64_t ms)
{
	const struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000 * 1000000)};
	uint64_t begin = now_ns(CLOCK_MONOTONIC);

	nanosleep(&time, NULL);
	return now_ns(CLOCK_MONOTONIC) - begin;
}

NOINLINE static uint64_t compute_b(uint64_t ms)
{
	uint64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID), taken;

	do {
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i;
		taken = now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	} while (taken < ms * 1000000);
	return taken;
}

NOINLINE static uint64_t run_kernel(cl_command_queue queue, cl_kernel kernel)
{
	uint64_t begin = now_ns(CLOCK_MONOTONIC);
	size_t size = 64;

	must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL), "launch");
	must(clFinish(queue), "finish");
	return now_ns(CLOCK_MONOTONIC) - begin;
}

int main(int argc, char **argv)
{
	const char *source = "kernel void scale(global float *x) { x[0] *= 2; }";
	uint64_t kernel_ns = 0, sleep_ns = 0, compute_ns = 0;
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_mem memory;
	cl_int status;

	if (argc != 4)
		return 2;
	must(clGetPlatformIDs(1, &platform, NULL), "platform");
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	must(status, "context");
	queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &status);
	must(status, "queue");
	program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
	must(status, "program");
	must(clBuildProgram(program, 1, &device, NULL, NULL, NULL), "build");
	kernel = clCreateKernel(program, "scale", &status);
	must(status, "kernel");
	memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 256, NULL, &status);
	must(status, "buffer");
	must(clSetKernelArg(kernel, 0, sizeof memory, &memory), "argument");
	for (int i = 0; i < atoi(argv[1]); i++) {
		kernel_ns += run_kernel(queue, kernel);
		sleep_ns += sleep_a((uint64_t)atoi(argv[2]));
		compute_ns += compute_b((uint64_t)atoi(argv[3]));
	}
	run_kernel(queue, kernel);
	printf("run_kernel %llu\nsleep_a %llu\ncompute_b %llu\n", (unsigned long long)kernel_ns,
	       (unsigned long long)sleep_ns, (unsigned long long)compute_ns);
	return 0;
}
