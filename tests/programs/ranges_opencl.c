/* SPDX-License-Identifier: MIT
 *
 * tests/programs/ranges_opencl.c - launches kernels within ranges of roctx, in counts that a test
 * knows
 *
 * 5 times "step" with 2 rounds of its own and 3 in "inner"; 7 within "started", which is stopped; 2
 * in no range. A round is a write, a kernel and a read.
 */
#include "opencl_work.h"

extern int roctxRangePushA(const char *message);
extern int roctxRangePop(void);
extern uint64_t roctxRangeStartA(const char *message);
extern void roctxRangeStop(uint64_t id);

static struct work work;

static void launch(int count)
{
	for (int i = 0; i < count; i++)
		work_step(&work);
}

int main(void)
{
	uint64_t id;

	work_open(&work);
	for (int i = 0; i < 5; i++) {
		roctxRangePushA("step");
		launch(2);
		roctxRangePushA("inner");
		launch(3);
		roctxRangePop();
		roctxRangePop();
	}
	id = roctxRangeStartA("started");
	launch(7);
	roctxRangeStop(id);
	launch(2);
	work_close(&work);
	return 0;
}
