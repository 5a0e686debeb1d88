// SPDX-License-Identifier: MIT
/*
 * tests/generate/answers.c - sums, a union of intervals, and the answers as JSON
 *
 * Runs in:  generate_trace
 * Gets:     every fact at the moment in which it is made up
 * Gives:    the JSON that a report of the trace is held against
 * Owns:     the intervals that may still overlap later ones
 * Fails:    -ENOMEM; json_error
 * Why a heap and a watermark: 10^8 events have 4 * 10^7 executions; sorting them all would take
 * 640 MB, while only those begun in the last instant can still be joined by others.
 */
#include "answers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "event/command_names.h"

void count_total_add(struct count_total *total, uint64_t duration_ns)
{
	if (!total->count || duration_ns < total->minimum_ns)
		total->minimum_ns = duration_ns;
	if (duration_ns > total->maximum_ns)
		total->maximum_ns = duration_ns;
	total->total_ns += duration_ns;
	total->count++;
}

static void sift_down(struct busy *busy, size_t at)
{
	struct interval moving = busy->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= busy->count)
			break;
		if (child + 1 < busy->count &&
		    busy->heap[child + 1].begin < busy->heap[child].begin)
			child++;
		if (moving.begin <= busy->heap[child].begin)
			break;
		busy->heap[at] = busy->heap[child];
		at = child;
	}
	busy->heap[at] = moving;
}

int busy_add(struct busy *busy, uint64_t begin, uint64_t end)
{
	size_t at = busy->count;

	if (at == busy->capacity) {
		size_t capacity = busy->capacity ? 2 * busy->capacity : 1024;
		struct interval *grown = realloc(busy->heap, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		busy->heap = grown;
		busy->capacity = capacity;
	}
	for (busy->count++; at && busy->heap[(at - 1) / 2].begin > begin; at = (at - 1) / 2)
		busy->heap[at] = busy->heap[(at - 1) / 2];
	busy->heap[at] = (struct interval){begin, end};
	return 0;
}

static void join(struct busy *busy, const struct interval *next)
{
	uint64_t from = next->begin > busy->end ? next->begin : busy->end;

	if (next->begin > busy->end || !busy->pieces)
		busy->pieces++;
	if (next->end > from)
		busy->total += next->end - from;
	if (next->end > busy->end)
		busy->end = next->end;
}

void busy_advance(struct busy *busy, uint64_t watermark)
{
	while (busy->count && busy->heap[0].begin < watermark) {
		join(busy, &busy->heap[0]);
		busy->heap[0] = busy->heap[--busy->count];
		if (busy->count)
			sift_down(busy, 0);
	}
}

static void put(struct json_writer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void write_functions(const struct answers *answers, struct json_writer *json)
{
	json_key(json, "functions");
	json_array_begin(json);
	for (size_t i = 0; i < answers->function_count; i++) {
		const struct count_total *total = &answers->functions[i];

		if (!total->count)
			continue;
		json_newline(json);
		json_object_begin(json);
		json_key(json, "name");
		json_string(json, answers->function_names[i]);
		put(json, "count", total->count);
		put(json, "failures", total->failures);
		put(json, "total_ns", total->total_ns);
		put(json, "min_ns", total->minimum_ns);
		put(json, "max_ns", total->maximum_ns);
		json_object_end(json);
	}
	json_newline(json);
	json_array_end(json);
}

/* Durations are those of the device's own stamps: on the second device 40 ppm longer than the
 * host's. */
static void write_kernels(const struct answers *answers, struct json_writer *json)
{
	json_key(json, "kernels");
	json_array_begin(json);
	for (size_t i = 0; i < answers->kernel_count; i++) {
		const struct count_total *total = &answers->kernels[i];

		if (!answers->kernel_launches[i])
			continue;
		json_newline(json);
		json_object_begin(json);
		json_key(json, "name");
		json_string(json, answers->kernel_names[i]);
		put(json, "device", answers->kernel_devices[i]);
		put(json, "launches", answers->kernel_launches[i]);
		put(json, "matched", answers->kernel_matched[i]);
		put(json, "count", total->count);
		put(json, "total_ns", total->total_ns);
		put(json, "min_ns", total->minimum_ns);
		put(json, "max_ns", total->maximum_ns);
		json_object_end(json);
	}
	json_newline(json);
	json_array_end(json);
}

static void write_command(const struct copy_answer *copy, uint32_t command, uint32_t device,
			  struct json_writer *json)
{
	json_newline(json);
	json_object_begin(json);
	json_key(json, "command");
	json_string(json, command == ANSWERS_MARKER ? "marker" : command_names[command]);
	put(json, "device", device);
	put(json, "launches", copy->launches);
	put(json, "launched_bytes", copy->launched_bytes);
	put(json, "matched", copy->matched);
	put(json, "matched_bytes", copy->matched_bytes);
	put(json, "count", copy->timed);
	put(json, "bytes", copy->timed_bytes);
	put(json, "total_ns", copy->total_ns);
	json_object_end(json);
}

static void write_commands(const struct answers *answers, struct json_writer *json)
{
	json_key(json, "commands");
	json_array_begin(json);
	for (uint32_t device = 1; device <= ANSWERS_DEVICES; device++)
		for (uint32_t i = 0; i < ANSWERS_COMMANDS; i++)
			if (answers->commands[device - 1][i].launches)
				write_command(&answers->commands[device - 1][i], i, device, json);
	json_newline(json);
	json_array_end(json);
}

static void write_ledger(const struct answers *answers, struct json_writer *json)
{
	json_newline(json);
	json_key(json, "ledger");
	json_object_begin(json);
	put(json, "launched", answers->launched);
	put(json, "executed", answers->executed);
	put(json, "matched", answers->matched);
	put(json, "dropped", answers->dropped);
	put(json, "rejected", answers->rejected);
	put(json, "not_executed_or_in_flight",
	    answers->launched - answers->matched - answers->dropped - answers->rejected);
	put(json, "untimed", answers->untimed);
	json_object_end(json);
	json_newline(json);
	put(json, "lost_calls", answers->lost_calls);
}

/* busy_device_ns is exact in the device's clock. Where that counts host nanoseconds busy_ns is
 * exact too; else each piece may be off by a rounding at both ends and by an estimated rate that
 * is wrong by 1 ppm. */
static void write_devices(const struct answers *answers, struct json_writer *json)
{
	json_key(json, "devices");
	json_array_begin(json);
	for (uint32_t i = 0; i < ANSWERS_DEVICES; i++) {
		const struct device_answer *device = &answers->devices[i];
		uint64_t busy_ns = (uint64_t)((double)device->busy.total / device->rate + 0.5);

		if (device->rate == 0)
			continue;
		json_newline(json);
		json_object_begin(json);
		put(json, "device", i + 1);
		put(json, "executions", device->executions);
		put(json, "kernels", device->kernels);
		put(json, "copies", device->copies);
		put(json, "busy_device_ns", device->busy.total);
		put(json, "busy_ns", device->rate == 1 ? device->busy.total : busy_ns);
		put(json, "busy_error_ns",
		    device->rate == 1 ? 0 : 2 * device->busy.pieces + busy_ns / 1000000);
		put(json, "busy_pieces", device->busy.pieces);
		put(json, "wall_ns", answers->end_ns - answers->begin_ns);
		json_object_end(json);
	}
	json_newline(json);
	json_array_end(json);
}

static void write_rows(const struct answers *answers, struct json_writer *json)
{
	json_key(json, "rows");
	json_object_begin(json);
	put(json, "api", answers->rows[EVENT_API]);
	put(json, "launch", answers->rows[EVENT_LAUNCH]);
	put(json, "dependency", answers->rows[EVENT_DEPENDENCY]);
	put(json, "execution", answers->rows[EVENT_EXECUTION]);
	put(json, "clock_pair", answers->rows[EVENT_CLOCK_PAIR]);
	put(json, "loss", answers->rows[EVENT_LOSS]);
	json_object_end(json);
}

int answers_write(const struct answers *answers, FILE *file)
{
	struct json_writer json;

	json_init_file(&json, file);
	json_object_begin(&json);
	json_key(&json, "shape");
	json_string(&json, answers->shape);
	put(&json, "seed", answers->seed);
	put(&json, "begin_ns", answers->begin_ns);
	put(&json, "end_ns", answers->end_ns);
	json_newline(&json);
	write_rows(answers, &json);
	write_ledger(answers, &json);
	json_newline(&json);
	write_devices(answers, &json);
	json_newline(&json);
	write_functions(answers, &json);
	json_newline(&json);
	write_kernels(answers, &json);
	json_newline(&json);
	write_commands(answers, &json);
	json_newline(&json);
	json_object_end(&json);
	fputc('\n', file);
	return json_error(&json);
}

void answers_fini(struct answers *answers)
{
	for (size_t i = 0; i < ANSWERS_DEVICES; i++)
		free(answers->devices[i].busy.heap);
}
