/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/harness/device_cuda.c - two kernels and a copy back, by the CUDA driver
 *
 * libcuda.so.1 is found by name: the simulated one of sim/nvidia says how long a kernel lasts.
 */
#include <dlfcn.h>

#include "diagnosis.h"
#include "sim/nvidia/cuda_abi.h"

enum { BYTES = 1 << 16 };

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .entry forward(.param .u64 p) { ret; }\n"
			  ".visible .entry backward(.param .u64 p) { ret; }\n";
static struct cuda_all_functions cu;
static CUfunction forward, backward;
static CUdeviceptr memory;
static CUstream stream;
static char host[BYTES];

static void cuda_check(int status, const char *what)
{
	if (status == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: CUDA error %d\n", what, status);
	exit(99);
}

static void open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		exit(STATUS_SKIPPED);
#define FIND(name, parameters) *(void **)&cu.name = dlsym(library, #name);
	CUDA_ALL_FUNCTIONS(FIND)
#undef FIND
}

void device_open(void)
{
	CUcontext context;
	CUmodule module;

	open_driver();
	cuda_check(cu.cuInit(0), "cuInit");
	cuda_check(cu.cuDevicePrimaryCtxRetain(&context, 0), "context");
	cuda_check(cu.cuCtxSetCurrent(context), "context");
	cuda_check(cu.cuModuleLoadData(&module, ptx), "module");
	cuda_check(cu.cuModuleGetFunction(&forward, module, "forward"), "forward");
	cuda_check(cu.cuModuleGetFunction(&backward, module, "backward"), "backward");
	cuda_check(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
	cuda_check(cu.cuMemAlloc_v2(&memory, BYTES), "memory");
}

void device_launch(void)
{
	cuda_check(cu.cuLaunchKernel(forward, 64, 1, 1, 256, 1, 1, 0, stream, NULL, NULL),
		   "launch");
	cuda_check(cu.cuLaunchKernel(backward, 64, 1, 1, 256, 1, 1, 0, stream, NULL, NULL),
		   "launch");
	cuda_check(cu.cuMemcpyDtoHAsync_v2(host, memory, BYTES, stream), "copy");
}

void device_finish(void)
{
	cuda_check(cu.cuStreamSynchronize(stream), "synchronize");
}
