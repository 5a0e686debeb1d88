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
	uint32_t code;             /* index in the trace's list of code objects */
	uint32_t device, process;  /* ids; device 0: any */
	uint32_t start, size;      /* lower 32 bits; bytes, or how far it may go at most */
	uint64_t address;          /* whole */
	uint64_t begin_ns, end_ns; /* not behind the end of its process */
	uint64_t started_ns;       /* when its process began; 0: not known */
	/* 3: whoever loaded it told name and size, 2: name, 1: size, 0: only where it begins */
	uint8_t known;
};

/* All kernels of the trace with an address. model must outlive it. Errors: -ENOMEM. */
int code_index_new(const struct model *model, struct code_index **ret_index);
void code_index_free(struct code_index *index); /* NULL-safe */

bool code_index_is_empty(const struct code_index *index);

/* Whether a code object (its index in the trace's list) has a place. */
bool code_index_has(const struct code_index *index, size_t code);

/* Addresses of a device that have the same ranges: from first to before end, lower 32 bits. */
struct code_stretch {
	uint64_t first, end;
	uint32_t number; /* the same for all devices */
};

void code_index_stretch(const struct code_index *index, uint64_t address,
			struct code_stretch *ret_stretch);

/* Ranges that were found. All zero at first. */
struct code_found {
	const struct code_range **ranges; /* owned */
	size_t count, capacity;
};

void code_found_fini(struct code_found *found);

/* Ranges at an address of a device (id), whenever they are there, in the order of their begin. An address below 2^32
 * is a part of one. Errors: -ENOMEM; -E2BIG: more than `most` are at the address, of all devices. */
int code_index_find(const struct code_index *index, uint32_t device, uint64_t address, size_t most,
		    struct code_found *found);

/* Where in its code object the address is, bytes: of a zebin in the file, else from the kernel's begin. Errors: -ENOMEM. */
int code_index_offset(struct code_index *index, const struct code_range *range, uint64_t address,
		      uint64_t *ret_offset);

#endif
