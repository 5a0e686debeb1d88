// SPDX-License-Identifier: MIT
/*
 * tests/generate/world.c - what there is in a made-up recording, and its clocks
 *
 * Runs in:  generate_trace
 * Gets:     a shape
 * Gives:    the rows of things; conversions from true host time to each clock
 * Owns:     nothing
 * Fails:    the writer's errors, kept in world->error
 * Why these clocks: the first device shows CLOCK_MONOTONIC_RAW as CPU runtimes do, so that its busy
 * time must come out exact; the second has its own zero and a drift of 40 ppm, so that only the
 * hull of its causality bounds can place it.
 */
#include "world.h"

#include <string.h>

/* clang-format off */
const struct shape shapes[] = {
	{ .name = "mixed", .help = "three processes, two devices, everything that happens",
	  .threads = THREADS, .queues = QUEUES, .gap_ns = 2500, .backlog_ns = 200000,
	  .outstanding = 1000, .kernel_ns = 800, .in_flight = 23, .has_trouble = true,
	  .is_blocking = true },
	{ .name = "single", .help = "one thread and one in-order queue without any trouble",
	  .threads = 1, .queues = 1, .gap_ns = 3000, .backlog_ns = 200000,
	  .outstanding = 1000, .kernel_ns = 800, .is_blocking = true },
	{ .name = "empty", .help = "only things, no event",
	  .threads = 1, .queues = 1, .is_empty = true },
	{ .name = "late", .help = "as mixed, completions are harvested every 2 s",
	  .threads = THREADS, .queues = QUEUES, .gap_ns = 2500, .backlog_ns = 200000,
	  .outstanding = UINT32_MAX, .kernel_ns = 800, .harvest_ns = 2000000000, .in_flight = 23,
	  .has_trouble = true },
	{ .name = "deep", .help = "one queue with 100000 commands ahead",
	  .threads = 1, .queues = 1, .gap_ns = 1500, .backlog_ns = UINT64_MAX,
	  .outstanding = 100000, .kernel_ns = 4000 },
};
/* clang-format on */
const size_t shape_count = sizeof(shapes) / sizeof(shapes[0]);

const struct function functions[] = {
	{"clSetKernelArg", COMMAND_COUNT, 300},
	{"clGetEventInfo", COMMAND_COUNT, 60},
	{"clCreateBuffer", COMMAND_COUNT, 20},
	{"clReleaseMemObject", COMMAND_COUNT, 20},
	{"clReleaseEvent", COMMAND_COUNT, 100},
	{"clFlush", COMMAND_COUNT, 20},
	{"clFinish", COMMAND_COUNT, 0},
	{"clEnqueueNDRangeKernel", COMMAND_KERNEL, 250},
	{"clEnqueueReadBuffer", COMMAND_READ, 60},
	{"clEnqueueWriteBuffer", COMMAND_WRITE, 60},
	{"clEnqueueCopyBuffer", COMMAND_COPY, 15},
	{"clEnqueueFillBuffer", COMMAND_FILL, 10},
	{"clEnqueueMapBuffer", COMMAND_MAP, 8},
	{"clEnqueueUnmapMemObject", COMMAND_UNMAP, 8},
	{"clEnqueueMigrateMemObjects", COMMAND_MIGRATE, 4},
	{"clEnqueueMarkerWithWaitList", COMMAND_BARRIER, 5},
	{"clEnqueueBarrierWithWaitList", COMMAND_BARRIER, 5},
	{"clEnqueueNativeKernel", COMMAND_NATIVE, 2},
	{"clEnqueueCommandBufferKHR", COMMAND_GRAPH, 2},
	{"clEnqueueAcquireGLObjects", COMMAND_ACQUIRE, 2},
	{"clEnqueueReleaseGLObjects", COMMAND_RELEASE, 2},
	{"clEnqueueSignalSemaphoresKHR", COMMAND_SEMAPHORE, 1},
	{"clEnqueueSVMFree", COMMAND_FREE, 1},
};
const size_t function_count = sizeof(functions) / sizeof(functions[0]);

const struct kernel kernels[KERNELS] = {
	{"saxpy", 1}, {"reduce", 1}, {"stencil", 1}, {"gemm", 2}, {"fft", 2},
};

uint32_t kernel_code(uint32_t process, uint32_t kernel)
{
	return (process - 1) * (KERNELS + 1) + kernel + 1;
}

static const struct thread threads[THREADS] = {
	{1, 1, {0, 0}, 0}, {2, 1, {0, 1}, 0}, {3, 1, {1, 1}, 0}, {4, 1, {1, 1}, 0},
	{5, 2, {2, 3}, 0}, {6, 2, {2, 2}, 0}, {7, 3, {4, 4}, 0},
};

static const struct queue queues[QUEUES] = {
	{.id = 1, .process = 1, .device = 1, .lanes = 1},
	{.id = 2, .process = 1, .device = 1, .lanes = LANES, .is_out_of_order = true},
	{.id = 3, .process = 2, .device = 2, .lanes = 1},
	{.id = 4, .process = 2, .device = 1, .lanes = 1, .is_untimed = true},
	{.id = 5, .process = 3, .device = 2, .lanes = 1},
};

/* splitmix64: one addition and two multiplications, any seed is good. */
uint64_t random_next(struct world *world)
{
	uint64_t value = world->random += 0x9e3779b97f4a7c15u;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

uint64_t tsc_at(uint64_t host_ns)
{
	return host_ns / 250 * 649 + host_ns % 250 * 649 / 250;
}

uint64_t device_at(uint32_t device, uint64_t host_ns)
{
	uint64_t since = host_ns - BEGIN_NS;

	if (device == 1)
		return host_ns - RAW_BEHIND_NS;
	return OTHER_ZERO + since + since / 1000000 * DRIFT_PPM +
	       since % 1000000 * DRIFT_PPM / 1000000;
}

void world_row(struct world *world, enum event_kind kind, uint32_t source, uint32_t clock,
	       const void *row)
{
	struct trace_source from = {source, clock, CLOCK_TSC};
	int rc = trace_writer_row(world->writer, kind, &from, row);

	if (rc && !world->error)
		world->error = rc;
	world->answers->rows[kind]++;
}

void world_pairs(struct world *world, uint64_t host_ns)
{
	struct event_clock_pair pair;

	host_ns -= host_ns % 1000;
	pair = (struct event_clock_pair){tsc_at(host_ns), host_ns - 20, host_ns + 20};
	world_row(world, EVENT_CLOCK_PAIR, 0, CLOCK_TSC, &pair);
	pair = (struct event_clock_pair){host_ns - RAW_BEHIND_NS, host_ns - 20, host_ns + 20};
	world_row(world, EVENT_CLOCK_PAIR, 0, CLOCK_RAW, &pair);
}

static uint32_t text(struct world *world, const char *text)
{
	return trace_writer_string(world->writer, text, strlen(text));
}

static void entity(struct world *world, enum event_kind kind, const void *row)
{
	int rc = trace_writer_entity(world->writer, kind, row);

	if (rc && !world->error)
		world->error = rc;
}

static bool has_process(const struct world *world, uint32_t process)
{
	return world->threads[world->shape->threads - 1].process >= process;
}

static bool has_device(const struct world *world, uint32_t device)
{
	return device == 1 || world->shape->queues > 2;
}

static void describe_clocks(struct world *world)
{
	struct event_clock clock = {.id = CLOCK_ID_MONOTONIC,
				    .type = CLOCK_TYPE_MONOTONIC,
				    .frequency_hz = 1000000000,
				    .begin_ns = BEGIN_NS};

	entity(world, EVENT_CLOCK, &clock);
	clock.id = CLOCK_RAW;
	clock.type = CLOCK_TYPE_MONOTONIC_RAW;
	entity(world, EVENT_CLOCK, &clock);
	clock.id = CLOCK_TSC;
	clock.type = CLOCK_TYPE_TSC;
	clock.frequency_hz = 2596000000;
	entity(world, EVENT_CLOCK, &clock);
	clock.type = CLOCK_TYPE_DEVICE;
	clock.frequency_hz = 1000000000;
	for (uint32_t i = 1; i <= ANSWERS_DEVICES; i++) {
		clock.id = CLOCK_FIRST_DEVICE + i - 1;
		clock.device = i;
		if (has_device(world, i))
			entity(world, EVENT_CLOCK, &clock);
	}
}

static void describe_devices(struct world *world)
{
	static const char *const keys[] = {"cl:pthread", "0000:03:00.0"};
	static const char *const names[] = {"made-up CPU", "made-up GPU"};

	for (uint32_t i = 1; i <= ANSWERS_DEVICES; i++) {
		struct event_device device = {
			.id = i,
			.key_string = text(world, keys[i - 1]),
			.name_string = text(world, names[i - 1]),
			.vendor_string = text(world, "nobody"),
			.driver_string = text(world, "1.0"),
			.platform_string = text(world, "made-up OpenCL 3.0"),
			.type = i == 1 ? DEVICE_CPU : DEVICE_GPU,
			.compute_units = i == 1 ? 2 : 64,
			.memory_bytes = (uint64_t)i << 32,
			.begin_ns = BEGIN_NS,
		};

		if (has_device(world, i))
			entity(world, EVENT_DEVICE, &device);
	}
}

static void describe_code(struct world *world, uint32_t process)
{
	static const char source[] = "__kernel void saxpy(float a, __global float *x) { }\n";
	struct event_code program = {.id = kernel_code(process, KERNELS),
				     .process = process,
				     .type = CODE_SOURCE,
				     .size_bytes = sizeof(source) - 1,
				     .begin_ns = BEGIN_NS};
	int rc = trace_writer_content(world->writer, source, sizeof(source) - 1, &program.hash_low,
				      &program.hash_high);

	if (rc && !world->error)
		world->error = rc;
	entity(world, EVENT_CODE, &program);
	for (uint32_t i = 0; i < KERNELS; i++) {
		struct event_code kernel = {.id = kernel_code(process, i),
					    .process = process,
					    .parent = program.id,
					    .type = CODE_KERNEL,
					    .name_string = text(world, kernels[i].name),
					    .begin_ns = BEGIN_NS};

		entity(world, EVENT_CODE, &kernel);
	}
}

/* end_ns 0: still there. */
static void describe_processes(struct world *world, uint64_t end_ns)
{
	static const char *const names[] = {"render", "solver", "player"};

	for (uint32_t i = 1; i <= PROCESSES && has_process(world, i); i++) {
		struct event_process process = {
			.id = i,
			.host = 1,
			.pid = 1000 + i,
			.ns_pid = 1000 + i,
			.parent_pid = 1,
			.name_string = text(world, names[i - 1]),
			.exe_string = text(world, names[i - 1]),
			.command_string = text(world, names[i - 1]),
			.ended = end_ns != 0,
			.status = end_ns ? 0 : -1,
			.start_ticks = 5000 + i,
			.begin_ns = BEGIN_NS,
			.end_ns = end_ns,
		};
		struct event_context context = {i, i, 0x10000 + i, BEGIN_NS, end_ns};

		entity(world, EVENT_PROCESS, &process);
		entity(world, EVENT_CONTEXT, &context);
	}
	for (uint32_t i = 0; i < world->shape->threads; i++) {
		struct event_thread thread = {.id = i + 1,
					      .process = threads[i].process,
					      .tid = 2000 + i,
					      .ns_tid = 2000 + i,
					      .name_string = text(world, "worker"),
					      .begin_ns = BEGIN_NS,
					      .end_ns = end_ns};

		entity(world, EVENT_THREAD, &thread);
	}
}

static void describe_queues(struct world *world, uint64_t end_ns)
{
	for (uint32_t i = 0; i < world->shape->queues; i++) {
		const struct queue *from = &queues[i];
		struct event_queue queue = {
			.id = from->id,
			.process = from->process,
			.context = from->process,
			.device = from->device,
			.clock = CLOCK_FIRST_DEVICE + from->device - 1,
			.flags = (from->is_out_of_order ? QUEUE_OUT_OF_ORDER : 0) |
				 (from->is_untimed ? 0 : QUEUE_TIMED),
			.handle = 0x20000 + i,
			.begin_ns = BEGIN_NS,
			.end_ns = end_ns,
		};

		entity(world, EVENT_QUEUE, &queue);
	}
}

static void describe_host(struct world *world, uint64_t end_ns)
{
	struct event_host host = {
		.id = 1,
		.boot_id_string = text(world, "01234567-89ab-cdef-0123-456789abcdef"),
		.name_string = text(world, "made-up"),
		.kernel_string = text(world, "6.1.0"),
		.cpu_string = text(world, "made-up processor"),
		.cpu_count = 8,
		.memory_bytes = (uint64_t)16 << 30,
		.begin_ns = BEGIN_NS,
		.end_ns = end_ns,
	};

	entity(world, EVENT_HOST, &host);
}

void world_describe(struct world *world)
{
	struct answers *answers = world->answers;

	memcpy(world->threads, threads, sizeof(threads));
	memcpy(world->queues, queues, sizeof(queues));
	answers->function_count = function_count;
	for (size_t i = 0; i < function_count; i++) {
		answers->function_names[i] = functions[i].name;
		world->function_strings[i] = text(world, functions[i].name);
	}
	answers->kernel_count = KERNELS;
	for (size_t i = 0; i < KERNELS; i++) {
		answers->kernel_names[i] = kernels[i].name;
		answers->kernel_devices[i] = kernels[i].device;
	}
	answers->devices[0].rate = 1;
	answers->devices[1].rate = has_device(world, 2) ? 1 + DRIFT_PPM * 1e-6 : 0;
	describe_host(world, 0);
	describe_clocks(world);
	describe_devices(world);
	describe_processes(world, 0);
	describe_queues(world, 0);
	for (uint32_t i = 1; i <= PROCESSES && has_process(world, i); i++)
		describe_code(world, i);
	world_pairs(world, BEGIN_NS);
}

void world_end(struct world *world, uint64_t end_ns)
{
	world_pairs(world, end_ns + 1000);
	describe_queues(world, end_ns);
	describe_processes(world, end_ns);
	describe_host(world, end_ns);
	world->answers->begin_ns = BEGIN_NS;
	world->answers->end_ns = end_ns;
}

const struct shape *shape_find(const char *name)
{
	for (size_t i = 0; i < shape_count; i++)
		if (strcmp(shapes[i].name, name) == 0)
			return &shapes[i];
	return NULL;
}

int world_write(const char *path, const struct shape *shape, uint64_t events, uint64_t seed,
		struct answers *answers)
{
	const struct trace_writer_options options = {0};
	struct world world = {.answers = answers, .shape = shape, .random = seed};
	int rc = trace_writer_open(path, &options, &world.writer);

	if (rc)
		return rc;
	answers->shape = shape->name;
	answers->seed = seed;
	world_describe(&world);
	simulate(&world, events);
	rc = trace_writer_close(world.writer, answers->end_ns);
	return world.error ? world.error : rc;
}
