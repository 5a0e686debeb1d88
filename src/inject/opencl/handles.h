/* SPDX-License-Identifier: MIT
 *
 * inject/opencl/handles.h - from an OpenCL handle to the guest's data for it
 *
 * Lookups take no lock: entries never move and are never freed. Every function that changes an
 * entry is called with handles_lock held, except handle_forget and handle_describe_again.
 */
#pragma once

#include "inject/handle_tables.h"
#include "inject/opencl/opencl.h"

#pragma GCC visibility push(hidden)

enum handle_mode {
	/* larger values: guest mode of the attachment that knows the object */
	HANDLE_UNDESCRIBED = 0,
	HANDLE_FORGOTTEN = 1 /* another object has the handle now */
};

struct handle {
	_Atomic uintptr_t key;
	_Atomic uint32_t mode; /* enum handle_mode, or the mode of an attachment */
	uint32_t id;
	uint32_t id_mode;   /* attachment in which the id was given out */
	uint32_t signature; /* hash of a described kernel's name and program; otherwise 0 */
	/* Separate pointers, because an address may be a device's now and a queue's or program's
	 * later. */
	struct opencl_queue *queue;
	struct opencl_device *device;
	struct opencl_program *program;
	cl_command_queue made_for; /* queue for which a command buffer was created */
};

extern struct handle_tables handle_tables;

/* NULL: the object was never seen. */
static inline struct handle *handle_find(const void *object)
{
	return handle_tables_find(&handle_tables, sizeof(struct handle), object);
}

static inline bool handle_is_known(const struct guest_thread *thread, const struct handle *handle)
{
	return atomic_load_explicit(&handle->mode, memory_order_acquire) == thread->mode;
}

/* NULL if this recorder does not know the object. */
static inline struct handle *handle_find_known(const struct guest_thread *thread,
					       const void *object)
{
	struct handle *handle = handle_find(object);

	return GUEST_LIKELY(handle && handle_is_known(thread, handle)) ? handle : NULL;
}

/* As opencl_device and similar functions in opencl.h. */
struct opencl_queue *opencl_meet_queue(struct guest_thread *thread, cl_command_queue handle);

static inline struct opencl_queue *opencl_queue(struct guest_thread *thread,
						cl_command_queue handle)
{
	struct handle *entry = handle_find_known(thread, handle);

	return GUEST_LIKELY(entry != NULL) ? entry->queue : opencl_meet_queue(thread, handle);
}

bool handles_lock(void);
void handles_unlock(void);
void handles_forked(void);

/* The object's entry, added if missing. NULL: no room, counted. */
struct handle *handle_add(const void *object);

/* Returns the id of an object that is not described; *last is increased for a new id. The id stays
 * the same until the description is written, because commands launched meanwhile refer to it.
 * Writing takes several attempts if the ring is full. */
uint32_t handle_give_id(const struct guest_thread *thread, struct handle *handle,
			_Atomic uint32_t *last);

/* Called when the description was written. */
void handle_make_known(const struct guest_thread *thread, struct handle *handle);

/* Returns zeroed memory for a structure that is never freed; NULL if memory is refused. */
void *handle_memory(size_t bytes);

#pragma GCC visibility pop
