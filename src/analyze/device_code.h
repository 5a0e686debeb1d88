/* SPDX-License-Identifier: MIT
 *
 * analyze/device_code.h - a place in a device's code: instruction, function, line of source
 */
#ifndef ANALYZE_DEVICE_CODE_H
#define ANALYZE_DEVICE_CODE_H

#include <stdint.h>

struct device_code;
struct model;

/* Texts live as long as the device code. */
struct device_place {
	const char *
		text; /* instruction in its assembler's words, or hexadecimal; "": no bytes of it are there */
	uint64_t offset; /* in the code object, of the instruction's first byte */
	uint64_t
		address; /* … as its program headers count, and as branches name it; Intel's: in its kernel */
	const char *name;     /* of the code object: its content hash; "": it has none */
	const char *function; /* "": not known; of an inlined one its own name */
	const char *file;     /* as debug information has it; NULL: not known */
	uint32_t line;        /* from 1; 0: not known */
	const char
		*source; /* that line of what the program gave to its compiler; NULL: not known */
};

/* model must outlive it. Errors: -ENOMEM. */
int device_code_new(const struct model *model, struct device_code **ret_code);
void device_code_free(struct device_code *code); /* NULL-safe */

/* code: the trace's id, 0: none is known. offset: of any byte of an instruction. Errors: -ENOMEM. */
int device_code_find(struct device_code *code, uint32_t id, uint64_t offset,
		     struct device_place *ret_place);

/* Why instructions are hexadecimal numbers, and what to do about it; NULL: they are not, or none was asked for. */
const char *device_code_why(const struct device_code *code);

#endif
