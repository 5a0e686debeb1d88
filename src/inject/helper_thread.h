/* SPDX-License-Identifier: MIT
 *
 * inject/helper_thread.h - a thread of our own in the profiled process, where its runtime has threads anyway
 */
#ifndef INJECT_HELPER_THREAD_H
#define INJECT_HELPER_THREAD_H

#include <stdbool.h>

/* Nobody joins it, and it takes none of the program's signals. False: there is none. */
bool helper_thread_start(void *(*run)(void *argument));

/* First of all in the thread. What the thread that made it has chosen is for that one: beside it on one processor, or before
 * all others, the helper would take its time away. The kernel leaves out the processors that the process's cpuset has not;
 * where it refuses, all stays. name: 15 characters at most. */
void helper_thread_become_ordinary(const char *name);

#endif
