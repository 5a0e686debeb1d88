/* SPDX-License-Identifier: MIT
 *
 * base/thread.c - worker threads of our own process
 *
 * Runs in:  our own process
 * Gets:     a function
 * Gives:    a thread that runs it
 * Owns:     nothing
 * Fails:    returns false; the caller then does the work itself
 * Why signals are blocked: the handlers (end of a recording, closed pipe) must run in the first
 *           thread.
 */
#include "base/thread.h"

#include <sched.h>
#include <signal.h>

bool thread_has_processor(void)
{
	cpu_set_t processors;

	return !sched_getaffinity(0, sizeof(processors), &processors) && CPU_COUNT(&processors) > 1;
}

bool thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !error;
}
