/* SPDX-License-Identifier: MIT
 *
 * tests/programs/kernel_lines.c - kernels of a CPU device, with the work in one line of each
 *
 *	kernel_lines MS [OPTIONS]
 *
 * Runs `sums` and `roots` in turn, from functions of their own, for so many milliseconds in all;
 * OPTIONS are the compiler's. Prints how often each ran.
 */

#include "opencl_work.h"

#define NOINLINE __attribute__((noinline))

enum { ITEMS = 4096 };

static const char text[] = "kernel void sums(global float *x, int n)\n"
			   "{\n"
			   "\tfloat v = x[get_global_id(0)];\n"
			   "\tfor (int i = 0; i < n; i++)\n"
			   "\t\tv = v * 1.0001f + 0.5f;\n" /* line 5 */
			   "\tx[get_global_id(0)] = v;\n"
			   "}\n"
			   "kernel void roots(global float *x, int n)\n"
			   "{\n"
			   "\tfloat v = x[get_global_id(0)];\n"
			   "\tfor (int i = 0; i < n; i++)\n"
			   "\t\tv = sqrt(v) / 3.0f + 1.0f;\n" /* line 12 */
			   "\tx[get_global_id(0)] = v;\n"
			   "}\n";

static cl_context context;
static cl_command_queue queue;
static cl_kernel sums, roots;

static cl_kernel make_kernel(cl_program program, const char *name, cl_mem buffer, cl_int turns)
{
	cl_int status;
	cl_kernel kernel = clCreateKernel(program, name, &status);

	work_check(status, name);
	work_check(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
	work_check(clSetKernelArg(kernel, 1, sizeof(turns), &turns), "clSetKernelArg");
	return kernel;
}

static void open_all(const char *options)
{
	const char *source = text;
	cl_platform_id platform;
	cl_device_id device;
	cl_program program;
	cl_mem buffer;
	cl_int status;

	work_check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	work_check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL),
		   "clGetDeviceIDs");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	work_check(status, "clCreateContext");
	queue = clCreateCommandQueue(context, device, 0, &status);
	work_check(status, "clCreateCommandQueue");
	program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
	work_check(status, "clCreateProgramWithSource");
	work_check(clBuildProgram(program, 1, &device, options, NULL, NULL), "clBuildProgram");
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * sizeof(float), NULL, &status);
	work_check(status, "clCreateBuffer");
	sums = make_kernel(program, "sums", buffer, 2000);
	roots = make_kernel(program, "roots", buffer, 1000);
}

static void run(cl_kernel kernel)
{
	size_t items = ITEMS;

	work_check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL),
		   "clEnqueueNDRangeKernel");
	work_check(clFinish(queue), "clFinish");
}

NOINLINE static void run_sums(void)
{
	run(sums);
	__asm__ volatile("");
}

NOINLINE static void run_roots(void)
{
	run(roots);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	uint64_t end_ns, count = 0;

	if (argc < 2 || argc > 3)
		return 2;
	open_all(argc > 2 ? argv[2] : "");
	end_ns = work_now_ns(CLOCK_MONOTONIC) + strtoull(argv[1], NULL, 10) * 1000000;
	for (; work_now_ns(CLOCK_MONOTONIC) < end_ns; count++) {
		run_sums();
		run_roots();
	}
	printf("kernels %llu\n", (unsigned long long)count);
	return 0;
}
