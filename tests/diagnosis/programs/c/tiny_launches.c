/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/tiny_launches.c - launches that take longer than their kernels
 */
#include "device_opencl.h"

static void sum_rows(uint64_t ns);

PLANT(.name = "tiny_launches",
      .kinds = "launch_bound launch_call submission launched_not_started device_wait call",
      .words = "sum_rows launch", .act = sum_rows);

static uint64_t duration_ns(cl_event event)
{
	cl_ulong start = 0, end = 0;

	clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL);
	clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL);
	clReleaseEvent(event);
	return end - start;
}

NOINLINE static void sum_rows(uint64_t ns)
{
	cl_int loops = 1;
	size_t size = 16;
	cl_event events[4096];
	unsigned count = 0;

	clSetKernelArg(device.forward, 1, sizeof(loops), &loops);
	PLANT_BEGIN();
	for (; planted_ns() < ns && count < 4096; count++) {
		device_check(clEnqueueNDRangeKernel(device.queue, device.forward, 1, NULL, &size,
						    NULL, 0, NULL, &events[count]),
			     "launch");
		clFinish(device.queue);
	}
	PLANT_END();
	while (count--)
		plant.ns -= duration_ns(events[count]);
	loops = DEVICE_LOOPS;
	clSetKernelArg(device.forward, 1, sizeof(loops), &loops);
}
