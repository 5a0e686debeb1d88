/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/api_call.c - kernels are made anew for each call
 */
#include "device_opencl.h"

static void make_kernels(uint64_t ns);

PLANT(.name = "api_call", .kinds = "call computing", .words = "make_kernels clCreateKernel",
      .act = make_kernels);

NOINLINE static void make_kernels(uint64_t ns)
{
	PLANT_BEGIN();
	while (planted_ns() < ns)
		for (int i = 0; i < 100; i++) {
			cl_kernel kernels[2];

			clCreateKernelsInProgram(device.program, 2, kernels, NULL);
			clReleaseKernel(kernels[0]);
			clReleaseKernel(kernels[1]);
		}
	PLANT_END();
}
