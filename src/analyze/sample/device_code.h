/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/device_code.h - finds instruction text, function and source line for an offset in
 * device code
 */
#pragma once

#include <stdint.h>

struct device_code;
struct model;

/* Texts live as long as the device code. */
struct device_place {
	const char *text;     /* the disassembled instruction, or its bytes in hexadecimal; "": the
				 trace does not contain the bytes */
	uint64_t offset;      /* offset of the instruction's first byte in the code object */
	uint64_t address;     /* the same as an address of the program headers, as branches use it;
				 Intel, NVIDIA: offset in the kernel */
	const char *name;     /* the code object's content hash; "": none */
	const char *function; /* innermost function, which may be inlined; "": not known */
	const char *file;     /* source file from the debug information; NULL: not known */
	uint32_t line;        /* from 1; 0: not known */
	/* text of that line in the source that the program passed to its compiler; NULL: not
	 * known */
	const char *source;
};

/* model must outlive it. Errors: -ENOMEM. */
int device_code_new(const struct model *model, struct device_code **ret_code);
void device_code_free(struct device_code *code); /* NULL-safe */

/* id: the code object's id in the trace, 0: not known. offset: offset of any byte of an
 * instruction. Errors: -ENOMEM. */
int device_code_find(struct device_code *code, uint32_t id, uint64_t offset,
		     struct device_place *ret_place);

/* The reason why instructions are shown in hexadecimal, and the remedy; NULL: all were
 * disassembled, or none was requested. */
const char *device_code_why(const struct device_code *code);
