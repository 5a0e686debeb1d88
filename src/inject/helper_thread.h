/* SPDX-License-Identifier: MIT
 *
 * inject/helper_thread.h - starts a thread of the guest in the profiled process, used only with
 * runtimes that have threads of their own
 */
#pragma once

#include <stdbool.h>

/* The thread is detached, and all signals are blocked in it. False: it could not be started. */
bool helper_thread_start(void *(*run)(void *argument));

/* The thread calls this first. Its creator may be bound to one CPU or be a real-time thread; a
 * helper with the same settings would take its CPU time. The kernel excludes processors outside the
 * process's cpuset; if it refuses, the settings stay. name: 15 characters at most. */
void helper_thread_become_ordinary(const char *name);
