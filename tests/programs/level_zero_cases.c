/* SPDX-License-Identifier: MIT
 *
 * tests/programs/level_zero_cases.c - what programs of Level Zero may do with events, lists and
 * contexts, case by case
 *
 *	level_zero_cases CASE [ARGUMENT]
 *
 * Plays a loader of version 1.17 above the driver that ZE_ENABLE_ALT_DRIVERS names and, where
 * ZE_ENABLE_VALIDATION_LAYER is set, its layer: so that functions are called that the installed
 * loader may be too old for. Prints what the test has to know. All that it does is allowed; what it
 * waits for is said by events, so that no case depends on time.
 */
#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 64, LARGE = 1 << 23, SMALL = 4096 };

#define TABLE(name, type)                  \
	static union {                     \
		void *slots[SLOTS];        \
		ze_##type##_dditable_t of; \
	} name
TABLE(global, global);
TABLE(drivers, driver);
TABLE(devices, device);
TABLE(contexts, context);
TABLE(queues, command_queue);
TABLE(lists, command_list);
TABLE(fences, fence);
TABLE(pools, event_pool);
TABLE(events, event);
TABLE(modules, module);
TABLE(kernels, kernel);
TABLE(memory, mem);
static void *lists_exp[SLOTS], *runtime[SLOTS];

/* As sim/level_zero/sim.h has it. */
static struct {
	_Atomic unsigned long events, queries, binaries;
} * counts;

#define CHECK(call)                                                                     \
	do {                                                                            \
		ze_result_t result_ = (call);                                           \
		if (result_ != ZE_RESULT_SUCCESS) {                                     \
			fprintf(stderr, "level_zero_cases: %s: %#x\n", #call, result_); \
			exit(99);                                                       \
		}                                                                       \
	} while (0)

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_command_queue_handle_t queue;
static ze_command_list_handle_t immediate;
static ze_event_pool_handle_t pool;
static ze_event_handle_t gate; /* what waits for it goes on when the program says so */
static char *bytes;

/* ---- the loader ------------------------------------------------------------------------------ */

typedef ze_result_t get_table(uint32_t version, void *slots);

static void fill(void *below, void *layer, const char *name, void *slots)
{
	enum { VERSION = 1 << 16 | 17 };
	get_table *first = (get_table *)dlsym(below, name), *then;

	if (first)
		CHECK(first(VERSION, slots));
	then = layer ? (get_table *)dlsym(layer, name) : NULL;
	if (then)
		CHECK(then(VERSION, slots));
}

static void load(void)
{
	const char *path = getenv("ZE_ENABLE_ALT_DRIVERS");
	void *below = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL, *layer = NULL;

	if (!below)
		exit(98);
	if (getenv("ZE_ENABLE_VALIDATION_LAYER"))
		layer = dlopen("libze_validation_layer.so.1", RTLD_NOW | RTLD_LOCAL);
	counts = dlsym(below, "sim_level_zero_counts");
	fill(below, layer, "zeGetGlobalProcAddrTable", &global);
	fill(below, layer, "zeGetDriverProcAddrTable", &drivers);
	fill(below, layer, "zeGetDeviceProcAddrTable", &devices);
	fill(below, layer, "zeGetContextProcAddrTable", &contexts);
	fill(below, layer, "zeGetCommandQueueProcAddrTable", &queues);
	fill(below, layer, "zeGetCommandListProcAddrTable", &lists);
	fill(below, layer, "zeGetCommandListExpProcAddrTable", lists_exp);
	fill(below, layer, "zeGetFenceProcAddrTable", &fences);
	fill(below, layer, "zeGetEventPoolProcAddrTable", &pools);
	fill(below, layer, "zeGetEventProcAddrTable", &events);
	fill(below, layer, "zeGetModuleProcAddrTable", &modules);
	fill(below, layer, "zeGetKernelProcAddrTable", &kernels);
	fill(below, layer, "zeGetMemProcAddrTable", &memory);
	fill(below, layer, "zerGetGlobalProcAddrTable", runtime);
}

/* ---- what each case has ---------------------------------------------------------------------- */

static ze_command_queue_handle_t new_queue(void)
{
	ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_command_queue_handle_t made;

	desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
	CHECK(queues.of.pfnCreate(context, device, &desc, &made));
	return made;
}

static ze_command_list_handle_t new_list(void)
{
	ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	ze_command_list_handle_t made;

	CHECK(lists.of.pfnCreate(context, device, &desc, &made));
	return made;
}

static ze_command_list_handle_t new_immediate_on(uint32_t ordinal, uint32_t index)
{
	ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_command_list_handle_t made;

	desc.ordinal = ordinal;
	desc.index = index;
	desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
	CHECK(lists.of.pfnCreateImmediate(context, device, &desc, &made));
	return made;
}

static ze_command_list_handle_t new_immediate(void)
{
	return new_immediate_on(0, 0);
}

static ze_event_handle_t new_event(void)
{
	static uint32_t count;
	ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC};
	ze_event_handle_t made;

	desc.index = count++ % 64;
	CHECK(events.of.pfnCreate(pool, &desc, &made));
	return made;
}

static void begin(void)
{
	ze_context_desc_t context_desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC};
	ze_host_mem_alloc_desc_t memory_desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
	uint32_t count = 1;

	CHECK(global.of.pfnInit(0));
	CHECK(drivers.of.pfnGet(&count, &driver));
	count = 1;
	CHECK(devices.of.pfnGet(driver, &count, &device));
	if (!context)
		CHECK(contexts.of.pfnCreate(driver, &context_desc, &context));
	pool_desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
	pool_desc.count = 64;
	CHECK(pools.of.pfnCreate(context, &pool_desc, 1, &device, &pool));
	CHECK(memory.of.pfnAllocHost(context, &memory_desc, 2 * LARGE, 64, (void **)&bytes));
	gate = new_event();
	queue = new_queue();
	immediate = new_immediate();
}

static void copy(ze_command_list_handle_t list, size_t size, ze_event_handle_t event, int is_gated)
{
	CHECK(lists.of.pfnAppendMemoryCopy(list, bytes, bytes + LARGE, size, event,
					   is_gated ? 1 : 0, is_gated ? &gate : NULL));
}

static void barrier(ze_command_list_handle_t list)
{
	CHECK(lists.of.pfnAppendBarrier(list, NULL, 0, NULL));
}

static void execute(ze_command_list_handle_t list)
{
	CHECK(queues.of.pfnExecuteCommandLists(queue, 1, &list, NULL));
}

static void wait_for_queue(void)
{
	CHECK(queues.of.pfnSynchronize(queue, UINT64_MAX));
}

/* A queue is known to whoever asks from its first command on. */
static void execute_nothing(void)
{
	ze_command_list_handle_t list = new_list();

	barrier(list);
	CHECK(lists.of.pfnClose(list));
	execute(list);
	wait_for_queue();
	CHECK(lists.of.pfnDestroy(list));
}

/* Waits by an event of its own for all that the immediate list has. */
static void wait_for_immediate(void)
{
	ze_event_handle_t last = new_event();

	CHECK(lists.of.pfnAppendSignalEvent(immediate, last));
	CHECK(events.of.pfnHostSynchronize(last, UINT64_MAX));
	CHECK(events.of.pfnDestroy(last));
}

/* Until the device is through, and no call of ours has looked whether anything is. */
static void sleep_until_over(ze_event_handle_t event)
{
	while (events.of.pfnQueryStatus(event) != ZE_RESULT_SUCCESS)
		usleep(1000);
}

static void end(void)
{
	CHECK(events.of.pfnDestroy(gate));
	CHECK(pools.of.pfnDestroy(pool));
	CHECK(lists.of.pfnDestroy(immediate));
	CHECK(queues.of.pfnDestroy(queue));
	CHECK(memory.of.pfnFree(context, bytes));
	CHECK(contexts.of.pfnDestroy(context));
}

/* ---- events that go -------------------------------------------------------------------------- */

/* An event is destroyed, and its list afterwards, while another event has its place and is not
 * signalled yet. */
static void event_first(const char *how)
{
	ze_command_list_handle_t list = new_list(), other = new_list();
	ze_event_handle_t event = new_event(), next;

	copy(list, SMALL, event, 0);
	CHECK(lists.of.pfnClose(list));
	execute(list);
	wait_for_queue();
	CHECK(events.of.pfnDestroy(event));
	next = new_event();
	copy(other, LARGE, next, 1);
	CHECK(lists.of.pfnClose(other));
	execute(other);
	if (strcmp(how, "reset") == 0)
		CHECK(lists.of.pfnReset(list));
	else
		CHECK(lists.of.pfnDestroy(list));
	CHECK(events.of.pfnHostSignal(gate));
	wait_for_queue();
	if (strcmp(how, "reset") == 0)
		CHECK(lists.of.pfnDestroy(list));
	CHECK(lists.of.pfnDestroy(other));
	CHECK(events.of.pfnDestroy(next));
}

/* Two commands of a list signal one event, which is reset between them or (mixed) is not. Then the
 * event goes first, or the list does. */
static void two_signallers(const char *how)
{
	ze_command_list_handle_t list = new_list();
	ze_fence_desc_t desc = {ZE_STRUCTURE_TYPE_FENCE_DESC};
	ze_event_handle_t event = new_event();
	ze_fence_handle_t fence;

	CHECK(fences.of.pfnCreate(queue, &desc, &fence));
	copy(list, LARGE, event, 0);
	if (strcmp(how, "mixed") != 0)
		CHECK(lists.of.pfnAppendEventReset(list, event));
	copy(list, SMALL, event, 0);
	CHECK(lists.of.pfnClose(list));
	CHECK(queues.of.pfnExecuteCommandLists(queue, 1, &list, fence));
	while (fences.of.pfnQueryStatus(fence) != ZE_RESULT_SUCCESS)
		usleep(1000);
	if (strcmp(how, "list") == 0)
		CHECK(lists.of.pfnReset(list));
	CHECK(events.of.pfnDestroy(event));
	wait_for_queue();
	CHECK(lists.of.pfnDestroy(list));
	CHECK(fences.of.pfnDestroy(fence));
}

/* A command gets an event that another one, which is not over, will signal before it. */
static void signalled_before(const char *how)
{
	ze_event_handle_t event = new_event(), go_on = new_event();

	if (strcmp(how, "signal") == 0) {
		CHECK(lists.of.pfnAppendWaitOnEvents(immediate, 1, &gate));
		CHECK(lists.of.pfnAppendSignalEvent(immediate, event));
	} else {
		copy(immediate, LARGE, event, 1);
	}
	CHECK(lists.of.pfnAppendWaitOnEvents(immediate, 1, &go_on));
	copy(immediate, SMALL, event, 0);
	CHECK(events.of.pfnHostSignal(gate));
	sleep_until_over(event);
	/* A wait in which the guest looks at what is over. */
	CHECK(events.of.pfnHostSynchronize(event, UINT64_MAX));
	CHECK(events.of.pfnHostSignal(go_on));
	wait_for_immediate();
	CHECK(events.of.pfnDestroy(event));
	CHECK(events.of.pfnDestroy(go_on));
}

/* The commands of a clone signal the events that the guest gave to those of its original. */
static void cloned(const char *how)
{
	ze_result_t (*clone_list)(ze_command_list_handle_t, ze_command_list_handle_t *) =
		(ze_result_t(*)(ze_command_list_handle_t, ze_command_list_handle_t *))lists_exp[0];
	ze_command_list_handle_t list = new_list(), clone;

	copy(list, LARGE, NULL, 0);
	CHECK(lists.of.pfnClose(list));
	CHECK(clone_list(list, &clone));
	if (strcmp(how, "both") == 0) {
		execute(list);
		wait_for_queue();
	}
	CHECK(lists.of.pfnReset(list));
	copy(immediate, SMALL, NULL, 1);
	execute(clone);
	wait_for_queue();
	CHECK(events.of.pfnHostSignal(gate));
	wait_for_immediate();
	CHECK(lists.of.pfnDestroy(clone));
	CHECK(lists.of.pfnDestroy(list));
}

/* ---- a driver that takes its time ------------------------------------------------------------ */

static void *wait_elsewhere(void *event)
{
	CHECK(events.of.pfnHostSynchronize(event, UINT64_MAX));
	return NULL;
}

/* A thread's look at what is over takes the option slow_ms from now on; argument: the file that
 * makes it so. */
static pthread_t slow_look(const char *argument, ze_event_handle_t event)
{
	pthread_t thread;
	int file;

	CHECK(lists.of.pfnAppendSignalEvent(immediate, event));
	sleep_until_over(event);
	file = open(argument, O_CREAT | O_WRONLY, 0600);
	if (file < 0)
		exit(97);
	close(file);
	if (pthread_create(&thread, NULL, wait_elsewhere, event) != 0)
		exit(97);
	while (access(argument, F_OK) == 0)
		usleep(1000);
	return thread;
}

/* A command of a list of its own that waits for the gate. A look asks the driver about it, whereas
 * all that is over may have been read before. */
static ze_command_list_handle_t leave_unfinished(ze_event_handle_t mine)
{
	ze_command_list_handle_t other = new_immediate();

	copy(other, LARGE, mine, 1);
	return other;
}

static void finish(ze_command_list_handle_t other, ze_event_handle_t mine)
{
	CHECK(events.of.pfnHostSignal(gate));
	CHECK(events.of.pfnHostSynchronize(mine, UINT64_MAX));
	CHECK(lists.of.pfnDestroy(other));
	CHECK(events.of.pfnDestroy(mine));
}

/* Meanwhile a queue goes and another one comes in its place. */
static void slow_queue(const char *argument)
{
	ze_event_handle_t event = new_event(), mine = new_event();
	ze_command_list_handle_t other = leave_unfinished(mine);
	pthread_t thread;

	execute_nothing();
	barrier(immediate);
	thread = slow_look(argument, event);
	CHECK(queues.of.pfnDestroy(queue));
	pthread_join(thread, NULL);
	finish(other, mine);
	queue = new_queue();
	execute_nothing();
	wait_for_queue();
	CHECK(events.of.pfnHostSynchronize(event, UINT64_MAX));
	CHECK(events.of.pfnDestroy(event));
}

/* … an event goes that a command has, and another one comes in its place. */
static void slow_event(const char *argument)
{
	ze_event_handle_t event = new_event(), mine = new_event();
	ze_command_list_handle_t other = leave_unfinished(mine);
	pthread_t thread;

	barrier(immediate);
	thread = slow_look(argument, event);
	CHECK(events.of.pfnHostSignal(gate));
	while (events.of.pfnQueryStatus(mine) != ZE_RESULT_SUCCESS)
		usleep(1000);
	CHECK(events.of.pfnDestroy(mine));
	pthread_join(thread, NULL);
	mine = new_event();
	copy(other, SMALL, mine, 0);
	CHECK(events.of.pfnHostSynchronize(mine, UINT64_MAX));
	CHECK(lists.of.pfnDestroy(other));
	CHECK(events.of.pfnDestroy(mine));
	CHECK(events.of.pfnDestroy(event));
}

/* … a context goes in which the guest has an event of a command that is not over. */
static void slow_context(const char *argument)
{
	ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	ze_context_handle_t kept = context, other;
	ze_event_handle_t event = new_event(), mine = new_event();
	ze_command_list_handle_t list;
	pthread_t thread;

	CHECK(contexts.of.pfnCreate(driver, &desc, &other));
	context = other;
	list = new_immediate();
	context = kept;
	for (int i = 0; i < 4; i++)
		copy(list, SMALL, NULL, 1);
	copy(list, SMALL, mine, 1);
	thread = slow_look(argument, event);
	CHECK(events.of.pfnHostSignal(gate));
	sleep_until_over(mine);
	CHECK(lists.of.pfnDestroy(list));
	CHECK(contexts.of.pfnDestroy(other));
	pthread_join(thread, NULL);
	CHECK(contexts.of.pfnCreate(driver, &desc, &other));
	CHECK(events.of.pfnHostSynchronize(event, UINT64_MAX));
	CHECK(contexts.of.pfnDestroy(other));
	CHECK(events.of.pfnDestroy(mine));
	CHECK(events.of.pfnDestroy(event));
}

/* … and the thread is cancelled there. What others do afterwards takes no second each. */
static void cancelled(const char *argument)
{
	ze_event_handle_t event = new_event(), mine = new_event();
	ze_command_list_handle_t other = leave_unfinished(mine);
	pthread_t thread;

	barrier(immediate);
	thread = slow_look(argument, event);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	for (int i = 0; i < 8; i++)
		copy(immediate, SMALL, NULL, 0);
	wait_for_immediate();
	finish(other, mine);
	CHECK(events.of.pfnDestroy(event));
}

/* ---- a recorder that does not read ----------------------------------------------------------- */

static ze_kernel_handle_t new_kernel(const char *path)
{
	ze_module_desc_t module_desc = {ZE_STRUCTURE_TYPE_MODULE_DESC};
	ze_kernel_desc_t kernel_desc = {ZE_STRUCTURE_TYPE_KERNEL_DESC};
	FILE *file = fopen(path, "rb");
	char *zebin = malloc(1 << 20);
	ze_module_handle_t module;
	ze_kernel_handle_t kernel;

	if (!file)
		exit(97);
	module_desc.format = ZE_MODULE_FORMAT_NATIVE;
	module_desc.inputSize = fread(zebin, 1, 1 << 20, file);
	module_desc.pInputModule = (const uint8_t *)zebin;
	fclose(file);
	CHECK(modules.of.pfnCreate(context, device, &module_desc, &module, NULL));
	free(zebin);
	kernel_desc.pKernelName = "saxpy";
	CHECK(kernels.of.pfnCreate(module, &kernel_desc, &kernel));
	CHECK(kernels.of.pfnSetGroupSize(kernel, 32, 1, 1));
	for (uint32_t i = 0; i < 2; i++)
		CHECK(kernels.of.pfnSetArgumentValue(kernel, i, sizeof(bytes), &bytes));
	CHECK(kernels.of.pfnSetArgumentValue(kernel, 2, sizeof(float), &(float){0.5f}));
	return kernel;
}

static void launch(ze_kernel_handle_t kernel)
{
	const ze_group_count_t groups = {1, 1, 1};

	CHECK(lists.of.pfnAppendLaunchKernel(immediate, kernel, &groups, NULL, 0, NULL));
}

/* Calls until a ring is full, and more; then 2000 commands, and 200 launches of a kernel that
 * nobody knows yet. */
static void full(const char *zebin)
{
	ze_command_list_handle_t list = new_list();
	ze_kernel_handle_t kernel;

	kill(getppid(), SIGSTOP);
	for (int i = 0; i < 500000; i++)
		CHECK(lists.of.pfnClose(list));
	for (int i = 0; i < 2000; i++) {
		barrier(immediate);
		if (i % 100 == 99)
			wait_for_immediate();
	}
	kernel = new_kernel(zebin);
	for (int i = 0; i < 200; i++)
		launch(kernel);
	kill(getppid(), SIGCONT);
	wait_for_immediate();
	CHECK(lists.of.pfnDestroy(list));
	printf("{\"events\": %lu, \"binaries\": %lu}\n", counts->events, counts->binaries);
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* 400 commands are over, and one append looks at them. */
static void late_look(const char *argument)
{
	ze_event_handle_t last = new_event();
	unsigned long before;

	copy(immediate, SMALL, NULL, 1);
	for (int i = 0; i < 400; i++)
		barrier(immediate);
	CHECK(lists.of.pfnAppendSignalEvent(immediate, last));
	CHECK(events.of.pfnHostSignal(gate));
	sleep_until_over(last);
	usleep(100000);
	before = counts->queries;
	barrier(immediate);
	printf("{\"queries\": %lu}\n", counts->queries - before);
	wait_for_immediate();
	CHECK(events.of.pfnDestroy(last));
}

/* Asks in a loop whether the last command is over, and leaves all to the process's end. */
static void polled(const char *argument)
{
	ze_event_handle_t last = new_event();

	copy(immediate, LARGE, last, 0);
	while (events.of.pfnQueryStatus(last) != ZE_RESULT_SUCCESS)
		;
	printf("{}\n");
	exit(0);
}

/* Lists in an immediate list, with an event of the call's own that is behind them. */
static void appended(const char *how)
{
	ze_command_list_handle_t both[2] = {new_list(), new_list()};
	ze_event_handle_t done = new_event();

	copy(both[0], SMALL, NULL, 0);
	barrier(both[0]);
	copy(both[1], LARGE, NULL, 0);
	CHECK(lists.of.pfnClose(both[0]));
	CHECK(lists.of.pfnClose(both[1]));
	if (strcmp(how, "exp") == 0) {
		ze_result_t (*append)(ze_command_list_handle_t, uint32_t,
				      ze_command_list_handle_t *, ze_event_handle_t, uint32_t,
				      ze_event_handle_t *) = (void *)lists_exp[1];

		CHECK(append(immediate, 2, both, done, 1, &gate));
	} else {
		ze_result_t (*append)(ze_command_list_handle_t, uint32_t,
				      ze_command_list_handle_t *, const void *, ze_event_handle_t,
				      uint32_t, ze_event_handle_t *) = (void *)lists.slots[40];

		CHECK(append(immediate, 2, both, NULL, done, 1, &gate));
	}
	CHECK(lists.of.pfnAppendMemoryCopy(immediate, bytes, bytes + LARGE, SMALL, NULL, 1, &done));
	CHECK(events.of.pfnHostSignal(gate));
	CHECK(events.of.pfnHostSynchronize(done, UINT64_MAX));
	wait_for_immediate();
	CHECK(events.of.pfnDestroy(done));
	CHECK(lists.of.pfnDestroy(both[0]));
	CHECK(lists.of.pfnDestroy(both[1]));
}

/* A kernel and a copy to the device in a context that the driver has made. */
static void in_default_context(const char *zebin)
{
	ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	void *there;

	CHECK(memory.of.pfnAllocDevice(context, &desc, SMALL, 64, device, &there));
	CHECK(lists.of.pfnAppendMemoryCopy(immediate, there, bytes, SMALL, NULL, 0, NULL));
	launch(new_kernel(zebin));
	wait_for_immediate();
	CHECK(memory.of.pfnFree(context, there));
	fflush(stdout);
	_exit(0);
}

/* Copies between memory of every kind, on an engine that only copies, in a list and in an immediate
 * list; the bytes tell them apart. Then the same kernel four times on an engine that computes. */
static void *allocate(ze_context_handle_t in, ze_device_handle_t on, int is_shared)
{
	ze_device_mem_alloc_desc_t device_desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	ze_host_mem_alloc_desc_t host_desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
	void *made;

	if (is_shared)
		CHECK(memory.of.pfnAllocShared(in, &device_desc, &host_desc, SMALL, 64, on, &made));
	else
		CHECK(memory.of.pfnAllocDevice(in, &device_desc, SMALL, 64, on, &made));
	return made;
}

static void copy_between(ze_command_list_handle_t list, ze_context_handle_t other)
{
	ze_device_handle_t both[2];
	char *here, *there, *shared, *foreign, *own = calloc(1, SMALL);
	uint32_t count = 2;

	CHECK(devices.of.pfnGet(driver, &count, both));
	here = allocate(context, both[0], 0);
	there = allocate(context, both[1], 0);
	shared = allocate(context, both[0], 1);
	foreign = allocate(other, both[1], 0);
	CHECK(lists.of.pfnAppendMemoryCopy(list, here, bytes, 1, NULL, 0, NULL));
	CHECK(lists.of.pfnAppendMemoryCopy(list, own, here, 2, NULL, 0, NULL));
	CHECK(lists.of.pfnAppendMemoryCopy(list, shared, bytes, 3, NULL, 0, NULL));
	CHECK(lists.of.pfnAppendMemoryCopy(list, there, here, 4, NULL, 0, NULL));
	CHECK(lists.of.pfnAppendMemoryCopyFromContext(list, here, other, foreign, 5, NULL, 0,
						      NULL));
	CHECK(lists.of.pfnAppendMemoryCopy(list, bytes + 8, bytes, 6, NULL, 0, NULL));
}

static void launch_with(ze_command_list_handle_t list, ze_kernel_handle_t kernel, void *desc)
{
	ze_result_t (*append)(ze_command_list_handle_t, ze_kernel_handle_t,
			      const ze_group_count_t *, const void *, ze_event_handle_t, uint32_t,
			      ze_event_handle_t *) = (void *)lists.slots[36];
	const ze_group_count_t groups = {1, 1, 1};

	CHECK(append(list, kernel, &groups, desc, NULL, 0, NULL));
}

static void engines(const char *zebin)
{
	struct {
		uint32_t type;
		const void *next;
		ze_bool_t is_cooperative;
	} desc = {0x20036, NULL, 1}, no_desc = {0x20036, NULL, 0};
	ze_context_desc_t context_desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	ze_command_list_handle_t copies = new_immediate_on(1, 1), kernels_ = new_immediate_on(0, 2);
	ze_command_list_handle_t list = new_list();
	ze_kernel_handle_t kernel = new_kernel(zebin);
	const ze_group_count_t groups = {1, 1, 1};
	ze_event_handle_t last[2] = {new_event(), new_event()};
	ze_context_handle_t other;

	CHECK(contexts.of.pfnCreate(driver, &context_desc, &other));
	copy_between(copies, other);
	copy_between(list, other);
	CHECK(lists.of.pfnClose(list));
	execute(list);
	wait_for_queue();
	CHECK(lists.of.pfnAppendLaunchKernel(kernels_, kernel, &groups, NULL, 0, NULL));
	CHECK(lists.of.pfnAppendLaunchCooperativeKernel(kernels_, kernel, &groups, NULL, 0, NULL));
	launch_with(kernels_, kernel, &desc);
	launch_with(kernels_, kernel, &no_desc);
	CHECK(lists.of.pfnAppendSignalEvent(copies, last[0]));
	CHECK(lists.of.pfnAppendSignalEvent(kernels_, last[1]));
	for (int i = 0; i < 2; i++)
		CHECK(events.of.pfnHostSynchronize(last[i], UINT64_MAX));
	_exit(0);
}

static void take_default_context(const char *which)
{
	ze_context_handle_t (*of_driver)(ze_driver_handle_t) = (void *)drivers.slots[8];
	ze_context_handle_t (*of_first)(void) = (void *)runtime[3];
	uint32_t count = 1;

	CHECK(global.of.pfnInit(0));
	CHECK(drivers.of.pfnGet(&count, &driver));
	context = strcmp(which, "driver") == 0 ? of_driver(driver) : of_first();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(const char *);
	} cases[] = {
		{"event_first", event_first},
		{"two_signallers", two_signallers},
		{"before", signalled_before},
		{"cloned", cloned},
		{"slow_queue", slow_queue},
		{"slow_event", slow_event},
		{"slow_context", slow_context},
		{"cancelled", cancelled},
		{"full", full},
		{"late_look", late_look},
		{"polled", polled},
		{"appended", appended},
		{"default", in_default_context},
		{"engines", engines},
	};

	if (argc < 3)
		return 99;
	load();
	if (argc > 3)
		take_default_context(argv[3]);
	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		cases[i].run(argv[2]);
		end();
		printf("done\n");
		return 0;
	}
	return 99;
}
