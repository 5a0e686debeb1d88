/* SPDX-License-Identifier: MIT
 *
 * inject/cuda_helper.c - a thread that has CUPTI hand its buffers over
 *
 * Runs in:  a thread of our own in the profiled process, from the first context on
 * Gets:     nothing   Gives: buffers that are not full yet, at the latest after 100 ms; readings of the clock
 * Owns:     the thread
 * Fails:    where no thread can be had: buffers come when they are full, and at the end
 * Why:      CUPTI hands full buffers over by itself, and a program that is killed would lose what is in the others. A
 *           flush may never return, so that no thread of the program's does it: at the end the program waits for this
 *           one a second and no more, and a recorder that ends before it half of that.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/cuda.h"
#include "inject/helper_thread.h"

enum {
	FLUSH_MS = 100,
	LAST_MS = 100 /* for short commands to come to their end */,
	LAST_NAP_MS = 2,
	NODES_MOST = 200000 /* of graphs, in a second */
};

static struct {
	_Atomic uint32_t wake; /* a futex: grows */
	_Atomic bool is_started, is_told_to_end, has_ended;
	uint64_t nodes_most;      /* before it is started */
	_Atomic bool is_switched; /* launches of graphs are whole, or cannot be */
} helper;

static void nap(uint32_t wake, uint32_t ms)
{
	const struct timespec time = {0, (long)ms * 1000000};

	syscall(SYS_futex, &helper.wake, FUTEX_WAIT_PRIVATE, wake, &time, NULL, NULL, 0);
}

/* A record for each node of large graphs costs more than it tells, and their device buffers grow. */
static void watch_graphs(struct guest_thread *thread)
{
	static uint64_t last_nodes, last_ms;
	uint64_t nodes = cuda_nodes(), new_nodes = nodes - last_nodes, now_ms = ring_now_ms();
	cupti_result result;

	if (helper.is_switched || now_ms < last_ms + FLUSH_MS)
		return;
	if (last_ms && new_nodes > helper.nodes_most * (now_ms - last_ms) / 1000) {
		helper.is_switched = true;
		result = cuda_record_whole_graphs();
		if (result)
			cuda_refused(thread, REFUSED_PART, "cuptiActivityEnable(GRAPH_TRACE)",
				     result, "");
		else
			guest_trouble(RING_TROUBLE_CUDA_GRAPHS);
	}
	last_nodes = nodes;
	last_ms = now_ms;
}

/* Of what is not over nothing is asked for: it has no times. */
static void flush(void)
{
	struct guest_thread *thread = guest_enter();

	if (!thread)
		return;
	cuda_cupti.cuptiActivityFlushAll(0);
	cuda_count_dropped();
	/* At the end nothing is switched on any more. */
	if (!atomic_load(&helper.is_told_to_end))
		watch_graphs(thread);
	cuda_read_clock(thread, false);
}

/* Windows of sampling are shorter than what lies between two flushes. Gives ms to sleep. */
static uint32_t sample(void)
{
	struct guest_thread *thread = guest_enter();

	if (thread)
		return cuda_samples_turn(thread, FLUSH_MS);
	if (guest_is_idle())
		cuda_samples_rest();
	return FLUSH_MS;
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
	/* Graphs of which nothing came for long are looked after half as often: 200 ms is what a program that is killed
	 * may lose. */
	if (cuda_slots_are_open() || (is_odd && cuda_slots_have_graphs()))
		flush();
}

/* A recording ends before its program. Nothing new is recorded then, so that what is under way soon is none. */
static void hand_over_when_asked(void)
{
	struct guest_thread *thread = guest_is_asked_last() ? guest_enter() : NULL;
	uint64_t end_ms = ring_now_ms() + LAST_MS;

	if (!thread)
		return;
	cuda_calls_end(thread->mode);
	flush();
	while (cuda_slots_are_awaited() && ring_now_ms() < end_ms &&
	       !atomic_load(&helper.is_told_to_end)) {
		nap(atomic_load(&helper.wake), LAST_NAP_MS);
		flush();
	}
	sample();
	guest_give_last();
}

static void *run(void *unused)
{
	uint32_t wake, ms;

	(void)unused;
	helper_thread_become_ordinary("duet-cuda");
	while (!atomic_load(&helper.is_told_to_end)) {
		wake = atomic_load(&helper.wake);
		flush_when_due();
		hand_over_when_asked();
		ms = sample();
		if (!atomic_load(&helper.is_told_to_end))
			nap(wake, ms);
	}
	cuda_samples_end(guest_enter());
	flush();
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
	helper.nodes_most = asked ? strtoull(asked, NULL, 10) : 0;
	if (!helper.nodes_most)
		helper.nodes_most = NODES_MOST;
	if (!helper_thread_start(run))
		atomic_store(&helper.has_ended, true);
	offer_last();
	errno = saved;
}

bool cuda_helper_stop(uint64_t most_ms)
{
	static const struct timespec tick = {0, 100000};

	if (!atomic_load(&helper.is_started))
		return true;
	if (!atomic_exchange(&helper.is_told_to_end, true)) {
		atomic_fetch_add(&helper.wake, 1);
		syscall(SYS_futex, &helper.wake, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	}
	for (uint64_t end_ms = ring_now_ms() + most_ms;
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
