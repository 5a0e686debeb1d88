/* SPDX-License-Identifier: MIT
 *
 * import/chrome_names.h - what a Chrome trace may tell behind where it is needed: names of rows, stacks, the earliest time
 */
#ifndef IMPORT_CHROME_NAMES_H
#define IMPORT_CHROME_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "import/chrome_file.h"

struct import_target;

struct chrome_stack {
	uint32_t name, module, parent; /* strings; parent: index + 1, 0: none */
	uint32_t stack;                /* of the trace, once it was asked for */
	bool is_told, is_made;
};

struct chrome_names {
	struct string_table texts;
	struct string_table rows; /* keys of rows: pid, or pid and tid */
	uint32_t *names, *labels; /* by id of a row - 1: strings */
	size_t names_capacity, labels_capacity;
	struct string_table stack_keys; /* as the file has them */
	struct chrome_stack *stacks;    /* by id of a key - 1 */
	size_t stacks_capacity;
	int64_t first_ns; /* of all events, 0 where there is none before */
	bool has_owners;  /* commands of devices say of which process they are */
	bool is_cut;
};

/* Reads all of the source. Errors as of chrome_file_read. */
int chrome_names_read(struct chrome_names *names, struct import_source *source);
void chrome_names_fini(struct chrome_names *names);

/* Of a process, tid "" then, or of a thread: "" where it has none. */
const char *chrome_names_get(const struct chrome_names *names, const char *pid, const char *tid);
const char *chrome_names_labels(const struct chrome_names *names, const char *pid);

/* The trace's stack of a key; 0 for none. -ENOMEM. */
int chrome_names_stack(struct chrome_names *names, struct import_target *target, const char *key,
		       uint32_t *ret_stack);

/* Commands of devices, by their category. */
enum chrome_class {
	CHROME_NO_CLASS,
	CHROME_KERNEL,
	CHROME_COPY,
	CHROME_FILL,
	CHROME_OTHER,
	CHROME_REJECTED
};

/* Whether one of the categories, which are separated by commas, is this word. */
bool chrome_has_category(const struct chrome_event *event, const char *word);
enum chrome_class chrome_class_of(const struct chrome_event *event);

#endif
