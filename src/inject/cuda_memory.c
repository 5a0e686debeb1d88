/* SPDX-License-Identifier: MIT
 *
 * inject/cuda_memory.c - how much memory of the GPU, and of the host for it, a program has allocated
 *
 * Runs in:  the profiled process, on a thread of CUPTI's or the helper's
 * Gets:     records of allocations and releases   Gives: a counter of the bytes that are held, by device and kind
 * Owns:     the sums, and the sizes of what is allocated
 * Fails:    beyond 65536 allocations at a time: the others are left out, and counted
 * Why:      NVML tells of a process's memory ten times a second and of nothing smaller than 2 MiB; which call took it is
 *           what the calls' stacks say, at the same time. What was allocated before the recording began is not in it: a
 *           release of that is left out, so that no sum falls below 0.
 */
#include <string.h>

#include "inject/cuda.h"
#include "inject/describe.h"

/* FILLED_MOST: of places that are not free. All are put anew when so many are, which half as many releases as may live at a time
 * come before. */
enum { PLACES = 1 << 17, LIVE_MOST = PLACES / 2, FILLED_MOST = PLACES / 4 * 3 };

enum memory_kind { MEMORY_DEVICE, MEMORY_MANAGED, MEMORY_PINNED, MEMORY_KINDS };

static const char *const metrics[MEMORY_KINDS] = {
	[MEMORY_DEVICE] = "cuda.memory.device",
	[MEMORY_MANAGED] = "cuda.memory.managed",
	[MEMORY_PINNED] = "cuda.memory.pinned",
};

/* Of one allocation; an address of 0 is a free place, of 1 one that was released. */
struct place {
	uint64_t address, size_bytes;
	uint32_t device, kind;
};

static struct {
	struct guest_lock lock;
	struct place *places; /* PLACES */
	uint32_t count, live; /* places that are not free; allocations */
	uint32_t mode;        /* of the attachment */
	int64_t bytes[CUDA_DEVICES_MOST][MEMORY_KINDS];
} memory;

/* Where it is, or else the first free place on its way; NULL: the table is full of others. */
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

/* Released places make ways long: all are put anew. */
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
static bool remember(const struct place *allocated)
{
	struct place *place = find_place(allocated->address);

	/* Of the one before nobody told that it was released. */
	if (place && place->address) {
		*sum_of(place) -= (int64_t)place->size_bytes;
		*place = *allocated;
		return true;
	}
	if (memory.live == LIVE_MOST)
		return false;
	if (memory.count == FILLED_MOST) {
		forget_released();
		place = find_place(allocated->address);
	}
	if (!place || memory.count == FILLED_MOST)
		return false;
	memory.count++;
	memory.live++;
	*place = *allocated;
	return true;
}

/* What it was; false: it was allocated before, or left out. */
static bool forget(uint64_t address, struct place *ret_place)
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

static int kind_of(uint32_t kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
		return MEMORY_DEVICE;
	case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
		return MEMORY_MANAGED;
	case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
		return MEMORY_PINNED;
	default:
		return -1;
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

/* Under the lock. False: nothing has changed; else *ret_place is what came or went. */
static bool count(const struct cupti_activity_memory_operation *record, uint32_t mode,
		  struct place *ret_place)
{
	const int kind = kind_of(record->memory_kind);

	start_anew(mode);
	if (!memory.places || record->address <= 1)
		return false;
	/* A release is that of what was allocated, whatever is current in its thread. */
	if (record->operation_type == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE) {
		if (!forget(record->address, ret_place))
			return false;
		*sum_of(ret_place) -= (int64_t)ret_place->size_bytes;
		return true;
	}
	if (record->operation_type != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION || kind < 0 ||
	    record->device_id >= CUDA_DEVICES_MOST)
		return false;
	*ret_place = (struct place){record->address, record->size_bytes, record->device_id,
				    (uint32_t)kind};
	if (!remember(ret_place)) {
		guest_trouble(RING_TROUBLE_CUDA_MEMORY);
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
		guest_trouble(RING_TROUBLE_CUDA_MEMORY);
		return;
	}
	if (count(record, thread->mode, &place)) {
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
