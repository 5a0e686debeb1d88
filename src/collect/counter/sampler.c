/* SPDX-License-Identifier: MIT
 *
 * collect/counter/sampler.c - a thread that ticks at a fixed interval and measures its own lateness
 *
 * Runs in:  the recorder: a thread for each group of sources
 * Gets:     an interval
 * Gives:    ticks, the lateness of each, the number of missed deadlines
 * Owns:     the thread
 * Fails:    if no thread can be started; a thread that hangs in the kernel is left alone at the end
 * Why:      Deadlines are absolute, because sleeping for the interval after each tick would give 95
 *           ticks per second instead of 100. After a stop the thread continues with the next future
 *           deadline, because catch-up ticks would all read the same values. It sleeps on a futex,
 *           because at 1000 Hz the wake-up is most of a tick's cost, and a condition variable needs
 *           two calls. Extra ticks run in its thread too, so that a file that hangs does not block
 *           the caller.
 */
#include "collect/counter/sampler.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "collect/host_clocks.h"
#include "collect/start/rights.h"

enum { SECOND_NS = 1000000000, PAUSE_NS = 500000 };
static const struct timespec nap = {.tv_nsec = PAUSE_NS};

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS),
				 .tv_nsec = (long)(ns % SECOND_NS)};
}

/* Called with the lock held; it is released during the sleep. */
static void sleep_until(struct sampler *sampler, const struct timespec *deadline)
{
	uint32_t changes = atomic_load(&sampler->changes);

	pthread_mutex_unlock(&sampler->lock);
	syscall(SYS_futex, &sampler->changes, FUTEX_WAIT_BITSET_PRIVATE, changes, deadline, NULL,
		FUTEX_BITSET_MATCH_ANY);
	pthread_mutex_lock(&sampler->lock);
}

static void wake(struct sampler *sampler)
{
	atomic_fetch_add(&sampler->changes, 1);
	syscall(SYS_futex, &sampler->changes, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void tick_extra(struct sampler *sampler)
{
	uint64_t wanted = sampler->extras_wanted;

	sampler->late_ns = 0;
	sampler->is_extra = true;
	sampler->options.tick(sampler->options.context);
	sampler->is_extra = false;
	atomic_store(&sampler->extras, wanted);
}

/* Sleeps until an absolute time of CLOCK_MONOTONIC, like clock_nanosleep, but sampler_stop wakes
 * it. If a tick took longer than the interval, other waiters get the lock first. */
static void wait_until(struct sampler *sampler, uint64_t deadline_ns)
{
	const uint64_t now_ns = host_clocks_now_ns();
	struct timespec deadline;

	if (deadline_ns <= now_ns)
		deadline_ns = now_ns + 2 * PAUSE_NS;
	deadline = timespec_of(host_clocks_deadline_ns(deadline_ns));
	while (!sampler->is_stopping && host_clocks_now_ns() < deadline_ns) {
		if (sampler->extras != sampler->extras_wanted)
			tick_extra(sampler);
		else
			sleep_until(sampler, &deadline);
	}
}

static void *run(void *argument)
{
	struct sampler *sampler = argument;
	uint64_t interval_ns = sampler->options.interval_ns, deadline_ns = host_clocks_now_ns();

	prctl(PR_SET_NAME, sampler->options.name);
	/* By default the kernel may wake a thread 50 us late to save power. */
	prctl(PR_SET_TIMERSLACK, 1);
	if (sampler->options.rights == RIGHTS_RECORDING)
		rights_keep_recording(false);
	else if (sampler->options.rights == RIGHTS_OBSERVING)
		rights_keep_observing();
	if (sampler->options.rights != RIGHTS_ALL)
		rights_enter_saved_user();
	pthread_mutex_lock(&sampler->lock);
	while (!sampler->is_stopping) {
		uint64_t late_ns = host_clocks_now_ns() - deadline_ns;

		sampler->late_ns = late_ns;
		sampler->overruns += late_ns / interval_ns;
		deadline_ns += (late_ns / interval_ns + 1) * interval_ns;
		sampler->options.tick(sampler->options.context);
		wait_until(sampler, deadline_ns);
	}
	pthread_mutex_unlock(&sampler->lock);
	return NULL;
}

int sampler_start(struct sampler *sampler, const struct sampler_options *options)
{
	*sampler = (struct sampler){.options = *options};
	pthread_mutex_init(&sampler->lock, NULL);
	/* The thread's id must be set before its first tick. */
	pthread_mutex_lock(&sampler->lock);
	sampler->is_running = thread_start(&sampler->thread, run, sampler);
	pthread_mutex_unlock(&sampler->lock);
	return sampler->is_running ? 0 : -EAGAIN;
}

/* Locks with a timeout. The wait uses CLOCK_REALTIME, which may jump, because ThreadSanitizer
 * supports no other timed lock. */
static bool lock_until(struct sampler *sampler, uint64_t end_ns)
{
	while (pthread_mutex_trylock(&sampler->lock)) {
		if (host_clocks_now_ns() >= end_ns)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

bool sampler_tick_now(struct sampler *sampler, uint64_t wait_ns)
{
	uint64_t end_ns = host_clocks_now_ns() + wait_ns, wanted;

	if (!sampler->is_running || !lock_until(sampler, end_ns))
		return false;
	wanted = ++sampler->extras_wanted;
	wake(sampler);
	pthread_mutex_unlock(&sampler->lock);
	while (atomic_load(&sampler->extras) < wanted) {
		if (host_clocks_now_ns() >= end_ns)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

bool sampler_stop(struct sampler *sampler, uint64_t wait_ns)
{
	if (!sampler->is_running)
		return true;
	if (!lock_until(sampler, host_clocks_now_ns() + wait_ns))
		return false;
	sampler->is_stopping = true;
	wake(sampler);
	pthread_mutex_unlock(&sampler->lock);
	pthread_join(sampler->thread, NULL);
	sampler->is_running = false;
	pthread_mutex_destroy(&sampler->lock);
	return true;
}

uint64_t sampler_cpu_ns(const struct sampler *sampler)
{
	struct timespec now;
	clockid_t clock;

	if (!sampler->is_running || pthread_getcpuclockid(sampler->thread, &clock) ||
	    clock_gettime(clock, &now))
		return 0;
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}
