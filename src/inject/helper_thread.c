/* SPDX-License-Identifier: MIT
 *
 * inject/helper_thread.c - starts a thread of the guest in the profiled process, used only with
 * runtimes that have threads of their own
 *
 * Runs in:  the profiled process
 * Gets:     the thread's function
 * Gives:    the thread
 * Owns:     nothing
 * Fails:    if no thread can be made
 */
#include "inject/helper_thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

bool helper_thread_start(void *(*run)(void *argument))
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	bool is_started;

	if (pthread_attr_init(&attributes) != 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	is_started = pthread_create(&thread, &attributes, run, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return is_started;
}

void helper_thread_become_ordinary(const char *name)
{
	const struct sched_param none = {0};
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setscheduler(0, SCHED_OTHER, &none);
	sched_setaffinity(0, sizeof(all), &all);
	prctl(PR_SET_NAME, name);
}
