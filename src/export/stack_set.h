/* SPDX-License-Identifier: MIT
 *
 * export/stack_set.h - which stacks and frames of a trace an export names
 */
#ifndef EXPORT_STACK_SET_H
#define EXPORT_STACK_SET_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct model;

struct stack_set {
	const struct model *model; /* borrowed */
	struct hash_map stacks, frames;
};

void stack_set_init(struct stack_set *set, const struct model *model);
void stack_set_fini(struct stack_set *set); /* NULL-safe */

/* A stack, its callers and all their frames; 0 and what the trace does not have add nothing. -ENOMEM. */
int stack_set_add(struct stack_set *set, uint32_t stack);

/* The ids in ascending order, which puts callers before callees; to be freed. NULL: no memory. */
uint32_t *stack_set_stacks(const struct stack_set *set, size_t *ret_count);
uint32_t *stack_set_frames(const struct stack_set *set, size_t *ret_count);

#endif
