/* SPDX-License-Identifier: MIT
 *
 * tests/programs/planted.c - programs that do one thing wrong, and the same without it
 *
 *	planted turns N BYTES      one queue: N times a copy and a kernel, none of them waited for
 *	planted beside N BYTES     the copies in a second queue
 *	planted sync N BYTES       one queue, and the copies block
 *	planted queues Q N         N times a kernel in each of Q queues, all launched before any is
 *	                           waited for
 *	planted kernels N          N kernels in one queue
 *	planted grid GLOBAL LOCAL N      N kernels of so many work items
 *	planted compute N MS       N times a kernel that is waited for, and MS of processor time
 *	                           below compute; with PLANTED_CPU on that processor only. Prints
 *	                           how long the latter took, and how much of that the thread was not
 *	                           on a processor.
 *	planted hog                spins on PLANTED_CPU until it is killed
 *	planted busy MS            kernels that compute, one after another, for so long
 *
 * All but the last want the simulated driver, whose times are told to it.
 */
#include "opencl_work.h"

#include <sched.h>
#include <string.h>

enum { MAX_QUEUES = 32 };

static cl_context context;
static cl_device_id device;
static cl_command_queue queues[MAX_QUEUES];
static cl_kernel kernel;
static cl_mem memory;
static char *bytes;
static volatile uint64_t sink;

static void pin(void)
{
	const char *cpu = getenv("PLANTED_CPU");
	cpu_set_t set;

	if (!cpu)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)atoi(cpu), &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("planted: sched_setaffinity");
		exit(1);
	}
}

static void open_device(int count, size_t size)
{
	const char *source = "kernel void work(global int *x, int n) {\n"
			     "	int v = x[get_global_id(0)];\n"
			     "	for (int i = 0; i < n; i++) v = v * 1664525 + 1013904223;\n"
			     "	x[get_global_id(0)] = v;\n"
			     "}\n";
	cl_platform_id platform;
	cl_program program;
	cl_int status, loops = 20000;

	work_check(clGetPlatformIDs(1, &platform, NULL), "platform");
	work_check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	work_check(status, "context");
	for (int i = 0; i < count; i++) {
		queues[i] = clCreateCommandQueue(context, device, 0, &status);
		work_check(status, "queue");
	}
	program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
	work_check(status, "program");
	work_check(clBuildProgram(program, 1, &device, NULL, NULL, NULL), "build");
	kernel = clCreateKernel(program, "work", &status);
	work_check(status, "kernel");
	memory = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);
	work_check(status, "buffer");
	bytes = calloc(1, size);
	work_check(clSetKernelArg(kernel, 0, sizeof(memory), &memory), "argument");
	work_check(clSetKernelArg(kernel, 1, sizeof(loops), &loops), "argument");
}

static void launch(cl_command_queue queue, size_t global, size_t local)
{
	work_check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, local ? &local : NULL, 0,
					  NULL, NULL),
		   "launch");
}

/* place: of the copies' queue. */
static void copies(int count, size_t size, int place, cl_bool blocking)
{
	open_device(place + 1, size);
	for (int i = 0; i < count; i++) {
		work_check(clEnqueueWriteBuffer(queues[place], memory, blocking, 0, size, bytes, 0,
						NULL, NULL),
			   "write");
		launch(queues[0], 64, 64);
	}
	for (int i = 0; i <= place; i++)
		work_check(clFinish(queues[i]), "finish");
}

static void many_queues(int count, int rounds)
{
	open_device(count, 4096);
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < count; i++)
			launch(queues[i], 64, 64);
		for (int i = 0; i < count; i++)
			work_check(clFinish(queues[i]), "finish");
	}
}

static void kernels(int count, size_t global, size_t local)
{
	open_device(1, 4 * global);
	for (int i = 0; i < count; i++)
		launch(queues[0], global, local);
	work_check(clFinish(queues[0]), "finish");
}

static __attribute__((noinline)) void compute(uint64_t ns)
{
	uint64_t begin = work_now_ns(CLOCK_THREAD_CPUTIME_ID);

	do {
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i;
	} while (work_now_ns(CLOCK_THREAD_CPUTIME_ID) - begin < ns);
}

static void computing(int count, uint64_t ns)
{
	uint64_t wall = 0, cpu = 0;

	pin();
	open_device(1, 4096);
	for (int i = 0; i < count; i++) {
		uint64_t wall_begin, cpu_begin;

		launch(queues[0], 64, 64);
		work_check(clFinish(queues[0]), "finish");
		wall_begin = work_now_ns(CLOCK_MONOTONIC);
		cpu_begin = work_now_ns(CLOCK_THREAD_CPUTIME_ID);
		compute(ns);
		cpu += work_now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_begin;
		wall += work_now_ns(CLOCK_MONOTONIC) - wall_begin;
	}
	launch(queues[0], 64, 64);
	work_check(clFinish(queues[0]), "finish");
	printf("compute %llu\naway %llu\n", (unsigned long long)wall,
	       (unsigned long long)(wall - cpu));
}

static void busy(uint64_t ms)
{
	uint64_t begin = work_now_ns(CLOCK_MONOTONIC);

	open_device(1, 4096);
	while (work_now_ns(CLOCK_MONOTONIC) - begin < ms * 1000000) {
		for (int i = 0; i < 4; i++)
			launch(queues[0], 256, 64);
		work_check(clFinish(queues[0]), "finish");
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	size_t numbers[3] = {0};

	for (int i = 2; i < argc && i < 5; i++)
		numbers[i - 2] = (size_t)strtoull(argv[i], NULL, 10);
	if (!strcmp(mode, "turns"))
		copies((int)numbers[0], numbers[1], 0, CL_FALSE);
	else if (!strcmp(mode, "beside"))
		copies((int)numbers[0], numbers[1], 1, CL_FALSE);
	else if (!strcmp(mode, "sync"))
		copies((int)numbers[0], numbers[1], 0, CL_TRUE);
	else if (!strcmp(mode, "queues") && numbers[0] <= MAX_QUEUES)
		many_queues((int)numbers[0], (int)numbers[1]);
	else if (!strcmp(mode, "kernels"))
		kernels((int)numbers[0], 64, 64);
	else if (!strcmp(mode, "grid"))
		kernels((int)numbers[2], numbers[0], numbers[1]);
	else if (!strcmp(mode, "compute"))
		computing((int)numbers[0], numbers[1] * 1000000);
	else if (!strcmp(mode, "busy"))
		busy(numbers[0]);
	else if (!strcmp(mode, "hog"))
		for (pin();;)
			sink++;
	else
		return 2;
	return 0;
}
