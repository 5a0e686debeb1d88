/* SPDX-License-Identifier: MIT
 *
 * inject/opencl_handles.c - the tables of handles
 *
 * Runs in:  the profiled process; lookups on the hot path, the rest once per object
 * Gets:     OpenCL handles   Gives: entries
 * Owns:     the tables and the structures behind them, mapped on first use, never given back
 * Fails:    with NULL where memory is refused or three million handles are known; counted
 * Why:      a lookup is one hash and one compare, 2-3 ns; it can do without a lock because nothing moves:
 *           a full table gets a larger one beside it instead of a larger one in its place.
 */
#include "inject/opencl_handles.h"

struct handle *_Atomic handle_tables[HANDLE_TABLES];

static struct {
	struct guest_lock lock;
	uint32_t used[HANDLE_TABLES];
	char *pool; /* structures are cut from here */
	size_t pool_left;
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

/* The smallest that has room. */
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

	/* The entry stays, with its structures: only what was known of it is void. */
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
	enum { PIECE = 65536 };
	void *taken;

	bytes = (bytes + 15) & ~(size_t)15;
	if (handles.pool_left < bytes) {
		handles.pool = guest_memory(PIECE);
		handles.pool_left = handles.pool ? PIECE : 0;
		if (!handles.pool)
			return NULL;
	}
	taken = handles.pool;
	handles.pool += bytes;
	handles.pool_left -= bytes;
	return taken;
}
