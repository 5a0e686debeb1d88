/* SPDX-License-Identifier: MIT
 *
 * tests/programs/sim_extensions.c - uses what only the simulated driver has, and says how often
 *
 *	extensions        USM, semaphores and a command buffer, all fetched by address (the default)
 *	devices           five kernels on each device
 *	rounds N          N times: a kernel, a blocking read; 1 ms of sleep between
 *	burst N           N kernels, the events kept and released, one clFinish
 *	sleep             ten kernels on each of two queues, flush, 300 ms of sleep, one more call,
 *	                  _exit
 *	kernels N         N times: a kernel is made, launched, released
 *	live N            N kernels are made and launched, and live on
 *	queues N          N queues with a kernel each; then 1000 waits for an event of one of them
 *	threads N         N threads at once, three kernels each
 *	property          profiling is switched on for a queue that was made without
 *	full              fills the rings while the recorder is stopped; see below
 *	stuck             an out-of-order queue: 40 commands behind a closed gate, 60 free ones that
 *	                  are waited for one by one; killed with the gate still closed
 *
 * Output as tests/programs/counts.c: `launched N`, `command KIND N`, `call NAME N FAILED`; and of a
 * burst and of waits `time_ns N`, what it took of the program's time.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_NAMES = 64, MAX_DEVICES = 16, ITEMS = 1024 };

static struct {
	const char *name;
	unsigned int count;
} calls[MAX_NAMES], commands[MAX_NAMES];

static cl_platform_id platform;
static cl_device_id devices[MAX_DEVICES];
static cl_uint device_count;
static cl_context context;
static cl_program program;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffer;

static void add(const char *name, int is_command)
{
	for (int i = 0; i < MAX_NAMES; i++) {
		__auto_type row = is_command ? &commands[i] : &calls[i];

		if (row->name && strcmp(row->name, name) != 0)
			continue;
		row->name = name;
		row->count++;
		return;
	}
}

static void must(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "sim_extensions: %s: OpenCL error %d\n", what, status);
	exit(1);
}

#define CALL(name, ...)          (add(#name, 0), name(__VA_ARGS__))
#define MUST(name, ...)          must(CALL(name, __VA_ARGS__), #name)
#define COMMAND(kind, name, ...) (add(#kind, 1), MUST(name, __VA_ARGS__))

#define FETCH(name)                                                                         \
	name##_fn name =                                                                    \
		(name##_fn)CALL(clGetExtensionFunctionAddressForPlatform, platform, #name); \
	must(name ? CL_SUCCESS : CL_INVALID_OPERATION, #name)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static cl_command_queue create_queue(cl_device_id device, cl_command_queue_properties bits)
{
	const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, bits, 0};
	cl_int status;
	cl_command_queue made =
		CALL(clCreateCommandQueueWithProperties, context, device, list, &status);

	must(status, "clCreateCommandQueueWithProperties");
	return made;
}

static void open_all(void)
{
	const char *source = "kernel void scale(global float *x) { x[0] *= 2; }";
	cl_int status;

	MUST(clGetPlatformIDs, 1, &platform, NULL);
	MUST(clGetDeviceIDs, platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &device_count);
	context = CALL(clCreateContext, NULL, device_count, devices, NULL, NULL, &status);
	must(status, "clCreateContext");
	queue = create_queue(devices[0], 0);
	program = CALL(clCreateProgramWithSource, context, 1, &source, NULL, &status);
	must(status, "clCreateProgramWithSource");
	MUST(clBuildProgram, program, 0, NULL, "", NULL, NULL);
	kernel = CALL(clCreateKernel, program, "scale", &status);
	must(status, "clCreateKernel");
	buffer = CALL(clCreateBuffer, context, CL_MEM_READ_WRITE, 4 * ITEMS, NULL, &status);
	must(status, "clCreateBuffer");
	MUST(clSetKernelArg, kernel, 0, sizeof buffer, &buffer);
}

static void run_kernel(cl_command_queue on, cl_uint count, const cl_event *waits, cl_event *event)
{
	size_t size = ITEMS;

	COMMAND(kernel, clEnqueueNDRangeKernel, on, kernel, 1, NULL, &size, NULL, count, waits,
		event);
}

/* ---- extensions ---- */

static void use_usm(void)
{
	FETCH(clHostMemAllocINTEL);
	FETCH(clDeviceMemAllocINTEL);
	FETCH(clSharedMemAllocINTEL);
	FETCH(clMemFreeINTEL);
	FETCH(clMemBlockingFreeINTEL);
	FETCH(clGetMemAllocInfoINTEL);
	FETCH(clSetKernelArgMemPointerINTEL);
	FETCH(clEnqueueMemcpyINTEL);
	FETCH(clEnqueueMemFillINTEL);
	FETCH(clEnqueueMigrateMemINTEL);
	FETCH(clEnqueueMemAdviseINTEL);
	cl_int status = CL_SUCCESS, pattern = 7;
	size_t size = 0;
	int *host = CALL(clHostMemAllocINTEL, context, NULL, 4096, 0, &status);
	int *shared = CALL(clSharedMemAllocINTEL, context, devices[0], NULL, 4096, 0, &status);
	void *device = CALL(clDeviceMemAllocINTEL, context, devices[0], NULL, 4096, 0, &status);

	must(status, "USM");
	MUST(clGetMemAllocInfoINTEL, context, shared, CL_MEM_ALLOC_SIZE_INTEL, sizeof size, &size,
	     NULL);
	MUST(clSetKernelArgMemPointerINTEL, kernel, 0, device);
	COMMAND(fill, clEnqueueMemFillINTEL, queue, device, &pattern, sizeof pattern, 4096, 0, NULL,
		NULL);
	run_kernel(queue, 0, NULL, NULL);
	COMMAND(copy, clEnqueueMemcpyINTEL, queue, CL_FALSE, shared, device, 4096, 0, NULL, NULL);
	COMMAND(copy, clEnqueueMemcpyINTEL, queue, CL_TRUE, host, shared, 2048, 0, NULL, NULL);
	COMMAND(migrate, clEnqueueMigrateMemINTEL, queue, shared, 4096, 0, 0, NULL, NULL);
	COMMAND(other, clEnqueueMemAdviseINTEL, queue, shared, 4096, 0, 0, NULL, NULL);
	MUST(clFinish, queue);
	printf("check usm copied %d of %zu bytes\n", host[511], size);
	MUST(clMemFreeINTEL, context, host);
	MUST(clMemFreeINTEL, context, shared);
	MUST(clMemBlockingFreeINTEL, context, device);
	MUST(clSetKernelArg, kernel, 0, sizeof buffer, &buffer);
}

static void use_semaphores(void)
{
	FETCH(clCreateSemaphoreWithPropertiesKHR);
	FETCH(clEnqueueSignalSemaphoresKHR);
	FETCH(clEnqueueWaitSemaphoresKHR);
	FETCH(clReleaseSemaphoreKHR);
	const cl_semaphore_properties_khr list[] = {CL_SEMAPHORE_TYPE_KHR,
						    CL_SEMAPHORE_TYPE_BINARY_KHR, 0};
	cl_command_queue other = create_queue(devices[0], 0);
	cl_int status;
	cl_semaphore_khr semaphore =
		CALL(clCreateSemaphoreWithPropertiesKHR, context, list, &status);

	must(status, "clCreateSemaphoreWithPropertiesKHR");
	run_kernel(queue, 0, NULL, NULL);
	COMMAND(semaphore, clEnqueueSignalSemaphoresKHR, queue, 1, &semaphore, NULL, 0, NULL, NULL);
	COMMAND(semaphore, clEnqueueWaitSemaphoresKHR, other, 1, &semaphore, NULL, 0, NULL, NULL);
	run_kernel(other, 0, NULL, NULL);
	MUST(clFinish, other);
	MUST(clFinish, queue);
	MUST(clReleaseSemaphoreKHR, semaphore);
	MUST(clReleaseCommandQueue, other);
}

static void use_command_buffer(void)
{
	FETCH(clCreateCommandBufferKHR);
	FETCH(clCommandNDRangeKernelKHR);
	FETCH(clFinalizeCommandBufferKHR);
	FETCH(clEnqueueCommandBufferKHR);
	FETCH(clReleaseCommandBufferKHR);
	size_t size = ITEMS;
	cl_int status;
	cl_command_buffer_khr graph = CALL(clCreateCommandBufferKHR, 1, &queue, NULL, &status);

	must(status, "clCreateCommandBufferKHR");
	for (int i = 0; i < 3; i++)
		MUST(clCommandNDRangeKernelKHR, graph, NULL, NULL, kernel, 1, NULL, &size, NULL, 0,
		     NULL, NULL, NULL);
	MUST(clFinalizeCommandBufferKHR, graph);
	COMMAND(graph, clEnqueueCommandBufferKHR, 0, NULL, graph, 0, NULL, NULL);
	COMMAND(graph, clEnqueueCommandBufferKHR, 1, &queue, graph, 0, NULL, NULL);
	MUST(clFinish, queue);
	MUST(clReleaseCommandBufferKHR, graph);
}

static void do_extensions(unsigned int number)
{
	use_usm();
	use_semaphores();
	use_command_buffer();
}

/* ---- the others ---- */

static void do_devices(unsigned int number)
{
	for (cl_uint i = 0; i < device_count; i++) {
		cl_command_queue one = create_queue(devices[i], 0);

		for (int k = 0; k < 5; k++)
			run_kernel(one, 0, NULL, NULL);
		MUST(clFinish, one);
	}
}

static void do_rounds(unsigned int number)
{
	const struct timespec pause = {0, 1000000};
	float value;

	for (unsigned int i = 0; i < number; i++) {
		run_kernel(queue, 0, NULL, NULL);
		COMMAND(read, clEnqueueReadBuffer, queue, buffer, CL_TRUE, 0, sizeof value, &value,
			0, NULL, NULL);
		nanosleep(&pause, NULL);
	}
}

static void do_burst(unsigned int number)
{
	for (unsigned int i = 0; i < number; i++)
		run_kernel(queue, 0, NULL, NULL);
	MUST(clFinish, queue);
}

static void print_all(uint64_t begin_ns)
{
	unsigned int launched = 0;

	for (int i = 0; i < MAX_NAMES; i++)
		launched += commands[i].count;
	printf("launched %u\n", launched);
	for (int i = 0; i < MAX_NAMES && commands[i].name; i++)
		printf("command %s %u\n", commands[i].name, commands[i].count);
	for (int i = 0; i < MAX_NAMES && calls[i].name; i++)
		printf("call %s %u 0\n", calls[i].name, calls[i].count);
	if (begin_ns)
		printf("time_ns %llu\n", (unsigned long long)(now_ns() - begin_ns));
	fflush(stdout);
}

static void do_sleep(unsigned int number)
{
	const struct timespec pause = {0, 300000000};
	cl_command_queue other = create_queue(devices[0], 0);

	for (int i = 0; i < 10; i++) {
		run_kernel(queue, 0, NULL, NULL);
		run_kernel(other, 0, NULL, NULL);
	}
	MUST(clFlush, queue);
	MUST(clFlush, other);
	nanosleep(&pause, NULL);
	MUST(clRetainContext, context);
	print_all(0);
	_exit(0);
}

static void do_stuck(unsigned int number)
{
	cl_command_queue free_queue =
		create_queue(devices[0], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_int status;
	cl_event gate = CALL(clCreateUserEvent, context, &status), event;

	must(status, "clCreateUserEvent");
	for (int i = 0; i < 40; i++)
		run_kernel(free_queue, 1, &gate, NULL);
	for (int i = 0; i < 60; i++) {
		run_kernel(free_queue, 0, NULL, &event);
		MUST(clWaitForEvents, 1, &event);
		MUST(clReleaseEvent, event);
	}
	/* on a busy machine the last one's end may not have been looked at yet: who slept has time
	 * for it */
	usleep(50000);
	MUST(clFlush, free_queue);
	print_all(0);
	kill(getpid(), SIGKILL);
}

/* ---- many objects ---- */

static cl_kernel make_kernel(void)
{
	cl_int status;
	cl_kernel made = CALL(clCreateKernel, program, "scale", &status);

	must(status, "clCreateKernel");
	MUST(clSetKernelArg, made, 0, sizeof buffer, &buffer);
	return made;
}

static void do_kernels(unsigned int number)
{
	for (unsigned int i = 0; i < number; i++) {
		MUST(clReleaseKernel, kernel);
		kernel = make_kernel();
		run_kernel(queue, 0, NULL, NULL);
		if (i % 1000 == 999)
			MUST(clFinish, queue);
	}
	MUST(clFinish, queue);
}

static void do_live(unsigned int number)
{
	for (unsigned int i = 0; i < number; i++) {
		kernel = make_kernel();
		run_kernel(queue, 0, NULL, NULL);
		if (i % 1000 == 999)
			MUST(clFinish, queue);
	}
	MUST(clFinish, queue);
}

static uint64_t waits_ns;

static void do_queues(unsigned int number)
{
	cl_event event;

	for (unsigned int i = 0; i < number; i++) {
		cl_command_queue one = create_queue(devices[0], 0);

		run_kernel(one, 0, NULL, NULL);
		MUST(clFinish, one);
	}
	for (int i = 0; i < 1000; i++) {
		uint64_t begin_ns;

		run_kernel(queue, 0, NULL, &event);
		MUST(clFinish, queue);
		begin_ns = now_ns();
		MUST(clWaitForEvents, 1, &event); /* of what is over */
		waits_ns += now_ns() - begin_ns;
		MUST(clReleaseEvent, event);
	}
}

static pthread_barrier_t barrier;

/* Not counted here: several threads at once. */
static void *launch_three(void *unused)
{
	size_t size = ITEMS;

	(void)unused;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++)
		must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL),
		     "clEnqueueNDRangeKernel");
	pthread_barrier_wait(
		&barrier); /* none ends, and leaves its ring, before all have launched */
	return NULL;
}

static void do_threads(unsigned int number)
{
	pthread_t *threads = calloc(number, sizeof *threads);

	pthread_barrier_init(&barrier, NULL, number);
	for (unsigned int i = 0; i < number; i++)
		must(pthread_create(&threads[i], NULL, launch_three, NULL), "pthread_create");
	for (unsigned int i = 0; i < number; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < 3 * number; i++)
		add("kernel", 1);
	MUST(clFinish, queue);
	free(threads);
}

/* ---- changes ---- */

static void expect(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "sim_extensions: %s\n", what);
	exit(1);
}

static void do_property(unsigned int number)
{
	cl_command_queue_properties old = 77;
	cl_ulong started = 0;
	cl_event event;

	(void)number;
	run_kernel(queue, 0, NULL, NULL);
	MUST(clSetCommandQueueProperty, queue, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, &old);
	expect(old == 0, "the old properties are not those asked for");
	run_kernel(queue, 0, NULL, &event);
	MUST(clWaitForEvents, 1, &event);
	MUST(clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_START, sizeof started, &started,
	     NULL);
	expect(started != 0, "no time stamp");
	MUST(clGetCommandQueueInfo, queue, CL_QUEUE_PROPERTIES, sizeof old, &old, NULL);
	expect(old == CL_QUEUE_PROFILING_ENABLE, "the properties are not those set");
	MUST(clReleaseEvent, event);
}

/* Says where it is, and goes on when it is told to. */
static void meet(const char *where)
{
	char line[16];

	printf("%s\n", where);
	fflush(stdout);
	expect(fgets(line, sizeof line, stdin) != NULL, "nobody says go on");
}

/* With the recorder stopped from "begun" to "filled": everything between is lost, and with it the
 * first description of a queue and a kernel that go on being used. */
static void do_full(unsigned int number)
{
	cl_uint count;

	(void)number;
	run_kernel(queue, 0, NULL, NULL);
	MUST(clFinish, queue);
	meet("begun");
	for (int i = 0; i < 300000; i++)
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
	queue = create_queue(devices[0], 0);
	kernel = make_kernel();
	for (int i = 0; i < 5; i++)
		run_kernel(queue, 0, NULL, NULL);
	meet("filled");
	for (int i = 0; i < 10; i++)
		run_kernel(queue, 0, NULL, NULL);
	MUST(clFinish, queue);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(unsigned int number);
	} modes[] = {
		{"extensions", do_extensions}, {"devices", do_devices},   {"rounds", do_rounds},
		{"burst", do_burst},           {"sleep", do_sleep},       {"stuck", do_stuck},
		{"kernels", do_kernels},       {"live", do_live},         {"queues", do_queues},
		{"threads", do_threads},       {"property", do_property}, {"full", do_full}};
	unsigned int number = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 1;
	uint64_t begin_ns;

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		if (strcmp(argc > 1 ? argv[1] : "extensions", modes[i].name) != 0)
			continue;
		open_all();
		begin_ns = modes[i].run == do_burst ? now_ns() : 0;
		modes[i].run(number);
		print_all(waits_ns ? now_ns() - waits_ns : begin_ns);
		return 0;
	}
	fprintf(stderr, "sim_extensions: no mode '%s'\n", argv[1]);
	return 2;
}
