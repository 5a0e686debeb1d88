/* SPDX-License-Identifier: MIT
 *
 * collect/guest/driver_calls.c - stores driver calls, and extends the stacks of the runtime calls
 * that made them
 *
 * Runs in:  the recorder
 * Gets:     driver calls from the eBPF programs, then runtime calls from guests
 * Gives:    stacks that lead from the program through the runtime into the driver
 * Owns:     the latest 1024 driver calls of each thread
 * Fails:    without memory, or beyond 1024 threads, a stack ends in the runtime
 * Why:      A runtime may submit a launch in a later call or in another thread, and then the
 *           launching call did not make the driver call. So a driver call belongs to a runtime call
 *           only if the same thread made it and its times lie within. All other driver calls extend
 *           no stack.
 */
#include "collect/guest/driver_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/recording.h"
#include "collect/stack/kernel_frames.h"
#include "event/kernel_record.h"

struct call_way {
	size_t count;
	uint64_t addresses[MAX_KERNEL_FRAMES];
	uint32_t frames[MAX_KERNEL_FRAMES]; /* ids of the trace */
};

struct kept_call {
	uint64_t enter_ns, exit_ns;
	size_t way;
};

/* A ring buffer. `first` and `end` count up; the entries from `first` to before `end` are valid. */
struct calling_thread {
	struct kept_call all[MAX_DRIVER_CALLS];
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

/* ---- ways ------------------------------------------------------------------------------------ */

static bool is_way(const struct call_way *way, const uint64_t *addresses, size_t count)
{
	return way->count == count &&
	       memcmp(way->addresses, addresses, count * sizeof(*addresses)) == 0;
}

/* Finds or adds a list of kernel frames. There are few, and the next call mostly uses the same one.
 * -1: no memory, or the table is full. */
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
	/* A return address is one instruction too far; subtracting 1 gives the calling one. */
	for (size_t i = 0; i < count; i++)
		way->frames[i] = kernel_frames_at(frames, addresses[i] - (i > 0));
	*ret_way = calls->ways_last = calls->ways_count++;
	return 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* NULL: no memory, or too many threads. */
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

	if (!count || count > MAX_KERNEL_FRAMES)
		return;
	thread = thread_of(calls, call->tid);
	if (!thread || find_way(calls, frames, addresses, count, &way))
		return;
	if (thread->end - thread->first == MAX_DRIVER_CALLS)
		thread->first++;
	thread->all[thread->end++ % MAX_DRIVER_CALLS] =
		(struct kept_call){call->enter_ns, call->exit_ns, way};
}

static const struct call_way *find_call_way(const struct driver_calls *calls,
					    const struct driver_call *call)
{
	struct calling_thread *thread = hash_map_find_pointer(&calls->threads, call->tid);
	const struct kept_call *kept;

	if (!thread)
		return NULL;
	for (; thread->first < thread->end; thread->first++) {
		kept = &thread->all[thread->first % MAX_DRIVER_CALLS];
		if (kept->exit_ns > call->exit_ns)
			return NULL;
		/* One call may launch several commands, so the driver call stays until a later
		 * launch is asked for. */
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
	way = find_call_way(calls, call);
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

		if (thread->all[(thread->end - 1) % MAX_DRIVER_CALLS].exit_ns < before_ns)
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
