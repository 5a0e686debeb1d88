/* SPDX-License-Identifier: MIT
 *
 * page/view/tally.h - the amount of each of several contents in a stretch of time
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct view_tally_entry {
	uint64_t what, amount;
};

/* All zero: empty. */
struct view_tally {
	struct view_tally_entry *entries;
	uint32_t *slots; /* index + 1, 0: free; used only for many entries */
	size_t count, capacity, slots_count;
};

void view_tally_fini(struct view_tally *tally);
void view_tally_clear(struct view_tally *tally); /* keeps the memory */

int view_tally_add(struct view_tally *tally, uint64_t what, uint64_t amount); /* -ENOMEM */
/* Subtracts an amount that was added before. */
void view_tally_take(struct view_tally *tally, uint64_t what, uint64_t amount);
/* Adds all entries of another tally. Errors: -ENOMEM. */
int view_tally_merge(struct view_tally *tally, const struct view_tally *other);

/* The entry with the largest amount, of equal ones that with the smallest `what`; 0 and 0 if the
 * tally is empty. */
struct view_tally_entry max_view_tally(const struct view_tally *tally);
