/* SPDX-License-Identifier: MIT
 *
 * tests/programs/cuda_kinds.c - one command of each kind, which its size tells from all others
 *
 * Runs in:  a process of its own, with libcuda.so.1 as the loader finds it, and two devices
 * Gives:    status 0 where every call returned what it should
 * Why:      copies between each two memories, kernels with shared memory and clusters, kernels
 *           whose blocks wait for each other, and a graph that has been captured from such commands
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/nvidia/cuda_abi.h"

enum { BYTES = 4096 };

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .entry plain(.param .u64 p) { ret; }\n";

static struct cuda_all_functions cu;
static int wrong;

#define CHECK(call) (wrong += (call) != CUDA_SUCCESS)

static int open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "cuda_kinds: %s\n", dlerror());
		return 1;
	}
#define FIND(name, parameters) *(void **)&cu.name = dlsym(library, #name);
	CUDA_ALL_FUNCTIONS(FIND)
#undef FIND
	return 0;
}

struct memories {
	char pageable[BYTES];
	void *pinned;
	CUdeviceptr device, other, managed, peer;
};

static void copy_each(struct memories *memories, const CUcontext contexts[2], CUstream stream)
{
	const CUdeviceptr device = memories->device;

	CHECK(cu.cuMemcpyHtoD_v2(device, memories->pageable, 100));
	CHECK(cu.cuMemcpyHtoDAsync_v2(device, memories->pinned, 101, stream));
	CHECK(cu.cuMemcpyDtoHAsync_v2(memories->pinned, device, 102, stream));
	CHECK(cu.cuMemcpyDtoDAsync_v2(memories->other, device, 103, stream));
	CHECK(cu.cuMemcpyAsync(memories->managed, (CUdeviceptr)(uintptr_t)memories->pageable, 104,
			       stream));
	CHECK(cu.cuMemcpyPeerAsync(memories->peer, contexts[1], device, contexts[0], 105, stream));
	CHECK(cu.cuMemsetD8Async(device, 7, 106, stream));
	CHECK(cu.cuMemsetD8Async(memories->managed, 7, 107, stream));
}

/* The number of blocks tells the launches apart. */
static void launch_each(CUfunction plain, CUstream stream)
{
	CUlaunchAttribute attributes[] = {
		{.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.cluster = {2, 1, 1}},
		{.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1},
	};
	CUlaunchConfig config = {.grid_x = 4,
				 .grid_y = 1,
				 .grid_z = 1,
				 .block_x = 32,
				 .block_y = 1,
				 .block_z = 1,
				 .stream = stream,
				 .attributes = attributes};

	CHECK(cu.cuLaunchKernel(plain, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CHECK(cu.cuLaunchKernel(plain, 2, 1, 1, 32, 1, 1, 2048, stream, NULL, NULL));
	CHECK(cu.cuLaunchCooperativeKernel(plain, 3, 1, 1, 32, 1, 1, 0, stream, NULL));
	config.attribute_count = 1;
	CHECK(cu.cuLaunchKernelEx(&config, plain, NULL, NULL));
	config.attribute_count = 2;
	config.grid_x = 6;
	CHECK(cu.cuLaunchKernelEx(&config, plain, NULL, NULL));
}

static void replay_each(struct memories *memories, CUfunction plain, CUstream stream)
{
	CUgraphExec graph_exec = NULL;
	CUgraph graph = NULL;

	CHECK(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CHECK(cu.cuMemcpyHtoDAsync_v2(memories->device, memories->pinned, 201, stream));
	CHECK(cu.cuMemsetD8Async(memories->device, 7, 206, stream));
	launch_each(plain, stream);
	CHECK(cu.cuStreamEndCapture(stream, &graph));
	CHECK(cu.cuGraphInstantiateWithFlags(&graph_exec, graph, 0));
	CHECK(cu.cuGraphLaunch(graph_exec, stream));
}

int main(void)
{
	struct memories memories = {.pinned = NULL};
	CUcontext contexts[2] = {NULL, NULL};
	CUfunction plain = NULL;
	CUstream stream = NULL;
	CUmodule module = NULL;

	if (open_driver())
		return 2;
	CHECK(cu.cuInit(0));
	CHECK(cu.cuDevicePrimaryCtxRetain(&contexts[1], 1));
	CHECK(cu.cuCtxSetCurrent(contexts[1]));
	CHECK(cu.cuMemAlloc_v2(&memories.peer, BYTES));
	CHECK(cu.cuDevicePrimaryCtxRetain(&contexts[0], 0));
	CHECK(cu.cuCtxSetCurrent(contexts[0]));
	CHECK(cu.cuModuleLoadData(&module, ptx));
	CHECK(cu.cuModuleGetFunction(&plain, module, "plain"));
	CHECK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cu.cuMemAllocHost_v2(&memories.pinned, BYTES));
	CHECK(cu.cuMemAlloc_v2(&memories.device, BYTES));
	CHECK(cu.cuMemAlloc_v2(&memories.other, BYTES));
	CHECK(cu.cuMemAllocManaged(&memories.managed, BYTES, 1));
	if (wrong)
		return 1;
	copy_each(&memories, contexts, stream);
	launch_each(plain, stream);
	replay_each(&memories, plain, stream);
	CHECK(cu.cuStreamSynchronize(stream));
	printf("{\"wrong\": %d}\n", wrong);
	return wrong != 0;
}
