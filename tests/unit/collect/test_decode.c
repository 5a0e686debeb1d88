/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_decode.c - records to rows, and records that nobody honest writes
 */
#include "harness.h"

#include "bench.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void check_whole(struct bench *bench)
{
	struct trace_damage damage;

	trace_reader_damage(bench->reader, &damage);
	CHECK_EQUAL(damage.chunks, 0);
	CHECK_EQUAL(damage.bytes, 0);
	CHECK(!damage.truncated);
}

/* ---- happenings ------------------------------------------------------------------------------ */

TEST(api_calls)
{
	struct bench bench;
	struct draft draft;
	struct trace_chunk chunk = {0};
	struct event_api *rows;
	const struct event_thread *thread;
	size_t count;

	bench_open(&bench);
	draft_begin(&draft, EVENT_API, 3, RECORD_API_BYTES); /* clGetDeviceInfo */
	draft.api.begin = 100;
	draft.api.end = 110;
	draft.api.result = -30;
	draft_decode(&bench, &draft);
	draft_begin(&draft, EVENT_API, 14, RECORD_API_ARGUMENT_BYTES); /* clCreateBuffer */
	draft.api.begin = 200;
	draft.api.end = 230;
	draft.api.argument = 4096;
	draft_decode(&bench, &draft);
	put_queue(&bench, 5, 0, 0);
	draft_begin(&draft, EVENT_API, 47 | API_TYPE_WAIT << 16, RECORD_API_ARGUMENT_BYTES);
	draft.api.begin = 300;
	draft.api.end = 399;
	draft.api.argument = 5; /* clFinish: the queue */
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_API, struct event_api, &count, &chunk);
	REQUIRE(count == 3);
	CHECK_EQUAL(rows[0].begin, 100);
	CHECK_EQUAL(rows[0].end, 110);
	CHECK_EQUAL(rows[0].result, -30);
	CHECK_EQUAL(rows[0].argument, 0);
	CHECK_EQUAL(rows[0].type, API_TYPE_CALL);
	CHECK_TEXT(text_of(&bench, rows[0].function_string), "clGetDeviceInfo");
	CHECK_TEXT(text_of(&bench, rows[1].function_string), "clCreateBuffer");
	CHECK_EQUAL(rows[1].argument, 4096);
	CHECK_EQUAL(rows[2].type, API_TYPE_WAIT);
	CHECK(trace_reader_entity(bench.reader, EVENT_QUEUE, (uint32_t)rows[2].argument) != NULL);
	CHECK_EQUAL(chunk.clock, bench.recording->guest_clock);
	thread = trace_reader_entity(bench.reader, EVENT_THREAD, rows[0].thread);
	CHECK(thread && trace_reader_entity(bench.reader, EVENT_PROCESS, thread->process));
	check_whole(&bench);
	free(rows);
	bench_close(&bench);
}

static void put_launch(struct bench *bench, uint32_t flags, uint64_t correlation, int32_t result)
{
	const uint64_t values[] = {64, 32, 16, 8, 4, 2, 0xe1, 0xe2};
	struct draft draft;

	draft_begin(&draft, EVENT_LAUNCH, 59 | COMMAND_KERNEL << 16 | flags << 24,
		    sizeof(draft.launch));
	draft.launch.enter = 1000 + correlation * 100;
	draft.launch.exit = 1050 + correlation * 100;
	draft.launch.correlation = correlation;
	draft.launch.bytes = 77;
	draft.launch.handle = 0xe0;
	draft.launch.result = result;
	draft.launch.queue = 2;
	draft.launch.kernel = 3;
	draft.launch.dimensions = 3;
	draft.launch.wait_count = 2;
	draft_add(&draft, values, sizeof(values));
	draft_decode(bench, &draft);
}

TEST(launches)
{
	struct bench bench;
	struct event_launch *rows;
	struct event_dependency *waits;
	const struct event_code *kernel;
	size_t count, waits_count;

	bench_open(&bench);
	put_launch(&bench, LAUNCH_BLOCKING, 1, 0); /* before its kernel is described */
	put_device(&bench, 1, "key");
	put_queue(&bench, 2, 0, 1);
	put_code(&bench, 3, 0, CODE_KERNEL, "saxpy", 0);
	put_launch(&bench, 0, 2, 0);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_LAUNCH, struct event_launch, &count, NULL);
	REQUIRE(count == 2);
	CHECK_EQUAL(rows[0].enter, 1100);
	CHECK_EQUAL(rows[0].exit, 1150);
	CHECK_EQUAL(rows[0].correlation, 1);
	CHECK_EQUAL(rows[0].bytes, 77);
	CHECK_EQUAL(rows[0].handle, 0xe0);
	CHECK_EQUAL(rows[0].command, COMMAND_KERNEL);
	CHECK_EQUAL(rows[0].flags, LAUNCH_BLOCKING);
	CHECK_EQUAL(rows[0].dimensions, 3);
	CHECK_EQUAL(rows[0].global_size[2], 16);
	CHECK_EQUAL(rows[0].local_size[0], 8);
	CHECK_TEXT(text_of(&bench, rows[0].function_string), "clEnqueueNDRangeKernel");
	CHECK_EQUAL(rows[0].kernel, rows[1].kernel);
	CHECK_EQUAL(rows[0].queue, rows[1].queue);
	CHECK(trace_reader_entity(bench.reader, EVENT_QUEUE, rows[0].queue) != NULL);
	kernel = trace_reader_entity(bench.reader, EVENT_CODE, rows[0].kernel);
	REQUIRE(kernel);
	CHECK_TEXT(text_of(&bench, kernel->name_string), "saxpy");
	waits = ROWS(&bench, EVENT_DEPENDENCY, struct event_dependency, &waits_count, NULL);
	REQUIRE(waits_count == 4);
	CHECK_EQUAL(waits[0].correlation, 1);
	CHECK_EQUAL(waits[0].time, 1100);
	CHECK_EQUAL(waits[0].handle + waits[1].handle, 0xe1 + 0xe2);
	check_whole(&bench);
	free(rows);
	free(waits);
	bench_close(&bench);
}

TEST(untimed_launch_is_an_execution_too)
{
	struct bench bench;
	struct trace_chunk chunk = {0};
	struct event_execution *rows;
	size_t count;

	bench_open(&bench);
	put_queue(&bench, 2, 0, 0);
	put_launch(&bench, LAUNCH_UNTIMED, 1, 0);
	put_launch(&bench, LAUNCH_UNTIMED, 2, -5); /* failed: nothing was executed */
	put_launch(&bench, 0, 3, 0);               /* its execution comes by itself */
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, &chunk);
	REQUIRE(count == 1);
	CHECK_EQUAL(rows[0].correlation, 1);
	CHECK_EQUAL(rows[0].valid, 0);
	CHECK_EQUAL(rows[0].seen, 1150);
	CHECK(chunk.by_seen);
	CHECK_EQUAL(chunk.seen_clock, bench.recording->guest_clock);
	free(rows);
	bench_close(&bench);
}

static const struct event_clock *clock_of(struct bench *bench, uint32_t id)
{
	return trace_reader_entity(bench->reader, EVENT_CLOCK, id);
}

TEST(executions)
{
	struct bench bench;
	struct trace_chunk chunk = {0};
	struct event_execution *rows;
	const struct event_clock *clock;
	const struct event_queue *queue;
	size_t count;

	bench_open(&bench);
	put_device(&bench, 1, "key");
	put_queue(&bench, 2, 1, 1);
	put_execution(&bench, 2, 9);
	CHECK_EQUAL(bench.injected->pending.executions_count, 0);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, &chunk);
	REQUIRE(count == 1);
	CHECK_EQUAL(rows[0].queued, 1009);
	CHECK_EQUAL(rows[0].submitted, 2009);
	CHECK_EQUAL(rows[0].started, 3009);
	CHECK_EQUAL(rows[0].ended, 4009);
	CHECK_EQUAL(rows[0].seen, 5009);
	CHECK_EQUAL(rows[0].valid, EXECUTION_TIMED);
	CHECK(trace_reader_entity(bench.reader, EVENT_PROCESS, rows[0].process) != NULL);
	clock = clock_of(&bench, chunk.clock);
	queue = trace_reader_entity(bench.reader, EVENT_QUEUE, rows[0].queue);
	REQUIRE(clock && queue);
	CHECK_EQUAL(clock->type, CLOCK_TYPE_DEVICE);
	CHECK_EQUAL(clock->frequency_hz, 19200000);
	CHECK_EQUAL(clock->device, queue->device);
	CHECK_EQUAL(queue->clock, clock->id);
	CHECK_EQUAL(chunk.seen_clock, bench.recording->guest_clock);
	free(rows);
	bench_close(&bench);
}

static void put_instruction(struct bench *bench, uint32_t device, uint32_t detail)
{
	struct draft draft;

	draft_begin(&draft, EVENT_INSTRUCTION_SAMPLE, detail, sizeof(draft.instruction));
	draft.instruction.time = 3500;
	draft.instruction.offset = 0xa10;
	draft.instruction.period = 2048;
	draft.instruction.code = 4;
	draft.instruction.device = device;
	draft_decode(bench, &draft);
}

static void put_function(struct bench *bench, uint32_t function, const char *name)
{
	struct draft draft;

	draft_begin(&draft, RECORD_FUNCTION, function, offsetof(struct record_function, texts));
	draft_add(&draft, name, strlen(name) + 1);
	draft_decode(bench, &draft);
}

static void put_samples(struct bench *bench, uint32_t detail, uint64_t begin, uint64_t end)
{
	struct draft draft;

	draft_begin(&draft, RECORD_SAMPLES, detail, sizeof(draft.samples));
	draft.samples.begin = begin;
	draft.samples.end = end;
	draft.samples.offset = 0x30;
	draft.samples.correlation = 77;
	draft.samples.count = 12;
	draft.samples.period = 4096;
	draft.samples.code = 4;
	draft.samples.device = 1;
	draft_decode(bench, &draft);
}

TEST(counted_samples)
{
	struct bench bench;
	struct trace_chunk chunk = {0};
	struct event_instruction_sample *rows;
	size_t count;

	bench_open(&bench);
	put_device(&bench, 1, "key");
	put_code(&bench, 4, 0, CODE_KERNEL, "saxpy", 0);
	put_function(&bench, RECORD_FUNCTION_FIRST + 9, "long_scoreboard");
	put_samples(&bench, (RECORD_FUNCTION_FIRST + 9) | 1 << 16, 3000, 4000);
	put_samples(&bench, 3 | 3 << 16, 3000, 3000);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	/* a window that ends before it begins, a reason that was never named */
	put_samples(&bench, 3, 3000, 2999);
	CHECK_EQUAL(bench.injected->losses.broken_times, 1);
	put_samples(&bench, RECORD_FUNCTION_FIRST + 10, 5000, 6000);
	CHECK_EQUAL(bench.injected->losses.broken_times, 2);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_INSTRUCTION_SAMPLE, struct event_instruction_sample, &count,
		    &chunk);
	REQUIRE(count == 3);
	CHECK_EQUAL(rows[1].begin, 3000);
	CHECK_EQUAL(rows[1].end, 3000);
	CHECK_TEXT(text_of(&bench, rows[1].stall_string), "waitcnt");
	CHECK_TEXT(text_of(&bench, rows[1].period_unit_string), "samples");
	CHECK_EQUAL(rows[0].end, 4000);
	CHECK_EQUAL(rows[0].offset, 0x30);
	CHECK(rows[0].correlation != 0);
	CHECK_EQUAL(rows[0].count, 12);
	CHECK_EQUAL(rows[0].period, 4096);
	CHECK_TEXT(text_of(&bench, rows[0].stall_string), "long_scoreboard");
	CHECK_TEXT(text_of(&bench, rows[0].period_unit_string), "cycles");
	CHECK_EQUAL(rows[2].stall_string, 0);
	free(rows);
	bench_close(&bench);
}

TEST(instruction_samples)
{
	struct bench bench;
	struct trace_chunk chunk = {0};
	struct event_instruction_sample *rows;
	const struct event_code *kernel;
	const struct event_clock *clock;
	size_t count;

	bench_open(&bench);
	put_device(&bench, 1, "key");
	put_code(&bench, 4, 0, CODE_KERNEL, "saxpy", 0);
	put_instruction(&bench, 1, 3 | 1 << 16);
	put_instruction(&bench, 1, 0);
	put_instruction(&bench, 1, 999 | 999 << 16);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	/* of a device that nobody knows */
	put_instruction(&bench, 9, 0);
	CHECK_EQUAL(bench.injected->losses.broken_times, 1);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_INSTRUCTION_SAMPLE, struct event_instruction_sample, &count,
		    &chunk);
	REQUIRE(count == 3);
	CHECK_EQUAL(rows[0].begin, 3500);
	CHECK_EQUAL(rows[0].offset, 0xa10);
	CHECK_EQUAL(rows[0].count, 1);
	CHECK_EQUAL(rows[0].period, 2048);
	CHECK_TEXT(text_of(&bench, rows[0].period_unit_string), "cycles");
	CHECK_TEXT(text_of(&bench, rows[0].stall_string), "waitcnt");
	CHECK_TEXT(text_of(&bench, rows[1].period_unit_string), "ns");
	CHECK_EQUAL(rows[1].stall_string, 0);
	CHECK_EQUAL(rows[2].stall_string, 0);
	kernel = trace_reader_entity(bench.reader, EVENT_CODE, rows[0].code);
	clock = clock_of(&bench, chunk.clock);
	REQUIRE(kernel && clock);
	CHECK_TEXT(text_of(&bench, kernel->name_string), "saxpy");
	CHECK_EQUAL(clock->device, rows[0].device);
	free(rows);
	bench_close(&bench);
}

/* Rings are read one after the other: what was written first is not always decoded first. */
TEST(execution_before_its_queue_waits)
{
	struct bench bench;
	struct event_execution *rows;
	struct trace_chunk chunk = {0};
	size_t count;

	bench_open(&bench);
	for (uint32_t i = 1; i <= 100; i++)
		put_execution(&bench, 2, i);
	CHECK_EQUAL(bench.injected->pending.executions_count, 100);
	decode_waiting(bench.injected, false);
	CHECK_EQUAL(bench.injected->pending.executions_count, 100);
	put_device(&bench, 1, "key");
	put_queue(&bench, 2, 1, 1);
	decode_waiting(bench.injected, false);
	CHECK_EQUAL(bench.injected->pending.executions_count, 0);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, &chunk);
	REQUIRE(count == 100);
	CHECK_EQUAL(rows[99].valid, EXECUTION_TIMED);
	CHECK_EQUAL(rows[99].correlation, 100);
	CHECK(clock_of(&bench, chunk.clock) &&
	      clock_of(&bench, chunk.clock)->type == CLOCK_TYPE_DEVICE);
	free(rows);
	bench_close(&bench);
}

TEST(queue_before_its_device_waits)
{
	struct bench bench;
	struct event_execution *rows;
	const struct event_queue *queue;
	const struct event_device *device;
	size_t count;

	bench_open(&bench);
	put_queue(&bench, 2, 1, 1);
	put_queue(&bench, 3, 1, 8); /* whose device never comes */
	put_execution(&bench, 2, 1);
	decode_waiting(bench.injected, false);
	CHECK_EQUAL(bench.injected->pending.executions_count, 1);
	CHECK_EQUAL(bench.injected->pending.queues_count, 2);
	put_device(&bench, 1, "key");
	decode_waiting(bench.injected, false);
	CHECK_EQUAL(bench.injected->pending.executions_count, 0);
	CHECK_EQUAL(bench.injected->pending.queues_count, 1);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	REQUIRE(count == 1);
	CHECK_EQUAL(rows[0].valid, EXECUTION_TIMED);
	queue = trace_reader_entity(bench.reader, EVENT_QUEUE, rows[0].queue);
	REQUIRE(queue);
	device = trace_reader_entity(bench.reader, EVENT_DEVICE, queue->device);
	REQUIRE(device);
	CHECK_TEXT(text_of(&bench, device->key_string), "key");
	CHECK_EQUAL(trace_reader_entities(bench.reader, EVENT_QUEUE, &(const void *){NULL}), 2);
	free(rows);
	bench_close(&bench);
}

TEST(execution_of_a_queue_never_described)
{
	struct bench bench;
	struct event_execution *rows;
	struct trace_chunk chunk = {0};
	size_t count;

	bench_open(&bench);
	put_execution(&bench, 2, 1);
	put_execution(&bench, 0, 2); /* of no queue at all */
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, &chunk);
	REQUIRE(count == 2);
	/* The times are in a clock that nobody knows. */
	CHECK_EQUAL(rows[0].valid, 0);
	CHECK_EQUAL(rows[1].valid, 0);
	CHECK(chunk.by_seen);
	check_whole(&bench);
	free(rows);
	bench_close(&bench);
}

TEST(too_many_waiting_executions_are_counted)
{
	const struct event_loss *rows;
	struct bench bench;
	size_t losses;

	bench_open(&bench);
	for (uint32_t i = 0; i < 262144 + 10; i++)
		put_execution(&bench, 2, i + 1);
	CHECK_EQUAL(bench.injected->pending.executions_count, 262144);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0); /* they made sense */
	CHECK_EQUAL(bench.injected->losses.executions, 10);
	bench_read(&bench);
	check_whole(&bench);
	losses = trace_reader_losses(bench.reader, &rows);
	REQUIRE(losses == 1);
	CHECK_EQUAL(rows[0].kind, EVENT_EXECUTION);
	CHECK_EQUAL(rows[0].reason, LOSS_TRACKING);
	CHECK_EQUAL(rows[0].count, 10);
	bench_close(&bench);
}

/* ---- things ---------------------------------------------------------------------------------- */

TEST(devices_contexts_queues)
{
	struct bench bench;
	const struct event_device *devices;
	const struct event_context *contexts;
	const struct event_queue *queues;
	struct draft draft;

	bench_open(&bench);
	put_device(&bench, 1, "key 1");
	put_device(&bench, 2, "key 2");
	put_device(&bench, 3, "key 1"); /* the same device again */
	put_context(&bench, 4);
	put_queue(&bench, 9, 4, 3);
	put_queue(&bench, 1, 7, 2); /* its context was never described */
	draft_begin(&draft, EVENT_DEVICE, 99, offsetof(struct record_device, texts));
	draft.device.device = 1 << 20;
	for (int i = 0; i < 5; i++)
		draft_text(&draft, "");
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	bench_read(&bench);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_DEVICE, (const void **)&devices) == 3);
	CHECK_TEXT(text_of(&bench, devices[0].key_string), "key 1");
	CHECK_TEXT(text_of(&bench, devices[0].name_string), "name");
	CHECK_TEXT(text_of(&bench, devices[0].vendor_string), "vendor");
	CHECK_TEXT(text_of(&bench, devices[0].driver_string), "driver");
	CHECK_TEXT(text_of(&bench, devices[0].platform_string), "platform");
	CHECK_EQUAL(devices[0].type, DEVICE_GPU);
	CHECK_EQUAL(devices[0].compute_units, 7);
	CHECK_EQUAL(devices[0].memory_bytes, 1 << 30);
	CHECK_EQUAL(devices[2].type, DEVICE_OTHER);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CONTEXT, (const void **)&contexts) == 1);
	CHECK_EQUAL(contexts[0].handle, 0xc004);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_QUEUE, (const void **)&queues) == 2);
	CHECK_EQUAL(queues[0].handle, 0x9009);
	CHECK_EQUAL(queues[0].context, contexts[0].id);
	CHECK_EQUAL(queues[0].device, devices[0].id);
	CHECK_EQUAL(queues[0].flags, QUEUE_TIMED); /* 0x80 is no flag */
	CHECK_EQUAL(queues[1].device, devices[1].id);
	check_whole(&bench);
	bench_close(&bench);
}

TEST(clock_pairs)
{
	struct bench bench;
	struct draft draft;
	const struct event_clock_pair *pairs;
	const struct event_queue *queues;
	uint64_t now_ns;

	bench_open(&bench);
	bench.recording->tsc = false; /* so that times are nanoseconds as they are */
	now_ns = host_clocks_now_ns();
	put_device(&bench, 1, "key");
	put_queue(&bench, 1, 0, 1);
	draft_begin(&draft, EVENT_CLOCK_PAIR, 0, sizeof(draft.pair));
	draft.pair.time = 123456;
	draft.pair.before = now_ns;
	draft.pair.after = now_ns + 50;
	draft.pair.device = 1;
	draft_decode(&bench, &draft);
	draft.pair.device = 2; /* unknown */
	draft_decode(&bench, &draft);
	bench_read(&bench);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_QUEUE, (const void **)&queues) == 1);
	REQUIRE(trace_reader_clock_pairs(bench.reader, queues[0].clock, &pairs) == 1);
	CHECK_EQUAL(pairs[0].time, 123456);
	CHECK_EQUAL(pairs[0].host_lower_ns, now_ns);
	CHECK_EQUAL(pairs[0].host_upper_ns, now_ns + 50);
	bench_close(&bench);
}

/* ---- code ------------------------------------------------------------------------------------ */

static size_t codes_of(struct bench *bench, const struct event_code **ret_codes)
{
	return trace_reader_entities(bench->reader, EVENT_CODE, (const void **)ret_codes);
}

static void put_source(struct bench *bench, uint32_t code, const char *text)
{
	size_t size = strlen(text), half = size / 2;

	put_code(bench, code, 0, CODE_SOURCE, "", size);
	put_piece(bench, code, 0, text, half);
	put_piece(bench, code, half, text + half, size - half);
}

TEST(source_kernel_and_log)
{
	struct bench bench;
	const struct event_code *codes, *kernel = NULL, *source = NULL;
	const char *bytes;
	size_t size = 0, count;

	bench_open(&bench);
	put_source(&bench, 1, "kernel void saxpy() {}");
	put_code(&bench, 2, 1, CODE_KERNEL, "saxpy", 0);
	put_code(&bench, 3, 1, CODE_BUILD_LOG, "", 4);
	put_piece(&bench, 3, 0, "fine", 4);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	bench_read(&bench);
	count = codes_of(&bench, &codes);
	REQUIRE(count == 3);
	for (size_t i = 0; i < count; i++) {
		source = codes[i].type == CODE_SOURCE ? &codes[i] : source;
		kernel = codes[i].type == CODE_KERNEL ? &codes[i] : kernel;
	}
	REQUIRE(source && kernel);
	CHECK_EQUAL(kernel->parent, source->id);
	CHECK_TEXT(text_of(&bench, kernel->name_string), "saxpy");
	CHECK_TEXT(text_of(&bench, source->options_string), "-O3");
	CHECK_EQUAL(source->handle, 0xd001);
	bytes = trace_reader_content(bench.reader, source->hash_low, source->hash_high, &size);
	CHECK_EQUAL(size, strlen("kernel void saxpy() {}"));
	CHECK(bytes && size && memcmp(bytes, "kernel void saxpy() {}", size) == 0);
	bench_close(&bench);
}

TEST(same_source_a_thousand_times_is_one)
{
	struct bench bench;
	const struct event_code *codes;

	bench_open(&bench);
	for (uint32_t i = 0; i < 1000; i++) {
		put_source(&bench, 2 * i + 1, "kernel void saxpy() {}");
		put_code(&bench, 2 * i + 2, 2 * i + 1, CODE_KERNEL, "saxpy", 0);
	}
	put_source(&bench, 3001, "kernel void sbxpy() {}");
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	bench_read(&bench);
	CHECK_EQUAL(codes_of(&bench, &codes), 3);
	bench_close(&bench);
}

static void expect_no_content(struct bench *bench, size_t want_codes)
{
	const struct event_code *codes;
	size_t count;

	CHECK_EQUAL(bench->injected->losses.broken_times, 0);
	bench_read(bench);
	count = codes_of(bench, &codes);
	CHECK_EQUAL(count, want_codes);
	for (size_t i = 0; i < count; i++) {
		CHECK_EQUAL(codes[i].hash_low, 0);
		CHECK_EQUAL(codes[i].hash_high, 0);
	}
	check_whole(bench);
	bench_close(bench);
}

TEST(content_with_a_hole)
{
	struct bench bench;

	bench_open(&bench);
	put_code(&bench, 1, 0, CODE_SOURCE, "", 12);
	put_piece(&bench, 1, 0, "abcd", 4);
	put_piece(&bench, 1, 8, "ijkl", 4);
	/* Two programs whose sources were lost are still two. */
	put_code(&bench, 2, 0, CODE_SOURCE, "", 12);
	expect_no_content(&bench, 2);
}

TEST(content_out_of_order_overlapping_too_long)
{
	struct bench bench;

	bench_open(&bench);
	put_code(&bench, 1, 0, CODE_SOURCE, "", 8);
	put_piece(&bench, 1, 4, "efgh", 4);
	put_piece(&bench, 1, 0, "abcd", 4);
	put_piece(&bench, 1, 2, "cdef", 4);
	put_piece(&bench, 1, 4, "efghijkl", 8);
	put_piece(&bench, 1, UINT64_MAX, "efgh", 4);
	put_piece(&bench, 2, 4, "efgh", 4); /* another's */
	expect_no_content(&bench, 1);
}

TEST(content_without_a_beginning)
{
	struct bench bench;

	bench_open(&bench);
	put_piece(&bench, 1, 0, "abcd", 4);
	put_code(&bench, 1, 0, CODE_SOURCE, "", UINT64_MAX); /* not believed */
	put_piece(&bench, 1, 0, "abcd", 4);
	put_code(&bench, 2, 0, CODE_BINARY, "", 16 << 20); /* nothing of it comes */
	put_code(&bench, 3, 0, CODE_BINARY, "", 1 << 24 | 1);
	expect_no_content(&bench, 3);
}

/* ---- hostile --------------------------------------------------------------------------------- */

static const struct {
	uint16_t kind;
	uint32_t fixed;
	int texts;
} kinds[] = {
	{EVENT_API, RECORD_API_BYTES, 0},
	{EVENT_LAUNCH, sizeof(struct record_launch), 0},
	{EVENT_EXECUTION, sizeof(struct record_execution), 0},
	{EVENT_DEVICE, offsetof(struct record_device, texts), 5},
	{EVENT_CONTEXT, sizeof(struct record_context), 0},
	{EVENT_QUEUE, sizeof(struct record_queue), 0},
	{EVENT_CODE, offsetof(struct record_code, texts), 2},
	{RECORD_BYTES, sizeof(struct record_bytes), 0},
	{EVENT_CLOCK_PAIR, sizeof(struct record_clock_pair), 0},
	{EVENT_RANGE, offsetof(struct record_range, texts), 2},
	{EVENT_COUNTER, offsetof(struct record_counter, texts), 2},
	{RECORD_FUNCTION, offsetof(struct record_function, texts), 1},
	{RECORD_NODE, sizeof(struct record_node), 0},
	{RECORD_CAPTURED, sizeof(struct record_captured), 0},
	{RECORD_KERNEL_NEEDS, sizeof(struct record_kernel_needs), 0},
	{RECORD_REFUSED, offsetof(struct record_refused, texts), 2},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void begin_kind(struct draft *draft, size_t i)
{
	draft_begin(draft, kinds[i].kind, 1, kinds[i].fixed);
	for (int k = 0; k < kinds[i].texts; k++)
		draft_text(draft, "text");
}

static void draft_kernel(struct draft *draft, uint32_t code, const char *name, uint32_t device)
{
	draft_begin(draft, EVENT_CODE, CODE_KERNEL | RECORD_CODE_NEEDS,
		    offsetof(struct record_code, texts));
	draft->code.code = code;
	draft->code.device = device;
	draft_text(draft, name);
	draft_text(draft, "");
	draft_pad(draft);
}

static void draft_local_device(struct draft *draft, uint32_t device, const char *key)
{
	draft_begin(draft, EVENT_DEVICE, DEVICE_GPU | RECORD_DEVICE_LOCAL,
		    offsetof(struct record_device, texts));
	draft->device.device = device;
	draft_text(draft, key);
	for (int i = 0; i < 4; i++)
		draft_text(draft, "text");
	draft_pad(draft);
}

TEST(what_kernels_need)
{
	const struct record_needs needs = {256, 32, 4096, CODE_UNKNOWN}, none = {0, 0, 7, 7};
	const uint64_t local_bytes = 65536;
	const struct event_device *devices;
	const struct event_code *codes;
	struct bench bench;
	struct draft draft;

	bench_open(&bench);
	draft_local_device(&draft, 1, "key");
	draft_add(&draft, &local_bytes, sizeof(local_bytes));
	draft_decode(&bench, &draft);
	draft_kernel(&draft, 1, "saxpy", 1);
	draft_add(&draft, &needs, sizeof(needs));
	draft_decode(&bench, &draft);
	/* launched first on another device by another handle: the same kernel */
	draft_kernel(&draft, 2, "saxpy", 0);
	draft_add(&draft, &none, sizeof(none));
	draft_decode(&bench, &draft);
	draft_kernel(&draft, 3, "unknown", 1);
	draft_add(&draft, &none, sizeof(none));
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	bench_read(&bench);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_DEVICE, (const void **)&devices) == 1);
	CHECK_EQUAL(devices[0].local_bytes, 65536);
	CHECK_EQUAL(devices[0].type, DEVICE_GPU);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes) == 2);
	CHECK_TEXT(text_of(&bench, codes[0].name_string), "saxpy");
	CHECK_EQUAL(codes[0].type, CODE_KERNEL);
	CHECK_EQUAL(codes[0].device, devices[0].id);
	CHECK_EQUAL(codes[0].group_most, 256);
	CHECK_EQUAL(codes[0].group_multiple, 32);
	CHECK_EQUAL(codes[0].local_bytes, 4096);
	CHECK(codes[0].private_bytes == CODE_UNKNOWN);
	CHECK_EQUAL(codes[1].group_most + codes[1].local_bytes + codes[1].private_bytes, 0);
	bench_close(&bench);
}

static void draft_needs(struct draft *draft, uint32_t code, uint32_t registers,
			uint64_t local_bytes)
{
	struct record_kernel_needs record = {
		.local_bytes = local_bytes, .code = code, .registers = registers};

	draft_begin(draft, RECORD_KERNEL_NEEDS, 0, sizeof(record.head));
	draft_add(draft, (char *)&record + sizeof(record.head),
		  sizeof(record) - sizeof(record.head));
}

/* The newest is what counts; of what is not described nothing is kept. */
TEST(what_launches_take)
{
	const struct event_code *codes;
	struct bench bench;
	struct draft draft;

	bench_open(&bench);
	draft_local_device(&draft, 1, "key");
	draft_add(&draft, &(uint64_t){65536}, sizeof(uint64_t));
	draft_decode(&bench, &draft);
	draft_needs(&draft, 1, 24, 0);
	draft_decode(&bench, &draft);
	draft_kernel(&draft, 1, "saxpy", 1);
	draft_add(&draft, &(struct record_needs){0}, sizeof(struct record_needs));
	draft_decode(&bench, &draft);
	draft_needs(&draft, 1, 40, 1024);
	draft_decode(&bench, &draft);
	draft_needs(&draft, 1, 40, 4096);
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	bench_read(&bench);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes) == 1);
	CHECK_TEXT(text_of(&bench, codes[0].name_string), "saxpy");
	CHECK_EQUAL(codes[0].registers, 40);
	CHECK_EQUAL(codes[0].local_bytes, 4096);
	bench_close(&bench);
}

/* The same kernel at another place is another one; at the same place it is not. */
TEST(where_kernels_are)
{
	const struct record_needs needs = {256, 32, 4096, 16};
	const struct record_place places[] = {{0x8000, 64, 0}, {0x9000, 64, 1}, {0x8000, 64, 0}};
	const struct event_code *codes;
	uint64_t launched_ns, error_ns;
	struct bench bench;
	struct draft draft;

	bench_open(&bench);
	launched_ns = recording_host_ns(bench.recording, places[1].time, &error_ns);
	for (uint32_t i = 0; i < 3; i++) {
		draft_kernel(&draft, i + 1, "saxpy", 0);
		draft.head.detail |= RECORD_CODE_PLACED;
		draft_add(&draft, &needs, sizeof(needs));
		draft_add(&draft, &places[i], sizeof(places[i]));
		draft_decode(&bench, &draft);
	}
	/* no room for the place */
	draft_kernel(&draft, 4, "a", 0);
	draft.head.detail |= RECORD_CODE_PLACED;
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 1);
	CHECK_EQUAL(bench.injected->losses.contents, 0);
	bench_read(&bench);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes) == 2);
	/* since its launch, not since it was read, as the other */
	CHECK_EQUAL(codes[1].begin_ns, launched_ns);
	CHECK(codes[0].begin_ns > launched_ns);
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(codes[i].address, places[i].address);
		CHECK_EQUAL(codes[i].size_bytes, 64);
		CHECK_EQUAL(codes[i].group_most, 256);
		CHECK_EQUAL(codes[i].private_bytes, 16);
	}
	bench_close(&bench);
}

/* Texts that run into what is said to be numbers, and no room for these. */
TEST(needs_without_room)
{
	struct bench bench;
	struct draft draft;

	bench_open(&bench);
	draft_kernel(&draft, 1, "a name of more than eight bytes", 0);
	draft_decode(&bench, &draft);
	draft_begin(&draft, EVENT_CODE, CODE_KERNEL | RECORD_CODE_NEEDS,
		    offsetof(struct record_code, texts));
	draft.code.code = 1;
	draft_decode(&bench, &draft);
	draft_begin(&draft, EVENT_DEVICE, DEVICE_GPU | RECORD_DEVICE_LOCAL,
		    offsetof(struct record_device, texts));
	draft.device.device = 1;
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 3);
	bench_read(&bench);
	check_whole(&bench);
	bench_close(&bench);
}

TEST(truncated_records_are_counted)
{
	struct bench bench;

	bench_open(&bench);
	for (size_t i = 0; i < KINDS; i++) {
		for (uint32_t size = 8; size < kinds[i].fixed; size += 8) {
			uint64_t before = bench.injected->losses.broken_times;
			struct draft draft;

			begin_kind(&draft, i);
			draft.at = size;
			draft_decode(&bench, &draft);
			CHECK_EQUAL(bench.injected->losses.broken_times, before + 1);
		}
	}
	bench_read(&bench);
	check_whole(&bench);
	bench_close(&bench);
}

TEST(unknown_kinds_are_counted)
{
	struct bench bench;
	uint64_t before = 0;

	bench_open(&bench);
	for (uint32_t kind = 0; kind < 65536; kind++) {
		struct draft draft;
		bool known = false;

		for (size_t i = 0; i < KINDS; i++)
			known = known || kinds[i].kind == kind;
		if (known)
			continue;
		draft_begin(&draft, (uint16_t)kind, 0, 64);
		draft_decode(&bench, &draft);
		CHECK_EQUAL(bench.injected->losses.broken_times, ++before);
	}
	bench_read(&bench);
	bench_close(&bench);
}

TEST(lying_counts)
{
	struct bench bench;
	struct draft draft;

	bench_open(&bench);
	draft_begin(&draft, EVENT_LAUNCH, 59, sizeof(draft.launch));
	draft.launch.wait_count = 1;
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 1);
	draft.launch.wait_count = 65535;
	draft_decode(&bench, &draft);
	draft.launch.wait_count = 0;
	draft.launch.dimensions = 1;
	draft_decode(&bench, &draft);
	draft.launch.dimensions = 4;
	draft.at = 65528;
	draft_decode(&bench, &draft);
	draft.launch.dimensions = 65535;
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 5);
	draft_begin(&draft, RECORD_BYTES, 9, sizeof(draft.bytes) + 8);
	draft_decode(&bench, &draft);
	draft.head.detail = UINT32_MAX;
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 7);
	bench_read(&bench);
	bench_close(&bench);
}

TEST(texts_without_end)
{
	struct bench bench;
	struct draft draft;

	bench_open(&bench);
	draft_begin(&draft, EVENT_DEVICE, 0, offsetof(struct record_device, texts));
	draft.device.device = 1;
	draft_add(&draft, "aaa\0bbb\0ccc\0ddd\0eeeeeeee", 24); /* the last one ends nowhere */
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 1);
	draft_begin(&draft, EVENT_CODE, CODE_KERNEL, offsetof(struct record_code, texts));
	draft.code.code = 1;
	draft_add(&draft, "aaaaaaa\0bbbbbbbb", 16);
	draft_decode(&bench, &draft);
	draft_begin(&draft, EVENT_CODE, CODE_KERNEL, offsetof(struct record_code, texts));
	draft.code.code = 1; /* no texts at all */
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 3);
	/* as long as a record can hold: cut for comparing, not overrun */
	draft_begin(&draft, EVENT_CODE, CODE_SOURCE, offsetof(struct record_code, texts));
	draft.code.code = 1;
	memset((char *)draft.words + draft.at, 'a', 60000);
	draft.at += 60000;
	draft_text(&draft, "");
	draft_text(&draft, "options");
	draft_decode(&bench, &draft);
	draft_begin(&draft, EVENT_DEVICE, 0, offsetof(struct record_device, texts));
	draft.device.device = 1;
	memset((char *)draft.words + draft.at, 'a', 60000);
	draft.at += 60000;
	for (int i = 0; i < 5; i++)
		draft_text(&draft, "");
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 3);
	bench_read(&bench);
	check_whole(&bench);
	bench_close(&bench);
}

TEST(ids_beyond_the_limit)
{
	const uint32_t ids[] = {(1 << 20) + 1, 1u << 31, UINT32_MAX};
	struct bench bench;

	bench_open(&bench);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		uint64_t before = bench.injected->losses.broken_times;

		put_device(&bench, ids[i], "key");
		put_context(&bench, ids[i]);
		put_queue(&bench, ids[i], 0, 0);
		put_code(&bench, ids[i], 0, CODE_KERNEL, "k", 0);
		put_execution(&bench, ids[i], 1);
		CHECK(bench.injected->losses.broken_times >= before + 4);
	}
	put_device(&bench, 0, "key");
	put_code(&bench, 0, 0, CODE_KERNEL, "k", 0);
	bench_read(&bench);
	check_whole(&bench);
	bench_close(&bench);
}

/* Every 32-bit word of every kind at every extreme. */
TEST(fields_at_extremes)
{
	static const uint32_t extremes[] = {0,          1,          2,          0x7fff,
					    0x8000,     0xffff,     0x10000,    1 << 20,
					    0x1000001,  0x7fffffff, 0x80000000, 0xfffffffe,
					    0xffffffff, 0xffff0000, 0xff000000};
	struct bench bench;

	bench_open(&bench);
	for (size_t i = 0; i < KINDS; i++) {
		for (uint32_t word = 1; word < kinds[i].fixed / 4 + 8; word++) {
			for (size_t k = 0; k < sizeof(extremes) / sizeof(extremes[0]); k++) {
				struct draft draft;

				begin_kind(&draft, i);
				draft.at += 64;
				((uint32_t *)draft.words)[word] = extremes[k];
				draft_decode(&bench, &draft);
			}
		}
	}
	bench_read(&bench);
	check_whole(&bench);
	bench_close(&bench);
}

TEST(random_records)
{
	struct bench bench;

	bench_open(&bench);
	for (int round = 0; round < 100000; round++) {
		struct draft draft;

		begin_kind(&draft, random_next() % KINDS);
		draft.at += (uint32_t)(random_next() % 12) * 8;
		if (round % 1000 == 0)
			draft.at = 65528;
		for (uint64_t i = random_next() % 12; i > 0; i--)
			draft.words[random_next() % 16] = random_next() >> random_next() % 64;
		draft.head.kind = kinds[random_next() % KINDS].kind;
		draft_decode(&bench, &draft);
	}
	CHECK(bench.injected->losses.broken_times > 0);
	bench_read(&bench);
	check_whole(&bench);
	bench_close(&bench);
}

/* ---- through the rings ----------------------------------------------------------------------- */

static void write_call(struct ring_writer *writer, uint64_t begin)
{
	struct record_api *record = ring_reserve(writer, EVENT_API, RECORD_API_BYTES);

	if (!record)
		return;
	*record = (struct record_api){
		.head = {EVENT_API, RECORD_API_BYTES, 0}, .begin = begin, .end = begin + 1};
	ring_commit(writer);
}

static uint64_t losses_of(struct bench *bench, uint32_t kind, uint32_t reason)
{
	const struct event_loss *losses;
	size_t count = trace_reader_losses(bench->reader, &losses);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (losses[i].kind == kind && losses[i].reason == reason)
			sum += losses[i].count;
	return sum;
}

TEST(drained_threads_and_losses)
{
	struct bench bench;
	struct ring_region *region;
	struct ring_writer writers[3];
	const struct event_thread *threads;
	struct event_api *rows;
	size_t count, found = 0;

	bench_open(&bench);
	region = bench.injected->region.shared;
	for (uint32_t i = 0; i < 3; i++) {
		REQUIRE(ring_claim(region, region->ring_count, region->ring_bytes, 70 + i,
				   &writers[i]));
		write_call(&writers[i], 100 + i);
	}
	CHECK(injected_drain(bench.injected, UINT64_MAX) > 0);
	CHECK_EQUAL(injected_drain(bench.injected, UINT64_MAX), 0);
	write_call(&writers[1], 200);
	atomic_fetch_add(&writers[1].control->lost[EVENT_LAUNCH], 5);
	atomic_fetch_add(&writers[1].control->nested[EVENT_API], 3);
	atomic_fetch_add(&region->trouble[RING_TROUBLE_NO_RING], 11);
	atomic_fetch_add(&region->trouble[RING_TROUBLE_TRACKING], 13);
	atomic_fetch_add(&region->trouble[RING_TROUBLE_NO_RING_LAUNCH], 17);
	atomic_fetch_add(&region->trouble[RING_TROUBLE_OBJECTS], 19);
	atomic_fetch_add(&region->trouble[RING_TROUBLE_NO_RING_COUNTER], 23);
	ring_close(&writers[1]);
	usleep(1000);
	injected_drain(bench.injected, UINT64_MAX);
	injected_drain(bench.injected, UINT64_MAX); /* empty and closed: the ring is free again */
	injected_count_losses(bench.injected, host_clocks_now_ns());
	CHECK(ring_claim(region, region->ring_count, region->ring_bytes, 80, &writers[1]));
	write_call(&writers[1], 300);
	injected_drain(bench.injected, UINT64_MAX);
	/* bytes that make no sense, and a count that went down */
	atomic_store(&writers[1].control->head, 3);
	atomic_store(&writers[1].control->lost[EVENT_LAUNCH], 1);
	injected_drain(bench.injected, UINT64_MAX);
	usleep(1000);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_API, struct event_api, &count, NULL);
	CHECK_EQUAL(count, 5);
	count = trace_reader_entities(bench.reader, EVENT_THREAD, (const void **)&threads);
	for (size_t i = 0; i < count; i++) {
		found += threads[i].ns_tid >= 70 && threads[i].ns_tid <= 80;
		if (threads[i].ns_tid == 71)
			CHECK(threads[i].end_ns > threads[i].begin_ns);
	}
	CHECK_EQUAL(found, 4);
	CHECK_EQUAL(losses_of(&bench, EVENT_LAUNCH, LOSS_RING_FULL), 5);
	CHECK_EQUAL(losses_of(&bench, EVENT_API, LOSS_NESTED), 3);
	CHECK_EQUAL(losses_of(&bench, EVENT_API, LOSS_NO_RING), 11);
	CHECK_EQUAL(losses_of(&bench, EVENT_EXECUTION, LOSS_TRACKING), 13);
	CHECK_EQUAL(losses_of(&bench, EVENT_LAUNCH, LOSS_NO_RING), 17);
	CHECK_EQUAL(losses_of(&bench, EVENT_CODE, LOSS_TRACKING), 19);
	CHECK_EQUAL(losses_of(&bench, EVENT_COUNTER, LOSS_NO_RING), 23);
	CHECK_EQUAL(losses_of(&bench, EVENT_PADDING, LOSS_RING_BROKEN), 1);
	free(rows);
	bench_close(&bench);
}

static void take_warning(void *context, const char *text)
{
	snprintf(context, 200, "%s", text);
}

static void count_own_time(struct ring_region *region, uint64_t count, uint64_t ticks)
{
	atomic_fetch_add(&region->trouble[RING_TROUBLE_SECTIONS], count);
	atomic_fetch_add(&region->trouble[RING_TROUBLE_SECTIONS_TICKS], ticks);
	atomic_fetch_add(&region->trouble[RING_TROUBLE_TIMED_CALLS], count);
	atomic_fetch_add(&region->trouble[RING_TROUBLE_TIMED_TICKS], ticks);
}

/* The guest counts on behind the recorder's look at the clock, and before the recorder has seen a
 * ring. */
TEST(own_time_of_a_short_interval)
{
	const struct event_process *processes;
	struct ring_region *region;
	struct bench bench;
	uint64_t now_ns;

	bench_open(&bench);
	region = bench.injected->region.shared;
	usleep(20000);
	now_ns = host_clocks_now_ns();
	injected_count_losses(bench.injected, now_ns);
	count_own_time(region, 5, 40000);
	injected_count_losses(bench.injected, now_ns);
	/* what was scribbled */
	count_own_time(region, 3, UINT64_MAX / 4);
	injected_count_losses(bench.injected, host_clocks_now_ns());
	bench_read(&bench);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_PROCESS, (const void **)&processes) == 1);
	CHECK_EQUAL(processes[0].guest_sections, 5);
	CHECK_EQUAL(processes[0].guest_timed_calls, 5);
	CHECK(processes[0].guest_sections_ns > 0 && processes[0].guest_sections_ns <= 100000);
	CHECK_EQUAL(processes[0].guest_timed_ns, processes[0].guest_sections_ns);
	bench_close(&bench);
}

/* What a guest counts beside losses. */
TEST(facts_of_the_guest)
{
	const struct event_collector *notes;
	const struct event_process *processes;
	struct ring_region *region;
	char warning[200] = "", wanted[200];
	struct bench bench;
	size_t count;

	bench_open(&bench);
	bench.recording->on_warning = take_warning;
	bench.recording->warning_context = warning;
	region = bench.injected->region.shared;
	atomic_fetch_add(&region->trouble[RING_TROUBLE_STACKS_CHECKED], 29);
	atomic_fetch_add(&region->trouble[RING_TROUBLE_STACKS_WRONG], 3);
	usleep(1000);
	injected_count_losses(bench.injected, host_clocks_now_ns());
	CHECK_TEXT(warning, "");
	atomic_fetch_add(&region->trouble[RING_TROUBLE_STACKS_CHECKED], 2);
	strcpy(region->python_unknown, "3.15.0 free-threaded");
	atomic_fetch_add(&region->trouble[RING_TROUBLE_PYTHON_UNKNOWN], 1);
	usleep(1000);
	injected_count_losses(bench.injected, host_clocks_now_ns());
	snprintf(wanted, sizeof(wanted),
		 "%d %s: Python frames are missing, because duet does not support this Python "
		 "(version 3.15.0 free-threaded); native "
		 "frames are kept",
		 (int)getpid(), bench.injected->name);
	CHECK_TEXT(warning, wanted);
	/* once, and nothing of what was scribbled */
	warning[0] = '\0';
	atomic_fetch_add(&region->trouble[RING_TROUBLE_PYTHON_UNKNOWN], 1);
	atomic_fetch_add(&region->trouble[RING_TROUBLE_STACKS_CHECKED], UINT64_MAX / 2);
	usleep(1000);
	bench_read(&bench);
	CHECK_TEXT(warning, "");
	count = trace_reader_entities(bench.reader, EVENT_PROCESS, (const void **)&processes);
	REQUIRE(count == 1);
	CHECK_EQUAL(processes[0].stacks_checked, 31);
	CHECK_EQUAL(processes[0].stacks_wrong, 3);
	count = trace_reader_entities(bench.reader, EVENT_COLLECTOR, (const void **)&notes);
	REQUIRE(count == 1);
	CHECK_EQUAL(notes[0].process, processes[0].id);
	CHECK_EQUAL(notes[0].state, COLLECTOR_PARTIAL);
	CHECK_TEXT(text_of(&bench, notes[0].reason_string), wanted);
	CHECK_EQUAL(losses_of(&bench, EVENT_PADDING, LOSS_RING_BROKEN), 0);
	bench_close(&bench);
}

/* What was scribbled in the place of a version is not repeated. */
TEST(a_python_without_a_version)
{
	char warning[200] = "", wanted[200];
	struct bench bench;

	bench_open(&bench);
	bench.recording->on_warning = take_warning;
	bench.recording->warning_context = warning;
	memset(bench.injected->region.shared->python_unknown, 0x1b, RING_PYTHON_BYTES);
	atomic_fetch_add(&bench.injected->region.shared->trouble[RING_TROUBLE_PYTHON_UNKNOWN], 1);
	snprintf(wanted, sizeof(wanted),
		 "%d %s: Python frames are missing, because duet does not support this Python; "
		 "native frames are kept",
		 (int)getpid(), bench.injected->name);
	bench_read(&bench);
	CHECK_TEXT(warning, wanted);
	bench_close(&bench);
}

TEST(broken_records_are_losses)
{
	struct bench bench;
	struct draft draft;

	bench_open(&bench);
	for (int i = 0; i < 42; i++) {
		draft_begin(&draft, EVENT_API, 0, 8);
		draft_decode(&bench, &draft);
	}
	usleep(1000);
	bench_read(&bench);
	CHECK_EQUAL(losses_of(&bench, EVENT_PADDING, LOSS_RING_BROKEN), 42);
	bench_close(&bench);
}

/* A program may say of its rings' states what it likes. */
TEST(hostile_states)
{
	struct bench bench;
	struct ring_region *region;

	bench_open(&bench);
	region = bench.injected->region.shared;
	for (int round = 0; round < 2000; round++) {
		for (uint32_t i = 0; i < 8; i++) {
			struct ring_control *control =
				(struct ring_control *)((uint8_t *)region + RING_PAGE +
							i * ring_slot_bytes(region->ring_bytes));

			atomic_store(&control->state, (uint32_t)(random_next() % 6));
			atomic_store(&control->head, random_next() % 4096);
			control->tid = (uint32_t)random_next();
			((uint64_t *)((uint8_t *)control + RING_PAGE))[random_next() % 512] =
				random_next() & 0x400050011f;
		}
		region->ring_bytes = (uint32_t)random_next();
		region->ring_count = (uint32_t)random_next();
		injected_drain(bench.injected, UINT64_MAX);
		region->ring_bytes = bench.injected->region.ring_bytes;
	}
	injected_count_losses(bench.injected, host_clocks_now_ns());
	bench_read(&bench);
	check_whole(&bench);
	bench_close(&bench);
}

int main(void)
{
	RUN(api_calls);
	RUN(launches);
	RUN(untimed_launch_is_an_execution_too);
	RUN(executions);
	RUN(counted_samples);
	RUN(instruction_samples);
	RUN(execution_before_its_queue_waits);
	RUN(queue_before_its_device_waits);
	RUN(execution_of_a_queue_never_described);
	RUN(too_many_waiting_executions_are_counted);
	RUN(devices_contexts_queues);
	RUN(clock_pairs);
	RUN(source_kernel_and_log);
	RUN(same_source_a_thousand_times_is_one);
	RUN(content_with_a_hole);
	RUN(content_out_of_order_overlapping_too_long);
	RUN(content_without_a_beginning);
	RUN(what_kernels_need);
	RUN(what_launches_take);
	RUN(where_kernels_are);
	RUN(needs_without_room);
	RUN(truncated_records_are_counted);
	RUN(unknown_kinds_are_counted);
	RUN(lying_counts);
	RUN(texts_without_end);
	RUN(ids_beyond_the_limit);
	RUN(fields_at_extremes);
	RUN(random_records);
	RUN(drained_threads_and_losses);
	RUN(own_time_of_a_short_interval);
	RUN(facts_of_the_guest);
	RUN(a_python_without_a_version);
	RUN(broken_records_are_losses);
	RUN(hostile_states);
	return harness_end();
}
