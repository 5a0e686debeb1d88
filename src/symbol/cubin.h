/* SPDX-License-Identifier: MIT
 *
 * symbol/cubin.h - code objects of NVIDIA's GPUs: functions, sizes, target, lines
 *
 * A cubin is an ELF file with a section ".text.NAME" for each kernel, whose addresses all begin at 0, ".nv.info" that says what
 * functions need, and where it was compiled with -lineinfo, a table of lines. docs/design/isa.md
 */
#ifndef SYMBOL_CUBIN_H
#define SYMBOL_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cubin;

struct cubin_function {
	const char *name;    /* mangled */
	uint64_t offset;     /* in the file, bytes */
	uint64_t size_bytes; /* with what fills it up to its end */
	bool is_kernel;      /* what can be launched; others are called */
	/* 0: none, or not said. */
	uint32_t registers;    /* of a thread */
	uint32_t shared_bytes; /* of a block, what its code names alone */
	uint32_t stack_bytes;  /* of a thread */
};

/* Whether the bytes begin as one does. */
bool cubin_is(const void *bytes, size_t size);

/* The bytes are borrowed. What it says wrongly is left out. Errors, with a text: -ENOEXEC for what is none or is cut off,
 * -ENOMEM. */
int cubin_open(const void *bytes, size_t size, struct cubin **ret_cubin);
void cubin_close(struct cubin *cubin); /* NULL-safe */

/* By their offset. They and their names live as long as the cubin. */
size_t cubin_functions(const struct cubin *cubin, const struct cubin_function **ret_functions);

/* The one whose code the byte is of; NULL: none. */
const struct cubin_function *cubin_function_at(const struct cubin *cubin, uint64_t offset);

/* "sm_90" */
const char *cubin_target(const struct cubin *cubin);

/* Where the source has the instruction at this offset in the file; texts live as long as the cubin. False: not known. The
 * table is read at the first question. */
bool cubin_find_line(struct cubin *cubin, uint64_t offset, const char **ret_file,
		     uint32_t *ret_line);

#endif
