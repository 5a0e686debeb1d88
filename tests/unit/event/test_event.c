/* SPDX-License-Identifier: MIT
 *
 * tests/unit/event/test_event.c - the first frozen contract: kinds, rows and records
 *
 * Compares every number, size and offset with tests/golden/event/v1.txt. A line may be added to that file, and a row may grow
 * (a new kind, a new field at its end); any other line that changes or goes breaks every trace and every
 * guest out there. `test_event --print` prints what is compiled in.
 */
#include <stddef.h>
#include <stdlib.h>

#include "event/event.h"
#include "event/record.h"
#include "harness.h"

struct line {
	const char *name;
	long value, size; /* size -1: a number, not a place */
};

#define ROW(row)                             \
	{                                    \
#row, sizeof(struct row), -1 \
	}
#define FIELD(row, field)                                                                      \
	{                                                                                      \
#row "." #field, offsetof(struct row, field), sizeof(((struct row *)0)->field) \
	}
#define FLEXIBLE(row, field)                                    \
	{                                                       \
#row "." #field, offsetof(struct row, field), 0 \
	}
#define NUMBER(name)            \
	{                       \
#name, name, -1 \
	}

static const struct line lines[] = {
	ROW(event_host),
	FIELD(event_host, id),
	FIELD(event_host, boot_id_string),
	FIELD(event_host, name_string),
	FIELD(event_host, kernel_string),
	FIELD(event_host, cpu_string),
	FIELD(event_host, cpu_count),
	FIELD(event_host, memory_bytes),
	FIELD(event_host, begin_ns),
	FIELD(event_host, end_ns),
	ROW(event_process),
	FIELD(event_process, id),
	FIELD(event_process, host),
	FIELD(event_process, parent),
	FIELD(event_process, pid),
	FIELD(event_process, ns_pid),
	FIELD(event_process, parent_pid),
	FIELD(event_process, uid),
	FIELD(event_process, name_string),
	FIELD(event_process, exe_string),
	FIELD(event_process, command_string),
	FIELD(event_process, cgroup_string),
	FIELD(event_process, ended),
	FIELD(event_process, status),
	FIELD(event_process, start_ticks),
	FIELD(event_process, begin_ns),
	FIELD(event_process, end_ns),
	FIELD(event_process, stacks_checked),
	FIELD(event_process, stacks_wrong),
	ROW(event_thread),
	FIELD(event_thread, id),
	FIELD(event_thread, process),
	FIELD(event_thread, tid),
	FIELD(event_thread, ns_tid),
	FIELD(event_thread, name_string),
	FIELD(event_thread, begin_ns),
	FIELD(event_thread, end_ns),
	ROW(event_mapping),
	FIELD(event_mapping, id),
	FIELD(event_mapping, process),
	FIELD(event_mapping, path_string),
	FIELD(event_mapping, build_id_string),
	FIELD(event_mapping, address),
	FIELD(event_mapping, size_bytes),
	FIELD(event_mapping, file_offset_bytes),
	FIELD(event_mapping, begin_ns),
	FIELD(event_mapping, end_ns),
	ROW(event_device),
	FIELD(event_device, id),
	FIELD(event_device, key_string),
	FIELD(event_device, name_string),
	FIELD(event_device, vendor_string),
	FIELD(event_device, driver_string),
	FIELD(event_device, platform_string),
	FIELD(event_device, type),
	FIELD(event_device, compute_units),
	FIELD(event_device, memory_bytes),
	FIELD(event_device, begin_ns),
	FIELD(event_device, end_ns),
	ROW(event_context),
	FIELD(event_context, id),
	FIELD(event_context, process),
	FIELD(event_context, handle),
	FIELD(event_context, begin_ns),
	FIELD(event_context, end_ns),
	ROW(event_queue),
	FIELD(event_queue, id),
	FIELD(event_queue, process),
	FIELD(event_queue, context),
	FIELD(event_queue, device),
	FIELD(event_queue, clock),
	FIELD(event_queue, flags),
	FIELD(event_queue, handle),
	FIELD(event_queue, begin_ns),
	FIELD(event_queue, end_ns),
	ROW(event_clock),
	FIELD(event_clock, id),
	FIELD(event_clock, type),
	FIELD(event_clock, device),
	FIELD(event_clock, process),
	FIELD(event_clock, epoch),
	FIELD(event_clock, frequency_hz),
	FIELD(event_clock, begin_ns),
	FIELD(event_clock, end_ns),
	ROW(event_collector),
	FIELD(event_collector, id),
	FIELD(event_collector, name_string),
	FIELD(event_collector, state),
	FIELD(event_collector, reason_string),
	FIELD(event_collector, process),
	FIELD(event_collector, begin_ns),
	FIELD(event_collector, end_ns),
	ROW(event_code),
	FIELD(event_code, id),
	FIELD(event_code, process),
	FIELD(event_code, parent),
	FIELD(event_code, type),
	FIELD(event_code, name_string),
	FIELD(event_code, options_string),
	FIELD(event_code, device),
	FIELD(event_code, status),
	FIELD(event_code, handle),
	FIELD(event_code, hash_low),
	FIELD(event_code, hash_high),
	FIELD(event_code, size_bytes),
	FIELD(event_code, begin_ns),
	FIELD(event_code, end_ns),
	ROW(event_api),
	FIELD(event_api, begin),
	FIELD(event_api, end),
	FIELD(event_api, thread),
	FIELD(event_api, function_string),
	FIELD(event_api, result),
	FIELD(event_api, type),
	FIELD(event_api, argument),
	FIELD(event_api, stack),
	ROW(event_launch),
	FIELD(event_launch, enter),
	FIELD(event_launch, exit),
	FIELD(event_launch, thread),
	FIELD(event_launch, function_string),
	FIELD(event_launch, result),
	FIELD(event_launch, queue),
	FIELD(event_launch, correlation),
	FIELD(event_launch, command),
	FIELD(event_launch, flags),
	FIELD(event_launch, kernel),
	FIELD(event_launch, dimensions),
	FIELD(event_launch, bytes),
	FIELD(event_launch, global_size),
	FIELD(event_launch, local_size),
	FIELD(event_launch, handle),
	FIELD(event_launch, stack),
	ROW(event_dependency),
	FIELD(event_dependency, time),
	FIELD(event_dependency, process),
	FIELD(event_dependency, correlation),
	FIELD(event_dependency, handle),
	ROW(event_execution),
	FIELD(event_execution, queued),
	FIELD(event_execution, submitted),
	FIELD(event_execution, started),
	FIELD(event_execution, ended),
	FIELD(event_execution, seen),
	FIELD(event_execution, correlation),
	FIELD(event_execution, process),
	FIELD(event_execution, queue),
	FIELD(event_execution, valid),
	FIELD(event_execution, status),
	ROW(event_clock_pair),
	FIELD(event_clock_pair, time),
	FIELD(event_clock_pair, host_lower_ns),
	FIELD(event_clock_pair, host_upper_ns),
	ROW(event_stack),
	FIELD(event_stack, caller),
	FIELD(event_stack, frame),
	ROW(event_frame),
	FIELD(event_frame, type),
	FIELD(event_frame, flags),
	FIELD(event_frame, module_string),
	FIELD(event_frame, build_id_string),
	FIELD(event_frame, name_string),
	FIELD(event_frame, file_string),
	FIELD(event_frame, line),
	FIELD(event_frame, first_line),
	FIELD(event_frame, offset),
	FIELD(event_frame, file_size_bytes),
	FIELD(event_frame, file_modified_ns),
	NUMBER(FRAME_NATIVE),
	NUMBER(FRAME_PYTHON),
	NUMBER(FRAME_JIT),
	NUMBER(FRAME_TRUNCATED),
	NUMBER(FRAME_RETURN),
	ROW(event_loss),
	FIELD(event_loss, begin),
	FIELD(event_loss, end),
	FIELD(event_loss, process),
	FIELD(event_loss, thread),
	FIELD(event_loss, kind),
	FIELD(event_loss, reason),
	FIELD(event_loss, count),
	ROW(record),
	FIELD(record, kind),
	FIELD(record, size),
	FIELD(record, detail),
	ROW(record_api),
	FIELD(record_api, head),
	FIELD(record_api, begin),
	FIELD(record_api, end),
	FIELD(record_api, result),
	FIELD(record_api, stack),
	FIELD(record_api, argument),
	ROW(record_launch),
	FIELD(record_launch, head),
	FIELD(record_launch, enter),
	FIELD(record_launch, exit),
	FIELD(record_launch, correlation),
	FIELD(record_launch, bytes),
	FIELD(record_launch, handle),
	FIELD(record_launch, result),
	FIELD(record_launch, queue),
	FIELD(record_launch, kernel),
	FIELD(record_launch, dimensions),
	FIELD(record_launch, wait_count),
	FLEXIBLE(record_launch, values),
	ROW(record_execution),
	FIELD(record_execution, head),
	FIELD(record_execution, correlation),
	FIELD(record_execution, queued),
	FIELD(record_execution, submitted),
	FIELD(record_execution, started),
	FIELD(record_execution, ended),
	FIELD(record_execution, seen),
	FIELD(record_execution, queue),
	FIELD(record_execution, status),
	ROW(record_device),
	FIELD(record_device, head),
	FIELD(record_device, device),
	FIELD(record_device, compute_units),
	FIELD(record_device, memory_bytes),
	FIELD(record_device, frequency_hz),
	FLEXIBLE(record_device, texts),
	ROW(record_context),
	FIELD(record_context, head),
	FIELD(record_context, handle),
	FIELD(record_context, context),
	FIELD(record_context, reserved),
	ROW(record_queue),
	FIELD(record_queue, head),
	FIELD(record_queue, handle),
	FIELD(record_queue, queue),
	FIELD(record_queue, context),
	FIELD(record_queue, device),
	FIELD(record_queue, reserved),
	ROW(record_code),
	FIELD(record_code, head),
	FIELD(record_code, handle),
	FIELD(record_code, size_bytes),
	FIELD(record_code, code),
	FIELD(record_code, parent),
	FIELD(record_code, device),
	FIELD(record_code, status),
	FLEXIBLE(record_code, texts),
	ROW(record_bytes),
	FIELD(record_bytes, head),
	FIELD(record_bytes, offset),
	FIELD(record_bytes, code),
	FIELD(record_bytes, reserved),
	FLEXIBLE(record_bytes, bytes),
	ROW(record_clock_pair),
	FIELD(record_clock_pair, head),
	FIELD(record_clock_pair, time),
	FIELD(record_clock_pair, before),
	FIELD(record_clock_pair, after),
	FIELD(record_clock_pair, device),
	FIELD(record_clock_pair, reserved),
	ROW(record_end),
	FIELD(record_end, head),
	FIELD(record_end, time),
	FIELD(record_end, id),
	FIELD(record_end, reserved),
	NUMBER(EVENT_PADDING),
	NUMBER(EVENT_HOST),
	NUMBER(EVENT_PROCESS),
	NUMBER(EVENT_THREAD),
	NUMBER(EVENT_MAPPING),
	NUMBER(EVENT_DEVICE),
	NUMBER(EVENT_CONTEXT),
	NUMBER(EVENT_QUEUE),
	NUMBER(EVENT_CLOCK),
	NUMBER(EVENT_COLLECTOR),
	NUMBER(EVENT_CODE),
	NUMBER(EVENT_API),
	NUMBER(EVENT_LAUNCH),
	NUMBER(EVENT_DEPENDENCY),
	NUMBER(EVENT_EXECUTION),
	NUMBER(EVENT_GRAPH),
	NUMBER(EVENT_INSTRUCTION_SAMPLE),
	NUMBER(EVENT_CPU_SAMPLE),
	NUMBER(EVENT_SWITCH),
	NUMBER(EVENT_COUNTER),
	NUMBER(EVENT_RANGE),
	NUMBER(EVENT_CLOCK_PAIR),
	NUMBER(EVENT_LOSS),
	NUMBER(DEVICE_OTHER),
	NUMBER(DEVICE_CPU),
	NUMBER(DEVICE_GPU),
	NUMBER(DEVICE_ACCELERATOR),
	NUMBER(QUEUE_OUT_OF_ORDER),
	NUMBER(QUEUE_TIMED),
	NUMBER(QUEUE_TIMING_FORCED),
	NUMBER(CLOCK_TYPE_MONOTONIC),
	NUMBER(CLOCK_TYPE_MONOTONIC_RAW),
	NUMBER(CLOCK_TYPE_BOOTTIME),
	NUMBER(CLOCK_TYPE_REALTIME),
	NUMBER(CLOCK_TYPE_TSC),
	NUMBER(CLOCK_TYPE_DEVICE),
	NUMBER(COLLECTOR_AVAILABLE),
	NUMBER(COLLECTOR_PARTIAL),
	NUMBER(COLLECTOR_REFUSED),
	NUMBER(CODE_SOURCE),
	NUMBER(CODE_BINARY),
	NUMBER(CODE_IL),
	NUMBER(CODE_BUILD_LOG),
	NUMBER(CODE_KERNEL),
	NUMBER(API_TYPE_CALL),
	NUMBER(API_TYPE_WAIT),
	NUMBER(COMMAND_OTHER),
	NUMBER(COMMAND_KERNEL),
	NUMBER(COMMAND_READ),
	NUMBER(COMMAND_WRITE),
	NUMBER(COMMAND_COPY),
	NUMBER(COMMAND_FILL),
	NUMBER(COMMAND_MAP),
	NUMBER(COMMAND_UNMAP),
	NUMBER(COMMAND_MIGRATE),
	NUMBER(COMMAND_BARRIER),
	NUMBER(COMMAND_NATIVE),
	NUMBER(COMMAND_GRAPH),
	NUMBER(COMMAND_ACQUIRE),
	NUMBER(COMMAND_RELEASE),
	NUMBER(COMMAND_SEMAPHORE),
	NUMBER(COMMAND_FREE),
	NUMBER(LAUNCH_BLOCKING),
	NUMBER(LAUNCH_UNTIMED),
	NUMBER(EXECUTION_QUEUED),
	NUMBER(EXECUTION_SUBMITTED),
	NUMBER(EXECUTION_STARTED),
	NUMBER(EXECUTION_ENDED),
	NUMBER(EXECUTION_TIMED),
	NUMBER(LOSS_RING_FULL),
	NUMBER(LOSS_NO_RING),
	NUMBER(LOSS_NESTED),
	NUMBER(LOSS_RING_BROKEN),
	NUMBER(LOSS_TRACKING),
	NUMBER(LOSS_DISK),
	NUMBER(RECORD_BYTES),
	NUMBER(RECORD_END),
	NUMBER(RECORD_STACK),
	NUMBER(RECORD_PYTHON_CODE),
	NUMBER(RECORD_LAUNCH_STACK),
	NUMBER(LOSS_KIND_STACK),
	ROW(record_stack),
	FIELD(record_stack, truncated),
	FIELD(record_stack, stack),
	FIELD(record_stack, kept),
	FIELD(record_stack, is_cut),
	FLEXIBLE(record_stack, frames),
	ROW(record_python_code),
	FIELD(record_python_code, code),
	FIELD(record_python_code, first_line),
	FIELD(record_python_code, lines_bytes),
	FLEXIBLE(record_python_code, texts),
	NUMBER(RECORD_PIECE_BYTES),
	NUMBER(RECORD_TEXT_BYTES),
	NUMBER(RECORD_API_BYTES),
	NUMBER(RECORD_API_ARGUMENT_BYTES),
	NUMBER(RECORD_WAIT_MOST),
};

enum { LINES = sizeof(lines) / sizeof(lines[0]) };

static void format_line(const struct line *line, char text[160])
{
	if (line->size < 0)
		snprintf(text, 160, "%s %ld", line->name, line->value);
	else
		snprintf(text, 160, "%s %ld+%ld", line->name, line->value, line->size);
}

static const char *golden_path;

TEST(golden)
{
	FILE *file = fopen(golden_path, "r");
	char want[160], got[160];
	int count = 0;

	REQUIRE(file != NULL);
	while (fgets(want, sizeof(want), file)) {
		want[strcspn(want, "\n")] = '\0';
		if (!want[0] || want[0] == '#')
			continue;
		REQUIRE(count < LINES);
		format_line(&lines[count++], got);
		CHECK_TEXT(got, want);
	}
	fclose(file);
	CHECK_EQUAL(count, LINES);
}

TEST(records_are_aligned)
{
	for (int i = 0; i < LINES; i++)
		if (lines[i].size == 8 && strncmp(lines[i].name, "record_", 7) == 0)
			CHECK_EQUAL(lines[i].value % 8, 0);
}

int main(int argc, char **argv)
{
	char text[160];

	if (argc > 1 && strcmp(argv[1], "--print") == 0) {
		for (int i = 0; i < LINES; i++) {
			format_line(&lines[i], text);
			puts(text);
		}
		return 0;
	}
	golden_path = argc > 1 ? argv[1] : "tests/golden/event/v1.txt";
	RUN(golden);
	RUN(records_are_aligned);
	return harness_end();
}
