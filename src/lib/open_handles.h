/* SPDX-License-Identifier: MIT
 *
 * lib/open_handles.h - which handles of this process are open
 *
 * Runs in:  the user's program
 */
#ifndef LIB_OPEN_HANDLES_H
#define LIB_OPEN_HANDLES_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

struct duet;

/* As many as a process may have keys for the rings of threads. */
enum { OPEN_HANDLES_MOST = 1024, OPEN_HANDLES_NAME_BYTES = 20 };

/* Gives the handle a place of its own in this process. Errors: -EAGAIN all are taken; -ENOSYS a kernel older than 4.14. */
int open_handles_add(struct duet *duet, uint32_t *ret_place);

/* Takes the place from the handle and the rings with it (handle_leave): afterwards no thread that ends looks at it. */
void open_handles_remove(uint32_t place);

/* As which the handle of this place says hello to a recorder; the next one there says the same. */
void open_handles_name(uint32_t place, char ret_name[OPEN_HANDLES_NAME_BYTES]);

/* The place's recorder has given new rings. Of those before, one page was kept: a recorder takes a process that has it no
 * more to have called exec. */
void open_handles_forget(uint32_t place);

/* For pthread_key_create: closes the ring of a thread that ends, unless its handle was closed first. */
void open_handles_on_thread_exit(void *thread);

#pragma GCC visibility pop

#endif
