/* SPDX-License-Identifier: MIT
 *
 * bench/cuda_calls.c - what a launch of CUDA's, a small copy and a launch of a graph take
 *
 *	cuda_calls ROUNDS [cupti]
 *
 * A round launches 512 kernels that do nothing, copies 64 times 4 KiB to the device, launches 32
 * times a graph of 11 kernels, and waits after each of the three. Prints of each what a call takes,
 * in nanoseconds: of the clock until the last one has returned, and of the process's processor time
 * with the wait; the middle of the rounds. cupti: CUPTI is subscribed to and has the kinds of
 * activity and the callbacks on that duet's guest wants, with functions that do nothing.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "sim/nvidia/cuda_abi.h"
#include "abi/cupti.h"
#include "rounds.h"

enum { LAUNCHES = 512, COPIES = 64, GRAPHS = 32, NODES = 11, BYTES = 4096, BUFFER_BYTES = 1 << 20 };
enum { CBIDS = 1024 };

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry nothing() { ret; }\n";

static struct cuda_all_functions cu;
static struct cupti_functions cupti;

#define CHECK(call)                                                          \
	do {                                                                 \
		int result_ = (int)(call);                                   \
		if (result_) {                                               \
			fprintf(stderr, "%s returned %d\n", #call, result_); \
			exit(99);                                            \
		}                                                            \
	} while (0)

static void *open_library(const char *name)
{
	void *library = dlopen(name, RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(99);
	}
	return library;
}

static void open_driver(void)
{
	void *library = open_library("libcuda.so.1");

#define FIND(name, parameters) *(void **)&cu.name = dlsym(library, #name);
	CUDA_ALL_FUNCTIONS(FIND)
#undef FIND
}

/* ---- CUPTI alone ----------------------------------------------------------------------------- */

static void on_callback(void *user, cupti_domain domain, uint32_t cbid, const void *data)
{
	(void)user;
	(void)domain;
	(void)cbid;
	(void)data;
}

static void request(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_max)
{
	*ret_buffer = aligned_alloc(ACTIVITY_RECORD_ALIGNMENT, BUFFER_BYTES);
	*ret_bytes = *ret_buffer ? BUFFER_BYTES : 0;
	*ret_max = 0;
}

static void take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	(void)context;
	(void)stream;
	(void)bytes;
	(void)valid;
	free(buffer);
}

static void open_cupti(void)
{
	static const uint32_t kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					 CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
					 CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_OVERHEAD};
	void *library = open_library("libcupti.so.13");
	cupti_subscriber subscriber;

#define FIND(need, name, parameters) *(void **)&cupti.name = dlsym(library, #name);
	CUPTI_FUNCTIONS(FIND)
#undef FIND
	CHECK(cupti.cuptiSubscribe(&subscriber, on_callback, NULL));
	CHECK(cupti.cuptiActivityRegisterCallbacks(request, take));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		CHECK(cupti.cuptiActivityEnable(kinds[i]));
	for (uint32_t cbid = 1; cbid < CBIDS; cbid++) {
		const char *name = NULL;

		if (!cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name) && name &&
		    (strncmp(name, "cuLaunch", 8) == 0 || strncmp(name, "cuMem", 5) == 0 ||
		     strncmp(name, "cuGraphLaunch", 13) == 0 || strstr(name, "Synchronize")))
			CHECK(cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
							cbid));
	}
}

/* ---- what is measured ------------------------------------------------------------------------ */

static uint64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static CUfunction kernel;
static CUstream stream;
static CUgraphExec graph;
static CUdeviceptr memory;

static void launch(void)
{
	CHECK(cu.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static void copy(void)
{
	static char bytes[BYTES];

	CHECK(cu.cuMemcpyHtoDAsync_v2(memory, bytes, BYTES, stream));
}

static void launch_graph(void)
{
	CHECK(cu.cuGraphLaunch(graph, stream));
}

static const struct work {
	const char *name;
	void (*call)(void);
	int count;
} works[] = {{"launch", launch, LAUNCHES}, {"copy", copy, COPIES}, {"graph", launch_graph, GRAPHS}};
enum { WORKS = sizeof(works) / sizeof(works[0]) };

static void run(const struct work *work, double *ret_wall_ns, double *ret_processor_ns)
{
	uint64_t processor = processor_ns(), begin = now_ns();

	for (int i = 0; i < work->count; i++)
		work->call();
	*ret_wall_ns = (double)(now_ns() - begin) / work->count;
	CHECK(cu.cuStreamSynchronize(stream));
	*ret_processor_ns = (double)(processor_ns() - processor) / work->count;
}

static void make_graph(void)
{
	CUDA_KERNEL_NODE_PARAMS_v2 parameters = {.function = kernel,
						 .grid_x = 1,
						 .grid_y = 1,
						 .grid_z = 1,
						 .block_x = 32,
						 .block_y = 1,
						 .block_z = 1};
	CUgraphNode node;
	CUgraph made;

	CHECK(cu.cuGraphCreate(&made, 0));
	for (int i = 0; i < NODES; i++)
		CHECK(cu.cuGraphAddKernelNode_v2(&node, made, NULL, 0, &parameters));
	CHECK(cu.cuGraphInstantiateWithFlags(&graph, made, 0));
}

int main(int argc, char **argv)
{
	static double wall[WORKS][MAX_ROUNDS], processor[WORKS][MAX_ROUNDS];
	int rounds = argc > 1 ? atoi(argv[1]) : 0;
	CUcontext context;
	CUmodule module;

	if (rounds < 1 || rounds > MAX_ROUNDS) {
		fprintf(stderr, "cuda_calls ROUNDS [cupti]: 1 to %d rounds\n", MAX_ROUNDS);
		return 99;
	}
	open_driver();
	CHECK(cu.cuInit(0));
	CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cu.cuCtxSetCurrent(context));
	if (argc > 2)
		open_cupti();
	CHECK(cu.cuModuleLoadData(&module, ptx));
	CHECK(cu.cuModuleGetFunction(&kernel, module, "nothing"));
	CHECK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cu.cuMemAlloc_v2(&memory, BYTES));
	make_graph();
	for (int i = -1; i < rounds; i++) /* the first one warms up */
		for (size_t k = 0; k < WORKS; k++)
			run(&works[k], &wall[k][i < 0 ? 0 : i], &processor[k][i < 0 ? 0 : i]);
	for (size_t k = 0; k < WORKS; k++) {
		qsort(wall[k], (size_t)rounds, sizeof(double), rounds_compare);
		qsort(processor[k], (size_t)rounds, sizeof(double), rounds_compare);
		printf("%s wall %.1f processor %.1f\n", works[k].name, wall[k][rounds / 2],
		       processor[k][rounds / 2]);
	}
	return 0;
}
