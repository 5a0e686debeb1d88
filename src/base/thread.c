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
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

bool thread_has_processor(void)
{
	cpu_set_t processors;

	return !sched_getaffinity(0, sizeof(processors), &processors) && CPU_COUNT(&processors) > 1;
}

/* struct sched_attr of <linux/sched/types.h>, which older headers lack. */
struct slice_attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice_ns, deadline_ns, period_ns;
};

enum { SLICE_NS = 100000 }; /* the shortest that the kernel grants */

void thread_shorten_slice(void)
{
	struct slice_attributes attributes = {.size = sizeof(attributes)};

	if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) ||
	    attributes.policy != SCHED_OTHER)
		return;
	attributes.slice_ns = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &attributes, 0);
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
