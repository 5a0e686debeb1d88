/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/other_device.c - a kernel waits for the other device
 */
#include "device_opencl.h"

static void open_other_device(void);
static void reduce_on_both(uint64_t ns);

/* More than an iteration's own work, so that the first device is the one that idles longest. */
PLANT(.name = "other_device", .amount_ns = 10 * MS, .kinds = "other_device dependency",
      .words = "reduce_on_both device depend", .start = open_other_device, .act = reduce_on_both);

enum { LAUNCHES = 3 };

static cl_command_queue other;

static void open_other_device(void)
{
	if (device.count < 2)
		exit(STATUS_SKIPPED); /* POCL_DEVICES="pthread pthread" */
	other = clCreateCommandQueue(device.context, device.devices[1], 0, NULL);
}

NOINLINE static void reduce_on_both(uint64_t ns)
{
	size_t size = 1 << 14, few = 256;
	cl_event done;

	PLANT_BEGIN();
	while (planted_ns() < ns) {
		for (int i = 1; i <= LAUNCHES; i++)
			clEnqueueNDRangeKernel(other, device.forward, 1, NULL, &size, NULL, 0, NULL,
					       i < LAUNCHES ? NULL : &done);
		clFlush(other);
		clEnqueueNDRangeKernel(device.queue, device.backward, 1, NULL, &few, NULL, 1, &done,
				       NULL);
		clFinish(device.queue);
		clReleaseEvent(done);
	}
	PLANT_END();
}
