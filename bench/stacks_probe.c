/* SPDX-License-Identifier: MIT
 *
 * bench/stacks_probe.c - the guest's stacks, as a library that a Python program loads
 *
 *	stacks_take()           takes the caller's stack once; returns its cost in ns
 *	stacks_repeat(COUNT)    takes it COUNT times from one place; returns ns each, of the best of
 *	                        20 rounds
 *	stacks_clock()          what the two readings of the clock in stacks_take cost by
 *	                        themselves, ns
 *
 * The ring behind it is emptied whenever it is half full: what is measured is a guest whose
 * recorder keeps up.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "inject/guest.h"

#define EXPORTED __attribute__((visibility("default"), noinline))

enum { RING_BYTES = 8 << 20 };

struct guest_page guest_page = {.mode = GUEST_RECORDING};

static struct ring_control control;
static struct guest_thread *thread;

void guest_trouble(enum ring_trouble trouble)
{
	(void)trouble;
}

void guest_section_end(struct guest_thread *of, enum guest_section section, uint64_t begin)
{
	(void)of;
	(void)section;
	(void)begin;
}

void guest_python_unknown(const char *version)
{
	(void)version;
}

bool guest_still_recording(void)
{
	return true;
}

bool guest_lock(struct guest_lock *lock)
{
	atomic_store(&lock->taken, 1);
	return true;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void open_thread(void)
{
	thread = guest_memory(sizeof(*thread));
	thread->writer.control = &control;
	thread->writer.data = guest_memory(RING_BYTES);
	thread->writer.bytes = RING_BYTES;
	thread->mode = GUEST_RECORDING;
	thread->options = RING_OPTION_NATIVE | RING_OPTION_PYTHON;
	memset(thread->writer.data, 1, RING_BYTES);
}

EXPORTED double stacks_take(void);
EXPORTED double stacks_repeat(int count);
EXPORTED unsigned int stacks_ids(void);
EXPORTED double stacks_clock(void);

EXPORTED double stacks_take(void)
{
	uint64_t begin_ns;

	if (!thread)
		open_thread();
	atomic_store(&control.tail, thread->writer.head);
	begin_ns = now_ns();
	guest_take_stack(thread);
	return (double)(now_ns() - begin_ns);
}

EXPORTED double stacks_clock(void)
{
	uint64_t begin_ns = now_ns(), end_ns = now_ns();

	return (double)(end_ns - begin_ns);
}

EXPORTED double stacks_repeat(int count)
{
	double best = 1e9;

	if (!thread)
		open_thread();
	for (int round = 0; round < 20; round++) {
		uint64_t begin_ns = now_ns();
		double each;

		for (int i = 0; i < count; i++)
			guest_take_stack(thread);
		each = (double)(now_ns() - begin_ns) / count;
		best = each < best ? each : best;
	}
	return best;
}

EXPORTED unsigned int stacks_ids(void)
{
	return thread ? thread->stack : 0;
}
