/* SPDX-License-Identifier: MIT
 *
 * tests/unit/event/test_event.c - the first frozen contract: kinds, rows and records
 *
 * Compares every number, size and offset with tests/golden/event/v1.txt. A line may be added to
 * that file, and a row may grow (a new kind, a new field at its end); any other line that changes
 * or goes breaks every trace and every guest out there. `test_event --print` prints what is
 * compiled in.
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
#define MEMBER(row, field)                                                                     \
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
#define ENTITY(event, ...)                            ROW(event_##event),
#define HAPPENING(event, ...)                         ROW(event_##event),
#define RESERVED(event)                               MEMBER(event_##event, reserved),
#define FIELD(event, number, name, member, type, ...) MEMBER(event_##event, member),
#define FIELD_3                                       FIELD
#include "event/fields.def"
	ROW(event_stack),
	MEMBER(event_stack, caller),
	MEMBER(event_stack, frame),
	ROW(event_frame),
	MEMBER(event_frame, type),
	MEMBER(event_frame, flags),
	MEMBER(event_frame, module_string),
	MEMBER(event_frame, build_id_string),
	MEMBER(event_frame, name_string),
	MEMBER(event_frame, file_string),
	MEMBER(event_frame, line),
	MEMBER(event_frame, first_line),
	MEMBER(event_frame, offset),
	MEMBER(event_frame, file_size_bytes),
	MEMBER(event_frame, file_modified_ns),
	NUMBER(FRAME_NATIVE),
	NUMBER(FRAME_PYTHON),
	NUMBER(FRAME_JIT),
	NUMBER(FRAME_TRUNCATED),
	NUMBER(FRAME_RETURN),
	ROW(record),
	MEMBER(record, kind),
	MEMBER(record, size),
	MEMBER(record, detail),
	ROW(record_api),
	MEMBER(record_api, head),
	MEMBER(record_api, begin),
	MEMBER(record_api, end),
	MEMBER(record_api, result),
	MEMBER(record_api, stack),
	MEMBER(record_api, argument),
	ROW(record_launch),
	MEMBER(record_launch, head),
	MEMBER(record_launch, enter),
	MEMBER(record_launch, exit),
	MEMBER(record_launch, correlation),
	MEMBER(record_launch, bytes),
	MEMBER(record_launch, handle),
	MEMBER(record_launch, result),
	MEMBER(record_launch, queue),
	MEMBER(record_launch, kernel),
	MEMBER(record_launch, dimensions),
	MEMBER(record_launch, wait_count),
	FLEXIBLE(record_launch, values),
	ROW(record_execution),
	MEMBER(record_execution, head),
	MEMBER(record_execution, correlation),
	MEMBER(record_execution, queued),
	MEMBER(record_execution, submitted),
	MEMBER(record_execution, started),
	MEMBER(record_execution, ended),
	MEMBER(record_execution, seen),
	MEMBER(record_execution, queue),
	MEMBER(record_execution, status),
	ROW(record_device),
	MEMBER(record_device, head),
	MEMBER(record_device, device),
	MEMBER(record_device, compute_units),
	MEMBER(record_device, memory_bytes),
	MEMBER(record_device, frequency_hz),
	FLEXIBLE(record_device, texts),
	ROW(record_context),
	MEMBER(record_context, head),
	MEMBER(record_context, handle),
	MEMBER(record_context, context),
	MEMBER(record_context, reserved),
	ROW(record_queue),
	MEMBER(record_queue, head),
	MEMBER(record_queue, handle),
	MEMBER(record_queue, queue),
	MEMBER(record_queue, context),
	MEMBER(record_queue, device),
	MEMBER(record_queue, reserved),
	ROW(record_code),
	MEMBER(record_code, head),
	MEMBER(record_code, handle),
	MEMBER(record_code, size_bytes),
	MEMBER(record_code, code),
	MEMBER(record_code, parent),
	MEMBER(record_code, device),
	MEMBER(record_code, status),
	FLEXIBLE(record_code, texts),
	ROW(record_bytes),
	MEMBER(record_bytes, head),
	MEMBER(record_bytes, offset),
	MEMBER(record_bytes, code),
	MEMBER(record_bytes, reserved),
	FLEXIBLE(record_bytes, bytes),
	ROW(record_clock_pair),
	MEMBER(record_clock_pair, head),
	MEMBER(record_clock_pair, time),
	MEMBER(record_clock_pair, before),
	MEMBER(record_clock_pair, after),
	MEMBER(record_clock_pair, device),
	MEMBER(record_clock_pair, reserved),
	ROW(record_end),
	MEMBER(record_end, head),
	MEMBER(record_end, time),
	MEMBER(record_end, id),
	MEMBER(record_end, reserved),
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
	NUMBER(EVENT_TRIGGER),
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
	NUMBER(EVENT_COLLECTIVE),
	NUMBER(DEVICE_OTHER),
	NUMBER(DEVICE_CPU),
	NUMBER(DEVICE_GPU),
	NUMBER(DEVICE_ACCELERATOR),
	NUMBER(QUEUE_OUT_OF_ORDER),
	NUMBER(QUEUE_TIMED),
	NUMBER(QUEUE_TIMING_FORCED),
	NUMBER(QUEUE_DIRECT),
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
	NUMBER(API_TYPE_DUET),
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
	NUMBER(LAUNCH_FURTHER),
	NUMBER(LAUNCH_PART),
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
	NUMBER(LOSS_GAP),
	NUMBER(LOSS_UNSEEN),
	NUMBER(RECORD_BYTES),
	NUMBER(RECORD_END),
	NUMBER(RECORD_STACK),
	NUMBER(RECORD_PYTHON_CODE),
	NUMBER(RECORD_LAUNCH_STACK),
	NUMBER(RECORD_LAUNCH_PARENT),
	NUMBER(RECORD_LAUNCH_EXECUTED),
	NUMBER(RECORD_FUNCTION),
	NUMBER(RECORD_NODE),
	NUMBER(RECORD_REFUSED),
	NUMBER(RECORD_CAPTURED),
	NUMBER(RECORD_KERNEL_NEEDS),
	NUMBER(RECORD_FUNCTION_FIRST),
	NUMBER(LOSS_KIND_STACK),
	ROW(record_stack),
	MEMBER(record_stack, truncated),
	MEMBER(record_stack, stack),
	MEMBER(record_stack, kept),
	MEMBER(record_stack, is_cut),
	FLEXIBLE(record_stack, frames),
	FLEXIBLE(record_function, texts),
	ROW(record_node),
	MEMBER(record_node, parent),
	MEMBER(record_node, correlation),
	MEMBER(record_node, queued),
	MEMBER(record_node, submitted),
	MEMBER(record_node, started),
	MEMBER(record_node, ended),
	MEMBER(record_node, seen),
	MEMBER(record_node, bytes),
	MEMBER(record_node, graph_node),
	MEMBER(record_node, queue),
	MEMBER(record_node, kernel),
	MEMBER(record_node, status),
	MEMBER(record_node, dimensions),
	FLEXIBLE(record_node, values),
	NUMBER(RECORD_NODE_COOPERATIVE),
	NUMBER(RECORD_PART_TRANSFER),
	NUMBER(RECORD_PART_SHAPE),
	NUMBER(RECORD_PART_GRAPH),
	ROW(record_transfer),
	MEMBER(record_transfer, source_device),
	MEMBER(record_transfer, destination_device),
	MEMBER(record_transfer, source_memory),
	MEMBER(record_transfer, destination_memory),
	MEMBER(record_transfer, migration),
	ROW(record_shape),
	MEMBER(record_shape, cluster),
	MEMBER(record_shape, local_bytes),
	ROW(record_captured),
	MEMBER(record_captured, node),
	MEMBER(record_captured, original),
	MEMBER(record_captured, stack),
	MEMBER(record_refused, result),
	FLEXIBLE(record_refused, texts),
	ROW(record_python_code),
	MEMBER(record_python_code, code),
	MEMBER(record_python_code, first_line),
	MEMBER(record_python_code, lines_bytes),
	FLEXIBLE(record_python_code, texts),
	NUMBER(RECORD_PIECE_BYTES),
	NUMBER(RECORD_TEXT_BYTES),
	NUMBER(RECORD_API_BYTES),
	NUMBER(RECORD_API_ARGUMENT_BYTES),
	NUMBER(MAX_RECORD_WAIT),
	NUMBER(MODE_UNKNOWN),
	NUMBER(MODE_USER),
	NUMBER(MODE_KERNEL),
	NUMBER(MODE_HYPERVISOR),
	NUMBER(SWITCH_NOT_KNOWN),
	NUMBER(SWITCH_BLOCKED),
	NUMBER(SWITCH_PREEMPTED),
	NUMBER(SWITCH_EXITED),
	NUMBER(FRAME_KERNEL),
	NUMBER(RECORD_DEVICE_LOCAL),
	NUMBER(RECORD_CODE_NEEDS),
	ROW(record_kernel_needs),
	MEMBER(record_kernel_needs, local_bytes),
	MEMBER(record_kernel_needs, code),
	MEMBER(record_kernel_needs, registers),
	ROW(record_needs),
	MEMBER(record_needs, group_most),
	MEMBER(record_needs, group_multiple),
	MEMBER(record_needs, local_bytes),
	MEMBER(record_needs, private_bytes),
	NUMBER(RANGE_PUSH),
	NUMBER(RANGE_START),
	NUMBER(RANGE_MARK),
	NUMBER(RANGE_OPEN),
	NUMBER(RANGE_UNBEGUN),
	ROW(record_range),
	MEMBER(record_range, time),
	MEMBER(record_range, id),
	FLEXIBLE(record_range, texts),
	NUMBER(RECORD_RANGE_END),
	NUMBER(RANGE_OF_ROCTX),
	NUMBER(RANGE_OF_NVTX),
	NUMBER(RANGE_OF_ITT),
	NUMBER(RECORD_RANGE_TEXT_BYTES),
	NUMBER(EVENT_SERIES),
	NUMBER(SERIES_LEVEL),
	NUMBER(SERIES_AMOUNT),
	NUMBER(SERIES_RATIO),
};

enum { LINES = sizeof(lines) / sizeof(lines[0]) };

static void format_line(const struct line *line, char text[160])
{
	if (line->size < 0)
		snprintf(text, 160, "%s %ld", line->name, line->value);
	else
		snprintf(text, 160, "%s %ld+%ld", line->name, line->value, line->size);
}

static const struct line *find_line(const char *text)
{
	for (int i = 0; i < LINES; i++) {
		size_t length = strlen(lines[i].name);

		if (strncmp(lines[i].name, text, length) == 0 && text[length] == ' ')
			return &lines[i];
	}
	return NULL;
}

static const char *golden_path;

TEST(golden)
{
	FILE *file = fopen(golden_path, "r");
	const struct line *line;
	char want[160], got[160];
	int count = 0;

	REQUIRE(file != NULL);
	while (fgets(want, sizeof(want), file)) {
		want[strcspn(want, "\n")] = '\0';
		if (!want[0] || want[0] == '#')
			continue;
		line = find_line(want);
		CHECK(line != NULL);
		if (!line)
			continue;
		count++;
		format_line(line, got);
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
