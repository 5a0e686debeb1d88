/* SPDX-License-Identifier: MIT
 *
 * import/chrome/names.h - first pass over a Chrome trace: data that may follow their first use (row
 * names, stacks, earliest time)
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

struct chrome_names {
	struct string_table texts;
	struct string_table rows; /* keys of rows: pid, or pid and tid */
	uint32_t *names, *labels; /* by id of a row - 1: strings */
	size_t names_capacity, labels_capacity;
	struct string_table stack_keys; /* keys of the file */
	struct chrome_stack *stacks;    /* by id of a key - 1 */
	size_t stacks_capacity;
	int64_t first_ns;             /* min over all events, at most 0 */
	int64_t least_ns;             /* min over all events; INT64_MAX: none */
	struct chrome_number base_ns; /* UTC of time 0 */
	bool has_owners;              /* device commands name their process */
	bool is_cut;
};

/* Reads the whole source. Errors: those of chrome_file_read. */
int chrome_names_read(struct chrome_names *names, struct import_source *source);
void chrome_names_fini(struct chrome_names *names);

/* Sets the clock of the file's times if it is known: UTC, from a base time or because they are
 * times of this century. Errors: those of import_target_clock. */
int chrome_names_set_clock(const struct chrome_names *names, struct import_target *target);

/* The name of a thread, or of a process if tid is "". "" if it has none. */
const char *chrome_names_get(const struct chrome_names *names, const char *pid, const char *tid);
const char *chrome_names_labels(const struct chrome_names *names, const char *pid);

/* The stack in the trace for a key of the file; 0: none. Errors: -ENOMEM. */
int chrome_names_stack(struct chrome_names *names, struct import_target *target, const char *key,
		       uint32_t *ret_stack);

/* Classes of device commands, by the event's category. */
enum chrome_class {
	CHROME_NO_CLASS,
	CHROME_KERNEL,
	CHROME_COPY,
	CHROME_FILL,
	CHROME_OTHER,
	CHROME_REJECTED
};

/* Whether the event's comma-separated categories contain this word. */
bool chrome_has_category(const struct chrome_event *event, const char *word);
enum chrome_class chrome_class_of(const struct chrome_event *event);
