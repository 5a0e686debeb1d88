/* SPDX-License-Identifier: MIT
 *
 * export/common/stack_set.h - collect the stacks and frames that an export refers to
 */
#pragma once

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

/* Adds a stack, its callers and all their frames. Does nothing for 0 and for stacks that are not in
 * the trace. Errors: -ENOMEM. */
int stack_set_add(struct stack_set *set, uint32_t stack);

/* The ids in ascending order, which puts callers before callees. The caller frees the list. NULL:
 * no memory. */
uint32_t *stack_set_stacks(const struct stack_set *set, size_t *ret_count);
uint32_t *stack_set_frames(const struct stack_set *set, size_t *ret_count);
