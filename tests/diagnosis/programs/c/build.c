/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/build.c - a program is built again for each new constant
 */
#include "device_opencl.h"

#include <unistd.h>

static void specialise_kernel(uint64_t ns);

PLANT(.name = "build", .kinds = "build", .words = "specialise_kernel clBuildProgram build",
      .every = 8, .act = specialise_kernel);

NOINLINE static void specialise_kernel(uint64_t ns)
{
	static unsigned constant;
	char text[160];
	const char *source = text;

	PLANT_BEGIN();
	while (planted_ns() < ns) {
		cl_program program;

		snprintf(text, sizeof(text),
			 "kernel void scale(global float *x) { x[get_global_id(0)] *= %d.%uf; }",
			 (int)getpid(), constant++);
		program = clCreateProgramWithSource(device.context, 1, &source, NULL, NULL);
		device_check(clBuildProgram(program, 0, NULL, "", NULL, NULL), "clBuildProgram");
		clReleaseProgram(program);
	}
	PLANT_END();
}
