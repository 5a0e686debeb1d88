/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/code_index.h - finds the kernels that were loaded at a device address, with their
 * times
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_index;
struct model;

/* One kernel's addresses and lifetime. EU stall samples contain only the lower 32 bits of an
 * address, and no process. */
struct code_range {
	uint32_t code;             /* index in the trace's list of code objects */
	uint32_t device, process;  /* ids; device 0: any */
	uint32_t start, size;      /* start: lower 32 bits; size: bytes, or an upper limit */
	uint64_t address;          /* all 64 bits of the start */
	uint64_t begin_ns, end_ns; /* lifetime, host ns; ends with its process at the latest */
	uint64_t started_ns;       /* start time of its process; 0: not known */
	/* bits: 2 if the name is known, 1 if the size is known; 0: only the start is known */
	uint8_t known;
};

/* Indexes all kernels of the trace that have an address. model must outlive the index. Errors:
 * -ENOMEM. */
int code_index_new(const struct model *model, struct code_index **ret_index);
void code_index_free(struct code_index *index); /* NULL-safe */

bool code_index_is_empty(const struct code_index *index);

/* Whether a code object (its index in the trace's list) is a kernel with an address. */
bool code_index_has(const struct code_index *index, size_t code);

/* A stretch [first, end) of addresses (lower 32 bits) that are all covered by the same ranges. */
struct code_stretch {
	uint64_t first, end;
	uint32_t number; /* the stretch's number; stretches do not depend on the device */
};

void code_index_stretch(const struct code_index *index, uint64_t address,
			struct code_stretch *ret_stretch);

/* Result buffer of code_index_find. Initialise to zero. */
struct code_found {
	const struct code_range **ranges; /* owned */
	size_t count, capacity;
};

void code_found_fini(struct code_found *found);

/* Finds all ranges at an address of a device (id), at any time, sorted by begin_ns. An address
 * below 2^32 is taken as the lower 32 bits of one. Errors: -ENOMEM; -E2BIG if more than `most`
 * ranges of all devices are at the address. */
int code_index_find(const struct code_index *index, uint32_t device, uint64_t address, size_t most,
		    struct code_found *found);

/* The offset of an address in its code object, in bytes: in a zebin from the start of the file,
 * otherwise from the start of the kernel. Errors: -ENOMEM. */
int code_index_offset(struct code_index *index, const struct code_range *range, uint64_t address,
		      uint64_t *ret_offset);
