/* SPDX-License-Identifier: MIT
 *
 * export/view_tally.h - how much each of several contents has of a stretch of time
 */
#ifndef EXPORT_VIEW_TALLY_H
#define EXPORT_VIEW_TALLY_H

#include <stddef.h>
#include <stdint.h>

struct view_tally_entry {
	uint64_t what, amount;
};

/* All zero: empty. */
struct view_tally {
	struct view_tally_entry *entries;
	uint32_t *slots; /* index + 1, 0: free; only where there are many entries */
	size_t count, capacity, slots_count;
};

void view_tally_fini(struct view_tally *tally);
void view_tally_clear(struct view_tally *tally); /* keeps the memory */

int view_tally_add(struct view_tally *tally, uint64_t what, uint64_t amount); /* -ENOMEM */
/* Takes away what was added before. */
void view_tally_take(struct view_tally *tally, uint64_t what, uint64_t amount);
/* Adds all of another. -ENOMEM. */
int view_tally_merge(struct view_tally *tally, const struct view_tally *other);

/* The entry with the most, of several the smallest `what`; 0 and 0 where it is empty. */
struct view_tally_entry view_tally_most(const struct view_tally *tally);

#endif
