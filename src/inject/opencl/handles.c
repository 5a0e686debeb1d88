/* SPDX-License-Identifier: MIT
 *
 * inject/opencl/handles.c - the tables of handles
 *
 * Runs in:  the profiled process; lookups on the hot path, the rest once per object
 * Gets:     OpenCL handles
 * Gives:    entries
 * Owns:     the tables and the structures behind them, mapped on first use, never freed
 * Fails:    with NULL if memory is refused or two million handles are known; counted
 */
#include "inject/opencl/handles.h"

struct handle_tables handle_tables;

static struct {
	struct guest_lock lock;
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

struct handle *handle_add(const void *object)
{
	struct handle *handle = handle_tables_add(&handle_tables, sizeof(*handle), object);

	if (object && !handle)
		guest_trouble(RING_TROUBLE_OBJECTS);
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
