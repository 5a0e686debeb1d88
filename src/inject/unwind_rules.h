/* SPDX-License-Identifier: MIT
 *
 * inject/unwind_rules.h - from a call site to the start of its caller's frame
 *
 * Only for the unwinder: unwind.c walks the stack, unwind_rules.c reads the rules from unwind
 * tables.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/guest.h"
#include "shared/unwind_rule.h"

#if defined(__x86_64__)

#pragma GCC visibility push(hidden)

struct unwind_slot {
	_Atomic uint64_t pc;
	_Atomic uint64_t rule;
};

enum { UNWIND_TABLES = 2, UNWIND_FIRST_BITS = 12, UNWIND_BITS_MORE = 5 };

extern struct unwind_slot *_Atomic unwind_tables[UNWIND_TABLES];

/* Each step of a walk waits for the previous one, and a multiplication is three cycles of that
 * wait. */
static inline uint32_t unwind_hash(uint64_t pc)
{
	return (uint32_t)(pc ^ pc >> 13);
}

/* Tag of the address in a rule: a slot may be cleared and taken again between the reads of its two
 * words. */
static inline uint64_t unwind_tag(uint64_t pc)
{
	return (pc * UINT64_C(0x9e3779b97f4a7c15)) >> 45;
}

static inline uint32_t unwind_table_bits(uint32_t table)
{
	return UNWIND_FIRST_BITS + UNWIND_BITS_MORE * table;
}

/* Returns the rule of a frame; RULE_NONE: not learned yet. */
static inline union unwind_rule unwind_find_rule(uint64_t pc)
{
	for (uint32_t table = 0; table < UNWIND_TABLES; table++) {
		struct unwind_slot *slots =
			atomic_load_explicit(&unwind_tables[table], memory_order_acquire);
		uint32_t mask = (1u << unwind_table_bits(table)) - 1;

		if (!slots)
			break;
		for (uint32_t i = unwind_hash(pc);; i++) {
			struct unwind_slot *slot = &slots[i & mask];
			uint64_t found = atomic_load_explicit(&slot->pc, memory_order_acquire);

			if (GUEST_LIKELY(found == pc)) {
				union unwind_rule rule = {
					.word = atomic_load_explicit(&slot->rule,
								     memory_order_acquire)};

				if (GUEST_LIKELY(rule.tag == unwind_tag(pc)))
					return rule;
				return (union unwind_rule){0};
			}
			if (!found)
				break;
		}
	}
	return (union unwind_rule){0};
}

/* Reads the rule of a frame from the unwind tables of its code; for an interrupted frame, add
 * UNWIND_EXACT. Takes a microsecond or two, once per call site. */
union unwind_rule unwind_learn_rule(uint64_t frame);

/* Drops rules after code was unloaded, because its addresses may hold other code. 19 ns. Returns
 * the number of unloads so far; ret_loads: number of loads. */
uint64_t unwind_forget_unloaded(uint64_t *ret_loads);

#pragma GCC visibility pop

#endif
