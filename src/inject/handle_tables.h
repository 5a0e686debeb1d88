/* SPDX-License-Identifier: MIT
 *
 * inject/handle_tables.h - from a handle of a runtime to a guest's entry for it
 *
 * A lookup is one hash and one compare, 2-3 ns. It takes no lock because nothing moves: entries are
 * never freed, and a full table gets a larger one beside it instead of a larger one in its place.
 * An entry is a struct that starts with the key. All functions get its size, which is a constant.
 */
#pragma once

#include "inject/guest.h"

/* Tables of growing size: the first has room for an ordinary program, all for two million
 * handles. */
enum { HANDLE_TABLES = 4, HANDLE_FIRST_BITS = 15, HANDLE_BITS_MORE = 2 };

struct handle_tables {
	char *_Atomic entries[HANDLE_TABLES]; /* mapped on first use */
	uint32_t used[HANDLE_TABLES];
};

/* Returns the entry of a key in one table, or the free entry for it. */
static inline _Atomic uintptr_t *handle_tables_probe(char *entries, uint32_t table, size_t bytes,
						     uintptr_t key, bool *ret_found)
{
	const uint32_t bits = HANDLE_FIRST_BITS + HANDLE_BITS_MORE * table;

	for (uint32_t i = (uint32_t)((key >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));;
	     i++) {
		_Atomic uintptr_t *entry =
			(_Atomic uintptr_t *)(void *)(entries + (i & ((1u << bits) - 1)) * bytes);
		uintptr_t found = atomic_load_explicit(entry, memory_order_acquire);

		if (found == key || found == 0) {
			*ret_found = found != 0;
			return entry;
		}
	}
}

/* NULL: the handle was never added. */
static inline void *handle_tables_find(struct handle_tables *tables, size_t bytes,
				       const void *handle)
{
	for (uint32_t table = 0; handle && table < HANDLE_TABLES; table++) {
		char *entries = atomic_load_explicit(&tables->entries[table], memory_order_acquire);
		_Atomic uintptr_t *entry;
		bool found;

		if (!entries)
			return NULL;
		entry = handle_tables_probe(entries, table, bytes, (uintptr_t)handle, &found);
		if (GUEST_LIKELY(found))
			return entry;
	}
	return NULL;
}

/* Returns the handle's entry, which is zeroed if it is new. NULL: no room. Locks: the caller's. */
static inline void *handle_tables_add(struct handle_tables *tables, size_t bytes,
				      const void *handle)
{
	void *known = handle_tables_find(tables, bytes, handle);

	for (uint32_t table = 0; handle && !known && table < HANDLE_TABLES; table++) {
		size_t size = (size_t)1 << (HANDLE_FIRST_BITS + HANDLE_BITS_MORE * table);
		char *entries = atomic_load(&tables->entries[table]);
		_Atomic uintptr_t *entry;
		bool found;

		if (tables->used[table] >= size / 4 * 3)
			continue;
		if (!entries)
			entries = guest_memory(size * bytes);
		if (!entries)
			return NULL;
		atomic_store_explicit(&tables->entries[table], entries, memory_order_release);
		entry = handle_tables_probe(entries, table, bytes, (uintptr_t)handle, &found);
		tables->used[table]++;
		atomic_store_explicit(entry, (uintptr_t)handle, memory_order_release);
		return entry;
	}
	return known;
}
