/* SPDX-License-Identifier: MIT
 *
 * import/chrome/file.h - read a Chrome trace event by event
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"
#include "import/json_fields.h"

struct import_source;

struct chrome_collective {
	struct string_builder name, group, ranks, datatype;
	struct json_integer sequence, elements, elements_out, rank_count;
	struct string_builder input_type;   /* an operator: the type of its first input … */
	struct json_integer input_elements; /* … and the number of elements */
};

struct chrome_arguments {
	struct string_builder name, labels, command, queue, stream, no_launch, no_execution, domain;
	struct string_builder description; /* rpd2tracing: arguments of a call, type of a command */
	struct string_builder direction;   /* a copy of MTIA has this and `size` */
	struct string_builder call_stack;  /* PyTorch of 2021: "file(line): function;…" */
	struct json_integer correlation, pid, bytes, size, result, status, further, wait;
	struct json_integer queued_to_submitted, submitted_to_started; /* ns */
	struct json_integer device, rank, raw_pid, python_id, shared_bytes;
	struct json_integer graph, graph_node, began_ns, ended_ns;
	struct json_integer allocated_bytes, reserved_bytes, device_id, device_type;
	struct chrome_collective collective;
	uint64_t global[3], local[3]; /* 0: not known. A file gives either these */
	uint64_t grid[3], block[3];   /* or the number of groups and of items in a group */
	uint32_t dimensions;          /* number of sizes in global */
};

/* Absent texts are "". pid and tid are texts; a number is kept as written. */
struct chrome_event {
	struct string_builder phase, name, category, pid, tid, stack;
	struct json_integer ts_ns, dur_ns, id;
	struct chrome_arguments arguments;
	uint32_t categories; /* enum chrome_category */
	uint64_t line, byte; /* position of its first byte */
};

struct chrome_frame {
	struct string_builder id, name, category, parent;
};

struct chrome_sample {
	struct string_builder tid, name, stack;
	struct json_integer ts_ns, weight, cpu;
};

/* A row of "deviceProperties". */
struct chrome_device {
	struct json_integer id, memory_bytes, compute_units;
	struct string_builder name;
};

/* Members of the document about the whole file. */
struct chrome_document {
	struct json_integer rank, rank_count; /* in "distributedInfo" */
	struct json_integer base_ns;          /* time 0 of the file, since 1970 */
};

/* Callbacks for the parts of a file. Each may be NULL. A result other than 0 ends chrome_file_read
 * with that result. */
struct chrome_visitor {
	int (*on_event)(void *context, struct chrome_event *event);
	int (*on_frame)(void *context, const struct chrome_frame *frame);
	int (*on_sample)(void *context, const struct chrome_sample *sample);
	int (*on_device)(void *context, const struct chrome_device *device);
	int (*on_document)(void *context, const struct chrome_document *document);
};

/* *ret_is_cut: the array has no ']', which the format allows for writers that may be killed.
 * Errors: -EBADMSG with line and byte, errors of the source, -ENOMEM. */
int chrome_file_read(struct import_source *source, const struct chrome_visitor *visitor,
		     void *context, bool *ret_is_cut);

/* Returns -EBADMSG; the text contains the event's line and byte. */
__attribute__((format(printf, 2, 3))) int chrome_file_fail(const struct chrome_event *event,
							   const char *format, ...);
