/* SPDX-License-Identifier: MIT
 *
 * tests/unit/sim/injected.c - what CUDA_INJECTION64_PATH names in test_sim_driver
 *
 * Counts its initializations, and calls the driver in the middle of it, as a profiler may.
 */
#include <dlfcn.h>

extern __attribute__((visibility("default"))) int injected_count, injected_result;
int injected_count, injected_result = -1;
int InitializeInjection(void);

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	unsigned (*init)(unsigned) = driver ? (unsigned (*)(unsigned))dlsym(driver, "cuInit") : 0;

	__atomic_add_fetch(&injected_count, 1, __ATOMIC_SEQ_CST);
	injected_result = init ? (int)init(0) : -2;
	return 1;
}
