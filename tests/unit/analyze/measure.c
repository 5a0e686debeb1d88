/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/measure.c - how long a report takes
 *
 * Usage: measure_analyze write FILE ROWS [host|device|addresses] | read FILE. Thirds of API calls,
 * launches and executions by four threads on four queues; or samples that tell addresses, of 10,000
 * kernels that two stacks each launch.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/error.h"
#include "trace/writer.h"

#define THREADS 4
#define STEP_NS 2500

static double now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void write_entities(struct trace_writer *writer, uint32_t clock)
{
	struct event_host host = {.id = 1, .begin_ns = 1};
	struct event_process process = {.id = 1, .pid = 100};
	struct event_device device = {.id = 1, .type = DEVICE_GPU};
	struct event_context context = {.id = 1, .process = 1};

	device.name_string = trace_writer_string(writer, "gpu", 3);
	trace_writer_entity(writer, EVENT_HOST, &host);
	trace_writer_entity(writer, EVENT_PROCESS, &process);
	trace_writer_entity(writer, EVENT_DEVICE, &device);
	trace_writer_entity(writer, EVENT_CONTEXT, &context);
	if (clock != CLOCK_ID_MONOTONIC) {
		struct event_clock row = {.id = clock,
					  .type = CLOCK_TYPE_DEVICE,
					  .device = 1,
					  .frequency_hz = 1000000000};

		trace_writer_entity(writer, EVENT_CLOCK, &row);
	}
	for (uint32_t i = 1; i <= THREADS; i++) {
		struct event_thread thread = {.id = i, .process = 1, .tid = 100 + i};
		struct event_queue queue = {.id = i,
					    .process = 1,
					    .context = 1,
					    .device = 1,
					    .clock = clock,
					    .flags = QUEUE_TIMED};
		char name[16];
		struct event_code code = {.id = i, .process = 1, .type = CODE_KERNEL};

		code.name_string = trace_writer_string(
			writer, name, (size_t)snprintf(name, sizeof(name), "kernel%u", i));
		trace_writer_entity(writer, EVENT_THREAD, &thread);
		trace_writer_entity(writer, EVENT_QUEUE, &queue);
		trace_writer_entity(writer, EVENT_CODE, &code);
	}
}

static int write_step(struct trace_writer *writer, uint64_t step, uint32_t clock)
{
	uint32_t thread = (uint32_t)(step % THREADS) + 1;
	uint64_t time = 1000000 + step * STEP_NS, jitter = (uint64_t)rand() % 200;
	uint64_t offset = clock == CLOCK_ID_MONOTONIC ? 0 : 500000;
	struct trace_source source = {thread, CLOCK_ID_MONOTONIC, CLOCK_ID_MONOTONIC};
	struct event_launch launch = {.enter = time,
				      .exit = time + 900 + jitter,
				      .thread = thread,
				      .queue = thread,
				      .correlation = step + 1,
				      .command = step % 8 ? COMMAND_KERNEL : COMMAND_READ,
				      .kernel = thread,
				      .bytes = step % 8 ? 0 : 4096,
				      .dimensions = 1,
				      .global_size = {1024}};
	struct event_api api = {
		.begin = time + 1200 + jitter, .end = time + 1500 + jitter, .thread = thread};
	struct event_execution execution = {.queued = time + 100 - offset,
					    .submitted = time + 700 - offset,
					    .started = time + 5000 + jitter - offset,
					    .ended = time + 9000 + 2 * jitter - offset,
					    .seen = time + 10000,
					    .correlation = step + 1,
					    .process = 1,
					    .queue = thread,
					    .valid = EXECUTION_TIMED};
	int error;

	launch.function_string = trace_writer_string(writer, "clEnqueueNDRangeKernel", 22);
	api.function_string = trace_writer_string(writer, "clSetKernelArg", 14);
	error = trace_writer_row(writer, EVENT_LAUNCH, &source, &launch);
	if (!error)
		error = trace_writer_row(writer, EVENT_API, &source, &api);
	source.clock = clock;
	return error ? error : trace_writer_row(writer, EVENT_EXECUTION, &source, &execution);
}

/* ---- samples of addresses -------------------------------------------------------------------- */

enum { KERNELS = 10000, HOT = 32, WINDOW_ROWS = 100000, WINDOW_LAUNCHES = 1000, STALLS = 10 };
#define WINDOW_NS UINT64_C(100000000)

static void write_kernels(struct trace_writer *writer)
{
	struct event_device device = {.id = 1, .type = DEVICE_GPU};
	struct event_process process = {.id = 1, .pid = 100};
	struct event_thread thread = {.id = 1, .process = 1, .tid = 100};
	struct event_queue queue = {.id = 1, .process = 1, .device = 1, .clock = 1};
	struct event_host host = {.id = 1, .begin_ns = 1};

	device.name_string = trace_writer_string(writer, "gpu", 3);
	trace_writer_entity(writer, EVENT_HOST, &host);
	trace_writer_entity(writer, EVENT_PROCESS, &process);
	trace_writer_entity(writer, EVENT_DEVICE, &device);
	trace_writer_entity(writer, EVENT_THREAD, &thread);
	trace_writer_entity(writer, EVENT_QUEUE, &queue);
	for (uint32_t i = 1; i <= KERNELS; i++) {
		struct event_code code = {.id = i,
					  .process = 1,
					  .type = CODE_KERNEL,
					  .device = 1,
					  .begin_ns = 1,
					  .address = 0x10000000 + (uint64_t)i * 8192};

		trace_writer_entity(writer, EVENT_CODE, &code);
	}
}

static void write_launches(struct trace_writer *writer, uint64_t begin, uint64_t *correlation)
{
	const struct trace_source source = {1, CLOCK_ID_MONOTONIC, CLOCK_ID_MONOTONIC};
	struct event_launch launch = {
		.thread = 1,
		.queue = 1,
		.command = COMMAND_KERNEL,
		.flags = LAUNCH_UNTIMED | LAUNCH_FURTHER | LAUNCH_PART,
	};

	launch.function_string = trace_writer_string(writer, "xe_exec_ioctl", 13);
	for (uint32_t i = 0; i < WINDOW_LAUNCHES; i++) {
		launch.enter = begin + i * (WINDOW_NS / WINDOW_LAUNCHES);
		launch.exit = launch.enter + 1000;
		launch.correlation = ++*correlation;
		launch.kernel = (uint32_t)rand() % KERNELS + 1;
		launch.stack = (uint32_t)(rand() % 2) + 1;
		trace_writer_row(writer, EVENT_LAUNCH, &source, &launch);
	}
}

static void write_samples(struct trace_writer *writer, uint64_t begin)
{
	const struct trace_source source = {1, CLOCK_ID_MONOTONIC, CLOCK_ID_MONOTONIC};
	struct event_instruction_sample row = {
		.begin = begin, .end = begin + WINDOW_NS, .period = 1, .device = 1};
	char name[16];

	for (uint32_t i = 0; i < WINDOW_ROWS; i++) {
		const int length = snprintf(name, sizeof(name), "stall%d", rand() % STALLS);

		row.offset = 0x10000000 + (uint64_t)(rand() % KERNELS + 1) * 8192 +
			     (uint64_t)(rand() % HOT) * 16;
		row.count = (uint64_t)(rand() % 3) + 1;
		row.stall_string = trace_writer_string(writer, name, (size_t)length);
		trace_writer_row(writer, EVENT_INSTRUCTION_SAMPLE, &source, &row);
	}
}

static int write_addresses(const char *path, uint64_t rows)
{
	const struct trace_writer_options options = {0};
	uint64_t begin = WINDOW_NS, correlation = 0;
	struct trace_writer *writer;
	int error = trace_writer_open(path, &options, &writer);

	if (error)
		return error;
	write_kernels(writer);
	for (; rows >= WINDOW_ROWS; rows -= WINDOW_ROWS, begin += WINDOW_NS) {
		write_launches(writer, begin, &correlation);
		write_samples(writer, begin);
		trace_writer_flush(writer, begin + WINDOW_NS);
	}
	return trace_writer_close(writer, begin);
}

/* ---- commands -------------------------------------------------------------------------------- */

static int write_trace(const char *path, uint64_t rows, bool is_device)
{
	struct trace_writer_options options = {0};
	uint32_t clock = is_device ? 2 : CLOCK_ID_MONOTONIC;
	struct trace_writer *writer;
	int error = trace_writer_open(path, &options, &writer);

	if (error)
		return error;
	write_entities(writer, clock);
	for (uint64_t step = 0; step < rows / 3 && !error; step++) {
		error = write_step(writer, step, clock);
		if (step % 40000 == 39999)
			trace_writer_flush(writer, 1000000 + step * STEP_NS);
	}
	return error ? error : trace_writer_close(writer, 1000000 + rows / 3 * STEP_NS);
}

static int read_trace(const char *path)
{
	struct analysis *analysis = NULL;
	struct model *model = NULL;
	struct rusage usage;
	double start = now_s(), opened, done;
	int error = model_open(path, &model);

	opened = now_s();
	if (!error)
		error = analysis_new(model, NULL, &analysis);
	done = now_s();
	if (error)
		return error;
	getrusage(RUSAGE_SELF, &usage);
	printf("%" PRIu64 " rows: open and clocks %.2f s, sweep %.2f s, %ld MiB, %zu rows and %zu "
	       "commands at once, matched %" PRIu64 ", exact %d\n",
	       analysis->checks.rows, opened - start, done - opened, usage.ru_maxrss / 1024,
	       analysis->checks.peak_rows, analysis->checks.peak_commands, analysis->ledger.matched,
	       analysis->checks.is_exact);
	analysis_free(analysis);
	model_close(model);
	return 0;
}

int main(int argc, char **argv)
{
	int error = -22;

	if (argc >= 5 && strcmp(argv[1], "write") == 0 && strcmp(argv[4], "addresses") == 0)
		error = write_addresses(argv[2], strtoull(argv[3], NULL, 10));
	else if (argc >= 4 && strcmp(argv[1], "write") == 0)
		error = write_trace(argv[2], strtoull(argv[3], NULL, 10),
				    argc > 4 && strcmp(argv[4], "device") == 0);
	else if (argc == 3 && strcmp(argv[1], "read") == 0)
		error = read_trace(argv[2]);
	if (error)
		fprintf(stderr, "measure_analyze: %d %s\n", error, error_text());
	return error ? 1 : 0;
}
