/* SPDX-License-Identifier: MIT
 *
 * bench/calls.c - loops of OpenCL calls that measure themselves
 *
 *	calls platforms SAMPLES LOOP…          blocks of LOOP clGetPlatformIDs
 *	calls reads SAMPLES LOOP BYTES…        blocks of LOOP blocking reads of BYTES
 *	calls image SAMPLES LOOP WxH…          blocks of LOOP iterations of 14 + 2 calls (below)
 *	calls kernels COUNT                    that many kernels, a clFinish every 1000
 *	calls stream PER_SECOND SECONDS        clGetPlatformIDs at a steady rate
 *
 * Prints a line "KEY NS" per sample: nanoseconds per call (platforms, reads) or per iteration
 * (image). The first block of each key warms up and is not printed.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem buffer;
	char *host;
};

#define BUFFER_BYTES (16u << 20)

static const char source[] = "kernel void draw(global uchar4 *picture, int width, int frame)\n"
			     "{\n"
			     "	int x = get_global_id(0), y = get_global_id(1);\n"
			     "	picture[y * width + x] = (uchar4)(x + frame, y, x ^ y, 255);\n"
			     "}\n";

static void check(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "calls: %s: OpenCL error %d\n", what, status);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void bench_init(struct bench *b)
{
	const char *text = source;
	cl_platform_id platform;
	cl_program program;
	cl_int status;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &b->device, NULL), "clGetDeviceIDs");
	b->context = clCreateContext(NULL, 1, &b->device, NULL, NULL, &status);
	check(status, "clCreateContext");
	b->queue = clCreateCommandQueue(b->context, b->device, 0, &status);
	check(status, "clCreateCommandQueue");
	program = clCreateProgramWithSource(b->context, 1, &text, NULL, &status);
	check(status, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &b->device, "", NULL, NULL), "clBuildProgram");
	b->kernel = clCreateKernel(program, "draw", &status);
	check(status, "clCreateKernel");
	b->buffer = clCreateBuffer(b->context, CL_MEM_READ_WRITE, BUFFER_BYTES, NULL, &status);
	check(status, "clCreateBuffer");
	b->host = calloc(1, BUFFER_BYTES);
	if (!b->host)
		exit(1);
	clReleaseProgram(program);
}

static void bench_fini(struct bench *b)
{
	clReleaseMemObject(b->buffer);
	clReleaseKernel(b->kernel);
	clReleaseCommandQueue(b->queue);
	clReleaseContext(b->context);
	free(b->host);
}

static void sample_platforms(long loop)
{
	cl_uint count;

	for (long i = 0; i < loop; i++)
		clGetPlatformIDs(0, NULL, &count);
}

/* Each sample begins with empty buffers, however fast the loop before it was; awake, because a
 * processor that slept is slow for the next quarter of a millisecond. */
static void let_drain(void)
{
	uint64_t end = now_ns() + 12000000;

	while (now_ns() < end)
		;
}

/* A tracer's buffers are touched for the first time once in a program's life, at the price of a
 * page fault each 4 KiB: that belongs to a program's start, not to the price of a call. */
static void touch_buffers(void)
{
	for (int i = 0; i < 8; i++) {
		sample_platforms(50000);
		let_drain();
	}
}

static void run_platforms(int argc, char **argv)
{
	long samples = atol(argv[0]);

	touch_buffers();
	for (int i = 1; i < argc; i++) {
		long loop = atol(argv[i]);

		for (long k = -1; k < samples; k++) {
			uint64_t begin;

			if (loop >= 10000)
				let_drain();
			begin = now_ns();
			sample_platforms(loop);
			if (k >= 0)
				printf("%ld %.3f\n", loop,
				       (double)(now_ns() - begin) / (double)loop);
		}
	}
}

static void sample_reads(struct bench *b, long loop, size_t bytes)
{
	for (long i = 0; i < loop; i++)
		check(clEnqueueReadBuffer(b->queue, b->buffer, CL_TRUE, 0, bytes, b->host, 0, NULL,
					  NULL),
		      "clEnqueueReadBuffer");
}

static void run_reads(int argc, char **argv)
{
	long samples = atol(argv[0]), loop = atol(argv[1]);
	struct bench b;

	bench_init(&b);
	touch_buffers();
	for (int i = 2; i < argc; i++) {
		size_t bytes = (size_t)atol(argv[i]);

		for (long k = -1; k < samples; k++) {
			uint64_t begin;

			let_drain();
			begin = now_ns();
			sample_reads(&b, loop, bytes);
			if (k >= 0)
				printf("%zu %.3f\n", bytes,
				       (double)(now_ns() - begin) / (double)loop);
		}
	}
	bench_fini(&b);
}

/* 14 calls that need no device and 2 that do: a very light kernel and the read of its picture. */
static void iterate_image(struct bench *b, cl_int width, size_t height, cl_int frame)
{
	size_t size[2] = {(size_t)width, height}, group;
	cl_uint number;

	check(clSetKernelArg(b->kernel, 0, sizeof b->buffer, &b->buffer), "clSetKernelArg");
	check(clSetKernelArg(b->kernel, 1, sizeof width, &width), "clSetKernelArg");
	check(clSetKernelArg(b->kernel, 2, sizeof frame, &frame), "clSetKernelArg");
	clRetainKernel(b->kernel);
	clRetainMemObject(b->buffer);
	clGetKernelInfo(b->kernel, CL_KERNEL_NUM_ARGS, sizeof number, &number, NULL);
	clGetKernelWorkGroupInfo(b->kernel, b->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof group,
				 &group, NULL);
	clGetMemObjectInfo(b->buffer, CL_MEM_SIZE, sizeof group, &group, NULL);
	clGetContextInfo(b->context, CL_CONTEXT_NUM_DEVICES, sizeof number, &number, NULL);
	clGetDeviceInfo(b->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof number, &number, NULL);
	clGetPlatformIDs(0, NULL, &number);
	check(clEnqueueNDRangeKernel(b->queue, b->kernel, 2, NULL, size, NULL, 0, NULL, NULL),
	      "clEnqueueNDRangeKernel");
	clFlush(b->queue);
	check(clEnqueueReadBuffer(b->queue, b->buffer, CL_TRUE, 0, (size_t)width * height * 4,
				  b->host, 0, NULL, NULL),
	      "clEnqueueReadBuffer");
	clReleaseMemObject(b->buffer);
	clReleaseKernel(b->kernel);
}

static void run_image(int argc, char **argv)
{
	long samples = atol(argv[0]), loop = atol(argv[1]);
	struct bench b;

	bench_init(&b);
	for (int i = 2; i < argc; i++) {
		int width, height;

		if (sscanf(argv[i], "%dx%d", &width, &height) != 2 || width < 1 || height < 1 ||
		    (size_t)width * (size_t)height * 4 > BUFFER_BYTES)
			exit(2);
		for (long k = -1; k < samples; k++) {
			uint64_t begin = now_ns();

			for (long n = 0; n < loop; n++)
				iterate_image(&b, width, (size_t)height, (cl_int)n);
			if (k >= 0)
				printf("%s %.1f\n", argv[i],
				       (double)(now_ns() - begin) / (double)loop);
		}
	}
	bench_fini(&b);
}

static void run_kernels(int argc, char **argv)
{
	long count = atol(argv[0]);
	cl_int width = 1, frame = 0;
	size_t size[2] = {1, 1};
	struct bench b;

	bench_init(&b);
	check(clSetKernelArg(b.kernel, 0, sizeof b.buffer, &b.buffer), "clSetKernelArg");
	check(clSetKernelArg(b.kernel, 1, sizeof width, &width), "clSetKernelArg");
	check(clSetKernelArg(b.kernel, 2, sizeof frame, &frame), "clSetKernelArg");
	for (long i = 0; i < count; i++) {
		check(clEnqueueNDRangeKernel(b.queue, b.kernel, 2, NULL, size, NULL, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		if (i % 1000 == 999)
			check(clFinish(b.queue), "clFinish");
	}
	check(clFinish(b.queue), "clFinish");
	bench_fini(&b);
}

/* Steady: a block every 100 us, then a wait for the next; prints how many were made and how
 * long. */
static void run_stream(int argc, char **argv)
{
	double per_second = atof(argv[0]), seconds = atof(argv[1]);
	long block = (long)(per_second / 10000), made = 0;
	uint64_t begin = now_ns(), end = begin + (uint64_t)(seconds * 1e9), due = begin;

	while (due < end) {
		sample_platforms(block);
		made += block;
		due += 100000;
		while (now_ns() < due)
			__asm__ volatile("" ::: "memory");
	}
	printf("%ld %.0f\n", made, (double)(now_ns() - begin));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int arguments;
		void (*run)(int argc, char **argv);
	} modes[] = {{"platforms", 2, run_platforms},
		     {"reads", 3, run_reads},
		     {"image", 3, run_image},
		     {"kernels", 1, run_kernels},
		     {"stream", 2, run_stream}};

	for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++) {
		if (strcmp(argv[1], modes[i].name) == 0 && argc - 2 >= modes[i].arguments) {
			modes[i].run(argc - 2, argv + 2);
			return fflush(stdout) != 0;
		}
	}
	fprintf(stderr, "usage: calls platforms|reads|image|kernels|stream ...\n");
	return 2;
}
