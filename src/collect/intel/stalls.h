/* SPDX-License-Identifier: MIT
 *
 * collect/intel/stalls.h - rows of EU-stall sampling, added up by instruction
 */
#ifndef COLLECT_INTEL_STALLS_H
#define COLLECT_INTEL_STALLS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/intel/eu_stall.h"

struct stalls;

/* Instructions that are counted at a time: 64 MiB with all of them, 4 MiB with those of a usual program. */
enum { STALLS_INSTRUCTIONS_MOST = 1 << 19 };

/* What one instruction has counted: by the layout's order of reasons. note: 0 at first; whoever is told may leave there whose
 * the instruction is, and finds it again most of the next times. */
typedef void (*stalls_on_counts)(void *context, uint64_t address,
				 const uint32_t counts[EU_STALL_REASONS], uint32_t *note);

/* Memory that several of them share, whatever threads they are in: so many bytes are left. What each needs to begin with it takes in any case. */
struct stalls_budget {
	_Atomic int64_t bytes; /* below 0: what is told gives its room back */
	_Atomic int64_t taken;
};

/* So many bytes are theirs from now on, with those that they have taken. */
void stalls_budget_set(struct stalls_budget *budget, int64_t bytes);

/* budget: borrowed; NULL: as much as STALLS_INSTRUCTIONS_MOST need. NULL: out of memory. */
struct stalls *stalls_new(const struct eu_stall_layout *layout, struct stalls_budget *budget);
void stalls_free(struct stalls *stalls); /* NULL-safe */

/* Whole rows, as they were read; what is left over behind them is not looked at. */
void stalls_take(struct stalls *stalls, const void *rows, size_t size);

/* Instructions that have counted since the last stalls_tell. */
size_t stalls_waiting(const struct stalls *stalls);

/* Tells each of them, in the order in which they came, and begins anew. Addresses are the lowest bits of a layout's. */
void stalls_tell(struct stalls *stalls, stalls_on_counts on_counts, void *context);

/* Rows that were not counted: of instructions beyond STALLS_INSTRUCTIONS_MOST, or what the budget has room for. */
uint64_t stalls_lost(const struct stalls *stalls);

#endif
