/* SPDX-License-Identifier: MIT
 *
 * base/thread.h - worker threads of our own process
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* Whether at least two processors are available, so that a second thread runs in parallel. */
bool thread_has_processor(void);

/* Asks the scheduler for short time slices, so that the calling thread gets a processor soon after
 * it was woken, also on a busy machine. No effect before Linux 6.12. */
void thread_shorten_slice(void);

/* Signals stay with the first thread. False: no thread was created. */
bool thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);
