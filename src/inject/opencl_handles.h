/* SPDX-License-Identifier: MIT
 *
 * inject/opencl_handles.h - from an OpenCL handle to what the guest remembers of it
 *
 * Lookups take no lock: entries never move and are never given back. Everything that changes an entry is
 * called with handles_lock held, but for handle_forget and handle_describe_again.
 */
#ifndef INJECT_OPENCL_HANDLES_H
#define INJECT_OPENCL_HANDLES_H

#include "inject/opencl.h"

#pragma GCC visibility push(hidden)

/* Tables of growing size: the first holds all that an ordinary program has. */
enum { HANDLE_TABLES = 4, HANDLE_FIRST_BITS = 15, HANDLE_BITS_MORE = 2 };

enum handle_mode {
	HANDLE_UNDESCRIBED = 0, /* else the guest mode of the attachment that knows it */
	HANDLE_FORGOTTEN = 1    /* another object has the handle now */
};

struct handle {
	_Atomic uintptr_t key;
	_Atomic uint32_t mode; /* enum handle_mode, or of the attachment */
	uint32_t id;
	uint32_t id_mode;   /* of the attachment the id was given out in */
	uint32_t signature; /* of a described kernel's name and program, else 0 */
	/* Each of its own: an address may be a device now, a queue and a program later. */
	struct opencl_queue *queue;
	struct opencl_device *device;
	struct opencl_program *program;
	cl_command_queue made_for; /* of a command buffer */
};

extern struct handle *_Atomic handle_tables[HANDLE_TABLES];

/* The entry of a key in one table, or the free one where it would be put. */
static inline struct handle *handle_probe(struct handle *handles, uint32_t bits, uintptr_t key,
					  bool *ret_found)
{
	for (uint32_t i = (uint32_t)((key >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));;
	     i++) {
		struct handle *handle = &handles[i & ((1u << bits) - 1)];
		uintptr_t found = atomic_load_explicit(&handle->key, memory_order_acquire);

		if (found == key || found == 0) {
			*ret_found = found != 0;
			return handle;
		}
	}
}

/* NULL: never met. */
static inline struct handle *handle_find(const void *object)
{
	for (uint32_t table = 0; object && table < HANDLE_TABLES; table++) {
		struct handle *handles =
			atomic_load_explicit(&handle_tables[table], memory_order_acquire);
		struct handle *handle;
		bool found;

		if (!handles)
			return NULL;
		handle = handle_probe(handles, HANDLE_FIRST_BITS + HANDLE_BITS_MORE * table,
				      (uintptr_t)object, &found);
		if (GUEST_LIKELY(found))
			return handle;
	}
	return NULL;
}

static inline bool handle_is_known(const struct guest_thread *thread, const struct handle *handle)
{
	return atomic_load_explicit(&handle->mode, memory_order_acquire) == thread->mode;
}

/* NULL where this recorder does not know the object. */
static inline struct handle *handle_find_known(const struct guest_thread *thread,
					       const void *object)
{
	struct handle *handle = handle_find(object);

	return GUEST_LIKELY(handle && handle_is_known(thread, handle)) ? handle : NULL;
}

/* As opencl_device and the like, in opencl.h. */
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

/* The object's entry, made where there is none. NULL: no room, counted. */
struct handle *handle_add(const void *object);

/* The id of an object that is not known, the next of *last where it has none. It stays the same until the
 * description is written, which takes several attempts where the ring is full: what was launched
 * meanwhile refers to it. */
uint32_t handle_give_id(const struct guest_thread *thread, struct handle *handle,
			_Atomic uint32_t *last);

/* Its description was written. */
void handle_make_known(const struct guest_thread *thread, struct handle *handle);

/* Zeroed memory for a structure that is never given back; NULL where it is refused. */
void *handle_memory(size_t bytes);

#pragma GCC visibility pop

#endif
