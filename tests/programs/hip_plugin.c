/* SPDX-License-Identifier: MIT
 *
 * tests/programs/hip_plugin.c - a library that is linked to HIP and loaded by a program that is not
 *
 * As Python's frameworks are: its calls are looked up where nobody but itself sees HIP.
 */
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1 /* what Debian's headers of HIP 5.2 still ask for */
#include <hip/hip_runtime_api.h>

__attribute__((visibility("default"))) int plugin_fill(size_t bytes, int times);
int plugin_fill(size_t bytes, int times)
{
	void *memory;

	if (hipMalloc(&memory, bytes) != hipSuccess)
		return 1;
	for (int i = 0; i < times; i++)
		if (hipMemset(memory, i, bytes) != hipSuccess)
			return 1;
	return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
