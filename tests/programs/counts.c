/* SPDX-License-Identifier: MIT
 *
 * tests/programs/counts.c - does a known number of everything with OpenCL and says how many
 *
 * The core is always the same: 23 kernels, 7 writes, 5 reads and 3 fills on two queues, and 101
 * calls of clGetPlatformIDs. Options change how it is done (threads, contexts, blocking, events,
 * the way it ends) or add commands of other kinds. Every call goes through CALL(), which counts it,
 * so that the printed totals are what the program did and not what its author believes.
 *
 * Output, sorted, one fact a line:
 *	launched N                     commands that were put into a queue
 *	command KIND N                 ... by kind
 *	bytes KIND N                   ... bytes of reads and writes
 *	call NAME N FAILED             calls by name
 *	extension NAME N               calls through clGetExtensionFunctionAddressForPlatform
 * and lines of the checks that an option asks for.
 *
 * Built twice: linked to the OpenCL library, and with COUNTS_DLOPEN and --dlopen=PATH not linked.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <dlfcn.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTIONS(X)                                \
	X(clGetPlatformIDs)                         \
	X(clGetDeviceIDs)                           \
	X(clGetDeviceInfo)                          \
	X(clCreateContext)                          \
	X(clReleaseContext)                         \
	X(clCreateCommandQueue)                     \
	X(clCreateCommandQueueWithProperties)       \
	X(clReleaseCommandQueue)                    \
	X(clGetCommandQueueInfo)                    \
	X(clCreateProgramWithSource)                \
	X(clBuildProgram)                           \
	X(clReleaseProgram)                         \
	X(clCreateKernel)                           \
	X(clReleaseKernel)                          \
	X(clSetKernelArg)                           \
	X(clCreateBuffer)                           \
	X(clCreateImage)                            \
	X(clReleaseMemObject)                       \
	X(clCreateUserEvent)                        \
	X(clSetUserEventStatus)                     \
	X(clSetEventCallback)                       \
	X(clWaitForEvents)                          \
	X(clReleaseEvent)                           \
	X(clGetEventInfo)                           \
	X(clGetEventProfilingInfo)                  \
	X(clFlush)                                  \
	X(clFinish)                                 \
	X(clSVMAlloc)                               \
	X(clSVMFree)                                \
	X(clGetExtensionFunctionAddressForPlatform) \
	X(clEnqueueNDRangeKernel)                   \
	X(clEnqueueTask)                            \
	X(clEnqueueWriteBuffer)                     \
	X(clEnqueueReadBuffer)                      \
	X(clEnqueueCopyBuffer)                      \
	X(clEnqueueFillBuffer)                      \
	X(clEnqueueWriteBufferRect)                 \
	X(clEnqueueReadBufferRect)                  \
	X(clEnqueueCopyBufferRect)                  \
	X(clEnqueueMapBuffer)                       \
	X(clEnqueueMapImage)                        \
	X(clEnqueueUnmapMemObject)                  \
	X(clEnqueueWriteImage)                      \
	X(clEnqueueReadImage)                       \
	X(clEnqueueCopyImage)                       \
	X(clEnqueueCopyImageToBuffer)               \
	X(clEnqueueCopyBufferToImage)               \
	X(clEnqueueFillImage)                       \
	X(clEnqueueMigrateMemObjects)               \
	X(clEnqueueMarkerWithWaitList)              \
	X(clEnqueueBarrierWithWaitList)             \
	X(clEnqueueNativeKernel)                    \
	X(clEnqueueSVMMemcpy)                       \
	X(clEnqueueSVMMemFill)                      \
	X(clEnqueueSVMMap)                          \
	X(clEnqueueSVMUnmap)                        \
	X(clEnqueueSVMFree)

#define EXTENSIONS(X)                 \
	X(clCreateCommandBufferKHR)   \
	X(clFinalizeCommandBufferKHR) \
	X(clReleaseCommandBufferKHR)  \
	X(clCommandNDRangeKernelKHR)  \
	X(clEnqueueCommandBufferKHR)

enum function_index {
#define X(name) INDEX_##name,
	FUNCTIONS(X) EXTENSIONS(X)
#undef X
		FUNCTION_COUNT
};

enum command {
	KERNEL,
	WRITE,
	READ,
	FILL,
	COPY,
	MAP,
	UNMAP,
	MIGRATE,
	BARRIER,
	MARKER,
	NATIVE,
	FREE,
	GRAPH
};
#define COMMAND_COUNT (GRAPH + 1)

static const char *const command_names[COMMAND_COUNT] = {
	"kernel",  "write",   "read",   "fill",   "copy", "map",  "unmap",
	"migrate", "barrier", "marker", "native", "free", "graph"};

static struct {
#define X(name) __typeof__(&name) name;
	FUNCTIONS(X)
#undef X
#define X(name) name##_fn name;
	EXTENSIONS(X)
#undef X
} functions;

static const char *const function_names[FUNCTION_COUNT] = {
#define X(name) #name,
	FUNCTIONS(X) EXTENSIONS(X)
#undef X
};

static struct {
	atomic_uint calls[FUNCTION_COUNT], failed[FUNCTION_COUNT];
	atomic_uint commands[COMMAND_COUNT];
	atomic_ullong bytes[COMMAND_COUNT];
} counted;

#define CALL(name, ...) \
	(atomic_fetch_add(&counted.calls[INDEX_##name], 1), functions.name(__VA_ARGS__))
#define MUST(name, ...)             must(CALL(name, __VA_ARGS__), #name)
/* A call that has to fail with this very error. */
#define MUST_FAIL(error, name, ...) must_fail(CALL(name, __VA_ARGS__), error, INDEX_##name)

#define CORE_COUNT     38
#define PLATFORM_CALLS 101
#define MAX_THREADS    64
#define MAX_CONTEXTS   8
#define ITEM_COUNT     1024
#define BUFFER_BYTES   (ITEM_COUNT * sizeof(cl_float))

enum ending { END_RETURN, END_UNDERSCORE, END_KILL, END_EXIT };

static struct {
	bool profiling, flush_sleep, in_flight, blocking, out_of_order, fail, user_event, native,
		map, rect, svm, command_buffer, image, other, quiet, check_properties, callback;
	unsigned int sleep_s, threads, contexts;
	const char *fork, *loaded;
	enum ending ending;
} options = {.threads = 1, .contexts = 1};

/* One context, its two queues and what the extra commands work on. */
struct site {
	cl_context context;
	cl_command_queue queues[2];
	cl_program program;
	cl_mem buffer, other;
	cl_event gate;
	bool opened; /* the gate */
	char host[BUFFER_BYTES];
};

struct worker {
	pthread_t thread;
	unsigned int index;
	cl_kernel scale[MAX_CONTEXTS], add[MAX_CONTEXTS];
	char host[BUFFER_BYTES];
};

static cl_platform_id platform;
static cl_device_id device;
static struct site sites[MAX_CONTEXTS];
static struct worker workers[MAX_THREADS];
static atomic_uint callbacks_seen;

static const char source[] = "kernel void scale(global float *x) { x[get_global_id(0)] *= 1.5f; }\n"
			     "kernel void add(global float *x) { x[get_global_id(0)] += 1.0f; }\n";

static void must(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "counts: %s: OpenCL error %d\n", what, status);
	exit(1);
}

static void must_fail(cl_int status, cl_int error, enum function_index index)
{
	if (status != error) {
		fprintf(stderr, "counts: %s returned %d, expected %d\n", function_names[index],
			status, error);
		exit(1);
	}
	atomic_fetch_add(&counted.failed[index], 1);
}

static void count(enum command command, size_t bytes)
{
	atomic_fetch_add(&counted.commands[command], 1);
	atomic_fetch_add(&counted.bytes[command], bytes);
}

static void load_functions(void)
{
#ifdef COUNTS_DLOPEN
	void *library = dlopen(options.loaded ? options.loaded : "", RTLD_NOW | RTLD_LOCAL);

	if (!options.loaded || !library) {
		fprintf(stderr, "counts: --dlopen=PATH: %s\n", dlerror());
		exit(1);
	}
#define X(name) functions.name = (__typeof__(&name))dlsym(library, #name);
	FUNCTIONS(X)
#undef X
#else
#define X(name) functions.name = name;
	FUNCTIONS(X)
#undef X
#endif
}

static void load_extensions(void)
{
#define X(name) \
	functions.name = (name##_fn)CALL(clGetExtensionFunctionAddressForPlatform, platform, #name);
	EXTENSIONS(X)
#undef X
}

/* ---- the core ---- */

/* Which kind the i-th of the 38 commands is: 23, 7, 5 and 3 of them, well mixed. */
static enum command core_command(unsigned int i)
{
	unsigned int place = i * 7 % CORE_COUNT;

	if (place < 23)
		return KERNEL;
	if (place < 30)
		return WRITE;
	return place < 35 ? READ : FILL;
}

static cl_command_queue create_queue(struct site *site, int index)
{
	cl_command_queue_properties bits = 0;
	cl_command_queue queue;
	cl_int status;

	bits |= options.profiling ? CL_QUEUE_PROFILING_ENABLE : 0;
	bits |= options.out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
	if (index == 0) {
		cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, bits, 0};

		queue = CALL(clCreateCommandQueueWithProperties, site->context, device, list,
			     &status);
	} else {
		queue = CALL(clCreateCommandQueue, site->context, device, bits, &status);
	}
	must(status, "creating a queue");
	return queue;
}

static void open_site(struct site *site)
{
	const char *text = source;
	cl_int status;

	site->context = CALL(clCreateContext, NULL, 1, &device, NULL, NULL, &status);
	must(status, "clCreateContext");
	site->queues[0] = create_queue(site, 0);
	site->queues[1] = create_queue(site, 1);
	site->program = CALL(clCreateProgramWithSource, site->context, 1, &text, NULL, &status);
	must(status, "clCreateProgramWithSource");
	MUST(clBuildProgram, site->program, 1, &device, "", NULL, NULL);
	site->buffer =
		CALL(clCreateBuffer, site->context, CL_MEM_READ_WRITE, BUFFER_BYTES, NULL, &status);
	must(status, "clCreateBuffer");
	site->other =
		CALL(clCreateBuffer, site->context, CL_MEM_READ_WRITE, BUFFER_BYTES, NULL, &status);
	must(status, "clCreateBuffer");
	if (options.in_flight || options.user_event) {
		site->gate = CALL(clCreateUserEvent, site->context, &status);
		must(status, "clCreateUserEvent");
	}
}

static void close_site(struct site *site)
{
	if (site->gate)
		MUST(clReleaseEvent, site->gate);
	MUST(clReleaseMemObject, site->buffer);
	MUST(clReleaseMemObject, site->other);
	MUST(clReleaseProgram, site->program);
	MUST(clReleaseCommandQueue, site->queues[0]);
	MUST(clReleaseCommandQueue, site->queues[1]);
	MUST(clReleaseContext, site->context);
	memset(site, 0, sizeof *site);
}

static void open_worker(struct worker *worker)
{
	cl_int status;

	for (unsigned int i = 0; i < options.contexts; i++) {
		worker->scale[i] = CALL(clCreateKernel, sites[i].program, "scale", &status);
		must(status, "clCreateKernel");
		worker->add[i] = CALL(clCreateKernel, sites[i].program, "add", &status);
		must(status, "clCreateKernel");
		MUST(clSetKernelArg, worker->scale[i], 0, sizeof(cl_mem), &sites[i].buffer);
		MUST(clSetKernelArg, worker->add[i], 0, sizeof(cl_mem), &sites[i].buffer);
	}
}

static void close_worker(struct worker *worker)
{
	for (unsigned int i = 0; i < options.contexts; i++) {
		MUST(clReleaseKernel, worker->scale[i]);
		MUST(clReleaseKernel, worker->add[i]);
	}
}

static void enqueue_core(struct worker *worker, unsigned int i, cl_event *event)
{
	unsigned int place = i % options.contexts;
	struct site *site = &sites[place];
	cl_command_queue queue = site->queues[i / options.contexts % 2];
	cl_uint waits = site->gate ? 1 : 0;
	const cl_event *wait = site->gate ? &site->gate : NULL;
	cl_bool blocking = options.blocking ? CL_TRUE : CL_FALSE;
	size_t size = ITEM_COUNT, bytes = 4 * (i + 1);
	cl_float zero = 0;

	switch (core_command(i)) {
	case KERNEL:
		MUST(clEnqueueNDRangeKernel, queue,
		     i % 2 ? worker->scale[place] : worker->add[place], 1, NULL, &size, NULL, waits,
		     wait, event);
		count(KERNEL, 0);
		break;
	case WRITE:
		MUST(clEnqueueWriteBuffer, queue, site->buffer, blocking, 0, bytes, worker->host,
		     waits, wait, event);
		count(WRITE, bytes);
		break;
	case READ:
		MUST(clEnqueueReadBuffer, queue, site->buffer, blocking, 0, bytes, worker->host,
		     waits, wait, event);
		count(READ, bytes);
		break;
	default:
		MUST(clEnqueueFillBuffer, queue, site->buffer, &zero, sizeof zero, 0, BUFFER_BYTES,
		     waits, wait, event);
		count(FILL, BUFFER_BYTES);
		break;
	}
}

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *data)
{
	(void)event, (void)status, (void)data;
	atomic_fetch_add(&callbacks_seen, 1);
}

/* With a profiling queue the program reads its own stamps, as programs do that ask for them. */
static void check_stamps(cl_event event)
{
	static const cl_profiling_info names[] = {
		CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
		CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
	cl_ulong before = 0, stamp;

	MUST(clWaitForEvents, 1, &event);
	for (int i = 0; i < 4; i++) {
		MUST(clGetEventProfilingInfo, event, names[i], sizeof stamp, &stamp, NULL);
		if (stamp < before) {
			fprintf(stderr, "counts: the device's own stamps are out of order\n");
			exit(1);
		}
		before = stamp;
	}
}

static void do_core(struct worker *worker, unsigned int i)
{
	bool want_event = options.profiling || options.callback;
	cl_event event = NULL;

	enqueue_core(worker, i, want_event ? &event : NULL);
	if (options.callback)
		MUST(clSetEventCallback, event, CL_COMPLETE, on_complete, NULL);
	if (options.profiling && !options.in_flight && !options.user_event)
		check_stamps(event);
	if (event)
		MUST(clReleaseEvent, event);
}

static void *run_worker(void *data)
{
	struct worker *worker = data;
	cl_uint platform_count;

	/* one call was made to find the platform */
	for (unsigned int i = worker->index; i < PLATFORM_CALLS - 1; i += options.threads)
		MUST(clGetPlatformIDs, 0, NULL, &platform_count);
	for (unsigned int i = worker->index; i < CORE_COUNT; i += options.threads)
		do_core(worker, i);
	return NULL;
}

static void run_workers(void)
{
	if (options.threads == 1) {
		run_worker(&workers[0]);
		return;
	}
	for (unsigned int i = 0; i < options.threads; i++) {
		if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i])) {
			fprintf(stderr, "counts: no thread could be made\n");
			exit(1);
		}
	}
	for (unsigned int i = 0; i < options.threads; i++)
		pthread_join(workers[i].thread, NULL);
}

/* ---- extras: each adds commands on the first context's first queue ---- */

static void CL_CALLBACK add_one(void *data)
{
	++**(int **)data;
}

static void do_native(struct site *site)
{
	static int called;
	int *argument = &called;

	for (int i = 0; i < 2; i++) {
		MUST(clEnqueueNativeKernel, site->queues[0], add_one, &argument, sizeof argument, 0,
		     NULL, NULL, 0, NULL, NULL);
		count(NATIVE, 0);
	}
	MUST(clFinish, site->queues[0]);
	printf("check native called %d\n", called);
	called = 0;
}

static void do_map(struct site *site)
{
	cl_int status;

	for (int i = 0; i < 3; i++) {
		cl_event done;
		void *mapped = CALL(clEnqueueMapBuffer, site->queues[0], site->buffer, i % 2,
				    CL_MAP_READ | CL_MAP_WRITE, 0, 256, 0, NULL, &done, &status);

		must(status, "clEnqueueMapBuffer");
		count(MAP, 256);
		/* Out of order nothing else keeps the memory there until it was written. */
		MUST(clEnqueueUnmapMemObject, site->queues[0], site->buffer, mapped, 1, &done,
		     NULL);
		count(UNMAP, 0);
		MUST(clReleaseEvent, done);
	}
}

/* 5 rows of 12 bytes in 2 slices: 120 bytes each way, whatever the pitches are. */
static void do_rect(struct site *site)
{
	static const size_t origin[3] = {4, 1, 0}, zero[3] = {0, 0, 0}, region[3] = {12, 5, 2};

	MUST(clEnqueueWriteBufferRect, site->queues[0], site->buffer, CL_FALSE, origin, zero,
	     region, 64, 64 * 8, 0, 0, site->host, 0, NULL, NULL);
	count(WRITE, 120);
	MUST(clEnqueueReadBufferRect, site->queues[0], site->buffer, CL_FALSE, origin, zero, region,
	     64, 64 * 8, 0, 0, site->host, 0, NULL, NULL);
	count(READ, 120);
	MUST(clEnqueueCopyBufferRect, site->queues[0], site->buffer, site->other, origin, zero,
	     region, 64, 64 * 8, 0, 0, 0, NULL, NULL);
	count(COPY, 120);
}

static void do_svm(struct site *site)
{
	cl_device_svm_capabilities can = 0;
	cl_int zero = 0;
	void *a, *b;

	MUST(clGetDeviceInfo, device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL);
	if (!(can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) {
		printf("check svm unsupported\n");
		return;
	}
	a = CALL(clSVMAlloc, site->context, CL_MEM_READ_WRITE, 4096, 0);
	b = CALL(clSVMAlloc, site->context, CL_MEM_READ_WRITE, 4096, 0);
	must(a && b ? CL_SUCCESS : CL_OUT_OF_RESOURCES, "clSVMAlloc");
	MUST(clEnqueueSVMMemFill, site->queues[0], a, &zero, sizeof zero, 4096, 0, NULL, NULL);
	count(FILL, 4096);
	MUST(clEnqueueSVMMemcpy, site->queues[0], CL_FALSE, b, a, 1024, 0, NULL, NULL);
	count(COPY, 1024);
	MUST(clEnqueueSVMMap, site->queues[0], CL_TRUE, CL_MAP_READ, b, 1024, 0, NULL, NULL);
	count(MAP, 1024);
	MUST(clEnqueueSVMUnmap, site->queues[0], b, 0, NULL, NULL);
	count(UNMAP, 0);
	MUST(clFinish, site->queues[0]);
	MUST(clEnqueueSVMFree, site->queues[0], 1, &b, NULL, NULL, 0, NULL, NULL);
	count(FREE, 0);
	MUST(clFinish, site->queues[0]);
	CALL(clSVMFree, site->context, a);
}

static void do_command_buffer(struct site *site)
{
	cl_command_queue queue = site->queues[0];
	cl_command_buffer_khr buffer;
	size_t size = ITEM_COUNT;
	cl_int status;

	load_extensions();
	if (!functions.clCreateCommandBufferKHR) {
		printf("check command-buffer unsupported\n");
		return;
	}
	buffer = CALL(clCreateCommandBufferKHR, 1, &queue, NULL, &status);
	must(status, "clCreateCommandBufferKHR");
	for (int i = 0; i < 3; i++)
		MUST(clCommandNDRangeKernelKHR, buffer, NULL, NULL, workers[0].scale[0], 1, NULL,
		     &size, NULL, 0, NULL, NULL, NULL);
	MUST(clFinalizeCommandBufferKHR, buffer);
	for (int i = 0; i < 2; i++) {
		MUST(clEnqueueCommandBufferKHR, 0, NULL, buffer, 0, NULL, NULL);
		count(GRAPH, 0);
		MUST(clFinish, queue);
	}
	MUST(clReleaseCommandBufferKHR, buffer);
}

static cl_mem create_image(struct site *site)
{
	cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
	cl_image_desc description = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
	cl_int status;
	cl_mem image = CALL(clCreateImage, site->context, CL_MEM_READ_WRITE, &format, &description,
			    NULL, &status);

	must(status, "clCreateImage");
	return image;
}

static void do_image(struct site *site)
{
	static const size_t zero[3] = {0, 0, 0}, region[3] = {16, 8, 1};
	static const cl_uint black[4] = {0, 0, 0, 255};
	cl_command_queue queue = site->queues[0];
	cl_mem from = create_image(site), to = create_image(site);
	size_t pitch;
	cl_int status;
	void *mapped;

	MUST(clEnqueueFillImage, queue, from, black, zero, region, 0, NULL, NULL);
	count(FILL, 512);
	MUST(clEnqueueWriteImage, queue, from, CL_FALSE, zero, region, 0, 0, site->host, 0, NULL,
	     NULL);
	count(WRITE, 512);
	MUST(clEnqueueCopyImage, queue, from, to, zero, zero, region, 0, NULL, NULL);
	count(COPY, 512);
	MUST(clEnqueueCopyImageToBuffer, queue, to, site->other, zero, region, 0, 0, NULL, NULL);
	count(COPY, 512);
	MUST(clEnqueueCopyBufferToImage, queue, site->other, to, 0, zero, region, 0, NULL, NULL);
	count(COPY, 512);
	MUST(clEnqueueReadImage, queue, to, CL_TRUE, zero, region, 0, 0, site->host, 0, NULL, NULL);
	count(READ, 512);
	mapped = CALL(clEnqueueMapImage, queue, to, CL_TRUE, CL_MAP_READ, zero, region, &pitch,
		      NULL, 0, NULL, NULL, &status);
	must(status, "clEnqueueMapImage");
	count(MAP, 512);
	MUST(clEnqueueUnmapMemObject, queue, to, mapped, 0, NULL, NULL);
	count(UNMAP, 0);
	MUST(clFinish, queue);
	MUST(clReleaseMemObject, from);
	MUST(clReleaseMemObject, to);
}

static void do_other(struct site *site)
{
	cl_command_queue queue = site->queues[0];
	cl_event marker;

	MUST(clEnqueueCopyBuffer, queue, site->buffer, site->other, 0, 64, 100, 0, NULL, NULL);
	count(COPY, 100);
	MUST(clEnqueueMigrateMemObjects, queue, 1, &site->buffer, 0, 0, NULL, NULL);
	count(MIGRATE, 0);
	MUST(clEnqueueMarkerWithWaitList, queue, 0, NULL, &marker);
	count(MARKER, 0);
	MUST(clEnqueueBarrierWithWaitList, site->queues[1], 1, &marker, NULL);
	count(BARRIER, 0);
	MUST(clEnqueueTask, queue, workers[0].add[0], 0, NULL, NULL);
	count(KERNEL, 0);
	MUST(clReleaseEvent, marker);
}

/* Calls that fail must fail as they do without a profiler and leave the event alone. */
static void do_fail(struct site *site)
{
	cl_event untouched = (cl_event)(void *)&counted, event = untouched;
	size_t size = ITEM_COUNT;

	MUST_FAIL(CL_INVALID_VALUE, clEnqueueReadBuffer, site->queues[0], site->buffer, CL_TRUE,
		  BUFFER_BYTES, 4, site->host, 0, NULL, NULL);
	MUST_FAIL(CL_INVALID_VALUE, clEnqueueReadBuffer, site->queues[0], site->buffer, CL_FALSE,
		  BUFFER_BYTES, 4, site->host, 0, NULL, &event);
	MUST_FAIL(CL_INVALID_MEM_OBJECT, clEnqueueWriteBuffer, site->queues[0], NULL, CL_FALSE, 0,
		  4, site->host, 0, NULL, &event);
	MUST_FAIL(CL_INVALID_WORK_DIMENSION, clEnqueueNDRangeKernel, site->queues[0],
		  workers[0].scale[0], 0, NULL, &size, NULL, 0, NULL, NULL);
	MUST_FAIL(CL_INVALID_WORK_DIMENSION, clEnqueueNDRangeKernel, site->queues[0],
		  workers[0].scale[0], 9, NULL, &size, NULL, 0, NULL, &event);
	MUST_FAIL(CL_INVALID_VALUE, clEnqueueFillBuffer, site->queues[0], site->buffer, site->host,
		  3, 0, 30, 0, NULL, &event);
	MUST_FAIL(CL_INVALID_COMMAND_QUEUE, clEnqueueReadBuffer, NULL, site->buffer, CL_TRUE, 0, 4,
		  site->host, 0, NULL, &event);
	MUST_FAIL(CL_INVALID_COMMAND_QUEUE, clFinish, NULL);
	printf("check failing calls left the event %s\n", event == untouched ? "alone" : "CHANGED");
}

static void do_check_properties(struct site *site)
{
	cl_command_queue_properties bits;
	cl_queue_properties list[8];
	size_t size = ITEM_COUNT, list_bytes;
	cl_event event;
	cl_ulong stamp;
	cl_int status;

	for (int i = 0; i < 2; i++) {
		MUST(clGetCommandQueueInfo, site->queues[i], CL_QUEUE_PROPERTIES, sizeof bits,
		     &bits, NULL);
		printf("check queue %d properties %llu\n", i, (unsigned long long)bits);
		MUST(clGetCommandQueueInfo, site->queues[i], CL_QUEUE_PROPERTIES_ARRAY, sizeof list,
		     list, &list_bytes);
		printf("check queue %d property list", i);
		for (size_t k = 0; k < list_bytes / sizeof *list; k++)
			printf(" %llu", (unsigned long long)list[k]);
		printf("\n");
	}
	MUST(clEnqueueNDRangeKernel, site->queues[0], workers[0].scale[0], 1, NULL, &size, NULL, 0,
	     NULL, &event);
	count(KERNEL, 0);
	MUST(clWaitForEvents, 1, &event);
	status = CALL(clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_START, sizeof stamp,
		      &stamp, NULL);
	printf("check profiling info returns %d\n", status);
	if (status)
		atomic_fetch_add(&counted.failed[INDEX_clGetEventProfilingInfo], 1);
	MUST(clReleaseEvent, event);
}

static void do_extras(void)
{
	static const struct {
		const bool *wanted;
		void (*run)(struct site *site);
	} extras[] = {{&options.native, do_native},
		      {&options.map, do_map},
		      {&options.rect, do_rect},
		      {&options.svm, do_svm},
		      {&options.command_buffer, do_command_buffer},
		      {&options.image, do_image},
		      {&options.other, do_other},
		      {&options.fail, do_fail},
		      {&options.check_properties, do_check_properties}};

	for (size_t i = 0; i < sizeof extras / sizeof *extras; i++)
		if (*extras[i].wanted)
			extras[i].run(&sites[0]);
}

/* ---- a run ---- */

static void settle(void)
{
	for (unsigned int i = 0; i < options.contexts; i++) {
		if (options.user_event && !sites[i].opened)
			MUST(clSetUserEventStatus, sites[i].gate, CL_COMPLETE);
		sites[i].opened = true;
		for (int k = 0; k < 2; k++) {
			if (options.flush_sleep || options.in_flight)
				MUST(clFlush, sites[i].queues[k]);
			else
				MUST(clFinish, sites[i].queues[k]);
		}
	}
	if (options.flush_sleep)
		sleep(options.sleep_s);
}

static void print_counted(void)
{
	unsigned int launched = 0;

	if (options.quiet)
		return;
	for (int i = 0; i < COMMAND_COUNT; i++)
		launched += counted.commands[i];
	printf("launched %u\n", launched);
	for (int i = 0; i < COMMAND_COUNT; i++)
		if (counted.commands[i])
			printf("command %s %u\n", command_names[i], counted.commands[i]);
	for (int i = 0; i < COMMAND_COUNT; i++)
		if (counted.bytes[i])
			printf("bytes %s %llu\n", command_names[i], counted.bytes[i]);
	for (int i = 0; i < FUNCTION_COUNT; i++)
		if (counted.calls[i])
			printf("%s %s %u %u\n",
			       i >= INDEX_clCreateCommandBufferKHR ? "extension" : "call",
			       function_names[i], counted.calls[i], counted.failed[i]);
	if (options.callback)
		printf("check callbacks %u\n", callbacks_seen);
}

static void run_once(bool releases)
{
	MUST(clGetPlatformIDs, 1, &platform, NULL);
	MUST(clGetDeviceIDs, platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	for (unsigned int i = 0; i < options.contexts; i++)
		open_site(&sites[i]);
	for (unsigned int i = 0; i < options.threads; i++) {
		workers[i].index = i;
		open_worker(&workers[i]);
	}
	run_workers();
	settle();
	do_extras();
	if (!options.in_flight && !options.flush_sleep)
		settle();
	if (!releases)
		return;
	for (unsigned int i = 0; i < options.threads; i++)
		close_worker(&workers[i]);
	for (unsigned int i = 0; i < options.contexts; i++)
		close_site(&sites[i]);
}

static void run_child(void)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		memset(&counted, 0, sizeof counted);
		run_once(true);
		printf("child\n");
		print_counted();
		fflush(stdout);
		_exit(7);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("counts: fork");
		exit(1);
	}
	printf("check child status %d\n", status);
}

static int finish(void)
{
	print_counted();
	fflush(stdout);
	switch (options.ending) {
	case END_UNDERSCORE:
		_exit(0);
	case END_KILL:
		kill(getpid(), SIGKILL);
		return 1;
	case END_EXIT:
		exit(3);
	default:
		return 0;
	}
}

/* ---- options ---- */

static void parse_ending(const char *text)
{
	static const char *const names[] = {"return", "_exit", "kill9", "exit3"};

	for (int i = 0; i < 4; i++) {
		if (strcmp(text, names[i]) == 0) {
			options.ending = (enum ending)i;
			return;
		}
	}
	fprintf(stderr, "counts: --exit is return, _exit, kill9 or exit3\n");
	exit(2);
}

static void parse_value(char letter, const char *value)
{
	unsigned int number = value ? (unsigned int)strtoul(value, NULL, 10) : 0;

	switch (letter) {
	case 'e':
		parse_ending(value);
		break;
	case 't':
		options.threads = number < 1 ? 1 : number > MAX_THREADS ? MAX_THREADS : number;
		break;
	case 'c':
		options.contexts = number < 1 ? 1 : number > MAX_CONTEXTS ? MAX_CONTEXTS : number;
		break;
	case 'f':
		options.fork = value ? value : "before";
		break;
	case 'd':
		options.loaded = value;
		break;
	case 's':
		options.flush_sleep = true;
		options.sleep_s = number;
		options.ending = END_UNDERSCORE;
		break;
	default:
		exit(2);
	}
}

static void parse_options(int argc, char **argv)
{
	static const struct {
		const char *name;
		bool *value;
	} flags[] = {{"profiling", &options.profiling},
		     {"in-flight", &options.in_flight},
		     {"blocking", &options.blocking},
		     {"out-of-order", &options.out_of_order},
		     {"fail", &options.fail},
		     {"user-event", &options.user_event},
		     {"native", &options.native},
		     {"map", &options.map},
		     {"rect", &options.rect},
		     {"svm", &options.svm},
		     {"command-buffer", &options.command_buffer},
		     {"image", &options.image},
		     {"other", &options.other},
		     {"callback", &options.callback},
		     {"quiet", &options.quiet},
		     {"check-properties", &options.check_properties}};
	enum { FLAG_COUNT = sizeof flags / sizeof *flags };
	static const struct option values[] = {{"exit", required_argument, NULL, 'e'},
					       {"threads", required_argument, NULL, 't'},
					       {"contexts", required_argument, NULL, 'c'},
					       {"fork", optional_argument, NULL, 'f'},
					       {"dlopen", required_argument, NULL, 'd'},
					       {"flush-sleep", required_argument, NULL, 's'},
					       {"no-profiling", no_argument, NULL, 'n'}};
	enum { VALUE_COUNT = sizeof values / sizeof *values };
	struct option all[FLAG_COUNT + VALUE_COUNT + 1] = {{NULL, 0, NULL, 0}};
	int letter;

	memcpy(all, values, sizeof values);
	for (int i = 0; i < FLAG_COUNT; i++)
		all[VALUE_COUNT + i] = (struct option){flags[i].name, no_argument, NULL, 256 + i};
	while ((letter = getopt_long(argc, argv, "", all, NULL)) != -1) {
		if (letter >= 256)
			*flags[letter - 256].value = true;
		else if (letter == 'n')
			options.profiling = false;
		else
			parse_value((char)letter, optarg);
	}
	if (options.in_flight && options.ending == END_RETURN)
		options.ending = END_UNDERSCORE;
}

int main(int argc, char **argv)
{
	bool releases;

	parse_options(argc, argv);
	releases = !options.in_flight && !options.flush_sleep &&
		   (options.ending == END_RETURN || options.ending == END_EXIT);
	load_functions();
	if (options.fork && strcmp(options.fork, "before") == 0)
		run_child();
	run_once(releases);
	if (options.fork && strcmp(options.fork, "after") == 0)
		run_child();
	return finish();
}
