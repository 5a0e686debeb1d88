/* SPDX-License-Identifier: MIT
 *
 * tests/apps/programs/static_program.cpp - OpenCL's C++ bindings: static objects are released during exit()
 */
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>

#include <cstdio>

static cl::Program program;
static cl::CommandQueue queue;
static cl::Kernel kernel;

int main()
{
	cl::Context context = cl::Context::getDefault();
	cl::Buffer buffer(context, CL_MEM_READ_WRITE, 4096);

	program = cl::Program(context, "__kernel void k(__global float *a) { a[get_global_id(0)] *= 3; }", true);
	kernel = cl::Kernel(program, "k");
	queue = cl::CommandQueue(context);
	kernel.setArg(0, buffer);
	queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(64), cl::NDRange(64));
	queue.finish();
	printf("done\n");
	return 0;
}
