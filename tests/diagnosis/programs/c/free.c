/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/free.c - large buffers are released in the loop
 */
#include "device_opencl.h"

static void make_buffers(void);
static void drop_buffers(uint64_t ns);

PLANT(.name = "free", .kinds = "free", .words = "drop_buffers clReleaseMemObject free release",
      .amount_ns = MS, .every = 3, .start = make_buffers, .act = drop_buffers);

enum { SIZE = 16 << 20, COUNT = 160 };

static cl_mem buffers[COUNT];
static unsigned dropped;

static void make_buffers(void)
{
	char *data = (char *)calloc(1, SIZE);

	if (getenv("DIAGNOSIS_CLEAN"))
		return;
	for (int i = 0; i < COUNT; i++)
		buffers[i] = clCreateBuffer(device.context, CL_MEM_COPY_HOST_PTR, SIZE, data, NULL);
	free(data);
}

NOINLINE static void drop_buffers(uint64_t ns)
{
	PLANT_BEGIN();
	for (; planted_ns() < ns && dropped < COUNT; dropped++)
		clReleaseMemObject(buffers[dropped]);
	PLANT_END();
}
