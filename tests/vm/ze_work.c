/* SPDX-License-Identifier: MIT
 *
 * tests/vm/ze_work.c - a program of Level Zero on GPUs of sim/mock_xe: three kernels, launched from
 * two places, and what they wait for
 *
 *	ze_work ZEBIN TIMES [NAME=VALUE …]
 *
 *	scale=1		all rows so often: so two of these are told apart
 *	late=ADDRESS	rows of the first kernel come first, then nothing for five seconds, then its
 *		module is made
 *	unknown=ADDRESS	rows of what no module has
 *
 * Runs in:  a virtual machine, above the real loader and sim/level_zero; compiled without frame
 *           pointers
 * Gives:    lines, read by tests/vm/check_vm.py; DEVICE: its address on PCI
 *		process PID
 *		kernel DEVICE NAME ADDRESS
 *		launched DEVICE NAME FUNCTION TIMES, FUNCTION: who is outermost of its callers, 20
 *		    deep
 *		scripted DEVICE NAME OFFSET COUNTS..., of one run
 *		rows DEVICE ADDRESS OFFSET COUNTS..., of no launch
 */
#include <level_zero/ze_api.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sim/mock_xe/mock_control.h"

#define NOINLINE __attribute__((noinline))

enum { KERNELS = 3, PLACES = 2, MAX_DEVICES = 4, DEEP = 20, ITEMS = 32, FIRST_BUS = 3 };

/* Where in the kernels of tests/golden/zebin/three_bmg.bin: a send, an instruction behind one, and
 * of the others one that is compacted, one of the math unit, one that only waits. */
static const struct {
	const char *name;
	struct mock_rows rows[PLACES];
} scripts[KERNELS] = {
	{"alpha",
	 {{.offset = 0x190, .count = 3, .counts = {[6] = 7, [9] = 1}},
	  {.offset = 0x128, .count = 1, .counts = {[5] = 200}}}},
	{"beta",
	 {{.offset = 0x190, .count = 5, .counts = {[4] = 11}},
	  {.offset = 0x1a0, .count = 2, .counts = {[6] = 3, [9] = 2}}}},
	{"gamma_kernel",
	 {{.offset = 0x140, .count = 1, .counts = {[3] = 9, [1] = 2, [2] = 3}},
	  {.offset = 0x1c8, .count = 4, .counts = {[7] = 5, [8] = 1, [0] = 1}}}},
};

typedef ze_result_t base_address(ze_kernel_handle_t kernel, uint64_t *ret_address);

struct device {
	ze_device_handle_t handle;
	uint32_t gpu; /* as the mock counts them */
	char pci[32];
	ze_module_handle_t module;
	ze_kernel_handle_t kernels[KERNELS];
	ze_command_queue_handle_t queue;
	ze_command_list_handle_t list, immediate;
	ze_event_pool_handle_t pool;
	ze_event_handle_t event;
};

static struct {
	uint64_t times, scale, late, unknown;
} options = {.scale = 1};

static ze_context_handle_t context;
static base_address *find_address;
static struct device devices[MAX_DEVICES];
static uint32_t devices_count = MAX_DEVICES;
static char zebin[1 << 16];
static size_t zebin_size;

static void give_up(const char *what, int why)
{
	printf("failed %s: %#x\n", what, why);
	exit(1);
}

#define CHECK(call)                                   \
	do {                                          \
		const ze_result_t result_ = (call);   \
		if (result_ != ZE_RESULT_SUCCESS)     \
			give_up(#call, (int)result_); \
	} while (0)

/* ---- what the GPUs do ------------------------------------------------------------------------ */

static void control(const struct mock_control *head, const struct mock_rows *rows)
{
	const size_t size = sizeof(*head) + head->rows_count * sizeof(*rows);
	struct mock_control *whole = malloc(size);
	const int file = open("/dev/mock_xe", O_WRONLY);

	if (!whole || file < 0)
		give_up("/dev/mock_xe", errno);
	*whole = *head;
	for (uint32_t i = 0; i < head->rows_count; i++) {
		whole->rows[i] = rows[i];
		whole->rows[i].count *= (uint32_t)options.scale;
	}
	if (write(file, whole, size) != (ssize_t)size)
		give_up("/dev/mock_xe", errno);
	free(whole);
	close(file);
}

static void print_counts(const struct mock_rows *rows)
{
	for (uint32_t i = 0; i < MOCK_REASONS; i++)
		printf(" %lu", options.scale * rows->count * rows->counts[i]);
	printf("\n");
}

static void script(const struct device *device, uint32_t kernel)
{
	uint64_t address;

	CHECK(find_address(device->kernels[kernel], &address));
	control(&(struct mock_control){.what = MOCK_SCRIPT,
				       .gpu = device->gpu,
				       .address = address,
				       .duration_us = 2000,
				       .rows_count = PLACES},
		scripts[kernel].rows);
	printf("kernel %s %s %#lx\n", device->pci, scripts[kernel].name, address);
	for (uint32_t i = 0; i < PLACES; i++) {
		printf("scripted %s %s %#x", device->pci, scripts[kernel].name,
		       scripts[kernel].rows[i].offset);
		print_counts(&scripts[kernel].rows[i]);
	}
}

/* Of the first script, of no launch. */
static void give_rows(const struct device *device, uint64_t address)
{
	if (!address)
		return;
	control(&(struct mock_control){.what = MOCK_ROWS,
				       .gpu = device->gpu,
				       .address = address,
				       .rows_count = PLACES},
		scripts[0].rows);
	for (uint32_t i = 0; i < PLACES; i++) {
		printf("rows %s %#lx %#x", device->pci, address, scripts[0].rows[i].offset);
		print_counts(&scripts[0].rows[i]);
	}
}

/* ---- what the program has -------------------------------------------------------------------- */

static void find_devices(void)
{
	ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	ze_device_handle_t handles[MAX_DEVICES];
	ze_driver_handle_t driver;
	uint32_t one = 1;

	CHECK(zeInit(0));
	CHECK(zeDriverGet(&one, &driver));
	CHECK(zeDeviceGet(driver, &devices_count, handles));
	CHECK(zeContextCreate(driver, &desc, &context));
	CHECK(zeDriverGetExtensionFunctionAddress(driver, "zexKernelGetBaseAddress",
						  (void **)&find_address));
	for (uint32_t i = 0; i < devices_count; i++) {
		ze_pci_ext_properties_t pci = {ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES};

		devices[i].handle = handles[i];
		CHECK(zeDevicePciGetPropertiesExt(handles[i], &pci));
		snprintf(devices[i].pci, sizeof(devices[i].pci), "%04x:%02x:%02x.%x",
			 pci.address.domain, pci.address.bus, pci.address.device,
			 pci.address.function);
		devices[i].gpu = pci.address.bus - FIRST_BUS;
	}
}

static void make_queues(struct device *device)
{
	ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_command_list_desc_t list_desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC};
	ze_event_desc_t event_desc = {ZE_STRUCTURE_TYPE_EVENT_DESC};

	pool_desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
	pool_desc.count = 1;
	CHECK(zeCommandQueueCreate(context, device->handle, &desc, &device->queue));
	CHECK(zeCommandListCreate(context, device->handle, &list_desc, &device->list));
	CHECK(zeCommandListCreateImmediate(context, device->handle, &desc, &device->immediate));
	CHECK(zeEventPoolCreate(context, &pool_desc, 1, &device->handle, &device->pool));
	CHECK(zeEventCreate(device->pool, &event_desc, &device->event));
}

static void make_kernels(struct device *device)
{
	ze_module_desc_t desc = {ZE_STRUCTURE_TYPE_MODULE_DESC};
	ze_kernel_desc_t kernel_desc = {ZE_STRUCTURE_TYPE_KERNEL_DESC};

	desc.format = ZE_MODULE_FORMAT_NATIVE;
	desc.inputSize = zebin_size;
	desc.pInputModule = (const uint8_t *)zebin;
	CHECK(zeModuleCreate(context, device->handle, &desc, &device->module, NULL));
	for (uint32_t i = 0; i < KERNELS; i++) {
		kernel_desc.pKernelName = scripts[i].name;
		CHECK(zeKernelCreate(device->module, &kernel_desc, &device->kernels[i]));
		CHECK(zeKernelSetGroupSize(device->kernels[i], ITEMS, 1, 1));
		script(device, i);
	}
}

static void read_zebin(const char *path)
{
	FILE *file = fopen(path, "rb");

	if (!file)
		give_up(path, errno);
	zebin_size = fread(zebin, 1, sizeof(zebin), file);
	fclose(file);
}

/* ---- launches -------------------------------------------------------------------------------- */

static const ze_group_count_t groups = {1, 1, 1};

/* A list, which is submitted as a whole. */
NOINLINE static void run_list(struct device *device, uint32_t kernel)
{
	CHECK(zeCommandListAppendLaunchKernel(device->list, device->kernels[kernel], &groups, NULL,
					      0, NULL));
	CHECK(zeCommandListClose(device->list));
	CHECK(zeCommandQueueExecuteCommandLists(device->queue, 1, &device->list, NULL));
	CHECK(zeCommandQueueSynchronize(device->queue, UINT64_MAX));
	CHECK(zeCommandListReset(device->list));
	__asm__ volatile("" ::: "memory");
}

/* A list that submits what is appended. */
NOINLINE static void run_at_once(struct device *device, uint32_t kernel)
{
	CHECK(zeCommandListAppendLaunchKernel(device->immediate, device->kernels[kernel], &groups,
					      device->event, 0, NULL));
	CHECK(zeEventHostSynchronize(device->event, UINT64_MAX));
	CHECK(zeEventHostReset(device->event));
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void go_down(struct device *device, uint32_t kernel, uint32_t deep,
			     void (*run)(struct device *, uint32_t))
{
	if (deep)
		go_down(device, kernel, deep - 1, run);
	else
		run(device, kernel);
	__asm__ volatile("" ::: "memory"); /* no call in the end's place */
}

NOINLINE static void launch_forward(struct device *device, uint32_t kernel)
{
	go_down(device, kernel, DEEP, run_list);
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void launch_backward(struct device *device, uint32_t kernel)
{
	go_down(device, kernel, DEEP, run_at_once);
	__asm__ volatile("" ::: "memory");
}

static void launch_all(struct device *device)
{
	for (uint64_t i = 0; i < options.times; i++)
		for (uint32_t k = 0; k < KERNELS; k++) {
			launch_forward(device, k);
			launch_backward(device, k);
			launch_backward(device, k);
		}
	for (uint32_t k = 0; k < KERNELS; k++) {
		printf("launched %s %s launch_forward %lu\n", device->pci, scripts[k].name,
		       options.times);
		printf("launched %s %s launch_backward %lu\n", device->pci, scripts[k].name,
		       2 * options.times);
	}
}

static void end(struct device *device)
{
	/* who reads the rows does so as they come, and has them all before the program goes */
	control(&(struct mock_control){.what = MOCK_WAIT, .gpu = device->gpu}, NULL);
	for (uint32_t k = 0; k < KERNELS; k++)
		CHECK(zeKernelDestroy(device->kernels[k]));
	CHECK(zeModuleDestroy(device->module));
	CHECK(zeEventDestroy(device->event));
	CHECK(zeEventPoolDestroy(device->pool));
	CHECK(zeCommandListDestroy(device->immediate));
	CHECK(zeCommandListDestroy(device->list));
	CHECK(zeCommandQueueDestroy(device->queue));
}

/* ---- the program ----------------------------------------------------------------------------- */

static void read_option(const char *argument)
{
	const char *equals = strchr(argument, '=');
	const uint64_t value = equals ? strtoull(equals + 1, NULL, 0) : 0;

	if (!strncmp(argument, "scale=", 6))
		options.scale = value;
	else if (!strncmp(argument, "late=", 5))
		options.late = value;
	else if (!strncmp(argument, "unknown=", 8))
		options.unknown = value;
	else
		give_up(argument, EINVAL);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 3)
		return 2;
	options.times = strtoull(argv[2], NULL, 0);
	for (int i = 3; i < argc; i++)
		read_option(argv[i]);
	printf("process %d\n", (int)getpid());
	read_zebin(argv[1]);
	find_devices();
	for (uint32_t i = 0; i < devices_count; i++) {
		give_rows(&devices[i], options.late);
		give_rows(&devices[i], options.unknown);
	}
	if (options.late)
		sleep(5);
	for (uint32_t i = 0; i < devices_count; i++) {
		make_queues(&devices[i]);
		make_kernels(&devices[i]);
	}
	for (uint32_t i = 0; i < devices_count; i++)
		launch_all(&devices[i]);
	for (uint32_t i = 0; i < devices_count; i++)
		end(&devices[i]);
	CHECK(zeContextDestroy(context));
	return 0;
}
