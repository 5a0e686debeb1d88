/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/allocation.c - a large buffer is made for each batch
 */
#include "device_opencl.h"

#include <string.h>

static void upload_batch(uint64_t ns);

PLANT(.name = "allocation", .kinds = "allocation", .words = "upload_batch clCreateBuffer alloc",
      .act = upload_batch);

enum { SIZE = 4 << 20 };

static char batch[SIZE];

NOINLINE static void upload_batch(uint64_t ns)
{
	cl_mem buffers[256];
	unsigned count = 0;

	PLANT_BEGIN();
	for (; planted_ns() < ns && count < 256; count++)
		buffers[count] =
			clCreateBuffer(device.context, CL_MEM_COPY_HOST_PTR, SIZE, batch, NULL);
	PLANT_END();
	while (count--)
		clReleaseMemObject(buffers[count]);
}
