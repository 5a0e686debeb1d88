/* SPDX-License-Identifier: MIT
 *
 * import/nsys/operators.h - the stacks of operators that a framework marks with NVTX
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct import_target;
struct event_api;
struct nsys_open_operators;

/* All zero: empty. */
struct nsys_operators {
	struct hash_map threads; /* id of a thread -> index in list */
	struct nsys_open_operators *list;
	size_t count, capacity;
};

void nsys_operators_fini(struct nsys_operators *operators);

/* The stack of an operator inside of those of its thread that have not ended; operators of a thread
 * come in the order of their begin. Errors: -ENOMEM. */
int nsys_operators_add(struct nsys_operators *operators, struct import_target *target,
		       const struct event_api *row, const char *name, uint32_t *ret_stack);
