/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero/objects.h - ids of objects
 *
 * Shared by objects.c and code.c only.
 */
#pragma once

#include "inject/level_zero/level_zero.h"

#pragma GCC visibility push(hidden)

/* The lock for ids and descriptions. False: it was not available, which is counted. */
bool level_zero_lock_objects(void);
void level_zero_unlock_objects(void);

/* The caller holds the lock. The id stays the same until the description is written, which takes
 * several attempts if the ring is full. */
static inline void level_zero_give_id(const struct guest_thread *thread,
				      struct level_zero_object *object, _Atomic uint32_t *last)
{
	if (object->id_mode == thread->mode)
		return;
	object->id = atomic_fetch_add_explicit(last, 1, memory_order_relaxed) + 1;
	object->id_mode = thread->mode;
	object->failed = 0;
}

static inline void level_zero_make_described(const struct guest_thread *thread,
					     struct level_zero_object *object)
{
	atomic_store_explicit(&object->mode, thread->mode, memory_order_release);
}

#pragma GCC visibility pop
