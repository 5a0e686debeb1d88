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
	_Atomic uint32_t last_id;
	_Atomic bool has_threads;
} first;

static const struct {
	uint32_t kind;
	const char *name;
	bool is_profiler; /* CUPTI's for the recording; the driver has the others in any case */
} names[] = {
	{CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER, "compiling for the GPU"},
	{CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, "flushing CUPTI's buffers", true},
	{CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, "instrumenting code", true},
	{CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, "CUPTI's own resources", true},
	{CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING, "loading a module"},
	{CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, "loading a function at its first use"},
	{CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, "command buffer full"},
	{CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, "asking for a buffer", true},
	{CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT, "beginning to watch unified memory", true},
};

/* Colour, type and bits of the payload are 0; see struct record_range. */
static const char profiler[] = "00000000"
			       "0"
			       "0000000000000000" RANGE_CATEGORY_PROFILER;

_Static_assert(sizeof(profiler) == RECORD_ATTRIBUTES_BYTES + sizeof(RANGE_CATEGORY_PROFILER),
	       "digits before the category");

struct cupti_range {
	uint64_t start_ns, end_ns;
	const char *name;
	uint32_t tid; /* 0: not known */
	bool is_profiler;
};

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

void cuda_overheads_name_threads(bool has_threads)
{
	atomic_store(&first.has_threads, has_threads);
}

static void put_overhead_range(struct guest_thread *thread, uint32_t detail, uint64_t time,
			       uint64_t id, const char *name)
{
	struct record_range record = {
		.head = {.kind = EVENT_RANGE, .detail = RANGE_START | RANGE_OF_CUPTI << 8 | detail},
		.time = time,
		.id = id,
	};
	const char *texts[] = {"CUPTI", name, profiler};
	const struct guest_tail tail = {.texts = texts,
					.text_count = detail & RECORD_RANGE_ATTRIBUTES ? 3 : 2};

	guest_put_with_texts(thread, &record.head, offsetof(struct record_range, texts), &tail);
}

static void put_range(struct guest_thread *thread, const struct cupti_range *range)
{
	const uint64_t id =
		(uint64_t)range->tid << 32 | (uint32_t)(atomic_fetch_add(&first.last_id, 1) + 1);
	uint64_t begin, end;

	if (range->end_ns < range->start_ns || !cuda_to_guest(thread, range->start_ns, &begin) ||
	    !cuda_to_guest(thread, range->end_ns, &end))
		return;
	put_overhead_range(thread, range->is_profiler ? RECORD_RANGE_ATTRIBUTES : 0, begin, id,
			   range->name);
	put_overhead_range(thread, RECORD_RANGE_END, end, id, "");
}

void cuda_take_overhead(struct guest_thread *thread, const struct cupti_activity_overhead *record)
{
	struct cupti_range range = {
		.start_ns = record->start_ns, .end_ns = record->end_ns, .name = "other overhead"};

	if (first.has_threads && record->object_kind == CUPTI_ACTIVITY_OBJECT_THREAD)
		range.tid = record->object.thread.thread_id;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].kind != record->overhead_kind)
			continue;
		range.name = names[i].name;
		range.is_profiler = names[i].is_profiler;
	}
	put_range(thread, &range);
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
		put_range(thread, &(struct cupti_range){.start_ns = record->start_ns,
							.end_ns = record->end_ns,
							.name = waits[type]});
}
