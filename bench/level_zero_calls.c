/* SPDX-License-Identifier: MIT
 *
 * bench/level_zero_calls.c - what an append of Level Zero takes, and its execution
 *
 *	level_zero_calls ZEBIN ROUNDS
 *
 * A round appends 512 launches to a list, executes it and waits. Prints what of the thread's
 * processor time, in nanoseconds, an append takes and what a command's execution, waiting left out:
 * the least and the middle of the rounds.
 */
#include <level_zero/ze_api.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COMMANDS = 512, MAX_ROUNDS = 10000 };

#define CHECK(call)                                                             \
	do {                                                                    \
		ze_result_t result_ = (call);                                   \
		if (result_ != ZE_RESULT_SUCCESS) {                             \
			fprintf(stderr, "%s: %#x\n", #call, (unsigned)result_); \
			exit(99);                                               \
		}                                                               \
	} while (0)

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void print(const char *name, double *times, int rounds)
{
	qsort(times, (size_t)rounds, sizeof(*times), compare);
	printf("%s least %.1f middle %.1f\n", name, times[0], times[rounds / 2]);
}

static ze_kernel_handle_t make_kernel(ze_context_handle_t context, ze_device_handle_t device,
				      const char *path)
{
	ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
				 .format = ZE_MODULE_FORMAT_NATIVE};
	ze_kernel_desc_t kernel_desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
					.pKernelName = "saxpy"};
	static uint8_t code[1 << 20];
	FILE *file = fopen(path, "rb");
	ze_module_handle_t module;
	ze_kernel_handle_t kernel;

	if (!file)
		exit(99);
	desc.inputSize = fread(code, 1, sizeof(code), file);
	desc.pInputModule = code;
	fclose(file);
	CHECK(zeModuleCreate(context, device, &desc, &module, NULL));
	CHECK(zeKernelCreate(module, &kernel_desc, &kernel));
	CHECK(zeKernelSetGroupSize(kernel, 1, 1, 1));
	return kernel;
}

static void run_round(ze_command_queue_handle_t queue, ze_command_list_handle_t list,
		      ze_kernel_handle_t kernel, double *ret_append_ns, double *ret_execute_ns)
{
	const ze_group_count_t groups = {0, 1, 1};
	double begin = now_ns(), middle;

	for (int i = 0; i < COMMANDS; i++)
		CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
	middle = now_ns();
	CHECK(zeCommandListClose(list));
	CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
	CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
	*ret_execute_ns = (now_ns() - middle) / COMMANDS;
	*ret_append_ns = (middle - begin) / COMMANDS;
	CHECK(zeCommandListReset(list));
}

int main(int argc, char **argv)
{
	static double appends[MAX_ROUNDS], executions[MAX_ROUNDS];
	const ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	const ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	const ze_command_list_desc_t list_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	int rounds = argc > 2 ? atoi(argv[2]) : 0;
	ze_command_queue_handle_t queue;
	ze_command_list_handle_t list;
	ze_context_handle_t context;
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_kernel_handle_t kernel;
	uint32_t count = 1;

	if (rounds < 1 || rounds > MAX_ROUNDS)
		return 99;
	CHECK(zeInit(0));
	CHECK(zeDriverGet(&count, &driver));
	CHECK(zeDeviceGet(driver, &count, &device));
	CHECK(zeContextCreate(driver, &context_desc, &context));
	CHECK(zeCommandQueueCreate(context, device, &queue_desc, &queue));
	CHECK(zeCommandListCreate(context, device, &list_desc, &list));
	kernel = make_kernel(context, device, argv[1]);
	for (int i = 0; i < rounds; i++)
		run_round(queue, list, kernel, &appends[i], &executions[i]);
	print("append", appends, rounds);
	print("execution", executions, rounds);
	return 0;
}
