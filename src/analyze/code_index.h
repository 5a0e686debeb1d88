/* SPDX-License-Identifier: MIT
 *
 * analyze/code_index.h - which code lies at an address of a device, and when
 */
#ifndef ANALYZE_CODE_INDEX_H
#define ANALYZE_CODE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_index;
struct model;

/* A kernel's place. Samplers of EU stalls tell the lower 32 bits of an address and no process. */
struct code_range {
	uint32_t code;            /* index in the trace's list of code objects */
	uint32_t device, process; /* ids; device 0: any */
	uint32_t start, size;     /* lower 32 bits; bytes, or how far it may go at most */
	uint64_t address;         /* whole */
	uint64_t begin_ns, end_ns;
	/* 3: whoever loaded it told name and size, 2: name, 1: size, 0: only where it begins */
	uint8_t known;
};

/* All kernels of the trace with an address. model must outlive it. Errors: -ENOMEM. */
int code_index_new(const struct model *model, struct code_index **ret_index);
void code_index_free(struct code_index *index); /* NULL-safe */

bool code_index_is_empty(const struct code_index *index);

/* Whether a code object (its index in the trace's list) has a place. */
bool code_index_has(const struct code_index *index, size_t code);

/* Ranges at an address of a device (id), whenever they are there: at most `most`, in the order of their begin. An address below 2^32
 * is a part of one. Returns how many. */
size_t code_index_find(const struct code_index *index, uint32_t device, uint64_t address,
		       const struct code_range **ret_ranges, size_t most);

/* Where in its code object the address is, bytes: of a zebin in the file, else from the kernel's begin. Errors: -ENOMEM. */
int code_index_offset(struct code_index *index, const struct code_range *range, uint64_t address,
		      uint64_t *ret_offset);

#endif
