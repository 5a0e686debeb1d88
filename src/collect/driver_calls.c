/* SPDX-License-Identifier: MIT
 *
 * collect/driver_calls.c - calls of GPUs' drivers by threads whose own stacks a guest tells
 *
 * Runs in:  the recorder
 * Gets:     calls of drivers, then calls of runtimes   Gives: stacks that lead from the one to the other
 * Owns:     the latest 1024 calls of each thread
 * Fails:    without memory, and of more than 1024 threads: a stack ends in its runtime
 * Why:      a submission that waits for a later call, or is another thread's, was not made by who launched: only what
 *           lies within a call by its times is of it, and of nothing else is guessed.
 */
#include "collect/driver_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/kernel_frames.h"
#include "collect/recording.h"
#include "event/kernel_record.h"

struct call_way {
	size_t count;
	uint64_t addresses[KERNEL_FRAMES_MOST];
	uint32_t frames[KERNEL_FRAMES_MOST]; /* the trace's */
};

struct kept_call {
	uint64_t enter_ns, exit_ns;
	size_t way;
};

/* A ring, of which `first` to before `end` are there; both count on. */
struct calling_thread {
	struct kept_call all[DRIVER_CALLS_MOST];
	uint64_t first, end;
};

void driver_calls_fini(struct driver_calls *calls)
{
	size_t cursor = 0;
	uint64_t value;

	if (!calls)
		return;
	while (hash_map_next(&calls->threads, &cursor, NULL, &value))
		free((void *)(uintptr_t)value);
	hash_map_fini(&calls->threads);
	free(calls->ways);
}

/* ---- ways -------------------------------------------------------------------------------------- */

static bool is_way(const struct call_way *way, const uint64_t *addresses, size_t count)
{
	return way->count == count &&
	       memcmp(way->addresses, addresses, count * sizeof(*addresses)) == 0;
}

/* There are few, and mostly it is the one before. -1: no memory, or too many. */
static int find_way(struct driver_calls *calls, struct kernel_frames *frames,
		    const uint64_t *addresses, size_t count, size_t *ret_way)
{
	struct call_way *way;

	if (calls->ways_last < calls->ways_count &&
	    is_way(&calls->ways[calls->ways_last], addresses, count)) {
		*ret_way = calls->ways_last;
		return 0;
	}
	for (size_t i = 0; i < calls->ways_count; i++)
		if (is_way(&calls->ways[i], addresses, count)) {
			*ret_way = calls->ways_last = i;
			return 0;
		}
	if (calls->ways_count == DRIVER_CALLS_WAYS ||
	    array_grow(calls->ways, calls->ways_capacity, calls->ways_count + 1))
		return -1;
	way = &calls->ways[calls->ways_count];
	way->count = count;
	memcpy(way->addresses, addresses, count * sizeof(*addresses));
	/* where calls return to is one instruction too far */
	for (size_t i = 0; i < count; i++)
		way->frames[i] = kernel_frames_at(frames, addresses[i] - (i > 0));
	*ret_way = calls->ways_last = calls->ways_count++;
	return 0;
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct calling_thread *thread_of(struct driver_calls *calls, uint32_t tid)
{
	struct calling_thread *thread = hash_map_find_pointer(&calls->threads, tid);

	if (thread || calls->threads.count >= DRIVER_CALLS_THREADS)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (thread && hash_map_put_pointer(&calls->threads, tid, thread)) {
		free(thread);
		return NULL;
	}
	return thread;
}

void driver_calls_put(struct driver_calls *calls, const struct driver_call *call,
		      struct kernel_frames *frames, const uint64_t *addresses, size_t count)
{
	struct calling_thread *thread;
	size_t way;

	if (!count || count > KERNEL_FRAMES_MOST)
		return;
	thread = thread_of(calls, call->tid);
	if (!thread || find_way(calls, frames, addresses, count, &way))
		return;
	if (thread->end - thread->first == DRIVER_CALLS_MOST)
		thread->first++;
	thread->all[thread->end++ % DRIVER_CALLS_MOST] =
		(struct kept_call){call->enter_ns, call->exit_ns, way};
}

static const struct call_way *find(const struct driver_calls *calls, const struct driver_call *call)
{
	struct calling_thread *thread = hash_map_find_pointer(&calls->threads, call->tid);
	const struct kept_call *kept;

	if (!thread)
		return NULL;
	for (; thread->first < thread->end; thread->first++) {
		kept = &thread->all[thread->first % DRIVER_CALLS_MOST];
		if (kept->exit_ns > call->exit_ns)
			return NULL;
		/* several things may be launched in one call: it stays until a later one is asked for */
		if (kept->enter_ns >= call->enter_ns)
			return &calls->ways[kept->way];
	}
	return NULL;
}

uint32_t driver_calls_extend(struct recording *recording, const struct driver_call *call,
			     uint32_t stack)
{
	struct driver_calls *calls = &recording->driver_calls;
	const struct call_way *way;

	if (!stack || !recording->submissions.catch_up)
		return stack;
	if (calls->read_ns <= call->exit_ns)
		recording->submissions.catch_up(recording->submissions.context);
	way = find(calls, call);
	for (size_t i = way ? way->count : 0; i-- > 0;)
		stack = recording_stack(recording, stack, way->frames[i]);
	return stack;
}

static uint64_t find_old(const struct driver_calls *calls, uint64_t before_ns)
{
	size_t cursor = 0;
	uint64_t tid, value;

	while (hash_map_next(&calls->threads, &cursor, &tid, &value)) {
		const struct calling_thread *thread = (const void *)(uintptr_t)value;

		if (thread->all[(thread->end - 1) % DRIVER_CALLS_MOST].exit_ns < before_ns)
			return tid;
	}
	return 0;
}

void driver_calls_sweep(struct driver_calls *calls, uint64_t before_ns)
{
	uint64_t tid, value = 0;

	while ((tid = find_old(calls, before_ns))) {
		hash_map_remove(&calls->threads, tid, &value);
		free((void *)(uintptr_t)value);
	}
}
