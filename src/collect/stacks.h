/* SPDX-License-Identifier: MIT
 *
 * collect/stacks.h - the stacks that a guest's thread describes become stacks of the trace
 */
#ifndef COLLECT_STACKS_H
#define COLLECT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "collect/images.h"
#include "collect/made_code.h"
#include "collect/recording.h"
#include "event/record.h"

/* A Python function. */
struct stack_function {
	uint32_t name_string, file_string;
	uint32_t first_line;
	uint32_t version; /* of the interpreter, 0x030b */
	uint8_t *lines;   /* owned; the line table */
	uint32_t lines_bytes;
};

/* What a module is to Python. The frames of its interpreter say nothing where functions are known. */
enum stack_python {
	PYTHON_NOT_ASKED,
	PYTHON_NONE,
	PYTHON_INTERPRETER, /* all its frames are the interpreter's: a library, or the program "python" */
	PYTHON_EMBEDDED /* a program with the interpreter inside it: only what lies between two functions is */
};

/* Of a library. */
struct stack_module {
	uint64_t address, size_bytes, file_offset_bytes; /* size 0: not described */
	uint32_t path_string, build_id_string;
	uint64_t file_size_bytes, file_modified_ns; /* where there is no build id; 0: not known */
	char *path;                                 /* owned */
	uint32_t python;                            /* enum stack_python */
};

/* What one ring has described, by its own ids. All zero: nothing. */
struct stacks {
	uint32_t *ids; /* of stacks, the trace's */
	struct stack_function *functions;
	struct stack_module *modules;
	size_t ids_capacity, functions_capacity, modules_capacity;
	struct hash_map frames; /* frame as in a record -> the trace's id */
};

/* For whom. */
struct stacks_owner {
	struct recording *recording;
	const char *collector; /* whose guest took them */
	uint32_t pid;
	int pid_fd;
	uint32_t process; /* the trace's */
	struct made_code *made;
	struct images *images;
	const char *exe; /* path of the program */
	struct look_time *looks;
	uint64_t *bytes; /* what its stacks take so far */
	uint64_t *held,
		*room;     /* the same with all else that goes with the process; its user's room */
	uint64_t *refused; /* records that there was no room for */
};

void stacks_fini(struct stacks *stacks);

/* Take a record. False: it makes no sense; one that there is no room for is counted as refused. */
bool stacks_take_module(struct stacks *stacks, const struct stacks_owner *owner,
			const struct record *record);
bool stacks_take_function(struct stacks *stacks, const struct stacks_owner *owner,
			  const struct record *record);
bool stacks_take_stack(struct stacks *stacks, const struct stacks_owner *owner,
		       const struct record *record);

/* A file that has code, and its texts in the trace. */
struct stacks_file {
	const char *path; /* as its process sees it; NULL: not known */
	uint32_t path_string, build_id_string;
};

/* enum stack_python of a file that a process has mapped; each is asked once. exe: path of the program. */
uint32_t stacks_python(struct recording *recording, uint32_t pid, const char *exe,
		       const struct stacks_file *file);

/* The trace's id of a stack; 0: none, or not described. */
uint32_t stacks_find(const struct stacks *stacks, uint64_t stack);

#endif
