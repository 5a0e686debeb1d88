/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/harness/device_hip.c - two fills, which are kernels, by HIP
 *
 * The simulated GPU of sim/amd says how long a kernel lasts.
 */
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1 /* for Debian's headers of HIP 5.2 */
#include <hip/hip_runtime_api.h>

#include "diagnosis.h"

enum { BYTES = 4096 };

static void *memory;

static void hip_check(hipError_t status, const char *what)
{
	if (status == hipSuccess)
		return;
	fprintf(stderr, "%s: HIP error %d\n", what, (int)status);
	exit(99);
}

void device_open(void)
{
	hip_check(hipMalloc(&memory, BYTES), "hipMalloc");
}

void device_launch(void)
{
	hip_check(hipMemsetAsync(memory, 1, BYTES, NULL), "hipMemsetAsync");
	hip_check(hipMemsetAsync(memory, 2, BYTES, NULL), "hipMemsetAsync");
}

void device_finish(void)
{
	hip_check(hipDeviceSynchronize(), "hipDeviceSynchronize");
}
