/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/memory.c - a program's allocated memory on the GPU, and on the host for it
 *
 * Runs in:  the profiled process, on a thread of CUPTI or the helper
 * Gets:     records of allocations and releases
 * Gives:    a counter of the allocated bytes, by device and kind
 * Owns:     the sums, and the sizes of allocations
 * Fails:    beyond 65536 allocations at a time: the others are left out, and counted
 * Why:      NVML reports a process's memory ten times a second and in steps of 2 MiB; CUPTI's
 *           records have the exact size and time, and the stacks of the calls at that time show
 *           which call allocated the memory. Allocations from before the recording are not
 *           included: their releases are ignored, so that no sum falls below 0.
 */
#include <string.h>

#include "inject/describe.h"
#include "inject/nvidia/cuda.h"

/* MAX_FILLED: limit of entries in use, released ones included. The table is rebuilt when it is
 * reached, which takes at least half as many releases as allocations may live at a time. */
enum { PLACES = 1 << 17, MAX_LIVE = PLACES / 2, MAX_FILLED = PLACES / 4 * 3 };

static const char *const metrics[MEMORY_COUNT] = {
	[MEMORY_DEVICE] = "cuda.memory.device",
	[MEMORY_MANAGED] = "cuda.memory.managed",
	[MEMORY_PINNED] = "cuda.memory.pinned",
};

/* One allocation. address 0: free entry; 1: a released allocation. */
struct place {
	uint64_t address, size_bytes;
	uint32_t device, kind;
};

static struct {
	struct guest_lock lock;
	struct place *places; /* PLACES entries */
	uint32_t count, live; /* count: entries in use, released ones included; live: allocations */
	uint32_t mode;        /* attachment */
	int64_t bytes[MAX_CUDA_DEVICES][MEMORY_COUNT];
} memory;

/* Returns the allocation's entry, or the first free entry where it would be. NULL: the table is
 * full. */
static struct place *find_place(uint64_t address)
{
	uint64_t i = address * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	for (uint32_t tries = 0; tries < PLACES; tries++, i++) {
		struct place *place = &memory.places[i % PLACES];

		if (!place->address || place->address == address)
			return place;
	}
	return NULL;
}

/* Released entries make searches long, so the table is rebuilt without them. */
static void forget_released(void)
{
	struct place *old = memory.places;

	memory.places = guest_memory(PLACES * sizeof(*memory.places));
	if (!memory.places) {
		memory.places = old;
		return;
	}
	memory.count = 0;
	for (uint32_t i = 0; i < PLACES; i++) {
		if (old[i].address <= 1)
			continue;
		*find_place(old[i].address) = old[i];
		memory.count++;
	}
	guest_memory_free(old, PLACES * sizeof(*old));
}

static int64_t *sum_of(const struct place *place)
{
	return &memory.bytes[place->device][place->kind];
}

/* False: there is no room. */
static bool add_allocation(const struct place *allocated)
{
	struct place *place = find_place(allocated->address);

	/* The release of the previous allocation at this address was not recorded. */
	if (place && place->address) {
		*sum_of(place) -= (int64_t)place->size_bytes;
		*place = *allocated;
		return true;
	}
	if (memory.live == MAX_LIVE)
		return false;
	if (memory.count == MAX_FILLED) {
		forget_released();
		place = find_place(allocated->address);
	}
	if (!place || memory.count == MAX_FILLED)
		return false;
	memory.count++;
	memory.live++;
	*place = *allocated;
	return true;
}

/* ret_place: the allocation. False: it was allocated before the recording, or was left out. */
static bool remove_allocation(uint64_t address, struct place *ret_place)
{
	struct place *place = find_place(address);

	if (!place || !place->address)
		return false;
	*ret_place = *place;
	place->address = 1;
	memory.live--;
	return true;
}

static void start_anew(uint32_t mode)
{
	if (memory.mode == mode)
		return;
	memory.mode = mode;
	memory.count = memory.live = 0;
	if (memory.places)
		guest_memory_free(memory.places, PLACES * sizeof(*memory.places));
	memory.places = guest_memory(PLACES * sizeof(*memory.places));
	memset(memory.bytes, 0, sizeof(memory.bytes));
}

static enum event_memory kind_of(uint32_t kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
		return MEMORY_DEVICE;
	case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
		return MEMORY_MANAGED;
	case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
		return MEMORY_PINNED;
	default:
		return MEMORY_UNKNOWN;
	}
}

static void put_counter(struct guest_thread *thread, uint32_t device, const char *metric,
			uint64_t time, int64_t value)
{
	struct record_counter record = {
		.head = {.kind = EVENT_COUNTER, .detail = device}, .time = time, .value = value};
	const char *texts[] = {metric, "bytes"};
	const struct guest_tail tail = {.texts = texts, .text_count = 2};

	guest_put_with_texts(thread, &record.head, offsetof(struct record_counter, texts), &tail);
}

/* The caller holds the lock. ret_place: the allocation that was added or removed. False: nothing
 * has changed. */
static bool count_operation(const struct cupti_activity_memory_operation *record, uint32_t mode,
			    struct place *ret_place)
{
	const enum event_memory kind = kind_of(record->memory_kind);

	start_anew(mode);
	if (!memory.places || record->address <= 1)
		return false;
	/* A release counts for the device of its allocation, whichever device is current in the
	 * thread. */
	if (record->operation_type == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE) {
		if (!remove_allocation(record->address, ret_place))
			return false;
		*sum_of(ret_place) -= (int64_t)ret_place->size_bytes;
		return true;
	}
	if (record->operation_type != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION || !kind ||
	    record->device_id >= MAX_CUDA_DEVICES)
		return false;
	*ret_place = (struct place){record->address, record->size_bytes, record->device_id, kind};
	if (!add_allocation(ret_place)) {
		guest_trouble(NVIDIA_TROUBLE_MEMORY);
		return false;
	}
	*sum_of(ret_place) += (int64_t)record->size_bytes;
	return true;
}

void cuda_take_memory(struct guest_thread *thread,
		      const struct cupti_activity_memory_operation *record)
{
	struct place place;
	uint32_t device;
	uint64_t time;

	if (!cuda_to_guest(thread, record->timestamp_ns, &time))
		time = guest_now(thread);
	if (!guest_lock(&memory.lock)) {
		guest_trouble(NVIDIA_TROUBLE_MEMORY);
		return;
	}
	if (count_operation(record, thread->mode, &place)) {
		device = cuda_device(thread, place.device);
		cuda_device_here(thread, device);
		put_counter(thread, device, metrics[place.kind], time, *sum_of(&place));
	}
	guest_unlock(&memory.lock);
}

void cuda_memory_forked(void)
{
	guest_unlock(&memory.lock);
}
