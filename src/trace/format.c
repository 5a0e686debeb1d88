/* SPDX-License-Identifier: MIT
 *
 * trace/format.c - one table per kind: which field of a row is which column, and how it is written
 *
 * Runs in:  the recorder and the readers
 * Gets:     a kind; gives its table. Writing and reading are one loop each over these tables
 *           (codec.c), so that a new kind is a table, a message in the schema and nothing else
 * Owns:     constants
 * Fails:    NULL for a kind without rows
 * Why the references: a jittered API call takes 4.2 bytes of file in all (bench_trace), and its two
 *           times alone are 16 in memory; a test compares names, numbers and types with the schema
 */
#include "trace/format.h"

#include "base/array.h"
#include "event/event.h"

#define COLUMN(number_, name_, type_, field_, reference_, signed_)                        \
	{                                                                                 \
		.name = name_, .number = number_, .type = type_, .reference = reference_, \
		.is_signed = signed_, .offset = offsetof(ROW, field_)                     \
	}
#define PLAIN(number, name, field)       COLUMN(number, name, FIELD_U32, field, FROM_ZERO, false)
#define WIDE(number, name, field)        COLUMN(number, name, FIELD_U64, field, FROM_ZERO, false)
#define SIGNED(number, name, field)      COLUMN(number, name, FIELD_I32, field, FROM_ZERO, true)
#define WIDE_SIGNED(number, name, field) COLUMN(number, name, FIELD_U64, field, FROM_ZERO, true)
#define STRING(number, name, field)      COLUMN(number, name, FIELD_STRING, field, FROM_ZERO, false)
#define DELTA(number, name, field)       COLUMN(number, name, FIELD_U32, field, FROM_PREVIOUS, true)
#define WIDE_DELTA(number, name, field)  COLUMN(number, name, FIELD_U64, field, FROM_PREVIOUS, true)
/* a sorted field: never less than the one before */
#define RISING(number, name, field)      COLUMN(number, name, FIELD_U64, field, FROM_PREVIOUS, false)
#define FROM(number_, name_, type_, field_, base_, signed_)                               \
	{                                                                                 \
		.name = name_, .number = number_, .type = type_, .reference = FROM_FIELD, \
		.is_signed = signed_, .offset = offsetof(ROW, field_),                    \
		.reference_offset = offsetof(ROW, base_)                                  \
	}
#define AFTER(number, name, field, base)  FROM(number, name, FIELD_U64, field, base, false)
#define AROUND(number, name, field, base) FROM(number, name, FIELD_U64, field, base, true)
#define OR_DELTA(number_, name_, field_)                                                         \
	{                                                                                        \
		.name = name_, .number = number_, .type = FIELD_U64, .reference = FROM_PREVIOUS, \
		.is_signed = true, .is_alternative = true, .offset = offsetof(ROW, field_)       \
	}

#define ROW struct event_host
static const struct trace_column host_columns[] = {
	DELTA(1, "id", id),
	STRING(2, "boot_id", boot_id_string),
	STRING(3, "name", name_string),
	STRING(4, "kernel", kernel_string),
	STRING(5, "cpu", cpu_string),
	PLAIN(6, "cpu_count", cpu_count),
	WIDE(7, "memory_bytes", memory_bytes),
	WIDE_DELTA(8, "begin_ns", begin_ns),
	WIDE_DELTA(9, "end_ns", end_ns),
	STRING(10, "command", command_string),
};
#undef ROW

#define ROW struct event_process
static const struct trace_column process_columns[] = {
	DELTA(1, "id", id),
	DELTA(2, "host", host),
	DELTA(3, "parent", parent),
	DELTA(4, "pid", pid),
	FROM(5, "ns_pid", FIELD_U32, ns_pid, pid, true),
	DELTA(6, "parent_pid", parent_pid),
	DELTA(7, "uid", uid),
	STRING(8, "name", name_string),
	STRING(9, "exe", exe_string),
	STRING(10, "command", command_string),
	STRING(11, "cgroup", cgroup_string),
	PLAIN(12, "ended", ended),
	SIGNED(13, "status", status),
	WIDE_DELTA(14, "start_ticks", start_ticks),
	WIDE_DELTA(15, "begin_ns", begin_ns),
	WIDE_DELTA(16, "end_ns", end_ns),
	WIDE(17, "stacks_checked", stacks_checked),
	WIDE(18, "stacks_wrong", stacks_wrong),
	PLAIN(19, "rank", rank),
	PLAIN(20, "local_rank", local_rank),
	PLAIN(21, "rank_count", rank_count),
	WIDE(22, "guest_sections", guest_sections),
	WIDE(23, "guest_sections_ns", guest_sections_ns),
	WIDE(24, "guest_timed_calls", guest_timed_calls),
	WIDE(25, "guest_timed_ns", guest_timed_ns),
};
#undef ROW

#define ROW struct event_thread
static const struct trace_column thread_columns[] = {
	DELTA(1, "id", id),
	DELTA(2, "process", process),
	DELTA(3, "tid", tid),
	FROM(4, "ns_tid", FIELD_U32, ns_tid, tid, true),
	STRING(5, "name", name_string),
	WIDE_DELTA(6, "begin_ns", begin_ns),
	WIDE_DELTA(7, "end_ns", end_ns),
};
#undef ROW

#define ROW struct event_mapping
static const struct trace_column mapping_columns[] = {
	DELTA(1, "id", id),
	DELTA(2, "process", process),
	STRING(3, "path", path_string),
	STRING(4, "build_id", build_id_string),
	WIDE_DELTA(5, "address", address),
	WIDE(6, "size_bytes", size_bytes),
	WIDE(7, "file_offset_bytes", file_offset_bytes),
	WIDE_DELTA(8, "begin_ns", begin_ns),
	WIDE_DELTA(9, "end_ns", end_ns),
};
#undef ROW

#define ROW struct event_device
static const struct trace_column device_columns[] = {
	DELTA(1, "id", id),
	STRING(2, "key", key_string),
	STRING(3, "name", name_string),
	STRING(4, "vendor", vendor_string),
	STRING(5, "driver", driver_string),
	STRING(6, "platform", platform_string),
	PLAIN(7, "type", type),
	PLAIN(8, "compute_units", compute_units),
	WIDE(9, "memory_bytes", memory_bytes),
	WIDE_DELTA(10, "begin_ns", begin_ns),
	WIDE_DELTA(11, "end_ns", end_ns),
	WIDE(12, "local_bytes", local_bytes),
};
#undef ROW

#define ROW struct event_context
static const struct trace_column context_columns[] = {
	DELTA(1, "id", id),
	DELTA(2, "process", process),
	WIDE_DELTA(3, "handle", handle),
	WIDE_DELTA(4, "begin_ns", begin_ns),
	WIDE_DELTA(5, "end_ns", end_ns),
};
#undef ROW

#define ROW struct event_queue
static const struct trace_column queue_columns[] = {
	DELTA(1, "id", id),
	DELTA(2, "process", process),
	DELTA(3, "context", context),
	DELTA(4, "device", device),
	DELTA(5, "clock", clock),
	PLAIN(6, "flags", flags),
	WIDE_DELTA(7, "handle", handle),
	WIDE_DELTA(8, "begin_ns", begin_ns),
	WIDE_DELTA(9, "end_ns", end_ns),
	STRING(10, "name", name_string),
};
#undef ROW

#define ROW struct event_clock
static const struct trace_column clock_columns[] = {
	DELTA(1, "id", id),
	PLAIN(2, "type", type),
	DELTA(3, "device", device),
	DELTA(4, "process", process),
	PLAIN(5, "epoch", epoch),
	WIDE(6, "frequency_hz", frequency_hz),
	WIDE_DELTA(7, "begin_ns", begin_ns),
	WIDE_DELTA(8, "end_ns", end_ns),
};
#undef ROW

#define ROW struct event_collector
static const struct trace_column collector_columns[] = {
	DELTA(1, "id", id),
	STRING(2, "name", name_string),
	PLAIN(3, "state", state),
	STRING(4, "reason", reason_string),
	DELTA(5, "process", process),
	WIDE_DELTA(6, "begin_ns", begin_ns),
	WIDE_DELTA(7, "end_ns", end_ns),
};
#undef ROW

#define ROW struct event_code
static const struct trace_column code_columns[] = {
	DELTA(1, "id", id),
	DELTA(2, "process", process),
	DELTA(3, "parent", parent),
	PLAIN(4, "type", type),
	STRING(5, "name", name_string),
	STRING(6, "options", options_string),
	PLAIN(7, "device", device),
	SIGNED(8, "status", status),
	WIDE_DELTA(9, "handle", handle),
	WIDE(10, "hash_low", hash_low),
	WIDE(11, "hash_high", hash_high),
	WIDE(12, "size_bytes", size_bytes),
	WIDE_DELTA(13, "begin_ns", begin_ns),
	WIDE_DELTA(14, "end_ns", end_ns),
	WIDE(15, "group_most", group_most),
	WIDE(16, "group_multiple", group_multiple),
	WIDE(17, "local_bytes", local_bytes),
	WIDE(18, "private_bytes", private_bytes),
	WIDE_DELTA(19, "address", address),
	PLAIN(20, "registers", registers),
};
#undef ROW

#define ROW struct event_series
static const struct trace_column series_columns[] = {
	DELTA(1, "id", id),
	STRING(2, "metric", metric_string),
	STRING(3, "unit", unit_string),
	STRING(4, "source", source_string),
	PLAIN(5, "type", type),
	PLAIN(6, "host", host),
	DELTA(7, "process", process),
	PLAIN(8, "device", device),
	DELTA(9, "cpu", cpu),
	STRING(10, "instance", instance_string),
	WIDE(11, "limit", limit),
	WIDE(12, "interval_ns", interval_ns),
	WIDE_DELTA(13, "begin_ns", begin_ns),
	WIDE_DELTA(14, "end_ns", end_ns),
};
#undef ROW

#define ROW struct event_api
static const struct trace_column api_columns[] = {
	RISING(1, "begin", begin),     AFTER(2, "end", end, begin),
	PLAIN(3, "thread", thread),    STRING(4, "function", function_string),
	SIGNED(5, "result", result),   PLAIN(6, "type", type),
	WIDE(7, "argument", argument), PLAIN(8, "stack", stack),
};
#undef ROW

#define ROW struct event_launch
static const struct trace_column launch_columns[] = {
	RISING(1, "enter", enter),
	AFTER(2, "exit", exit, enter),
	PLAIN(3, "thread", thread),
	STRING(4, "function", function_string),
	SIGNED(5, "result", result),
	PLAIN(6, "queue", queue),
	WIDE_DELTA(7, "correlation", correlation),
	PLAIN(8, "command", command),
	PLAIN(9, "flags", flags),
	PLAIN(10, "kernel", kernel),
	PLAIN(11, "dimensions", dimensions),
	WIDE(12, "bytes", bytes),
	WIDE(13, "global_x", global_size[0]),
	WIDE(14, "global_y", global_size[1]),
	WIDE(15, "global_z", global_size[2]),
	WIDE(16, "local_x", local_size[0]),
	WIDE(17, "local_y", local_size[1]),
	WIDE(18, "local_z", local_size[2]),
	WIDE_DELTA(19, "handle", handle),
	PLAIN(20, "stack", stack),
};
#undef ROW

#define ROW struct event_dependency
static const struct trace_column dependency_columns[] = {
	RISING(1, "time", time),
	PLAIN(2, "process", process),
	WIDE_DELTA(3, "correlation", correlation),
	WIDE_DELTA(4, "handle", handle),
};
#undef ROW

#define ROW struct event_execution
static const struct trace_column execution_columns[] = {
	WIDE_DELTA(1, "started", started),
	AROUND(2, "queued", queued, started),
	OR_DELTA(3, "queued_previous", queued),
	AROUND(4, "submitted", submitted, queued),
	OR_DELTA(5, "submitted_previous", submitted),
	AROUND(6, "ended", ended, started),
	OR_DELTA(7, "ended_previous", ended),
	AROUND(8, "seen", seen, ended),
	OR_DELTA(9, "seen_previous", seen),
	WIDE_DELTA(10, "correlation", correlation),
	PLAIN(11, "process", process),
	PLAIN(12, "queue", queue),
	PLAIN(13, "valid", valid),
	SIGNED(14, "status", status),
};
#undef ROW

#define ROW struct event_cpu_sample
static const struct trace_column cpu_sample_columns[] = {
	RISING(1, "time", time),  WIDE(2, "weight", weight),          DELTA(3, "thread", thread),
	PLAIN(4, "cpu", cpu),     STRING(5, "source", source_string), PLAIN(6, "mode", mode),
	PLAIN(7, "stack", stack),
};
#undef ROW

#define ROW struct event_switch
static const struct trace_column switch_columns[] = {
	RISING(1, "time", time),    PLAIN(2, "previous", previous),
	PLAIN(3, "next", next),     PLAIN(4, "cpu", cpu),
	PLAIN(5, "reason", reason), PLAIN(6, "waker", waker),
	PLAIN(7, "stack", stack),   STRING(8, "wait", wait_string),
	PLAIN(9, "holder", holder), STRING(10, "waker_name", waker_string),
};
#undef ROW

#define ROW struct event_instruction_sample
static const struct trace_column instruction_sample_columns[] = {
	RISING(1, "begin", begin),
	AFTER(2, "end", end, begin),
	WIDE_DELTA(3, "offset", offset),
	WIDE_DELTA(4, "correlation", correlation),
	WIDE(5, "count", count),
	WIDE(6, "period", period),
	STRING(7, "period_unit", period_unit_string),
	PLAIN(8, "process", process),
	PLAIN(9, "device", device),
	PLAIN(10, "code", code),
	STRING(11, "stall", stall_string),
	PLAIN(12, "thread", thread),
	PLAIN(13, "stack", stack),
	STRING(14, "text", text_string),
};
#undef ROW

/* A tick reads all series of its group one after the other: times and series cost next to nothing. */
#define ROW struct event_counter
static const struct trace_column counter_columns[] = {
	RISING(1, "begin", begin),      AFTER(2, "end", end, begin), DELTA(3, "series", series),
	WIDE_SIGNED(4, "value", value), WIDE(5, "of", of),
};
#undef ROW

#define ROW struct event_range
static const struct trace_column range_columns[] = {
	RISING(1, "begin", begin),
	AFTER(2, "end", end, begin),
	PLAIN(3, "thread", thread),
	PLAIN(4, "process", process),
	STRING(5, "domain", domain_string),
	STRING(6, "name", name_string),
	PLAIN(7, "type", type),
	PLAIN(8, "flags", flags),
	PLAIN(9, "stack", stack),
};
#undef ROW

#define ROW struct event_clock_pair
static const struct trace_column clock_pair_columns[] = {
	RISING(1, "time", time),
	WIDE_DELTA(2, "host_lower_ns", host_lower_ns),
	AFTER(3, "host_upper_ns", host_upper_ns, host_lower_ns),
};
#undef ROW

#define ROW struct event_loss
static const struct trace_column loss_columns[] = {
	RISING(1, "begin", begin),  AFTER(2, "end", end, begin), PLAIN(3, "process", process),
	PLAIN(4, "thread", thread), PLAIN(5, "kind", kind),      PLAIN(6, "reason", reason),
	WIDE(7, "count", count),
};
#undef ROW

#define ROW struct trace_index_row
static const struct trace_column index_columns[] = {
	RISING(1, "back", back),
	WIDE(2, "bytes", bytes),
	PLAIN(3, "kind", kind),
	PLAIN(4, "source", source),
	PLAIN(5, "clock", clock),
	PLAIN(6, "seen_clock", seen_clock),
	PLAIN(7, "segment", segment),
	PLAIN(8, "rows", rows),
	WIDE_DELTA(9, "first", first),
	AFTER(10, "last", last, first),
	WIDE_DELTA(11, "sequence", sequence),
	PLAIN(12, "flags", flags),
};
#undef ROW

#define ROW struct trace_end_row
static const struct trace_column end_columns[] = {
	RISING(1, "back", back),
	WIDE(2, "bytes", bytes),
};
#undef ROW

#define ROW struct trace_frame_row
static const struct trace_column frames_columns[] = {
	DELTA(1, "id", id),
	PLAIN(2, "type", frame.type),
	PLAIN(3, "flags", frame.flags),
	STRING(4, "module", frame.module_string),
	STRING(5, "build_id", frame.build_id_string),
	STRING(6, "name", frame.name_string),
	STRING(7, "file", frame.file_string),
	PLAIN(8, "line", frame.line),
	PLAIN(9, "first_line", frame.first_line),
	WIDE_DELTA(10, "offset", frame.offset),
	WIDE(11, "file_size_bytes", frame.file_size_bytes),
	WIDE(12, "file_modified_ns", frame.file_modified_ns),
};
#undef ROW

#define ROW struct trace_stack_row
static const struct trace_column stacks_columns[] = {
	DELTA(1, "id", id),
	/* mostly the node just before */
	FROM(2, "caller", FIELD_U32, stack.caller, id, true),
	DELTA(3, "frame", stack.frame),
};
#undef ROW

#define THING(name)                                                                       \
	{                                                                                 \
		name##_columns, ARRAY_COUNT(name##_columns), sizeof(struct event_##name), \
			offsetof(struct event_##name, id), FIELD_U32, true,               \
			offsetof(struct event_##name, end_ns)                             \
	}
#define HAPPENING(name, key)                                                              \
	{                                                                                 \
		name##_columns, ARRAY_COUNT(name##_columns), sizeof(struct event_##name), \
			offsetof(struct event_##name, key), FIELD_U64, false, 0           \
	}
#define DICTIONARY(name, row)                                                    \
	{                                                                        \
		name##_columns, ARRAY_COUNT(name##_columns), sizeof(struct row), \
			offsetof(struct row, id), FIELD_U32, false, 0            \
	}
#define INTERNAL(name)                                                                          \
	{                                                                                       \
		name##_columns, ARRAY_COUNT(name##_columns), sizeof(struct trace_##name##_row), \
			offsetof(struct trace_##name##_row, back), FIELD_U64, false, 0          \
	}

static const struct trace_format formats[] = {
	[EVENT_HOST] = THING(host),
	[EVENT_PROCESS] = THING(process),
	[EVENT_THREAD] = THING(thread),
	[EVENT_MAPPING] = THING(mapping),
	[EVENT_DEVICE] = THING(device),
	[EVENT_CONTEXT] = THING(context),
	[EVENT_QUEUE] = THING(queue),
	[EVENT_CLOCK] = THING(clock),
	[EVENT_COLLECTOR] = THING(collector),
	[EVENT_CODE] = THING(code),
	[EVENT_SERIES] = THING(series),
	[EVENT_API] = HAPPENING(api, begin),
	[EVENT_LAUNCH] = HAPPENING(launch, enter),
	[EVENT_DEPENDENCY] = HAPPENING(dependency, time),
	[EVENT_EXECUTION] = HAPPENING(execution, started),
	[EVENT_INSTRUCTION_SAMPLE] = HAPPENING(instruction_sample, begin),
	[EVENT_CPU_SAMPLE] = HAPPENING(cpu_sample, time),
	[EVENT_SWITCH] = HAPPENING(switch, time),
	[EVENT_COUNTER] = HAPPENING(counter, begin),
	[EVENT_RANGE] = HAPPENING(range, begin),
	[EVENT_CLOCK_PAIR] = HAPPENING(clock_pair, time),
	[EVENT_LOSS] = HAPPENING(loss, begin),
	[TRACE_INDEX] = INTERNAL(index),
	[TRACE_END] = INTERNAL(end),
	[TRACE_FRAMES] = DICTIONARY(frames, trace_frame_row),
	[TRACE_STACKS] = DICTIONARY(stacks, trace_stack_row),
};

const struct trace_format *trace_format_find(uint32_t kind)
{
	if (kind >= ARRAY_COUNT(formats) || !formats[kind].columns)
		return NULL;
	return &formats[kind];
}

const struct trace_reference trace_references[] = {
	{EVENT_PROCESS, EVENT_HOST, offsetof(struct event_process, host)},
	{EVENT_PROCESS, EVENT_PROCESS, offsetof(struct event_process, parent)},
	{EVENT_THREAD, EVENT_PROCESS, offsetof(struct event_thread, process)},
	{EVENT_MAPPING, EVENT_PROCESS, offsetof(struct event_mapping, process)},
	{EVENT_CONTEXT, EVENT_PROCESS, offsetof(struct event_context, process)},
	{EVENT_QUEUE, EVENT_PROCESS, offsetof(struct event_queue, process)},
	{EVENT_QUEUE, EVENT_CONTEXT, offsetof(struct event_queue, context)},
	{EVENT_QUEUE, EVENT_DEVICE, offsetof(struct event_queue, device)},
	{EVENT_QUEUE, EVENT_CLOCK, offsetof(struct event_queue, clock)},
	{EVENT_CLOCK, EVENT_DEVICE, offsetof(struct event_clock, device)},
	{EVENT_CLOCK, EVENT_PROCESS, offsetof(struct event_clock, process)},
	{EVENT_COLLECTOR, EVENT_PROCESS, offsetof(struct event_collector, process)},
	{EVENT_CODE, EVENT_PROCESS, offsetof(struct event_code, process)},
	{EVENT_CODE, EVENT_CODE, offsetof(struct event_code, parent)},
	{EVENT_CODE, EVENT_DEVICE, offsetof(struct event_code, device)},
	{EVENT_SERIES, EVENT_HOST, offsetof(struct event_series, host)},
	{EVENT_SERIES, EVENT_PROCESS, offsetof(struct event_series, process)},
	{EVENT_SERIES, EVENT_DEVICE, offsetof(struct event_series, device)},
};
const size_t trace_reference_count = ARRAY_COUNT(trace_references);
