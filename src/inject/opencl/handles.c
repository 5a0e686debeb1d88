/* SPDX-License-Identifier: MIT
 *
 * inject/opencl/handles.c - the tables of handles
 *
 * Runs in:  the profiled process; lookups on the hot path, the rest once per object
 * Gets:     OpenCL handles
 * Gives:    entries
 * Owns:     the tables and the structures behind them, mapped on first use, never freed
 * Fails:    with NULL if memory is refused or two million handles are known; counted
 * Why:      a lookup is one hash and one compare, 2-3 ns. It needs no lock because nothing moves: a
 *           full table gets a larger one beside it instead of a larger one in its place.
 */
#include "inject/opencl/handles.h"

struct handle *_Atomic handle_tables[HANDLE_TABLES];

static struct {
	struct guest_lock lock;
	uint32_t used[HANDLE_TABLES];
	struct guest_pool pool; /* for new structures */
} handles;

bool handles_lock(void)
{
	if (guest_lock(&handles.lock))
		return true;
	guest_trouble(RING_TROUBLE_OBJECTS);
	return false;
}

void handles_unlock(void)
{
	guest_unlock(&handles.lock);
}

void handles_forked(void)
{
	atomic_store(&handles.lock.taken, 0);
}

/* Returns the smallest table that has room. */
static struct handle *table_with_room(uint32_t *ret_table)
{
	for (uint32_t table = 0; table < HANDLE_TABLES; table++) {
		size_t size = (size_t)1 << (HANDLE_FIRST_BITS + HANDLE_BITS_MORE * table);
		struct handle *entries = atomic_load(&handle_tables[table]);

		if (handles.used[table] >= size / 4 * 3)
			continue;
		if (!entries)
			entries = guest_memory(size * sizeof(*entries));
		atomic_store_explicit(&handle_tables[table], entries, memory_order_release);
		*ret_table = table;
		return entries;
	}
	return NULL;
}

struct handle *handle_add(const void *object)
{
	struct handle *handle = handle_find(object), *entries;
	uint32_t table = 0;
	bool found;

	if (handle || !object)
		return handle;
	entries = table_with_room(&table);
	if (!entries) {
		guest_trouble(RING_TROUBLE_OBJECTS);
		return NULL;
	}
	handle = handle_probe(entries, HANDLE_FIRST_BITS + HANDLE_BITS_MORE * table,
			      (uintptr_t)object, &found);
	handles.used[table]++;
	atomic_store_explicit(&handle->key, (uintptr_t)object, memory_order_release);
	return handle;
}

uint32_t handle_give_id(const struct guest_thread *thread, struct handle *handle,
			_Atomic uint32_t *last)
{
	if (atomic_load(&handle->mode) == HANDLE_FORGOTTEN || handle->id_mode != thread->mode) {
		handle->id = atomic_fetch_add_explicit(last, 1, memory_order_relaxed) + 1;
		handle->id_mode = thread->mode;
		handle->signature = 0;
		atomic_store(&handle->mode, HANDLE_UNDESCRIBED);
	}
	return handle->id;
}

void handle_make_known(const struct guest_thread *thread, struct handle *handle)
{
	atomic_store_explicit(&handle->mode, thread->mode, memory_order_release);
}

static void set_mode(const void *object, enum handle_mode mode)
{
	struct handle *handle = handle_find(object);

	/* The entry keeps its structures; only their contents are outdated. */
	if (handle)
		atomic_store_explicit(&handle->mode, mode, memory_order_release);
}

void opencl_forget(const void *object)
{
	set_mode(object, HANDLE_FORGOTTEN);
}

void opencl_describe_again(const void *object)
{
	set_mode(object, HANDLE_UNDESCRIBED);
}

void *handle_memory(size_t bytes)
{
	return guest_pool_take(&handles.pool, bytes);
}
