/* SPDX-License-Identifier: MIT
 *
 * symbol/device/cubin.h - code objects of NVIDIA's GPUs: functions, sizes, target, lines
 *
 * A cubin is an ELF file with a section ".text.NAME" for each kernel. The addresses of each section
 * start at 0. The section ".nv.info" contains register and stack sizes; -lineinfo adds a line
 * table. docs/design/isa.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cubin;

struct cubin_function {
	const char *name;    /* mangled */
	uint64_t offset;     /* in the file, bytes */
	uint64_t size_bytes; /* including padding at the end */
	bool is_kernel;      /* false: a function that kernels call */
	/* 0: none, or not in the file. */
	uint32_t registers;    /* per thread */
	uint32_t shared_bytes; /* static shared memory per block */
	uint32_t stack_bytes;  /* per thread */
};

/* Whether the ELF header is that of a cubin. */
bool cubin_is(const void *bytes, size_t size);

/* The bytes are borrowed and must outlive the cubin. Invalid records are skipped. Errors, with the
 * error chain: -ENOEXEC: not a cubin, or truncated; -ENOMEM. */
int cubin_open(const void *bytes, size_t size, struct cubin **ret_cubin);
void cubin_close(struct cubin *cubin); /* NULL-safe */

/* Functions sorted by offset; returns their number. Functions and names live as long as the cubin.
 * */
size_t cubin_functions(const struct cubin *cubin, const struct cubin_function **ret_functions);

/* The function that contains the byte at this file offset; NULL: none. */
const struct cubin_function *cubin_function_at(const struct cubin *cubin, uint64_t offset);

/* "sm_90" */
const char *cubin_target(const struct cubin *cubin);

/* Source file and line of the instruction at this file offset; false: unknown. The text lives as
 * long as the cubin. The first call reads the line table. */
bool cubin_find_line(struct cubin *cubin, uint64_t offset, const char **ret_file,
		     uint32_t *ret_line);
