/* SPDX-License-Identifier: MIT
 *
 * bench/bench_samples.c - a trace of many CPU samples, for the time and memory that a report of it
 * takes
 *
 *	bench_samples SAMPLES FILE [samples]
 *
 * Runs in:  its own process
 * Gets:     a count
 * Gives: a trace: 100 threads that run all the time, sampled 199 times a second each, in 20,000
 *           stacks of 24 frames; after every fourth sample the thread is off its processor, half of
 *           these times blocked with a stack; the first thread launches a kernel of 2 ms every 5
 *           ms. With "samples" no thread is ever off.
 * Fails:    exits with 1 and the reason
 * Why both: samples that are in no device's idle time are only counted; those of the launching
 *           thread are kept until the gap that they are in ends
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "trace/writer.h"

enum { THREADS = 100, FUNCTIONS = 3000, STACKS = 20000, DEPTH = 24, PERIOD_NS = 5025125 };
#define BEGIN_NS UINT64_C(1000000000)

struct state {
	struct trace_writer *writer;
	uint32_t stacks[STACKS], frames[FUNCTIONS];
	uint32_t cpu_clock, enqueue;
	uint64_t random, correlation;
};

static void fail(const char *what)
{
	fprintf(stderr, "bench_samples: %s: %s\n", what, error_text());
	exit(1);
}

static uint64_t random_below(struct state *state, uint64_t limit)
{
	state->random = state->random * 6364136223846793005u + 1442695040888963407u;
	return (state->random >> 33) % limit;
}

static uint32_t string_of(struct state *state, const char *text)
{
	return trace_writer_string(state->writer, text, strlen(text));
}

static void put_entity(struct state *state, enum event_kind kind, const void *row)
{
	if (trace_writer_entity(state->writer, kind, row))
		fail("describe");
}

static void put_row(struct state *state, enum event_kind kind, uint32_t source, const void *row)
{
	const struct trace_source from = {source, CLOCK_ID_MONOTONIC, CLOCK_ID_MONOTONIC};

	if (trace_writer_row(state->writer, kind, &from, row))
		fail("write");
}

static void make_stacks(struct state *state)
{
	char name[32];

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		struct event_frame frame = {
			.type = FRAME_PYTHON, .line = i % 97 + 1, .first_line = 1};

		snprintf(name, sizeof(name), "function_%u", i);
		frame.name_string = string_of(state, name);
		frame.file_string = string_of(state, "program.py");
		state->frames[i] = trace_writer_frame(state->writer, &frame);
	}
	/* two ways on from each place, as far as there are stacks: some 40,000 places in all */
	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t stack = 0;

		for (uint32_t depth = 0; depth < DEPTH; depth++) {
			uint64_t path = i >> (DEPTH - 1 - depth),
				 function = path * 7919 + depth * 31;

			stack = trace_writer_stack(state->writer, stack,
						   state->frames[function % FUNCTIONS]);
		}
		state->stacks[i] = stack;
	}
}

static void make_entities(struct state *state, uint64_t end_ns)
{
	uint32_t name = string_of(state, "made up");
	const struct event_host host = {.id = 1,
					.name_string = name,
					.cpu_count = THREADS,
					.begin_ns = BEGIN_NS,
					.end_ns = end_ns};
	const struct event_clock clock = {
		.id = CLOCK_ID_MONOTONIC, .type = CLOCK_TYPE_MONOTONIC, .frequency_hz = 1000000000};
	const struct event_process process = {.id = 1, .host = 1, .pid = 1000, .name_string = name};
	const struct event_device device = {.id = 1, .name_string = name, .key_string = name};
	const struct event_context context = {.id = 1, .process = 1};
	const struct event_queue queue = {.id = 1,
					  .process = 1,
					  .context = 1,
					  .device = 1,
					  .clock = CLOCK_ID_MONOTONIC,
					  .flags = QUEUE_TIMED};
	const struct event_code kernel = {.id = 1,
					  .process = 1,
					  .type = CODE_KERNEL,
					  .name_string = string_of(state, "kernel")};

	put_entity(state, EVENT_HOST, &host);
	put_entity(state, EVENT_CLOCK, &clock);
	put_entity(state, EVENT_PROCESS, &process);
	put_entity(state, EVENT_DEVICE, &device);
	put_entity(state, EVENT_CONTEXT, &context);
	put_entity(state, EVENT_QUEUE, &queue);
	put_entity(state, EVENT_CODE, &kernel);
	for (uint32_t i = 1; i <= THREADS; i++) {
		const struct event_thread thread = {.id = i, .process = 1, .tid = 1000 + i};

		put_entity(state, EVENT_THREAD, &thread);
	}
}

static void put_command(struct state *state, uint64_t time_ns)
{
	const struct event_launch launch = {.enter = time_ns,
					    .exit = time_ns + 4000,
					    .thread = 1,
					    .function_string = state->enqueue,
					    .queue = 1,
					    .correlation = ++state->correlation,
					    .command = COMMAND_KERNEL,
					    .kernel = 1,
					    .stack = state->stacks[state->correlation % 100]};
	const struct event_execution execution = {.queued = time_ns + 500,
						  .submitted = time_ns + 3000,
						  .started = time_ns + 9000,
						  .ended = time_ns + 2009000,
						  .seen = time_ns + 2015000,
						  .correlation = state->correlation,
						  .process = 1,
						  .queue = 1,
						  .valid = EXECUTION_TIMED};

	put_row(state, EVENT_LAUNCH, 1, &launch);
	put_row(state, EVENT_EXECUTION, 1, &execution);
}

static void put_away(struct state *state, uint32_t thread, uint64_t time_ns)
{
	bool is_blocked = random_below(state, 2);
	const struct event_switch away = {
		.time = time_ns,
		.previous = thread,
		.reason = is_blocked ? SWITCH_BLOCKED : SWITCH_PREEMPTED,
		.stack = is_blocked ? state->stacks[random_below(state, 200)] : 0};
	const struct event_switch back = {.time = time_ns + 100000 + random_below(state, 900000),
					  .next = thread};

	put_row(state, EVENT_SWITCH, thread, &away);
	put_row(state, EVENT_SWITCH, thread, &back);
}

/* A few stacks have most of the samples: the cube of an even distribution. */
static uint32_t some_stack(struct state *state)
{
	uint64_t x = random_below(state, STACKS);

	return state->stacks[x * x / STACKS * x / STACKS];
}

static void put_sample(struct state *state, uint32_t thread, uint64_t time_ns)
{
	const struct event_cpu_sample sample = {.time = time_ns,
						.weight = PERIOD_NS,
						.thread = thread,
						.cpu = thread % 16,
						.source_string = state->cpu_clock,
						.mode = MODE_USER,
						.stack = some_stack(state)};

	put_row(state, EVENT_CPU_SAMPLE, thread, &sample);
}

int main(int argc, char **argv)
{
	uint64_t count = argc >= 3 ? strtoull(argv[1], NULL, 10) : 0, time_ns = BEGIN_NS;
	bool has_switches = argc == 3;
	static struct state state = {.random = 88172645463325252u};

	if (!count) {
		fprintf(stderr, "usage: bench_samples SAMPLES FILE [samples]\n");
		return 2;
	}
	if (trace_writer_open(argv[2], NULL, &state.writer))
		fail("open");
	state.cpu_clock = string_of(&state, "cpu-clock");
	state.enqueue = string_of(&state, "clEnqueueNDRangeKernel");
	make_stacks(&state);
	make_entities(&state, BEGIN_NS + (count / THREADS + 2) * PERIOD_NS);
	for (uint64_t i = 0; i < count; i++) {
		uint32_t thread = (uint32_t)(i % THREADS) + 1;
		uint64_t sampled_ns = time_ns + thread * 40000 + random_below(&state, 10000);

		put_sample(&state, thread, sampled_ns);
		if (has_switches && random_below(&state, 4) == 0)
			put_away(&state, thread, sampled_ns + 1000);
		if (thread == 1)
			put_command(&state, time_ns + 3000000);
		if (thread == THREADS) {
			time_ns += PERIOD_NS;
			if (trace_writer_flush(state.writer, time_ns))
				fail("write");
		}
	}
	if (trace_writer_close(state.writer, time_ns))
		fail("close");
	return 0;
}
