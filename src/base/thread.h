/* SPDX-License-Identifier: MIT
 *
 * base/thread.h - threads of our own process that take work from the one that was there before
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Whether there is a processor for a second one. */
bool thread_has_processor(void);

/* Signals are the business of the thread that was there before. False: there is none. */
bool thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);

#endif
