/* SPDX-License-Identifier: MIT
 *
 * collect/guest/stacks.h - turns the stacks that a guest's thread describes into stacks of the
 * trace
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "collect/guest/budget.h"
#include "collect/recording.h"
#include "collect/stack/images.h"
#include "collect/stack/jit_code.h"
#include "event/record.h"

/* A Python function. */
struct stack_function {
	uint32_t name_string, file_string;
	uint32_t first_line;
	uint32_t version; /* version of the interpreter, for example 0x030b */
	uint8_t *lines;   /* owned; the line table */
	uint32_t lines_bytes;
};

/* How a module is related to Python. Frames of the interpreter are left out of stacks with Python
 * functions. */
enum stack_python {
	PYTHON_NOT_ASKED,
	PYTHON_NONE,
	/* Libpython, or the program "python": all its frames are the interpreter's. */
	PYTHON_INTERPRETER,
	PYTHON_EMBEDDED /* a program that embeds Python: only frames between two functions are the
			   interpreter's */
};

/* A file that is mapped into the process. */
struct stack_module {
	uint64_t address, size_bytes, file_offset_bytes; /* size 0: not described yet */
	uint32_t path_string, build_id_string;
	uint64_t file_size_bytes, file_modified_ns; /* used without a build id; 0: unknown */
	char *path;                                 /* owned */
	uint32_t python;                            /* enum stack_python */
};

/* Tables of one ring, by the guest's ids. All zero: empty. */
struct stacks {
	uint32_t *ids; /* ids of the trace, by the guest's stack id */
	struct stack_function *functions;
	struct stack_module *modules;
	size_t ids_capacity, functions_capacity, modules_capacity;
	struct hash_map frames; /* frame in a record -> id of the trace */
};

/* The process and guest for which stacks are decoded. */
struct stacks_owner {
	struct recording *recording;
	const char *collector; /* name of the guest's collector */
	uint32_t pid;
	int pid_fd;
	uint32_t process; /* id of the trace */
	struct jit_code *made;
	struct images *images;
	const char *exe; /* path of the program */
	struct lookup_budget *looks;
	struct guest_budget *budget;
	uint64_t *refused; /* count of records without room */
};

void stacks_fini(struct stacks *stacks);

/* Take a record of their kind. False: it makes no sense. A record without room counts as refused,
 * and the result is true. */
bool stacks_take_module(struct stacks *stacks, const struct stacks_owner *owner,
			const struct record *record);
bool stacks_take_function(struct stacks *stacks, const struct stacks_owner *owner,
			  const struct record *record);
bool stacks_take_stack(struct stacks *stacks, const struct stacks_owner *owner,
		       const struct record *record);

/* A file with code, and its strings in the trace. */
struct stacks_file {
	const char *path; /* path in the process; NULL: not known */
	uint32_t path_string, build_id_string;
};

/* Returns enum stack_python of a mapped file; each file is inspected once. exe: path of the
 * program. */
uint32_t stacks_python(struct recording *recording, uint32_t pid, const char *exe,
		       const struct stacks_file *file);

/* Returns the trace's id of a stack; 0: no stack, or not described. */
uint32_t stacks_find(const struct stacks *stacks, uint64_t stack);
