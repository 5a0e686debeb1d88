/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa_helper.c - a thread that collects dispatches that no thread of the program waits
 * for
 *
 * Runs in:  a thread of our own in the profiled process, from the first tracked queue on
 * Gets:     a wake-up when it sleeps
 * Gives:    timestamps read soon after a dispatch has ended
 * Owns:     the thread
 * Fails:    if no thread can be created, the program's own calls collect dispatches; those that
 *           they miss stay in flight and are counted
 * Why:      polling a signal raises no interrupt and costs the device nothing. The polling must
 *           happen within a millisecond, so that little is lost with a program that is killed, and
 *           before the pool of signals is empty (after 4096 dispatches of 300 ns). The thread
 *           sleeps while nothing is pending, and takes none of the program's signals.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/amd/hsa.h"
#include "inject/helper_thread.h"

/* LOOK_NS: interval at which the packets of untracked queues are counted; only their write index
 * shows them. */
enum { NAP_LEAST_NS = 50000, NAP_MAX_NS = 1000000, IDLE_NAPS = 20, LOOK_NS = 20000000 };

enum helper_state { HELPER_AWAKE, HELPER_NAPS, HELPER_SLEEPS };

static struct {
	_Atomic uint32_t state; /* enum helper_state; a futex */
	_Atomic bool is_started, is_told_to_end, has_ended;
	/* the thread could not be created; `state` stays HELPER_SLEEPS */
	_Atomic bool is_missing;
	/* the runtime may be unloaded, so the helper no longer calls it */
	_Atomic bool is_abandoned;
	_Atomic uint64_t last_ms;
} helper;

static void wait_for_wake(uint32_t state, uint64_t nap_ns)
{
	struct timespec nap = {0, (long)nap_ns};

	syscall(SYS_futex, &helper.state, FUTEX_WAIT_PRIVATE, state, nap_ns ? &nap : NULL, NULL, 0);
}

static void wake_thread(void)
{
	int saved = errno;

	if (atomic_exchange(&helper.state, HELPER_AWAKE) != HELPER_AWAKE)
		syscall(SYS_futex, &helper.state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	errno = saved;
}

void hsa_helper_wake(void)
{
	if (!atomic_load(&helper.is_missing)) {
		wake_thread();
		return;
	}
	/* Reads the times of the commands that ended before this call. Later times are lost. */
	if (!guest_exit_has_begun()) {
		hsa_harvest(guest_enter());
		hsa_count_not_followed();
	}
}

bool hsa_helper_is_asleep(void)
{
	return atomic_load_explicit(&helper.state, memory_order_relaxed) == HELPER_SLEEPS;
}

/* The exchange orders both sides: commands pushed before it are seen here, and later pushers see
 * that the helper sleeps. */
static void sleep_until_woken(void)
{
	atomic_store(&helper.state, HELPER_SLEEPS);
	while (atomic_load(&helper.state) == HELPER_SLEEPS && !hsa_is_pending() &&
	       !atomic_load(&helper.is_told_to_end)) {
		wait_for_wake(HELPER_SLEEPS, hsa_any_not_followed() ? LOOK_NS : 0);
		hsa_count_not_followed();
	}
	atomic_store(&helper.state, HELPER_AWAKE);
}

static void sleep_ns(uint64_t nap_ns)
{
	atomic_store(&helper.state, HELPER_NAPS);
	if (!atomic_load(&helper.is_told_to_end))
		wait_for_wake(HELPER_NAPS, nap_ns);
	atomic_store(&helper.state, HELPER_AWAKE);
}

static void *run(void *unused)
{
	uint64_t nap_ns = NAP_LEAST_NS;
	uint32_t idle = 0;

	helper_thread_become_ordinary("duet-amd");
	prctl(PR_SET_TIMERSLACK, 1000);
	while (!atomic_load(&helper.is_told_to_end)) {
		struct guest_thread *thread = guest_enter();
		uint32_t count = hsa_harvest(thread);

		hsa_count_not_followed();
		if (thread)
			hsa_read_clock(thread, false);
		if (hsa_is_pending()) {
			nap_ns = count ? NAP_LEAST_NS : nap_ns * 2;
			sleep_ns(nap_ns < NAP_MAX_NS ? nap_ns : (nap_ns = NAP_MAX_NS));
			idle = 0;
		} else if (idle++ < IDLE_NAPS) {
			/* Stays awake for a while, so that a program with occasional dispatches
			 * need not wake it each time. */
			sleep_ns(NAP_LEAST_NS);
		} else {
			sleep_until_woken();
			idle = 0;
		}
	}
	if (!hsa_helper_is_abandoned())
		hsa_finish(atomic_load(&helper.last_ms));
	atomic_store(&helper.has_ended, true);
	return NULL;
}

bool hsa_helper_is_abandoned(void)
{
	return atomic_load(&helper.is_abandoned);
}

bool hsa_helper_start(void)
{
	int saved = errno;

	if (!atomic_load(&helper.is_started) && !atomic_exchange(&helper.is_started, true)) {
		atomic_store(&helper.is_told_to_end, false);
		atomic_store(&helper.has_ended, false);
		atomic_store(&helper.is_abandoned, false);
		atomic_store(&helper.is_missing, false);
		if (!helper_thread_start(run)) {
			atomic_store(&helper.has_ended, true);
			atomic_store(&helper.is_missing, true);
			atomic_store(&helper.state, HELPER_SLEEPS);
			guest_trouble(AMD_TROUBLE_NO_HELPER);
		}
	}
	errno = saved;
	return !atomic_load(&helper.has_ended);
}

bool hsa_helper_stop(uint64_t last_ms, uint64_t max_ms)
{
	static const struct timespec tick = {0, 100000};
	bool has_ended;

	if (!atomic_load(&helper.is_started))
		return true;
	atomic_store(&helper.last_ms, last_ms);
	atomic_store(&helper.is_told_to_end, true);
	wake_thread();
	for (uint64_t ticks = 0; ticks < 10 * max_ms && !atomic_load(&helper.has_ended); ticks++)
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &tick, NULL);
	has_ended = atomic_load(&helper.has_ended);
	/* A helper that has not ended may return, so a second one is not started. */
	if (has_ended)
		atomic_store(&helper.is_started, false);
	else
		atomic_store(&helper.is_abandoned, true);
	return has_ended;
}

void hsa_helper_forked(void)
{
	atomic_store(&helper.is_started, false);
	atomic_store(&helper.is_missing, false);
	atomic_store(&helper.state, HELPER_AWAKE);
}
