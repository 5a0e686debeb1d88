/* SPDX-License-Identifier: MIT
 *
 * lib/open_handles.h - the open handles of this process
 *
 * Runs in:  the user's program
 */
#pragma once

#include <stdint.h>

#pragma GCC visibility push(hidden)

struct duet;

/* As many handles as a process may have pthread keys. */
enum { MAX_OPEN_HANDLES = 1024, OPEN_HANDLES_NAME_BYTES = 20 };

/* Gives the handle an index in this process. Errors: -EAGAIN all are taken; -ENOSYS a kernel older
 * than 4.14. */
int open_handles_add(struct duet *duet, uint32_t *ret_place);

/* Takes the index from the handle, and its rings with it (handle_leave). Afterwards no thread that
 * ends uses the handle. */
void open_handles_remove(uint32_t place);

/* The name under which the handle with this index says hello to a recorder; the next handle with
 * this index uses the same name. */
void open_handles_name(uint32_t place, char ret_name[OPEN_HANDLES_NAME_BYTES]);

/* The recorder of this index has given new rings. One page of the old rings was kept, because a
 * recorder assumes that a process without that page has called exec. */
void open_handles_forget(uint32_t place);

/* For pthread_key_create: closes the ring of a thread that ends, unless its handle was closed
 * first. */
void open_handles_on_thread_exit(void *thread);

#pragma GCC visibility pop
