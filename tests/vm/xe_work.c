/* SPDX-License-Identifier: MIT
 *
 * tests/vm/xe_work.c - kernels on a GPU of sim/mock_xe, launched from two places, and what they do
 *
 *	xe_work GPU TIMES	each launch so often
 *
 * Runs in:  a virtual machine that has the module; compiled without frame pointers
 * Gives:    lines, read by tests/vm/check_vm.py:
 *		kernel NUMBER ADDRESS
 *		launched NUMBER FUNCTION TIMES, FUNCTION: who is outermost of its callers, 20 deep
 *		scripted NUMBER OFFSET COUNTS..., of one run
 */
#include "../../sim/mock_xe/mock_control.h"
#include "xe_gpu.h"

enum { KERNELS = 3, CODE = 0x10000, KERNEL_BYTES = 0x1000, DEEP = 20 };
#define CODE_ADDRESS  UINT64_C(0x800000000000)
#define BATCH_ADDRESS UINT64_C(0x100000)

/* Of each kernel, of each of its instructions that are ever found: offset and counts. */
static const struct mock_rows rows[KERNELS][2] = {
	{{.offset = 0x40, .count = 3, .counts = {[4] = 7, [9] = 1}},
	 {.offset = 0x50, .count = 1, .counts = {[6] = 200}}},
	{{.offset = 0x10, .count = 5, .counts = {[6] = 11}},
	 {.offset = 0x80, .count = 2, .counts = {[9] = 3}}},
	{{.offset = 0x00, .count = 1, .counts = {[1] = 1, [2] = 2, [3] = 3}},
	 {.offset = 0x30, .count = 4, .counts = {[0] = 1, [8] = 5}}},
};

static struct xe_gpu gpu;
static struct xe_buffer batch;
static uint32_t batches[KERNELS]; /* dword at which that of a kernel begins */

static void script(uint32_t index, uint32_t kernel)
{
	const size_t size = sizeof(struct mock_control) + sizeof(rows[kernel]);
	struct mock_control *control = calloc(1, size);
	int fd = open("/dev/mock_xe", O_WRONLY);

	if (!control)
		give_up("memory");
	*control = (struct mock_control){.what = MOCK_SCRIPT,
					 .gpu = index,
					 .address = CODE_ADDRESS + kernel * KERNEL_BYTES,
					 .duration_us = 2000,
					 .rows_count = 2};
	memcpy(control->rows, rows[kernel], sizeof(rows[kernel]));
	if (fd < 0 || write(fd, control, size) != (ssize_t)size)
		give_up("script");
	free(control);
	close(fd);
	printf("kernel %u %#lx\n", kernel, CODE_ADDRESS + kernel * KERNEL_BYTES);
	for (uint32_t i = 0; i < 2; i++) {
		printf("scripted %u %u", kernel, rows[kernel][i].offset);
		for (uint32_t j = 0; j < MOCK_REASONS; j++)
			printf(" %u", rows[kernel][i].count * rows[kernel][i].counts[j]);
		printf("\n");
	}
}

__attribute__((noinline)) static int go_down(uint32_t kernel, uint32_t deep)
{
	int result = deep ? go_down(kernel, deep - 1)
			  : xe_submit(&gpu, BATCH_ADDRESS + 4 * batches[kernel]);

	__asm__ volatile("" ::: "memory"); /* no call in the end's place */
	return result;
}

__attribute__((noinline)) static int launch_forward(uint32_t kernel)
{
	int result = go_down(kernel, DEEP);

	__asm__ volatile("" ::: "memory");
	return result;
}

__attribute__((noinline)) static int launch_backward(uint32_t kernel)
{
	int result = go_down(kernel, DEEP);

	__asm__ volatile("" ::: "memory");
	return result;
}

static void make_batches(void)
{
	uint32_t *at = batch.dwords;

	for (uint32_t i = 0; i < KERNELS; i++) {
		batches[i] = (uint32_t)(at - batch.dwords);
		at = xe_put_base(at, CODE_ADDRESS);
		at = xe_put_walker(at, i * KERNEL_BYTES);
		at = xe_put_end(at);
		at += (16 - (at - batch.dwords) % 16) % 16;
	}
}

int main(int argc, char **argv)
{
	const uint32_t index = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
	const uint32_t times = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
	struct xe_buffer code;

	setvbuf(stdout, NULL, _IOLBF, 0);
	xe_begin(&gpu, (int)index);
	xe_make(&gpu, &code, CODE);
	xe_bind(&gpu, &code, CODE_ADDRESS);
	xe_make(&gpu, &batch, 0x10000);
	xe_bind(&gpu, &batch, BATCH_ADDRESS);
	make_batches();
	for (uint32_t i = 0; i < KERNELS; i++)
		script(index, i);
	for (uint32_t i = 0; i < KERNELS; i++)
		for (uint32_t j = 0; j < times; j++)
			if (launch_forward(i) || launch_backward(i) || launch_backward(i))
				give_up("exec");
	for (uint32_t i = 0; i < KERNELS; i++)
		printf("launched %u launch_forward %u\nlaunched %u launch_backward %u\n", i, times,
		       i, 2 * times);
	/* the scheduler is asynchronous, and a file that is closed takes its jobs with it */
	usleep(3000 * KERNELS * 3 * times + 300000);
	return 0;
}
