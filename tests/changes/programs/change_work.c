/* SPDX-License-Identifier: MIT
 *
 * tests/changes/programs/change_work.c - a loop of OpenCL work with one planted change
 *
 *	change_work [VARIANT [ITERATIONS]]
 *
 * An iteration is a non-blocking write, host work that overlaps it, the kernels prepare and update
 * from one function and finish from another one, a blocking read, a lock that another thread holds,
 * and host work. VARIANT is base or the name of a change in `variants`. The program measures its
 *times with CLOCK_MONOTONIC, those of kernels with the driver's timestamps, and prints their sums
 *as one line of JSON.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum {
	ITERATIONS = 100,
	COUNT = 1 << 14,    /* work items */
	PREPARE_LOOPS = 30, /* of a work item */
	UPDATE_LOOPS = 100, /* some 1 ms on two processors */
	SLOW_LOOPS = 103,   /* 3 % more */
	FINISH_LOOPS = 30,
	WRITE_BYTES = 2 << 20, /* 260 µs at 8 GB/s */
	ARGUMENTS_NS = 800000, /* host work beside the write; longer than the write */
	HOST_NS = 300000,      /* host work while the device idles */
	SLEEP_NS = 2000000,
	HOLD_NS = 300000, /* the other thread holds the lock */
	LONGER_HOLD_NS = 1300000,
};

struct variant {
	const char *name;
	const char *prepare, *update, *second, *finish; /* kernels; NULL: not launched */
	int update_loops, second_loops;
	cl_bool is_blocking;
	uint64_t sleep_ns, hold_ns;
};

#define VARIANT(label, ...)                                                                  \
	{                                                                                    \
		.name = label, .prepare = "prepare", .update = "update", .finish = "finish", \
		.update_loops = UPDATE_LOOPS, .hold_ns = HOLD_NS, __VA_ARGS__                \
	}

#pragma GCC diagnostic ignored "-Woverride-init"
static const struct variant variants[] = {
	VARIANT("base", .sleep_ns = 0),
	VARIANT("slow_kernel", .update_loops = SLOW_LOOPS),
	VARIANT("more_launches", .second = "update", .second_loops = UPDATE_LOOPS),
	VARIANT("sleep", .sleep_ns = SLEEP_NS),
	VARIANT("blocking_copy", .is_blocking = CL_TRUE),
	VARIANT("lock", .hold_ns = LONGER_HOLD_NS),
	VARIANT("rename", .update = "advance"),
	VARIANT("split", .update = "update_low", .update_loops = UPDATE_LOOPS / 2,
		.second = "update_high", .second_loops = UPDATE_LOOPS / 2),
	VARIANT("fuse", .prepare = NULL, .update = "prepare_update",
		.update_loops = UPDATE_LOOPS + PREPARE_LOOPS),
	VARIANT("fuse_apart", .update = "update_finish", .finish = NULL,
		.update_loops = UPDATE_LOOPS + FINISH_LOOPS),
};

static struct {
	const struct variant *variant;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel prepare, update, second, finish;
	cl_mem data, input;
	float *host_data, *host_input;
	pthread_mutex_t lock;
	sem_t start, hold;
	int schedstat; /* of the main thread */
	bool is_over;  /* written before `start` is posted */
} work = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Sums over the run. */
static struct {
	uint64_t kernels_ns; /* all of them */
	uint64_t update_ns;  /* update, or what replaces it */
	uint64_t update_count;
	struct span {
		uint64_t ns, delay_ns; /* wall time; the part of it that waited for a processor */
	} write, sleep, lock;
	uint64_t loop_ns;
} truth;

/* Macros: a function here would be the innermost one of the program's own. */
#define now_ns()                                                                         \
	({                                                                               \
		struct timespec clock_now;                                               \
		clock_gettime(CLOCK_MONOTONIC, &clock_now);                              \
		(uint64_t) clock_now.tv_sec * 1000000000u + (uint64_t)clock_now.tv_nsec; \
	})
#define compute_ns(ns)                                        \
	({                                                    \
		const uint64_t compute_end = now_ns() + (ns); \
		while (now_ns() < compute_end)                \
			;                                     \
	})

/* Time for which this thread was ready and waited for a processor. */
static uint64_t waited_ns(void)
{
	char text[96];
	ssize_t length = pread(work.schedstat, text, sizeof(text) - 1, 0);
	unsigned long long ns = 0;

	if (length <= 0)
		return 0;
	text[length] = '\0';
	sscanf(text, "%*u %llu", &ns);
	return ns;
}

static struct span begin_span(void)
{
	const uint64_t delay_ns = waited_ns();

	return (struct span){now_ns(), delay_ns};
}

static void end_span(const struct span *begin, struct span *sum)
{
	sum->ns += now_ns() - begin->ns;
	sum->delay_ns += waited_ns() - begin->delay_ns;
}

static void check(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "change_work: %s: OpenCL error %d\n", what, status);
	exit(99);
}

/* ---- opening ------------------------------------------------------------------------------- */

#define KERNEL(name)                                            \
	"kernel void " name "(global float *x, int n) {\n"      \
	"	float v = x[get_global_id(0)];\n"                     \
	"	for (int i = 0; i < n; i++) v = v * 0.999f + 0.5f;\n" \
	"	x[get_global_id(0)] = v;\n"                           \
	"}\n"

static const char *const source =
	KERNEL("prepare") KERNEL("update") KERNEL("finish") KERNEL("advance") KERNEL("update_low")
		KERNEL("update_high") KERNEL("prepare_update") KERNEL("update_finish");

static cl_kernel open_kernel(const char *name, cl_int loops)
{
	cl_int status;
	cl_kernel kernel = name ? clCreateKernel(work.program, name, &status) : NULL;

	if (!kernel)
		return NULL;
	check(status, name);
	check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &work.data), "argument");
	check(clSetKernelArg(kernel, 1, sizeof(loops), &loops), "argument");
	return kernel;
}

static cl_mem open_buffer(size_t bytes)
{
	cl_int status;
	cl_mem buffer = clCreateBuffer(work.context, CL_MEM_READ_WRITE, bytes, NULL, &status);

	check(status, "clCreateBuffer");
	return buffer;
}

static void open_device(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int status;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	work.context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	check(status, "clCreateContext");
	work.queue = clCreateCommandQueue(work.context, device, CL_QUEUE_PROFILING_ENABLE, &status);
	check(status, "clCreateCommandQueue");
	work.program =
		clCreateProgramWithSource(work.context, 1, (const char **)&source, NULL, &status);
	check(status, "clCreateProgramWithSource");
	check(clBuildProgram(work.program, 0, NULL, "", NULL, NULL), "clBuildProgram");
	work.data = open_buffer(COUNT * sizeof(float));
	work.input = open_buffer(WRITE_BYTES);
	work.host_data = calloc(COUNT, sizeof(float));
	work.host_input = calloc(1, WRITE_BYTES);
	if (!work.host_data || !work.host_input)
		exit(99);
	memset(work.host_input, 1, WRITE_BYTES);
	work.prepare = open_kernel(work.variant->prepare, PREPARE_LOOPS);
	work.update = open_kernel(work.variant->update, work.variant->update_loops);
	work.second = open_kernel(work.variant->second, work.variant->second_loops);
	work.finish = open_kernel(work.variant->finish, FINISH_LOOPS);
}

/* ---- the other thread ---------------------------------------------------------------------- */

static NOINLINE void hold_lock(void)
{
	struct timespec time = {0, (long)work.variant->hold_ns};

	pthread_mutex_lock(&work.lock);
	sem_wait(&work.hold);
	nanosleep(&time, NULL);
	pthread_mutex_unlock(&work.lock);
}

static void *other_thread(void *unused)
{
	(void)unused;
	for (sem_wait(&work.start); !work.is_over; sem_wait(&work.start))
		hold_lock();
	return NULL;
}

/* The other thread took the lock while the device worked, so this one always waits. */
static NOINLINE void take_lock(void)
{
	const struct span begin = begin_span();

	sem_post(&work.hold);
	pthread_mutex_lock(&work.lock);
	end_span(&begin, &truth.lock);
	pthread_mutex_unlock(&work.lock);
}

/* ---- an iteration -------------------------------------------------------------------------- */

enum { PREPARE, UPDATE, SECOND, FINISH, EVENTS };

static void launch(cl_kernel kernel, cl_event *ret_event)
{
	const size_t size = COUNT, group = 256;

	if (kernel)
		check(clEnqueueNDRangeKernel(work.queue, kernel, 1, NULL, &size, &group, 0, NULL,
					     ret_event),
		      "launch");
}

static NOINLINE void launch_update(cl_event events[EVENTS])
{
	launch(work.prepare, &events[PREPARE]);
	launch(work.update, &events[UPDATE]);
	launch(work.second, &events[SECOND]);
}

static NOINLINE void launch_finish(cl_event events[EVENTS])
{
	launch(work.finish, &events[FINISH]);
	check(clFlush(work.queue), "flush");
}

static NOINLINE void write_input(void)
{
	const struct span begin = begin_span();

	check(clEnqueueWriteBuffer(work.queue, work.input, work.variant->is_blocking, 0,
				   WRITE_BYTES, work.host_input, 0, NULL, NULL),
	      "write");
	check(clFlush(work.queue), "flush");
	end_span(&begin, &truth.write);
}

static NOINLINE void read_output(void)
{
	check(clEnqueueReadBuffer(work.queue, work.data, CL_TRUE, 0, COUNT * sizeof(float),
				  work.host_data, 0, NULL, NULL),
	      "read");
}

static NOINLINE void fill_arguments(void)
{
	compute_ns(ARGUMENTS_NS);
}

static NOINLINE void host_work(void)
{
	compute_ns(HOST_NS);
}

static NOINLINE void sleep_before_launch(void)
{
	const struct span begin = begin_span();
	struct timespec time = {0, (long)work.variant->sleep_ns};

	nanosleep(&time, NULL);
	end_span(&begin, &truth.sleep);
}

static uint64_t duration_ns(cl_event event)
{
	cl_ulong begin, end;

	check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(begin), &begin,
				      NULL),
	      "start");
	check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL),
	      "end");
	check(clReleaseEvent(event), "event");
	return end - begin;
}

static void add_kernels(cl_event events[EVENTS])
{
	for (unsigned int i = 0; i < EVENTS; i++) {
		const uint64_t ns = events[i] ? duration_ns(events[i]) : 0;
		const bool is_update = i == UPDATE || i == SECOND;

		truth.kernels_ns += ns;
		truth.update_ns += is_update ? ns : 0;
		truth.update_count += is_update && events[i];
	}
}

static NOINLINE void iterate(void)
{
	cl_event events[EVENTS] = {NULL};

	write_input();
	fill_arguments();
	if (work.variant->sleep_ns)
		sleep_before_launch();
	launch_update(events);
	launch_finish(events);
	sem_post(&work.start);
	read_output();
	take_lock();
	host_work();
	add_kernels(events);
}

static void print_span(const char *name, const struct span *span)
{
	printf("\"%s_ns\": %llu, \"%s_delay_ns\": %llu, ", name, (unsigned long long)span->ns, name,
	       (unsigned long long)span->delay_ns);
}

static void print_truth(unsigned int iterations)
{
	printf("{\"variant\": \"%s\", \"iterations\": %u, ", work.variant->name, iterations);
	print_span("write", &truth.write);
	print_span("sleep", &truth.sleep);
	print_span("lock", &truth.lock);
	printf("\"kernels_ns\": %llu, \"update_ns\": %llu, \"update_count\": %llu, \"loop_ns\": "
	       "%llu}\n",
	       (unsigned long long)truth.kernels_ns, (unsigned long long)truth.update_ns,
	       (unsigned long long)truth.update_count, (unsigned long long)truth.loop_ns);
}

static const struct variant *find_variant(const char *name)
{
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		if (strcmp(variants[i].name, name) == 0)
			return &variants[i];
	fprintf(stderr, "change_work: no variant %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	const unsigned int iterations = argc > 2 ? (unsigned int)atoi(argv[2]) : ITERATIONS;
	pthread_t other;
	uint64_t begin;

	work.schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	work.variant = find_variant(argc > 1 ? argv[1] : "base");
	open_device();
	sem_init(&work.start, 0, 0);
	sem_init(&work.hold, 0, 0);
	if (pthread_create(&other, NULL, other_thread, NULL))
		return 99;
	begin = now_ns();
	for (unsigned int i = 0; i < iterations; i++)
		iterate();
	truth.loop_ns = now_ns() - begin;
	work.is_over = true;
	sem_post(&work.start);
	pthread_join(other, NULL);
	print_truth(iterations);
	return 0;
}
