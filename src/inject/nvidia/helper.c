/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/helper.c - a thread that makes CUPTI deliver its buffers
 *
 * Runs in:  a thread of our own in the profiled process, from the first context on
 * Gets:     nothing
 * Gives:    partly filled buffers, after 100 ms at the latest; readings of the clock
 * Owns:     the thread
 * Fails:    if no thread can be made: CUPTI then delivers buffers only when they are full, and at
 *           the end
 * Why:      CUPTI delivers full buffers by itself, but a program that is killed would lose the
 *           others. A flush may never return, so no thread of the program does it: at its end the
 *           program waits for this thread at most one second, and a recorder that ends earlier
 *           waits at most half a second.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/helper_thread.h"
#include "inject/nvidia/cuda.h"

enum {
	FLUSH_MS = 100,
	LAST_MS = 100 /* time for short commands to complete … */,
	EXIT_MS = 20 /* … and at the end of the program, which waits meanwhile */,
	LAST_NAP_MS = 2,
	MAX_NODES = 200000 /* graph nodes per second */
};

static struct {
	_Atomic uint32_t wake; /* a futex; only grows */
	_Atomic bool is_started, is_told_to_end, has_ended;
	uint64_t max_nodes;       /* written before the thread is started */
	_Atomic bool is_switched; /* graph launches are recorded as one, or that was refused */
} helper;

static void sleep_ms(uint32_t wake, uint32_t ms)
{
	const struct timespec time = {0, (long)ms * 1000000};

	syscall(SYS_futex, &helper.wake, FUTEX_WAIT_PRIVATE, wake, &time, NULL, NULL, 0);
}

/* Switches to one record per graph launch. A record for each node of large graphs costs more than
 * it is worth, and CUPTI's device buffers grow. */
static void watch_graphs(struct guest_thread *thread)
{
	static uint64_t last_nodes, last_ms;
	uint64_t nodes = cuda_nodes(), new_nodes = nodes - last_nodes, now_ms = ring_now_ms();
	cupti_result result;

	if (helper.is_switched || now_ms < last_ms + FLUSH_MS)
		return;
	if (last_ms && new_nodes > helper.max_nodes * (now_ms - last_ms) / 1000) {
		helper.is_switched = true;
		result = cuda_record_whole_graphs();
		if (result)
			cuda_refused(thread, REFUSED_PART, "cuptiActivityEnable(GRAPH_TRACE)",
				     result, "");
		else
			guest_trouble(NVIDIA_TROUBLE_GRAPHS);
	}
	last_nodes = nodes;
	last_ms = now_ms;
}

/* Without `is_last` CUPTI keeps a buffer in which a command has not completed. With it, CUPTI
 * delivers that buffer too; commands without times stay in flight. */
static void flush_activity(bool is_last)
{
	struct guest_thread *thread = guest_enter();

	if (!thread)
		return;
	cuda_activity_set_last(is_last);
	cuda_cupti.cuptiActivityFlushAll(is_last ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
	cuda_activity_set_last(false);
	cuda_count_dropped();
	/* Nothing is enabled any more at the end. */
	if (!atomic_load(&helper.is_told_to_end))
		watch_graphs(thread);
	cuda_read_clock(thread, false);
}

static void turn_samples(void)
{
	struct guest_thread *thread = guest_enter();

	if (thread)
		cuda_samples_turn(thread);
	else if (guest_is_idle())
		cuda_samples_rest();
}

static void flush_when_due(void)
{
	static uint64_t next_ms;
	static bool is_odd;
	uint64_t now_ms = ring_now_ms();

	if (now_ms < next_ms)
		return;
	next_ms = now_ms + FLUSH_MS;
	guest_still_recording();
	is_odd = !is_odd;
	/* Graphs without recent records are flushed half as often. A program that is killed may
	 * then lose 200 ms. */
	if (cuda_slots_are_open() || (is_odd && cuda_slots_have_graphs()))
		flush_activity(false);
}

/* Waits max_ms until short commands have completed, and takes what is left. is_end: the program
 * waits; otherwise its end stops the wait. */
static void flush_last(uint64_t max_ms, bool is_end)
{
	uint64_t end_ms = ring_now_ms() + max_ms;

	if (!guest_enter())
		return;
	flush_activity(false);
	while (cuda_slots_are_awaited() && ring_now_ms() < end_ms &&
	       (is_end || !atomic_load(&helper.is_told_to_end))) {
		sleep_ms(atomic_load(&helper.wake), LAST_NAP_MS);
		flush_activity(false);
	}
	if (cuda_slots_are_open())
		flush_activity(true);
}

/* A recording ends before its program. New calls are not recorded from then on, so that commands in
 * flight run out soon. */
static void hand_over_when_asked(void)
{
	struct guest_thread *thread = guest_is_asked_last() ? guest_enter() : NULL;

	if (!thread)
		return;
	cuda_calls_end(thread->mode);
	flush_last(LAST_MS, false);
	cuda_samples_last(thread);
	guest_give_last();
}

static void *run(void *unused)
{
	uint32_t wake;

	helper_thread_become_ordinary("duet-nvidia");
	while (!atomic_load(&helper.is_told_to_end)) {
		wake = atomic_load(&helper.wake);
		flush_when_due();
		hand_over_when_asked();
		turn_samples();
		if (!atomic_load(&helper.is_told_to_end))
			sleep_ms(wake, FLUSH_MS);
	}
	cuda_samples_end(guest_enter());
	flush_last(EXIT_MS, true);
	guest_give_last();
	atomic_store(&helper.has_ended, true);
	return NULL;
}

static void offer_last(void)
{
	if (!atomic_load(&helper.has_ended))
		guest_offer_last();
}

void cuda_helper_start(void)
{
	const char *asked = getenv("DUET_CUDA_NODES");
	int saved = errno;

	if (atomic_load(&helper.is_started) || atomic_exchange(&helper.is_started, true)) {
		offer_last();
		return;
	}
	helper.max_nodes = asked ? strtoull(asked, NULL, 10) : 0;
	if (!helper.max_nodes)
		helper.max_nodes = MAX_NODES;
	if (!helper_thread_start(run))
		atomic_store(&helper.has_ended, true);
	offer_last();
	errno = saved;
}

bool cuda_helper_stop(uint64_t max_ms)
{
	static const struct timespec tick = {0, 100000};

	if (!atomic_load(&helper.is_started))
		return true;
	if (!atomic_exchange(&helper.is_told_to_end, true)) {
		atomic_fetch_add(&helper.wake, 1);
		syscall(SYS_futex, &helper.wake, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	}
	for (uint64_t end_ms = ring_now_ms() + max_ms;
	     !atomic_load(&helper.has_ended) && ring_now_ms() < end_ms;)
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &tick, NULL);
	return atomic_load(&helper.has_ended);
}

void cuda_helper_watch_graphs(void)
{
	helper.is_switched = false;
}

void cuda_helper_reset(void)
{
	helper.is_switched = false;
	atomic_store(&helper.is_started, false);
	atomic_store(&helper.is_told_to_end, false);
	atomic_store(&helper.has_ended, false);
}
