/* SPDX-License-Identifier: MIT
 *
 * tests/programs/hip_ranges.c - HIP in ranges of roctx, in counts that a test knows
 *
 * 7 times "step", in each "forward" with three fills and "backward" with one, which is waited for;
 * one fill before all.
 */
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1 /* what Debian's headers of HIP 5.2 still ask for */
#include <stdio.h>

#include <hip/hip_runtime_api.h>

extern int roctxRangePushA(const char *message);
extern int roctxRangePop(void);

enum { STEPS = 7, FORWARD = 3, BYTES = 4096 };

static void *memory;
static int failed;

__attribute__((noinline)) static void fill(int value)
{
	failed += hipMemset(memory, value, BYTES) != hipSuccess;
}

static void step(void)
{
	roctxRangePushA("step");
	roctxRangePushA("forward");
	for (int i = 0; i < FORWARD; i++)
		fill(i);
	roctxRangePop();
	roctxRangePushA("backward");
	fill(FORWARD);
	failed += hipDeviceSynchronize() != hipSuccess;
	roctxRangePop();
	roctxRangePop();
}

int main(void)
{
	failed += hipMalloc(&memory, BYTES) != hipSuccess;
	fill(0);
	for (int i = 0; i < STEPS; i++)
		step();
	failed += hipFree(memory) != hipSuccess;
	printf("{\"failed\":%d}\n", failed);
	return failed != 0;
}
