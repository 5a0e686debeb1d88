/* SPDX-License-Identifier: MIT
 *
 * import/chrome/slices.h - the stack of each slice of a Chrome trace, from the slices around it
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct chrome_arrows;
struct chrome_launches;
struct chrome_names;
struct chrome_slices;
struct import_target;

/* A slice of a thread, as the first pass reads it. */
struct chrome_slice {
	int64_t begin_ns, end_ns;
	int64_t owner, correlation; /* its call; only with has_correlation */
	uint32_t number;            /* number of the event that ends it */
	uint32_t row;               /* id of the thread */
	uint32_t name;              /* id of a text of struct chrome_names */
	uint32_t stack_key;         /* id of the file's own stack; 0: none */
	uint32_t call_stack;        /* id of a text with the callers; 0: none */
	uint32_t collective;        /* id + 1; 0: none */
	uint32_t order;             /* among slices of equal times the smallest is outside */
	int32_t result;
	uint8_t type; /* enum event_api_type */
	bool has_correlation, is_frame, is_further, is_range;
};

int chrome_slices_new(struct chrome_slices **ret_slices);
void chrome_slices_free(struct chrome_slices *slices); /* NULL-safe */

/* Errors: as for record_sort_add. */
int chrome_slices_add(struct chrome_slices *slices, const struct chrome_slice *slice);

/* After the last add: finds the stacks, adds the calls with a correlation id to `launches`, and
 * passes all to `arrows`. has_owners: a correlation id is one of a process. */
int chrome_slices_finish(struct chrome_slices *slices, struct import_target *target,
			 struct chrome_names *names, struct chrome_launches *launches,
			 struct chrome_arrows *arrows, bool has_owners);

/* The stack of a slice; 0: none. A function's and an operator's stack contains itself. To be called
 * for rising numbers. */
int chrome_slices_find(struct chrome_slices *slices, uint32_t number, uint32_t *ret_stack);
