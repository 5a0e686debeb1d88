/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/overheads.c - the program's time that CUPTI and the driver spend, and its waits
 *
 * Runs in:  the profiled process, on a thread of CUPTI or the helper
 * Gets:     records of overhead and of waits
 * Gives:    a range of domain "CUPTI" each
 * Owns:     the first reading of both clocks
 * Fails:    by leaving one out while the two readings are too close to each other
 * Why:      a gap before a kernel that is due to loading code, or to a buffer of CUPTI, is not the
 *           program's fault but looks as if it were. Records have times of CLOCK_MONOTONIC, which
 *           the guest gave to CUPTI. Ranges have times of the ring's host clock. A time is
 *           converted by interpolation between two readings of both clocks.
 */
#include <string.h>
#include <time.h>

#include "inject/describe.h"
#include "inject/nvidia/cuda.h"

enum { APART_NS = 1000000 };

static struct {
	uint64_t monotonic_ns, guest;
	_Atomic uint32_t mode; /* attachment in which they were read */
	_Atomic uint64_t last_id;
} first;

static const struct {
	uint32_t kind;
	const char *name;
} names[] = {
	{CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER, "compiling for the GPU"},
	{CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, "flushing CUPTI's buffers"},
	{CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, "instrumenting code"},
	{CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, "CUPTI's own resources"},
	{CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING, "loading a module"},
	{CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, "loading a function at its first use"},
	{CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, "command buffer full"},
	{CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, "asking for a buffer"},
	{CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT, "beginning to watch unified memory"},
};

static const char *name_of(uint32_t kind)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].kind == kind)
			return names[i].name;
	return "other overhead";
}

static uint64_t read_monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void cuda_overheads_begin(const struct guest_thread *thread)
{
	/* Invalid during the update, because a thread of CUPTI may read it meanwhile. */
	atomic_store(&first.mode, 0);
	first.monotonic_ns = read_monotonic();
	first.guest = guest_now(thread);
	atomic_store(&first.mode, thread->mode);
}

bool cuda_to_guest(const struct guest_thread *thread, uint64_t time_ns, uint64_t *ret_time)
{
	uint64_t now_ns = read_monotonic(), now = guest_now(thread);
	int64_t since_ns = (int64_t)(time_ns - first.monotonic_ns);

	/* Never set if CUPTI uses its own clock. */
	if (first.mode != thread->mode)
		return false;
	if (thread->clock == RING_CLOCK_MONOTONIC) {
		*ret_time = time_ns;
		return true;
	}
	if (now_ns < first.monotonic_ns + APART_NS || time_ns > now_ns ||
	    since_ns < -(int64_t)(now_ns - first.monotonic_ns))
		return false;
	*ret_time = first.guest + (uint64_t)((__int128)since_ns * (int64_t)(now - first.guest) /
					     (int64_t)(now_ns - first.monotonic_ns));
	return true;
}

static void put_overhead_range(struct guest_thread *thread, uint32_t detail, uint64_t time,
			       uint64_t id, const char *name)
{
	struct record_range record = {
		.head = {.kind = EVENT_RANGE, .detail = RANGE_START | RANGE_OF_CUPTI << 8 | detail},
		.time = time,
		.id = id,
	};
	const char *texts[] = {"CUPTI", name};
	const struct guest_tail tail = {.texts = texts, .text_count = 2};

	guest_put_with_texts(thread, &record.head, offsetof(struct record_range, texts), &tail);
}

static void put_range(struct guest_thread *thread, uint64_t start_ns, uint64_t end_ns,
		      const char *name)
{
	uint64_t id = atomic_fetch_add(&first.last_id, 1) + 1, begin, end;

	if (end_ns < start_ns || !cuda_to_guest(thread, start_ns, &begin) ||
	    !cuda_to_guest(thread, end_ns, &end))
		return;
	put_overhead_range(thread, 0, begin, id, name);
	put_overhead_range(thread, RECORD_RANGE_END, end, id, "");
}

void cuda_take_overhead(struct guest_thread *thread, const struct cupti_activity_overhead *record)
{
	put_range(thread, record->start_ns, record->end_ns, name_of(record->overhead_kind));
}

void cuda_take_wait(struct guest_thread *thread,
		    const struct cupti_activity_synchronization *record)
{
	static const char *const waits[] = {
		[CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE] = "waiting for an event",
		[CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT] =
			"making a stream wait for an event",
		[CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE] = "waiting for a stream",
		[CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE] = "waiting for a context",
	};
	const size_t type = record->type;

	if (type && type < sizeof(waits) / sizeof(waits[0]))
		put_range(thread, record->start_ns, record->end_ns, waits[type]);
}
