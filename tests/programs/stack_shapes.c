/* SPDX-License-Identifier: MIT
 *
 * tests/programs/stack_shapes.c - launches one kernel from places that are known
 *
 *	stack_shapes LAUNCHES     three of four by common(), one by rare(); at the end one from 20
 *	                          calls of qsort
 *
 * Built with -O2 -fomit-frame-pointer. The global size says from where: 1 common, 2 rare, 3 qsort.
 */
#include "opencl_work.h"

enum { DEPTH = 20 };

#define FRAME __attribute__((noinline))

static struct work work;
static volatile unsigned int returns; /* what comes after a call keeps the frame of the caller */
static int depth;

static FRAME void launch(size_t size)
{
	work_check(clEnqueueNDRangeKernel(work.queue, work.kernel, 1, NULL, &size, NULL, 0, NULL,
					  NULL),
		   "clEnqueueNDRangeKernel");
	returns++;
}

static FRAME void common(void)
{
	launch(1);
	returns += 3;
}

static FRAME void rare(void)
{
	launch(2);
	returns += 1;
}

static FRAME void deeper(void);

static FRAME int compare(const void *one, const void *other)
{
	deeper();
	return *(const int *)one - *(const int *)other;
}

static FRAME void deeper(void)
{
	int numbers[2] = {2, 1};

	if (depth++ < DEPTH)
		qsort(numbers, 2, sizeof numbers[0], compare);
	else
		launch(3);
	returns += (unsigned int)numbers[0];
}

int main(int argc, char **argv)
{
	int launches = argc > 1 ? atoi(argv[1]) : 400;

	work_open(&work);
	for (int i = 0; i < launches; i++) {
		if (i % 4 == 3)
			rare();
		else
			common();
	}
	deeper();
	work_check(clFinish(work.queue), "clFinish");
	work_close(&work);
	return 0;
}
