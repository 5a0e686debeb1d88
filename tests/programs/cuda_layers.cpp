/* SPDX-License-Identifier: MIT
 *
 * tests/programs/cuda_layers.cpp - what a framework is to CUDA: a library in C++ that Python calls and that launches kernels
 *
 * Why: a sampled instruction is shown below the Python line, the method and the call that launched its kernel
 */
#include <dlfcn.h>

#include <cstddef>

namespace
{
const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
		   ".visible .entry matmul(.param .u64 p) { ret; }\n"
		   ".visible .entry softmax(.param .u64 p) { ret; }\n";

void *library;
struct {
	void *context, *kernels[2], *stream;
} devices[2];

template <typename... Arguments> int call(const char *name, Arguments... arguments)
{
	auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));

	return function ? function(arguments...) : -1;
}
} // namespace

namespace model
{
class Layer
{
	void *kernel, *stream;

	public:
	Layer(int which, int device)
	    : kernel(devices[device].kernels[which]), stream(devices[device].stream)
	{
	}

	__attribute__((noinline)) int forward(int times) const
	{
		int wrong = 0;

		for (int i = 0; i < times; i++)
			wrong += call("cuLaunchKernel", kernel, 8u, 1u, 1u, 256u, 1u, 1u, 0u, stream,
				      static_cast<void **>(nullptr),
				      static_cast<void **>(nullptr)) != 0;
		return wrong;
	}
};
} // namespace model

/* 0: there is a context with both kernels on each of the first devices, at most two. */
extern "C" int layers_open(int count)
{
	int wrong;

	library = dlopen("libcuda.so.1", RTLD_NOW);
	wrong = library ? call("cuInit", 0u) : -1;
	for (int i = 0; i < count && !wrong; i++) {
		auto &device = devices[i];
		void *module = nullptr;

		wrong = call("cuDevicePrimaryCtxRetain", &device.context, i) ||
			call("cuCtxSetCurrent", device.context) ||
			call("cuModuleLoadData", &module, static_cast<const void *>(ptx)) ||
			call("cuModuleGetFunction", &device.kernels[0], module, "matmul") ||
			call("cuModuleGetFunction", &device.kernels[1], module, "softmax") ||
			call("cuStreamCreate", &device.stream, 1u);
	}
	return wrong;
}

/* Layer 0 or 1, so many times. */
extern "C" int layers_forward(int which, int times, int device)
{
	return call("cuCtxSetCurrent", devices[device].context)
		       ? -1
		       : model::Layer(which, device).forward(times);
}

extern "C" int layers_wait(int device)
{
	return call("cuCtxSetCurrent", devices[device].context)
		       ? -1
		       : call("cuStreamSynchronize", devices[device].stream);
}
