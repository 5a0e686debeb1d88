/* SPDX-License-Identifier: MIT
 *
 * import/chrome/names.h - data of a Chrome trace that may follow their first use: names of rows,
 * stacks, properties of devices
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "import/chrome/file.h"

struct import_target;

struct chrome_stack {
	uint32_t name, module, parent; /* strings; parent: index + 1, 0: none */
	uint32_t stack;                /* id in the trace, once is_made */
	bool is_told, is_made;         /* the file describes it; it is in the trace */
};

/* A process, a device or a thread of the file. */
struct chrome_row_name {
	uint32_t name, label; /* strings */
	uint32_t pid;         /* string; of a process */
	uint32_t rank;        /* rank of the process + 1; 0: not known */
	uint32_t raw_pid;     /* pid before a program merged files; 0: not known */
	bool has_commands;    /* the pid stands for a device … */
	bool has_calls;       /* … unless it has calls of a runtime */
	bool is_accelerator;
	bool has_operations; /* a device in a file of rpd2tracing */
};

struct chrome_device_name {
	int64_t id;
	uint32_t name; /* string */
	uint64_t memory_bytes;
	uint32_t compute_units;
};

struct chrome_names {
	struct string_table texts;
	struct string_table rows;     /* keys of rows: pid, or pid and tid */
	struct chrome_row_name *list; /* by id of a row - 1 */
	size_t list_capacity;
	struct string_table stack_keys; /* keys of the file */
	struct chrome_stack *stacks;    /* by id of a key - 1 */
	size_t stacks_capacity;
	struct chrome_device_name *devices;
	size_t devices_count, devices_capacity;
	struct hash_map devices_index; /* id -> index of its first row */
	bool has_names;                /* the devices have several names */
	/* set by chrome_names_finish: the pid of the only device with commands and that of the only
	 * process that calls a runtime; NULL: none or several */
	const char *only_device, *program;
	struct chrome_document document;
	struct string_builder key; /* scratch */
	bool has_operations;       /* the file is one of rpd2tracing */
};

void chrome_names_fini(struct chrome_names *names);

/* For the first pass. Errors: -ENOMEM. */
int chrome_names_add_text(struct chrome_names *names, const char *text, uint32_t *ret_id);
int chrome_names_add_meta(struct chrome_names *names, const struct chrome_event *event);
int chrome_names_add_frame(struct chrome_names *names, const struct chrome_frame *frame);
int chrome_names_add_device(struct chrome_names *names, const struct chrome_device *device);
int chrome_names_add_document(struct chrome_names *names, const struct chrome_document *document);
/* The row of a process; it stays valid until the next add. */
int chrome_names_add_process(struct chrome_names *names, const char *pid,
			     struct chrome_row_name **ret_row);
/* Sets the categories of an event of rpd2tracing, which has none in the file. */
void chrome_names_set_categories(struct chrome_names *names, struct chrome_event *event);
/* Id of a key of a stack of the file; 0 for "". */
int chrome_names_add_key(struct chrome_names *names, const char *key, uint32_t *ret_id);

const char *chrome_names_text(const struct chrome_names *names, uint32_t id);

/* After the first pass. */
bool chrome_names_is_device(const struct chrome_names *names, const struct chrome_row_name *row);
void chrome_names_finish(struct chrome_names *names);

/* The names of a thread, or of a process if tid is "". Never NULL. */
const struct chrome_row_name *chrome_names_row(struct chrome_names *names, const char *pid,
					       const char *tid);
/* The properties of a device; NULL: the file has none. */
const struct chrome_device_name *chrome_names_device(const struct chrome_names *names, int64_t id);
/* The stack in the trace for a key of the file, or for its id; 0: none. Errors: -ENOMEM. */
int chrome_names_stack(struct chrome_names *names, struct import_target *target, const char *key,
		       uint32_t *ret_stack);
int chrome_names_stack_of(struct chrome_names *names, struct import_target *target, uint32_t id,
			  uint32_t *ret_stack);
