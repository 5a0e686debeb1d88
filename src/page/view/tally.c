/* SPDX-License-Identifier: MIT
 *
 * page/view/tally.c - the amount of each of several contents in a stretch of time
 *
 * Runs in:  our own process
 * Gets:     contents (such as function names) and amounts
 * Gives:    the content with the largest amount
 * Owns:     its entries
 * Fails:    -ENOMEM
 * Why a list first: a bin of the finest level has one or two contents, so a list suffices. 10^7
 *           such bins are filled and cleared, and clearing a hash table costs more. It pays only
 *           for coarse bins with hundreds of contents.
 */
#include "page/view/tally.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/number.h"

#define MAX_LIST 8

void view_tally_fini(struct view_tally *tally)
{
	free(tally->entries);
	free(tally->slots);
	*tally = (struct view_tally){0};
}

static size_t first_slot(const struct view_tally *tally, uint64_t what)
{
	return (what * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (tally->slots_count - 1);
}

static size_t slot_of(const struct view_tally *tally, uint64_t what)
{
	size_t i = first_slot(tally, what);

	while (tally->slots[i] && tally->entries[tally->slots[i] - 1].what != what)
		i = (i + 1) & (tally->slots_count - 1);
	return i;
}

/* Clears slot by slot: the table is as large as for the largest bin so far. */
void view_tally_clear(struct view_tally *tally)
{
	for (size_t i = 0; tally->count > MAX_LIST && i < tally->count; i++) {
		size_t slot = first_slot(tally, tally->entries[i].what);

		while (tally->slots[slot] != i + 1)
			slot = (slot + 1) & (tally->slots_count - 1);
		tally->slots[slot] = 0;
	}
	tally->count = 0;
}

static int grow_slots(struct view_tally *tally)
{
	size_t count = tally->slots_count ? 2 * tally->slots_count : (size_t)4 * MAX_LIST;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(tally->slots);
	tally->slots = slots;
	tally->slots_count = count;
	return 0;
}

static size_t find_slot(const struct view_tally *tally, uint64_t what)
{
	size_t i = 0;

	if (tally->count > MAX_LIST) {
		uint32_t slot = tally->slots[slot_of(tally, what)];

		return slot ? slot - 1 : tally->count;
	}
	while (i < tally->count && tally->entries[i].what != what)
		i++;
	return i;
}

static int append_entry(struct view_tally *tally, uint64_t what, uint64_t amount)
{
	size_t i = tally->count;

	if (array_grow(tally->entries, tally->capacity, i + 1))
		return -ENOMEM;
	tally->entries[i] = (struct view_tally_entry){what, amount};
	tally->count++;
	if (tally->count <= MAX_LIST)
		return 0;
	/* when the list becomes too long, and after growing, all entries go into the table */
	if (tally->count * 2 > tally->slots_count) {
		if (grow_slots(tally))
			return -ENOMEM;
		i = 0;
	}
	for (i = tally->count == MAX_LIST + 1 ? 0 : i; i < tally->count; i++)
		tally->slots[slot_of(tally, tally->entries[i].what)] = (uint32_t)i + 1;
	return 0;
}

int view_tally_add(struct view_tally *tally, uint64_t what, uint64_t amount)
{
	size_t i = find_slot(tally, what);

	if (i == tally->count)
		return append_entry(tally, what, amount);
	tally->entries[i].amount = add_saturated(tally->entries[i].amount, amount);
	return 0;
}

void view_tally_take(struct view_tally *tally, uint64_t what, uint64_t amount)
{
	size_t i = find_slot(tally, what);

	if (i < tally->count)
		tally->entries[i].amount -= amount;
}

int view_tally_merge(struct view_tally *tally, const struct view_tally *other)
{
	int error = 0;

	for (size_t i = 0; i < other->count && !error; i++)
		error = view_tally_add(tally, other->entries[i].what, other->entries[i].amount);
	return error;
}

struct view_tally_entry max_view_tally(const struct view_tally *tally)
{
	struct view_tally_entry most = {0};

	for (size_t i = 0; i < tally->count; i++) {
		const struct view_tally_entry *entry = &tally->entries[i];

		if (!i || entry->amount > most.amount ||
		    (entry->amount == most.amount && entry->what < most.what))
			most = *entry;
	}
	return most;
}
