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
 *	planted compute N MS [1]   N times a kernel that is waited for, and MS of processor time
 *	                           below compute; with PLANTED_CPU on that processor only. 1: all
 *	                           kernels are launched first and waited for last. Prints how long
 *	                           compute took, and how much of that the thread was not on a
 *	                           processor.
 *	planted rest N MS [1]      the same with MS of sleep below rest
 *	planted pieces N BYTES     N writes that are not waited for
 *	planted builds N NEW       N times a kernel that is waited for; NEW of them, the first ones,
 *	                           are built before
 *	planted type NAME          builds a program whose kernel takes pointers to this type
 *	planted tries N GLOBAL LOCAL     N kernels as in grid; the results of the calls are ignored
 *	planted buffers N BYTES    makes a buffer and releases it, N times
 *	planted pauses N MS EVERY  N times a kernel that is waited for, MS of sleep before every
 *	                           EVERYth, 0 for no sleep; prints the median and 99th percentile of
 *	                           the latencies of the driver
 *	planted hog                spins on PLANTED_CPU until it is killed
 *	planted busy MS            kernels that compute, one after another, for so long; with the
 *	                           path of a FIFO in PLANTED_READ or PLANTED_WRITE it begins when
 *	                           another one has the other end
 *
 * PLANTED_URGENT=1 takes a real-time priority, which keeps ordinary programs off its processor.
 * Those whose times depend on the device want the simulated driver, whose times are told to it.
 */
#include "opencl_work.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* FULL: work items that fill the simulated device. It executes none of them. */
enum { MAX_QUEUES = 32, FULL = 16384 };

static cl_context context;
static cl_device_id device;
static cl_command_queue queues[MAX_QUEUES];
static cl_command_queue_properties queue_properties;
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

/* With PLANTED_URGENT no thread of an ordinary program preempts this one. Needs root. */
static void hurry(void)
{
	const struct sched_param first = {.sched_priority = 1};

	if (getenv("PLANTED_URGENT") && sched_setscheduler(0, SCHED_FIFO, &first))
		perror("planted: sched_setscheduler");
}

static __attribute__((noinline)) cl_int build(const char *source, const char *options,
					      cl_program *ret_program)
{
	cl_int status;

	*ret_program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
	work_check(status, "program");
	return clBuildProgram(*ret_program, 1, &device, options, NULL, NULL);
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
		queues[i] = clCreateCommandQueue(context, device, queue_properties, &status);
		work_check(status, "queue");
	}
	work_check(build(source, NULL, &program), "build");
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
		launch(queues[0], FULL, 64);
	}
	for (int i = 0; i <= place; i++)
		work_check(clFinish(queues[i]), "finish");
}

static void many_queues(int count, int turns)
{
	open_device(count, 4096);
	for (int turn = 0; turn < turns; turn++) {
		for (int i = 0; i < count; i++)
			launch(queues[i], FULL, 64);
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

/* Kernels, with a wait after each `every` of them. */
static __attribute__((noinline)) void waits(int count, int every, size_t global)
{
	open_device(1, 4 * global);
	for (int i = 1; i <= count; i++) {
		launch(queues[0], global, 64);
		if (i % every == 0)
			work_check(clFinish(queues[0]), "finish");
	}
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

static __attribute__((noinline)) void rest(uint64_t ns)
{
	const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	nanosleep(&time, NULL);
}

/* Kernels, and something else between two of them, or while they run. */
static void rounds(int count, uint64_t ns, bool is_ahead, void (*between)(uint64_t ns))
{
	uint64_t wall = 0, cpu = 0;

	pin();
	open_device(1, 4096);
	for (int i = 0; is_ahead && i < count; i++)
		launch(queues[0], FULL, 64);
	for (int i = 0; i < count; i++) {
		uint64_t wall_begin, cpu_begin;

		if (!is_ahead) {
			launch(queues[0], FULL, 64);
			work_check(clFinish(queues[0]), "finish");
		}
		wall_begin = work_now_ns(CLOCK_MONOTONIC);
		cpu_begin = work_now_ns(CLOCK_THREAD_CPUTIME_ID);
		between(ns);
		cpu += work_now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_begin;
		wall += work_now_ns(CLOCK_MONOTONIC) - wall_begin;
	}
	if (!is_ahead)
		launch(queues[0], FULL, 64);
	work_check(clFinish(queues[0]), "finish");
	printf("%s %llu\naway %llu\n", between == compute ? "compute" : "rest",
	       (unsigned long long)wall, (unsigned long long)(wall - cpu));
}

static void pieces(int count, size_t size)
{
	open_device(1, size);
	for (int i = 0; i < count; i++)
		work_check(clEnqueueWriteBuffer(queues[0], memory, CL_FALSE, 0, size, bytes, 0,
						NULL, NULL),
			   "write");
	work_check(clFinish(queues[0]), "finish");
}

/* ---- builds, launches and allocations that may fail ------------------------------------------ */

static cl_int build_typed(const char *options)
{
	const char *source = "kernel void typed(global TYPE *x, int n) {\n"
			     "	x[get_global_id(0)] += n;\n"
			     "}\n";
	cl_program program;

	return build(source, options, &program);
}

static void builds(int count, int fresh)
{
	open_device(1, 4096);
	for (int i = 0; i < count; i++) {
		char options[64];

		snprintf(options, sizeof(options), "-DTYPE=int -DNUMBER=%d", i);
		if (i < fresh)
			work_check(build_typed(options), "build");
		launch(queues[0], 64, 64);
		work_check(clFinish(queues[0]), "finish");
	}
}

static void build_type(const char *name)
{
	char options[64];

	open_device(1, 4096);
	snprintf(options, sizeof(options), "-DTYPE=%s", name);
	printf("build %d\n", build_typed(options));
	launch(queues[0], 64, 64);
	work_check(clFinish(queues[0]), "finish");
}

static __attribute__((noinline)) int try_launch(size_t global, size_t local)
{
	return clEnqueueNDRangeKernel(queues[0], kernel, 1, NULL, &global, &local, 0, NULL, NULL);
}

static void tries(int count, size_t global, size_t local)
{
	int failed = 0;

	open_device(1, 4 * global);
	for (int i = 0; i < count; i++)
		failed += try_launch(global, local) != CL_SUCCESS;
	work_check(clFinish(queues[0]), "finish");
	printf("failed %d\n", failed);
}

static __attribute__((noinline)) cl_mem try_buffer(size_t size)
{
	cl_int status;

	return clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);
}

static void buffers(int count, size_t size)
{
	int failed = 0;

	open_device(1, 4096);
	for (int i = 0; i < count; i++) {
		cl_mem buffer = try_buffer(size);

		failed += !buffer;
		if (buffer)
			clReleaseMemObject(buffer);
	}
	launch(queues[0], 64, 64);
	work_check(clFinish(queues[0]), "finish");
	printf("failed %d\n", failed);
}

/* ---- a device that dozes --------------------------------------------------------------------- */

static uint64_t launch_timed(void)
{
	const size_t global = FULL, local = 64;
	cl_ulong queued = 0, started = 0;
	cl_event event;

	work_check(clEnqueueNDRangeKernel(queues[0], kernel, 1, NULL, &global, &local, 0, NULL,
					  &event),
		   "launch");
	work_check(clFinish(queues[0]), "finish");
	work_check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof(queued),
					   &queued, NULL),
		   "queued");
	work_check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(started),
					   &started, NULL),
		   "started");
	clReleaseEvent(event);
	return started - queued;
}

static int compare_ns(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static void pauses(int count, uint64_t ns, int every)
{
	enum { MAX_LAUNCHES = 1000 };
	static uint64_t latencies[MAX_LAUNCHES];

	queue_properties = CL_QUEUE_PROFILING_ENABLE;
	open_device(1, 4096);
	for (int i = 0; i < count; i++) {
		if (every && i % every == every - 1)
			rest(ns);
		latencies[i] = launch_timed();
	}
	qsort(latencies, (size_t)count, sizeof(latencies[0]), compare_ns);
	printf("median %llu\np99 %llu\n", (unsigned long long)latencies[count / 2],
	       (unsigned long long)latencies[count * 99 / 100]);
}

/* Opening a FIFO lasts until another process opens its other end. */
static void meet(const char *path, int flags)
{
	const int fd = path ? open(path, flags) : -1;

	if (path && fd < 0) {
		perror(path);
		exit(1);
	}
	if (fd >= 0)
		close(fd);
}

static void busy(uint64_t ms)
{
	uint64_t begin;

	open_device(1, 4096);
	meet(getenv("PLANTED_READ"), O_RDONLY);
	meet(getenv("PLANTED_WRITE"), O_WRONLY);
	begin = work_now_ns(CLOCK_MONOTONIC);
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

	hurry();
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
		kernels((int)numbers[0], FULL, 64);
	else if (!strcmp(mode, "waits") && numbers[1])
		waits((int)numbers[0], (int)numbers[1], numbers[2]);
	else if (!strcmp(mode, "grid"))
		kernels((int)numbers[2], numbers[0], numbers[1]);
	else if (!strcmp(mode, "compute"))
		rounds((int)numbers[0], numbers[1] * 1000000, numbers[2], compute);
	else if (!strcmp(mode, "rest"))
		rounds((int)numbers[0], numbers[1] * 1000000, numbers[2], rest);
	else if (!strcmp(mode, "pieces"))
		pieces((int)numbers[0], numbers[1]);
	else if (!strcmp(mode, "builds"))
		builds((int)numbers[0], (int)numbers[1]);
	else if (!strcmp(mode, "type") && argc > 2)
		build_type(argv[2]);
	else if (!strcmp(mode, "tries"))
		tries((int)numbers[0], numbers[1], numbers[2]);
	else if (!strcmp(mode, "buffers"))
		buffers((int)numbers[0], numbers[1]);
	else if (!strcmp(mode, "pauses") && numbers[0] <= 1000)
		pauses((int)numbers[0], numbers[1] * 1000000, (int)numbers[2]);
	else if (!strcmp(mode, "busy"))
		busy(numbers[0]);
	else if (!strcmp(mode, "hog"))
		for (pin();;)
			sink++;
	else
		return 2;
	return 0;
}
