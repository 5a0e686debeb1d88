/* SPDX-License-Identifier: MIT
 *
 * tests/programs/level_zero_work.c - a program of Level Zero whose commands are counted
 *
 *	level_zero_work ZEBIN [NAME=VALUE …]
 *
 * Two threads, each with a device of its own and two queues: one that executes lists and an
 * immediate list. They share out the launches (23), the copies to the device (7) and back (5), the
 * fills (3) and the barriers (2), turn by turn between the queues, and compute what the kernel
 * should have made. Prints the counts as JSON; nothing that it prints depends on time.
 *
 *	launches=23 h2d=7 d2h=5 fills=3 barriers=2
 *	events=0   1: commands signal events without time stamps, 2: events with, which are looked
 *	           at
 *	runs=1     each list is executed so often
 *	wait=1     0: two executions of a list are on their way at once
 *	sync=0     1: the queues are synchronous
 *	fork=0     1: a child does the same work, when the parent has done its own
 *	hold=0     1: when all is done a line is printed and the program sleeps until it is killed
 *	bad=0      1: the first thread asks for what is refused: a kernel that is not there, a copy
 *	           from nowhere
 *	reset=0    1: an event is reset by the device, in the list that signals it (with events=2)
 *	leave=0    1: all is left to the process's end; 2: released in a handler of exit, 3: in a
 *	           function of the program's end
 *	early=0    1: events are destroyed before the list that signals them is reset
 */
#include <level_zero/ze_api.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { ITEMS = 256, THREADS = 2, QUEUES = 2, MAX_EVENTS = 256 };

static struct {
	long launches, h2d, d2h, fills, barriers, events, runs, wait, sync, fork, hold, reset, bad,
		early, leave;
} options = {23, 7, 5, 3, 2, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0};

static const struct {
	const char *name;
	long *value;
} names[] = {
	{"launches", &options.launches}, {"h2d", &options.h2d},
	{"d2h", &options.d2h},           {"fills", &options.fills},
	{"barriers", &options.barriers}, {"events", &options.events},
	{"runs", &options.runs},         {"wait", &options.wait},
	{"sync", &options.sync},         {"fork", &options.fork},
	{"hold", &options.hold},         {"reset", &options.reset},
	{"bad", &options.bad},           {"early", &options.early},
	{"leave", &options.leave},
};

struct counts {
	long kernel, h2d, d2h, fill, barrier;
};

struct work {
	int index;
	int is_first;
	ze_context_handle_t context;
	ze_device_handle_t device;
	ze_command_queue_handle_t queue;
	ze_command_list_handle_t list, immediate;
	ze_fence_handle_t fence;
	ze_event_pool_handle_t pool;
	ze_event_handle_t events[MAX_EVENTS];
	int events_count;
	ze_kernel_handle_t kernel;
	ze_module_handle_t module;
	float *x, *y, *host, *back, expected[ITEMS];
	struct counts share, counts[QUEUES];
	long wrong, stamps, refused;
	const char *zebin;
};

#define CHECK(call)                                                                    \
	do {                                                                           \
		ze_result_t result_ = (call);                                          \
		if (result_ != ZE_RESULT_SUCCESS) {                                    \
			fprintf(stderr, "level_zero_work: %s: %#x\n", #call, result_); \
			exit(99);                                                      \
		}                                                                      \
	} while (0)

/* ---- what a thread has ----------------------------------------------------------------------- */

static void *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "rb");
	void *bytes = malloc(1 << 20);

	if (!file) {
		perror(path);
		exit(99);
	}
	*ret_size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

static void make_kernel(struct work *work)
{
	ze_module_desc_t module_desc = {ZE_STRUCTURE_TYPE_MODULE_DESC};
	ze_kernel_desc_t kernel_desc = {ZE_STRUCTURE_TYPE_KERNEL_DESC};
	const float a = 0.5f;

	module_desc.format = ZE_MODULE_FORMAT_NATIVE;
	module_desc.pInputModule = read_file(work->zebin, &module_desc.inputSize);
	CHECK(zeModuleCreate(work->context, work->device, &module_desc, &work->module, NULL));
	free((void *)module_desc.pInputModule);
	kernel_desc.pKernelName = "saxpy";
	CHECK(zeKernelCreate(work->module, &kernel_desc, &work->kernel));
	CHECK(zeKernelSetGroupSize(work->kernel, 32, 1, 1));
	CHECK(zeKernelSetArgumentValue(work->kernel, 0, sizeof(work->x), &work->x));
	CHECK(zeKernelSetArgumentValue(work->kernel, 1, sizeof(work->y), &work->y));
	CHECK(zeKernelSetArgumentValue(work->kernel, 2, sizeof(a), &a));
}

static void make_queues(struct work *work)
{
	ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_command_list_desc_t list_desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	ze_fence_desc_t fence_desc = {ZE_STRUCTURE_TYPE_FENCE_DESC};

	desc.mode = options.sync ? ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS
				 : ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
	CHECK(zeCommandQueueCreate(work->context, work->device, &desc, &work->queue));
	CHECK(zeCommandListCreate(work->context, work->device, &list_desc, &work->list));
	CHECK(zeCommandListCreateImmediate(work->context, work->device, &desc, &work->immediate));
	CHECK(zeFenceCreate(work->queue, &fence_desc, &work->fence));
}

static void make_memory(struct work *work)
{
	ze_device_mem_alloc_desc_t device_desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	ze_host_mem_alloc_desc_t host_desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
	const size_t bytes = ITEMS * sizeof(float);

	CHECK(zeMemAllocDevice(work->context, &device_desc, bytes, 64, work->device,
			       (void **)&work->x));
	CHECK(zeMemAllocDevice(work->context, &device_desc, bytes, 64, work->device,
			       (void **)&work->y));
	CHECK(zeMemAllocHost(work->context, &host_desc, bytes, 64, (void **)&work->host));
	CHECK(zeMemAllocHost(work->context, &host_desc, bytes, 64, (void **)&work->back));
	for (int i = 0; i < ITEMS; i++)
		work->host[i] = (float)i / ITEMS;
}

static void make_pool(struct work *work)
{
	ze_event_pool_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC};

	desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE |
		     (options.events > 1 ? ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP : 0);
	desc.count = MAX_EVENTS;
	CHECK(zeEventPoolCreate(work->context, &desc, 1, &work->device, &work->pool));
}

static ze_event_handle_t new_event(struct work *work)
{
	ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC};

	if (!options.events || work->events_count == MAX_EVENTS)
		return NULL;
	desc.index = (uint32_t)work->events_count;
	CHECK(zeEventCreate(work->pool, &desc, &work->events[work->events_count]));
	return work->events[work->events_count++];
}

/* ---- commands -------------------------------------------------------------------------------- */

NOINLINE static void launch(struct work *work, ze_command_list_handle_t list)
{
	const ze_group_count_t groups = {ITEMS / 32, 1, 1};

	CHECK(zeCommandListAppendLaunchKernel(list, work->kernel, &groups, new_event(work), 0,
					      NULL));
	__asm__ volatile("");
}

NOINLINE static void copy_there(struct work *work, ze_command_list_handle_t list)
{
	CHECK(zeCommandListAppendMemoryCopy(list, work->x, work->host, ITEMS * sizeof(float),
					    new_event(work), 0, NULL));
	__asm__ volatile("");
}

NOINLINE static void copy_back(struct work *work, ze_command_list_handle_t list)
{
	CHECK(zeCommandListAppendMemoryCopy(list, work->back, work->y, ITEMS * sizeof(float),
					    new_event(work), 0, NULL));
	__asm__ volatile("");
}

NOINLINE static void fill(struct work *work, ze_command_list_handle_t list)
{
	const float zero = 0;

	CHECK(zeCommandListAppendMemoryFill(list, work->y, &zero, sizeof(zero),
					    ITEMS * sizeof(float), new_event(work), 0, NULL));
	__asm__ volatile("");
}

NOINLINE static void barrier(struct work *work, ze_command_list_handle_t list)
{
	CHECK(zeCommandListAppendBarrier(list, new_event(work), 0, NULL));
	__asm__ volatile("");
}

/* So many of a kind as are left for a queue: they go turn by turn. */
static long part(long count, int queue)
{
	return count / QUEUES + (queue < count % QUEUES);
}

/* What the kernel makes of y, as in tests/golden/zebin/k.cl. */
static void expect_kernel(struct work *work)
{
	for (int i = 0; i < ITEMS; i++)
		for (int k = 0; k < 16; k++)
			work->expected[i] = 0.5f * ((float)i / ITEMS) + work->expected[i] +
					    sinf(work->expected[i]);
}

static void append_all(struct work *work, int queue, ze_command_list_handle_t list)
{
	for (long i = 0; i < part(work->share.h2d, queue); i++)
		copy_there(work, list);
	for (long i = 0; i < part(work->share.fill, queue); i++)
		fill(work, list);
	for (long i = 0; i < part(work->share.barrier, queue); i++)
		barrier(work, list);
	for (long i = 0; i < part(work->share.kernel, queue); i++)
		launch(work, list);
	for (long i = 0; i < part(work->share.d2h, queue); i++)
		copy_back(work, list);
}

/* They have run so often. */
static void count_all(struct work *work, int queue, long runs)
{
	struct counts *counts = &work->counts[queue];

	counts->h2d += runs * part(work->share.h2d, queue);
	counts->fill += runs * part(work->share.fill, queue);
	counts->barrier += runs * part(work->share.barrier, queue);
	counts->kernel += runs * part(work->share.kernel, queue);
	counts->d2h += runs * part(work->share.d2h, queue);
	for (long run = 0; run < runs; run++) {
		if (part(work->share.fill, queue))
			memset(work->expected, 0, sizeof(work->expected));
		for (long i = 0; i < part(work->share.kernel, queue); i++)
			expect_kernel(work);
	}
	for (int i = 0; part(work->share.d2h, queue) && i < ITEMS; i++)
		work->wrong += fabsf(work->back[i] - work->expected[i]) >
			       1e-4f * (1 + fabsf(work->expected[i]));
}

/* What the program asked for is what it gets, whoever else looks at its events. */
static void look_at_events(struct work *work)
{
	for (int i = 0; i < work->events_count; i++) {
		ze_kernel_timestamp_result_t stamps;
		ze_result_t result;

		CHECK(zeEventHostSynchronize(work->events[i], UINT64_MAX));
		result = zeEventQueryKernelTimestamp(work->events[i], &stamps);
		work->stamps += result == ZE_RESULT_SUCCESS &&
				stamps.global.kernelEnd != stamps.global.kernelStart;
		work->refused += result == ZE_RESULT_ERROR_INVALID_ARGUMENT;
	}
}

static void drop_events(struct work *work)
{
	for (int i = 0; i < work->events_count; i++)
		CHECK(zeEventDestroy(work->events[i]));
	work->events_count = 0;
}

NOINLINE static void run_list(struct work *work)
{
	ze_event_handle_t again = options.reset ? new_event(work) : NULL;

	if (again)
		CHECK(zeCommandListAppendEventReset(work->list, again));
	append_all(work, 0, work->list);
	if (again)
		CHECK(zeCommandListAppendBarrier(work->list, again, 0, NULL));
	work->counts[0].barrier += again ? options.runs : 0;
	CHECK(zeCommandListClose(work->list));
	for (long run = 0; run < options.runs; run++) {
		for (int i = 0; i < work->events_count && run && options.wait && !again; i++)
			CHECK(zeEventHostReset(work->events[i]));
		CHECK(zeCommandQueueExecuteCommandLists(
			work->queue, 1, &work->list, run + 1 == options.runs ? work->fence : NULL));
		if (options.wait)
			CHECK(zeCommandQueueSynchronize(work->queue, UINT64_MAX));
	}
	CHECK(zeFenceHostSynchronize(work->fence, UINT64_MAX));
	CHECK(zeFenceReset(work->fence));
	look_at_events(work);
	if (options.early)
		drop_events(work);
	CHECK(zeCommandListReset(work->list));
	drop_events(work);
	count_all(work, 0, options.runs);
}

NOINLINE static void run_immediate(struct work *work)
{
	ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC};
	ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC};
	ze_event_pool_handle_t pool;
	ze_event_handle_t last;

	pool_desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
	pool_desc.count = 1;
	CHECK(zeEventPoolCreate(work->context, &pool_desc, 0, NULL, &pool));
	CHECK(zeEventCreate(pool, &desc, &last));
	append_all(work, 1, work->immediate);
	CHECK(zeCommandListAppendSignalEvent(work->immediate, last));
	CHECK(zeEventHostSynchronize(last, UINT64_MAX));
	look_at_events(work);
	drop_events(work);
	CHECK(zeEventDestroy(last));
	CHECK(zeEventPoolDestroy(pool));
	count_all(work, 1, 1);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void ask_for_the_impossible(struct work *work)
{
	ze_kernel_desc_t desc = {ZE_STRUCTURE_TYPE_KERNEL_DESC};
	ze_kernel_handle_t kernel;

	desc.pKernelName = "nothing";
	if (zeKernelCreate(work->module, &desc, &kernel) == ZE_RESULT_SUCCESS ||
	    zeCommandListAppendMemoryCopy(work->immediate, work->x, NULL, 4, NULL, 0, NULL) ==
		    ZE_RESULT_SUCCESS ||
	    zeEventHostSynchronize(NULL, 0) == ZE_RESULT_SUCCESS)
		exit(97);
}

static void *run_thread(void *argument)
{
	struct work *work = argument;

	make_memory(work);
	make_pool(work);
	make_queues(work);
	make_kernel(work);
	if (options.bad && work->is_first)
		ask_for_the_impossible(work);
	run_list(work);
	run_immediate(work);
	return NULL;
}

static void end_thread(struct work *work)
{
	CHECK(zeEventPoolDestroy(work->pool));
	CHECK(zeKernelDestroy(work->kernel));
	CHECK(zeModuleDestroy(work->module));
	CHECK(zeFenceDestroy(work->fence));
	CHECK(zeCommandListDestroy(work->immediate));
	CHECK(zeCommandListDestroy(work->list));
	CHECK(zeCommandQueueDestroy(work->queue));
	CHECK(zeMemFree(work->context, work->x));
	CHECK(zeMemFree(work->context, work->y));
	CHECK(zeMemFree(work->context, work->host));
	CHECK(zeMemFree(work->context, work->back));
}

static struct work works[THREADS];
static ze_context_handle_t context;

static void end_all(void)
{
	for (int i = 0; i < THREADS; i++)
		end_thread(&works[i]);
	CHECK(zeContextDestroy(context));
}

static __attribute__((destructor)) void end_at_last(void)
{
	if (options.leave == 3)
		end_all();
}

/* The rest is for the first thread. */
static long share_of(long count, int thread)
{
	return count / THREADS + (thread < count % THREADS);
}

static void print_work(const struct work *work)
{
	for (int queue = 0; queue < QUEUES; queue++) {
		const struct counts *counts = &work->counts[queue];

		printf("%s{\"device\": %d, \"queue\": \"%s\", \"kernel\": %ld, \"write\": %ld, "
		       "\"read\": %ld, \"fill\": %ld, \"barrier\": %ld}",
		       work->index || queue ? ", " : "", work->index, queue ? "immediate" : "list",
		       counts->kernel, counts->h2d, counts->d2h, counts->fill, counts->barrier);
	}
}

static void work_on_all(const char *zebin)
{
	ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	ze_device_handle_t devices[THREADS];
	pthread_t threads[THREADS];
	ze_driver_handle_t driver;
	uint32_t count = 1;
	long wrong = 0, stamps = 0, refused = 0;

	CHECK(zeDriverGet(&count, &driver));
	count = THREADS;
	CHECK(zeDeviceGet(driver, &count, devices));
	CHECK(zeContextCreate(driver, &desc, &context));
	memset(works, 0, sizeof(works));
	for (int i = 0; i < THREADS; i++) {
		works[i].index = i % (int)count;
		works[i].is_first = i == 0;
		works[i].context = context;
		works[i].device = devices[i % (int)count];
		works[i].zebin = zebin;
		works[i].share =
			(struct counts){share_of(options.launches, i), share_of(options.h2d, i),
					share_of(options.d2h, i), share_of(options.fills, i),
					share_of(options.barriers, i)};
		pthread_create(&threads[i], NULL, run_thread, &works[i]);
	}
	printf("{\"pid\": %d, \"queues\": [", options.fork ? (int)getpid() : 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		print_work(&works[i]);
		wrong += works[i].wrong;
		stamps += works[i].stamps;
		refused += works[i].refused;
	}
	printf("], \"wrong\": %ld, \"stamps\": %ld, \"refused\": %ld}\n", wrong, stamps, refused);
	fflush(stdout);
	if (options.hold)
		pause();
	if (options.leave == 2)
		atexit(end_all);
	if (!options.leave)
		end_all();
}

static void read_option(const char *argument)
{
	const char *equals = strchr(argument, '=');

	for (size_t i = 0; equals && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i].name) != (size_t)(equals - argument) ||
		    strncmp(names[i].name, argument, (size_t)(equals - argument)) != 0)
			continue;
		*names[i].value = atol(equals + 1);
		return;
	}
	fprintf(stderr, "level_zero_work: %s makes no sense\n", argument);
	exit(99);
}

int main(int argc, char **argv)
{
	int status = 0;
	pid_t child;

	if (argc < 2)
		return 99;
	for (int i = 2; i < argc; i++)
		read_option(argv[i]);
	CHECK(zeInit(0));
	work_on_all(argv[1]);
	if (!options.fork)
		return 0;
	child = fork();
	if (child == 0) {
		work_on_all(argv[1]);
		return 0;
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
