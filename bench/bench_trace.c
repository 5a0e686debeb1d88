/* SPDX-License-Identifier: MIT
 *
 * bench/bench_trace.c - how fast rows are written and read, and how many bytes of file they take
 *
 * Runs in:  its own process: bench_trace [ROWS [PATH]]
 * Gets:     a count; makes rows as an OpenCL program does: bursts of short calls of a few
 *           functions, times in TSC cycles at 2.9 GHz with jitter from an exponential distribution,
 *           device times in nanoseconds
 * Gives:    one line per kind: million rows written and read in a second of processor
 *           time (the kernel's part included), and bytes of file
 * Fails:    exits with 1 and the reason
 * Why jitter: smooth times compress to nothing, which flatters every format
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "trace/reader.h"
#include "trace/writer.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t jitter(double mean)
{
	return (uint64_t)(-log(((double)(random_next() >> 11) + 1) / 9007199254740993.0) * mean);
}

static double seconds(void)
{
	struct timespec now;

	/* of the processor: other work on the machine must not count */
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void fail(const char *what)
{
	fprintf(stderr, "bench_trace: %s: %s\n", what, error_text());
	exit(1);
}

enum { SOURCES = 4, POOL = 64 };

struct state {
	struct trace_writer *writer;
	uint64_t tsc[SOURCES], device_ns[SOURCES], correlation[SOURCES];
	uint32_t functions[8], kernels[8];
	uint64_t handles[POOL]; /* of events, free ones */
	uint64_t waiting[POOL]; /* … used ones, oldest first */
	unsigned int free_count, in_use;
};

static void make_api(struct state *state, unsigned int source, struct event_api *row)
{
	unsigned int call = (unsigned int)(random_next() % 16);

	state->tsc[source] += 300 + jitter(4000);
	*row = (struct event_api){.begin = state->tsc[source], .thread = source + 1};
	/* half of all calls set arguments */
	row->function_string = state->functions[call < 8 ? 0 : call - 8];
	row->type = call == 15 ? API_TYPE_WAIT : API_TYPE_CALL;
	row->argument = call < 8 ? 8 : call == 15 ? source + 1 : 0;
	state->tsc[source] += 90 + jitter(call == 15 ? 60000 : 150);
	row->end = state->tsc[source];
}

/* An event's memory as an allocator gives it: the piece freed last is given next; a program holds a
 * few events at a time and frees them in bursts. */
static uint64_t take_handle(struct state *state)
{
	uint64_t handle;

	if (state->in_use == 24 || random_next() % 8 == 0) {
		unsigned int freed = state->in_use / 2;

		for (unsigned int i = 0; i < freed; i++)
			state->handles[state->free_count++] = state->waiting[i];
		state->in_use -= freed;
		memmove(state->waiting, state->waiting + freed,
			state->in_use * sizeof(state->waiting[0]));
	}
	handle = state->handles[--state->free_count];
	state->waiting[state->in_use++] = handle;
	return handle;
}

static void make_launch(struct state *state, unsigned int source, struct event_launch *row)
{
	unsigned int kernel = (unsigned int)(random_next() % 8);

	state->tsc[source] += 2000 + jitter(30000);
	*row = (struct event_launch){
		.enter = state->tsc[source],
		.thread = source + 1,
		.function_string = state->functions[1],
		.queue = source + 1,
		.correlation = ++state->correlation[source],
		.command = kernel ? COMMAND_KERNEL : COMMAND_WRITE,
		.kernel = kernel ? kernel : 0,
		.dimensions = kernel ? 1 : 0,
		.bytes = kernel ? 0 : 65536,
		.global_size = {kernel ? 1024u << kernel : 0},
		.local_size = {kernel ? 64 : 0},
		.handle = take_handle(state),
	};
	state->tsc[source] += 3000 + jitter(4000);
	row->exit = state->tsc[source];
}

static void make_execution(struct state *state, unsigned int source,
			   const struct event_launch *launch, struct event_execution *row)
{
	uint64_t queued = (uint64_t)((double)launch->enter / 2.9) + 200 + jitter(100);
	uint64_t submitted = queued + 1500 + jitter(2000);
	uint64_t started = submitted + 2000 + jitter(3000);

	if (started < state->device_ns[source])
		started = state->device_ns[source] + 500 + jitter(300);
	state->device_ns[source] = started + 4000 + jitter(9000);
	*row = (struct event_execution){
		.queued = queued,
		.submitted = submitted,
		.started = started,
		.ended = state->device_ns[source],
		.seen = (uint64_t)((double)(state->device_ns[source] + 3000 + jitter(4000)) * 2.9),
		.correlation = launch->correlation,
		.process = 1,
		.queue = source + 1,
		.valid = EXECUTION_TIMED,
	};
}

static void write_api(struct state *state, const void *rows, size_t count)
{
	const struct event_api *row = rows;

	for (size_t i = 0; i < count; i++, row++) {
		struct trace_source source = {row->thread, 2, 0};

		if (trace_writer_row(state->writer, EVENT_API, &source, row))
			fail("write");
	}
}

struct pair {
	struct event_launch launch;
	struct event_execution execution;
};

static void write_pairs(struct state *state, const void *rows, size_t count)
{
	const struct pair *row = rows;

	for (size_t i = 0; i < count; i++, row++) {
		struct trace_source host = {row->launch.thread, 2, 0};
		struct trace_source device = {row->launch.queue, 3, 2};

		if (trace_writer_row(state->writer, EVENT_LAUNCH, &host, &row->launch) ||
		    trace_writer_row(state->writer, EVENT_EXECUTION, &device, &row->execution))
			fail("write");
	}
}

static void make_rows(struct state *state, bool is_api, void *rows, size_t count)
{
	struct event_api *api = rows;
	struct pair *pair = rows;

	for (size_t i = 0; i < count; i++) {
		unsigned int source = (unsigned int)(random_next() >> 20) % SOURCES;

		if (is_api) {
			make_api(state, source, &api[i]);
		} else {
			make_launch(state, source, &pair[i].launch);
			make_execution(state, source, &pair[i].launch, &pair[i].execution);
		}
	}
}

static void open_writer(struct state *state, const char *path)
{
	static const char *const names[] = {
		"clSetKernelArg", "clEnqueueNDRangeKernel", "clFlush",        "clReleaseEvent",
		"clCreateBuffer", "clReleaseMemObject",     "clGetEventInfo", "clFinish"};

	memset(state, 0, sizeof(*state));
	for (unsigned int i = 0; i < POOL; i++)
		state->handles[i] = 0x55d0c0de0000 + 0x170 * (random_next() % 4096);
	state->free_count = POOL;
	for (unsigned int i = 0; i < SOURCES; i++)
		state->tsc[i] = 1234567890123456;
	if (trace_writer_open(path, NULL, &state->writer))
		fail("open");
	for (unsigned int i = 0; i < 8; i++)
		state->functions[i] =
			trace_writer_string(state->writer, names[i], strlen(names[i]));
}

static double read_all_rows(const char *path, size_t *ret_rows)
{
	struct trace_reader *reader;
	double start = seconds();

	*ret_rows = 0;
	if (trace_reader_open(path, &reader))
		fail("open for reading");
	for (size_t i = 0; i < trace_reader_chunk_count(reader); i++) {
		void *rows;
		size_t count;

		if (trace_reader_rows(reader, i, &rows, &count))
			fail("read");
		*ret_rows += count;
		free(rows);
	}
	trace_reader_close(reader);
	return seconds() - start;
}

static void measure(const char *name, bool is_api, size_t total, const char *path)
{
	enum { BATCH = 1 << 16 };
	size_t size = is_api ? sizeof(struct event_api) : sizeof(struct pair);
	char *rows = malloc(BATCH * size);
	struct state state;
	struct stat status;
	double writing = 0, reading, start;
	size_t got, per_row = is_api ? 1 : 2;

	if (!rows)
		fail("memory");
	open_writer(&state, path);
	for (size_t done = 0; done < total; done += BATCH) {
		make_rows(&state, is_api, rows, BATCH);
		start = seconds();
		(is_api ? write_api : write_pairs)(&state, rows, BATCH);
		writing += seconds() - start;
	}
	start = seconds();
	if (trace_writer_close(state.writer, 0))
		fail("close");
	writing += seconds() - start;
	free(rows);
	reading = read_all_rows(path, &got);
	if (stat(path, &status))
		fail("stat");
	printf("%-20s %6.1f M rows/s written %6.1f M rows/s read %6.2f bytes per %s\n", name,
	       (double)got / writing * 1e-6, (double)got / reading * 1e-6,
	       (double)status.st_size / (double)got * (double)per_row, is_api ? "row" : "pair");
}

int main(int argc, char **argv)
{
	size_t rows = argc > 1 ? strtoull(argv[1], NULL, 0) : 4000000;
	const char *path = argc > 2 ? argv[2] : "/tmp/duet-bench-trace.duet";

	measure("api", true, rows, path);
	measure("launch+execution", false, rows / 2, path);
	unlink(path);
	return 0;
}
