/* SPDX-License-Identifier: MIT
 *
 * tests/programs/cuda_sites.c - two kernels that are launched by one function, for two callers
 *
 *	cuda_sites COUNT
 *
 * Runs in:  a process of its own, with libcuda.so.1 as the loader finds it
 * Gives:    COUNT launches: nine of ten of the kernel `often` by launch_often, the tenth of
 *           `seldom` by launch_seldom
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/nvidia/cuda_abi.h"

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .entry often(.param .u64 p) { ret; }\n"
			  ".visible .entry seldom(.param .u64 p) { ret; }\n";

static struct cuda_all_functions cu;
static int wrong;

#define CHECK(call) (wrong += (call) != CUDA_SUCCESS)

static int open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		return 1;
#define FIND(name, parameters) *(void **)&cu.name = dlsym(library, #name);
	CUDA_ALL_FUNCTIONS(FIND)
#undef FIND
	return 0;
}

static __attribute__((noinline)) void launch(CUfunction kernel, CUstream stream)
{
	CHECK(cu.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static __attribute__((noinline)) void launch_often(CUfunction kernel, CUstream stream)
{
	launch(kernel, stream);
	__asm__ volatile("# often"); /* no tail call, and no common code */
}

static __attribute__((noinline)) void launch_seldom(CUfunction kernel, CUstream stream)
{
	launch(kernel, stream);
	__asm__ volatile("nop");
}

int main(int argc, char **argv)
{
	const long count = argc > 1 ? atol(argv[1]) : 0;
	CUfunction often = NULL, seldom = NULL;
	CUcontext context = NULL;
	CUstream stream = NULL;
	CUmodule module = NULL;

	if (open_driver())
		return 2;
	CHECK(cu.cuInit(0));
	CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cu.cuCtxSetCurrent(context));
	CHECK(cu.cuModuleLoadData(&module, ptx));
	CHECK(cu.cuModuleGetFunction(&often, module, "often"));
	CHECK(cu.cuModuleGetFunction(&seldom, module, "seldom"));
	CHECK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (long i = 0; i < count; i++) {
		if (i % 10 == 9)
			launch_seldom(seldom, stream);
		else
			launch_often(often, stream);
		if (i % 256 == 255)
			CHECK(cu.cuStreamSynchronize(stream));
	}
	CHECK(cu.cuStreamSynchronize(stream));
	printf("{\"wrong\": %d}\n", wrong);
	return wrong != 0;
}
