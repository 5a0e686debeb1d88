/* SPDX-License-Identifier: MIT
 *
 * tests/programs/cuda_work.c - a program of CUDA's driver interface that says what it did
 *
 * Runs in:  a process of its own, with libcuda.so.1 as the loader finds it
 * Gets:     NAME=VALUE arguments: threads, kernels, h2d, d2h, any (copies between any addresses),
 *           sets, graphs (launches), nodes (of the graph), captured (kernels captured in a stream
 *           that becomes a second graph), laps and pace_ms (the kernels again, with a wait and a
 *           pause each time; awaited: with a wait alone), streams (made one after the other, with a
 * kernel in each; pace_ms after each 1000) of which the first so many are kept (the others are
 * destroyed), shared (bytes of shared memory that a launch asks for), failing (launches that fail),
 * waits, rest_ms (how long it rests before its end), end (return, _exit, kill, fork; release,
 *           atexit, destructor: releases what it has made, before the end, in a handler of exit, in
 *           a function of the program's end), contexts (one after the other before all that, each
 *           with the kernels once), devices (threads take turns with their primary contexts)
 * Gives:    a line of JSON: what each thread did; status 0 where every call returned what it should
 * Why:      each thread launches its share in a stream of its own, through functions that a stack
 *           can show
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/nvidia/cuda_abi.h"

enum { BYTES = 4096, MAX_THREADS = 64, MAX_DEVICES = 8 };

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .entry _Z4stepPfi(.param .u64 p) { ret; }\n"
			  ".visible .entry reduce(.param .u64 p) { ret; }\n";

static struct cuda_all_functions cu;
static struct device {
	CUcontext context;
	CUmodule module;
	CUfunction step, reduce;
	CUstream stream;
	CUdeviceptr memory;
} devices[MAX_DEVICES];
static _Thread_local CUfunction step, reduce; /* of the thread's context */
static _Atomic int wrong;

static struct {
	int threads, kernels, h2d, d2h, any, sets, graphs, nodes, captured, failing, waits, awaited;
	int laps, pace_ms, rest_ms, contexts, devices, streams, kept, managed, shared;
	const char *end;
} want = {.threads = 1, .nodes = 11, .laps = 1, .devices = 1, .end = "return"};

static const struct {
	const char *name;
	int *value;
} numbers[] = {
	{"threads", &want.threads},   {"kernels", &want.kernels}, {"h2d", &want.h2d},
	{"d2h", &want.d2h},           {"any", &want.any},         {"sets", &want.sets},
	{"graphs", &want.graphs},     {"nodes", &want.nodes},     {"captured", &want.captured},
	{"laps", &want.laps},         {"pace_ms", &want.pace_ms}, {"failing", &want.failing},
	{"waits", &want.waits},       {"awaited", &want.awaited}, {"rest_ms", &want.rest_ms},
	{"contexts", &want.contexts}, {"devices", &want.devices}, {"streams", &want.streams},
	{"kept", &want.kept},         {"managed", &want.managed}, {"shared", &want.shared},
};

#define CHECK(call) (wrong += (call) != CUDA_SUCCESS)

static int open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "cuda_work: %s\n", dlerror());
		return 1;
	}
#define FIND(name, parameters) *(void **)&cu.name = dlsym(library, #name);
	CUDA_ALL_FUNCTIONS(FIND)
#undef FIND
	return 0;
}

static void read_arguments(char **arguments)
{
	for (; *arguments; arguments++) {
		char *value = strchr(*arguments, '=');
		size_t length = value ? (size_t)(value - *arguments) : 0;

		if (!value)
			continue;
		if (strncmp(*arguments, "end=", 4) == 0)
			want.end = value + 1;
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			if (strlen(numbers[i].name) == length &&
			    strncmp(*arguments, numbers[i].name, length) == 0)
				*numbers[i].value = atoi(value + 1);
	}
}

__attribute__((noinline)) static void launch_steps(CUstream stream)
{
	for (int i = 0; i < want.kernels; i++)
		CHECK(cu.cuLaunchKernel(i % 2 ? reduce : step, 4, 2, 1, 128, 1, 1,
					(unsigned)want.shared, stream, NULL, NULL));
}

__attribute__((noinline)) static void copy_all(CUstream stream, char *host, CUdeviceptr device,
					       CUdeviceptr other)
{
	for (int i = 0; i < want.h2d; i++)
		CHECK(i % 2 ? cu.cuMemcpyHtoD_v2(device, host, BYTES)
			    : cu.cuMemcpyHtoDAsync_v2(device, host, BYTES, stream));
	for (int i = 0; i < want.d2h; i++)
		CHECK(i % 2 ? cu.cuMemcpyDtoH_v2(host, device, BYTES)
			    : cu.cuMemcpyDtoHAsync_v2(host, device, BYTES, stream));
	for (int i = 0; i < want.any; i++)
		CHECK(cu.cuMemcpyAsync(device, i % 2 ? other : (CUdeviceptr)(uintptr_t)host, BYTES,
				       stream));
	for (int i = 0; i < want.sets; i++)
		CHECK(cu.cuMemsetD32Async(device, 7, BYTES / 4, stream));
}

static void pause_for(int ms)
{
	const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* Of explicit nodes, kernels one after the other. */
static CUgraphExec make_graph(void)
{
	CUDA_KERNEL_NODE_PARAMS_v2 parameters = {.function = step,
						 .grid_x = 2,
						 .grid_y = 1,
						 .grid_z = 1,
						 .block_x = 32,
						 .block_y = 1,
						 .block_z = 1};
	CUgraphNode last = NULL, node;
	CUgraphExec graph_exec = NULL;
	CUgraph graph = NULL;

	CHECK(cu.cuGraphCreate(&graph, 0));
	for (int i = 0; i < want.nodes; i++) {
		parameters.function = i % 2 ? reduce : step;
		CHECK(cu.cuGraphAddKernelNode_v2(&node, graph, last ? &last : NULL, last ? 1 : 0,
						 &parameters));
		last = node;
	}
	CHECK(cu.cuGraphInstantiateWithFlags(&graph_exec, graph, 0));
	return graph_exec;
}

__attribute__((noinline)) static CUgraphExec capture(CUstream stream)
{
	CUgraphExec graph_exec = NULL;
	CUgraph graph = NULL;

	CHECK(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	for (int i = 0; i < want.captured; i++)
		CHECK(cu.cuLaunchKernel(reduce, 1, 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
	CHECK(cu.cuStreamEndCapture(stream, &graph));
	CHECK(cu.cuGraphInstantiateWithFlags(&graph_exec, graph, 0));
	return graph_exec;
}

__attribute__((noinline)) static void launch_graphs(CUstream stream)
{
	CUgraphExec explicit = make_graph(), captured = want.captured ? capture(stream) : NULL;

	for (int i = 0; i < want.graphs; i++) {
		CHECK(cu.cuGraphLaunch(explicit, stream));
		if (captured)
			CHECK(cu.cuGraphLaunch(captured, stream));
		pause_for(want.pace_ms);
	}
}

/* As programs do that make one for each request. */
__attribute__((noinline)) static void use_streams(void)
{
	CUstream stream;

	for (int i = 0; i < want.streams; i++) {
		CHECK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		CHECK(cu.cuLaunchKernel(reduce, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
		CHECK(cu.cuStreamSynchronize(stream));
		if (i >= want.kept)
			CHECK(cu.cuStreamDestroy_v2(stream));
		if (i % 1000 == 999)
			pause_for(want.pace_ms);
	}
}

static CUmodule load_kernels(void)
{
	CUmodule module = NULL;

	CHECK(cu.cuModuleLoadData(&module, ptx));
	CHECK(cu.cuModuleGetFunction(&step, module, "_Z4stepPfi"));
	CHECK(cu.cuModuleGetFunction(&reduce, module, "reduce"));
	return module;
}

static bool is_releasing(void)
{
	return strcmp(want.end, "release") == 0 || strcmp(want.end, "atexit") == 0 ||
	       strcmp(want.end, "destructor") == 0;
}

static void open_device(int ordinal)
{
	struct device *device = &devices[ordinal];

	CHECK(cu.cuDevicePrimaryCtxRetain(&device->context, ordinal));
	CHECK(cu.cuCtxSetCurrent(device->context));
	device->module = load_kernels();
	device->step = step;
	device->reduce = reduce;
	if (!is_releasing())
		return;
	CHECK(cu.cuStreamCreate(&device->stream, CU_STREAM_NON_BLOCKING));
	CHECK(cu.cuMemAlloc_v2(&device->memory, BYTES));
}

/* Of its own. */
static void use_context(void)
{
	CUcontext own = NULL;

	CHECK(cu.cuCtxCreate_v2(&own, 0, 0));
	load_kernels();
	launch_steps(NULL);
	CHECK(cu.cuStreamSynchronize(NULL));
	pause_for(want.pace_ms);
	CHECK(cu.cuCtxDestroy_v2(own));
}

static void *work(void *argument)
{
	const struct device *device_of_thread = argument;
	char host[BYTES] = "";
	CUdeviceptr device = 0, other = 0, managed = 0;
	CUstream stream = NULL;

	step = device_of_thread->step;
	reduce = device_of_thread->reduce;
	CHECK(cu.cuCtxSetCurrent(device_of_thread->context));
	CHECK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cu.cuMemAlloc_v2(&device, BYTES));
	CHECK(cu.cuMemAlloc_v2(&other, BYTES));
	if (want.managed)
		CHECK(cu.cuMemAllocManaged(&managed, (size_t)want.managed, 1));
	for (int i = 0; i < want.laps; i++) {
		launch_steps(stream);
		if (want.pace_ms || want.awaited)
			CHECK(cu.cuStreamSynchronize(stream));
		if (want.pace_ms)
			pause_for(want.pace_ms);
	}
	use_streams();
	copy_all(stream, host, device, other);
	if (want.graphs)
		launch_graphs(stream);
	for (int i = 0; i < want.failing; i++)
		wrong += cu.cuLaunchKernel(step, 1, 1, 1, 4096, 1, 1, 0, stream, NULL, NULL) !=
			 CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < want.waits; i++)
		CHECK(cu.cuStreamSynchronize(stream));
	CHECK(cu.cuStreamSynchronize(stream));
	if (managed)
		CHECK(cu.cuMemFree_v2(managed));
	CHECK(cu.cuMemFree_v2(other));
	CHECK(cu.cuMemFree_v2(device));
	return NULL;
}

/* A child cannot use CUDA: what it tries fails, and nothing of duet's is in its way. */
static void fork_one(void)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		cu.cuLaunchKernel(step, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
		_exit(7);
	}
	wrong += waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7;
}

/* In a release before the end nothing but releases is called. */
static void release_all(void)
{
	if (strcmp(want.end, "release") != 0)
		CHECK(cu.cuCtxSynchronize());
	for (int i = 0; i < want.devices && i < MAX_DEVICES; i++)
		CHECK(cu.cuStreamDestroy_v2(devices[i].stream));
	for (int i = 0; i < want.devices && i < MAX_DEVICES; i++) {
		CHECK(cu.cuCtxSetCurrent(devices[i].context));
		CHECK(cu.cuMemFree_v2(devices[i].memory));
		CHECK(cu.cuModuleUnload(devices[i].module));
		CHECK(cu.cuDevicePrimaryCtxRelease_v2(i));
	}
	if (wrong)
		abort();
}

static __attribute__((destructor)) void release_at_last(void)
{
	if (strcmp(want.end, "destructor") == 0)
		release_all();
}

static int end(void)
{
	if (strcmp(want.end, "fork") == 0)
		fork_one();
	printf("{\"wrong\": %d, \"threads\": %d, \"kernels\": %d, \"h2d\": %d, \"d2h\": %d, "
	       "\"any\": %d, \"sets\": %d, \"graphs\": %d, \"nodes\": %d, \"captured\": %d}\n",
	       wrong, want.threads, want.kernels, want.h2d, want.d2h, want.any, want.sets,
	       want.graphs, want.nodes, want.captured);
	fflush(stdout);
	pause_for(want.rest_ms);
	if (strcmp(want.end, "release") == 0)
		release_all();
	if (strcmp(want.end, "atexit") == 0)
		atexit(release_all);
	if (strcmp(want.end, "kill") == 0)
		raise(SIGKILL);
	if (strcmp(want.end, "_exit") == 0)
		_exit(wrong != 0);
	return wrong != 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];

	read_arguments(argv + (argc > 0));
	if (open_driver())
		return 2;
	CHECK(cu.cuInit(0));
	for (int i = 0; i < want.devices && i < MAX_DEVICES; i++)
		open_device(i);
	for (int i = 0; i < want.contexts; i++)
		use_context();
	if (wrong)
		return end();
	for (int i = 1; i < want.threads && i < MAX_THREADS; i++)
		wrong += pthread_create(&threads[i], NULL, work, &devices[i % want.devices]) != 0;
	work(&devices[0]);
	for (int i = 1; i < want.threads && i < MAX_THREADS; i++)
		pthread_join(threads[i], NULL);
	return end();
}
