/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero/handles.c - from a handle to the guest's data for it
 *
 * Runs in:  the profiled process; lookups on the hot path, the rest where objects are made and
 *           destroyed
 * Gets:     handles
 * Gives:    structures
 * Owns:     the tables and the structures, mapped on first use; a structure is reused, never freed
 * Fails:    with NULL if memory is refused or two million handles are known; counted
 * Why:      Objects are tracked from their creation on, also while no recorder is attached, because
 *           Level Zero has no query for a list's context or a kernel's group size.
 */
#include <string.h>

#include "inject/handle_tables.h"
#include "inject/level_zero/level_zero.h"

struct entry {
	_Atomic uintptr_t key;
	struct level_zero_object *_Atomic object; /* NULL: the object was destroyed */
};

static struct {
	struct guest_lock lock;
	struct handle_tables tables;
	struct guest_pool pool; /* for new structures */
	struct level_zero_object *free[LEVEL_ZERO_KINDS];
	uint64_t last_serial;
} handles;

static const size_t sizes[LEVEL_ZERO_KINDS] = {
	[LEVEL_ZERO_DEVICE] = sizeof(struct level_zero_device),
	[LEVEL_ZERO_CONTEXT] = sizeof(struct level_zero_context),
	[LEVEL_ZERO_QUEUE] = sizeof(struct level_zero_queue),
	[LEVEL_ZERO_LIST] = sizeof(struct level_zero_list),
	[LEVEL_ZERO_POOL] = sizeof(struct level_zero_pool),
	[LEVEL_ZERO_EVENT] = sizeof(struct level_zero_event),
	[LEVEL_ZERO_MODULE] = sizeof(struct level_zero_module),
	[LEVEL_ZERO_KERNEL] = sizeof(struct level_zero_kernel),
};

static struct entry *find_entry(ze_handle handle)
{
	return handle_tables_find(&handles.tables, sizeof(struct entry), handle);
}

void *level_zero_find(ze_handle handle, enum level_zero_kind kind)
{
	struct entry *entry = find_entry(handle);
	struct level_zero_object *object =
		entry ? atomic_load_explicit(&entry->object, memory_order_acquire) : NULL;

	return GUEST_LIKELY(object && object->kind == kind && level_zero_is_there(object)) ? object
											   : NULL;
}

/* The caller holds the lock. */
static void release_object(struct level_zero_object *object)
{
	object->next_free = handles.free[object->kind];
	handles.free[object->kind] = object;
}

/* The caller holds the lock. */
static struct level_zero_object *take_object(enum level_zero_kind kind)
{
	struct level_zero_object *object = handles.free[kind];

	if (!object)
		return guest_pool_take(&handles.pool, sizes[kind]);
	handles.free[kind] = object->next_free;
	memset(object, 0, sizes[kind]);
	return object;
}

/* The caller holds the lock. */
static void *put_handle(ze_handle handle, enum level_zero_kind kind)
{
	struct entry *entry = handle_tables_add(&handles.tables, sizeof(*entry), handle);
	struct level_zero_object *object = entry ? take_object(kind) : NULL, *before;

	if (!object)
		return NULL;
	object->handle = handle;
	object->kind = kind;
	atomic_store_explicit(&object->serial, ++handles.last_serial, memory_order_release);
	before = atomic_exchange_explicit(&entry->object, object, memory_order_acq_rel);
	/* The guest did not see this object's end. Lists may still refer to its structure, so the
	 * structure is never reused. */
	if (before)
		level_zero_mark_gone(before);
	return object;
}

void *level_zero_add(ze_handle handle, enum level_zero_kind kind)
{
	void *object = NULL;

	if (!handle)
		return NULL;
	if (guest_lock(&handles.lock)) {
		object = put_handle(handle, kind);
		guest_unlock(&handles.lock);
	}
	if (!object)
		guest_trouble(RING_TROUBLE_OBJECTS);
	return object;
}

void level_zero_remove(ze_handle handle, enum level_zero_kind kind, bool is_unused)
{
	struct entry *entry = find_entry(handle);
	struct level_zero_object *object = entry ? atomic_load(&entry->object) : NULL;

	if (!object || object->kind != kind)
		return;
	level_zero_mark_gone(object);
	if (!guest_lock(&handles.lock))
		return;
	if (atomic_load(&entry->object) == object) {
		atomic_store_explicit(&entry->object, NULL, memory_order_release);
		if (is_unused)
			release_object(object);
	}
	guest_unlock(&handles.lock);
}

void level_zero_handles_forked(void)
{
	atomic_store(&handles.lock.taken, 0);
}
