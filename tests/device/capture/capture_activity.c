/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_activity.c - keeps activity buffers as they came
 *
 * Runs in:  the captured program: buffers come on CUPTI's thread, or on that which flushes
 * Gets:     buffers of records   Gives: each buffer, the texts its records point to, counts
 * Owns:     the buffers, which are used again; a program that outruns us gets one buffer for all, whose
 *           records are counted as lost
 * Fails:    by a fact
 */
#include "capture_agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BUFFER_BYTES = 1 << 20,
	BUFFERS_MOST = 512,
	KINDS = 64,
	NAME_SLOTS = 1 << 14, /* of one buffer: a power of two, more than a buffer has records */
	NAMES_MOST = NAME_SLOTS / 2
};
#define LONGEST_NS INT64_C(100000000000)

static struct {
	pthread_mutex_t lock;
	uint8_t *free[BUFFERS_MOST];
	uint32_t free_count, made_count;
	uint64_t requested_count, completed_count, empty_count, discarded_count, valid_bytes;
	uint64_t records[KINDS], untimed[KINDS], unknown_count;
	uint64_t first_untimed;                      /* which kernel record it was, from 1 */
	uint64_t strange, first_strange, last_start; /* kernels at impossible times */
	uint64_t written_count, unwritten_count;
	uint64_t dropped_count;
	uint32_t strides[KINDS];
	uint32_t file_buffers;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Alignas(8) uint8_t discard[1 << 16];

/* Texts of one buffer: pointers that were seen, by hash. Guarded by a lock of its own, as buffers complete on
 * several threads. */
static struct {
	pthread_mutex_t lock;
	const char *slots[NAME_SLOTS];
	const char *found[NAMES_MOST];
	uint32_t count;
	char *bytes;
	size_t used, room;
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_requested(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_max_record_count)
{
	uint8_t *buffer = NULL;

	*ret_max_record_count = 0;
	atomic_store(&capture_agent.is_awake, true);
	pthread_mutex_lock(&state.lock);
	state.requested_count++;
	if (state.free_count)
		buffer = state.free[--state.free_count];
	else if (state.made_count < BUFFERS_MOST && (buffer = aligned_alloc(8, BUFFER_BYTES)))
		state.made_count++;
	pthread_mutex_unlock(&state.lock);
	*ret_buffer = buffer ? buffer : discard;
	*ret_bytes = buffer ? BUFFER_BYTES : sizeof(discard);
}

static void note_name(const char *name)
{
	uint64_t hash = ((uint64_t)(uintptr_t)name >> 3) * UINT64_C(0x9e3779b97f4a7c15);

	if (!name || names.count == NAMES_MOST)
		return;
	for (uint32_t i = (uint32_t)(hash >> 40);; i++) {
		const char **slot = &names.slots[i % NAME_SLOTS];

		if (*slot == name)
			return;
		if (!*slot) {
			*slot = name;
			names.found[names.count++] = name;
			return;
		}
	}
}

/* Where a kind keeps its text, and the shortest record that has it. */
static const struct {
	uint32_t kind, at, bytes;
} name_places[] = {
	{CUPTI_ACTIVITY_KIND_KERNEL, offsetof(struct cupti_activity_kernel, name), 144},
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, offsetof(struct cupti_activity_kernel, name), 144},
	{CUPTI_ACTIVITY_KIND_DEVICE, offsetof(struct cupti_activity_device, name), 128},
	{CUPTI_ACTIVITY_KIND_MARKER, offsetof(struct cupti_activity_marker, name), 56},
	{CUPTI_ACTIVITY_KIND_NAME, offsetof(struct cupti_activity_name, name), 32},
	{CUPTI_ACTIVITY_KIND_FUNCTION, offsetof(struct cupti_activity_function, name), 32},
};

/* A kernel that ends before it starts, lasts too long, or starts far from the one before it. */
static void note_times(const uint64_t times[2])
{
	int64_t step = state.last_start ? (int64_t)(times[0] - state.last_start) : 0;

	if (times[1] >= times[0] && times[1] - times[0] < (uint64_t)LONGEST_NS &&
	    step < LONGEST_NS && step > -LONGEST_NS) {
		state.last_start = times[0];
		return;
	}
	state.strange++;
	if (!state.first_strange)
		state.first_strange = state.records[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL];
}

static void note_record(const struct cupti_activity *record, uint32_t room)
{
	uint32_t kind = record->kind;
	const uint64_t *times = (const uint64_t *)((const char *)record + 16);

	if (kind >= KINDS) {
		state.unknown_count++;
		return;
	}
	state.records[kind]++;
	for (uint32_t i = 0; i < sizeof(name_places) / sizeof(*name_places); i++)
		if (name_places[i].kind == kind && room >= name_places[i].bytes) {
			const char *name;

			memcpy(&name, (const char *)record + name_places[i].at, sizeof(name));
			note_name(name);
		}
	if ((kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_MEMCPY ||
	     kind == CUPTI_ACTIVITY_KIND_MEMSET) &&
	    (times[0] == 0 || times[1] == 0)) {
		if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && !state.first_untimed)
			state.first_untimed = state.records[kind];
		state.untimed[kind]++;
	} else if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
		note_times(times);
	}
}

/* Returns how many records there are. With state.lock and names.lock. */
static uint64_t walk(struct agent *agent, uint8_t *buffer, size_t valid_bytes)
{
	struct cupti_activity *record = NULL, *before = NULL;
	uint64_t count = 0;
	cupti_result result;

	while ((result = agent->cupti.call.cuptiActivityGetNextRecord(buffer, valid_bytes,
								      &record)) == 0) {
		uint32_t room = (uint32_t)((size_t)(buffer + valid_bytes - (uint8_t *)record));

		if (before && before->kind < KINDS)
			state.strides[before->kind] = (uint32_t)((char *)record - (char *)before);
		note_record(record, room);
		before = record;
		count++;
	}
	if (before && before->kind < KINDS && !state.strides[before->kind])
		state.strides[before->kind] =
			(uint32_t)((char *)buffer + valid_bytes - (char *)before);
	if (result != CUPTI_ERROR_MAX_LIMIT_REACHED)
		capture_cupti_said(&agent->cupti, agent->file, "cuptiActivityGetNextRecord",
				   result);
	return count;
}

static bool put(const void *data, size_t bytes)
{
	size_t padded = (bytes + 7) / 8 * 8;

	if (names.used + padded > names.room) {
		size_t room = (names.used + padded) * 2;
		char *more = realloc(names.bytes, room);

		if (!more)
			return false;
		names.bytes = more;
		names.room = room;
	}
	memset(names.bytes + names.used, 0, padded);
	memcpy(names.bytes + names.used, data, bytes);
	names.used += padded;
	return true;
}

static void write_names(struct agent *agent, uint32_t number)
{
	names.used = 0;
	for (uint32_t i = 0; i < names.count; i++) {
		struct capture_name head = {.pointer = (uint64_t)(uintptr_t)names.found[i],
					    .length = (uint32_t)strnlen(names.found[i], 4096)};

		if (!put(&head, sizeof(head)) || !put(names.found[i], head.length))
			break;
	}
	capture_write(agent->file, CAPTURE_NAMES, number,
		      &(struct capture_part){names.bytes, names.used}, 1);
}

static void keep(struct agent *agent, uint8_t *buffer, size_t valid_bytes)
{
	uint64_t count;
	uint32_t number;
	bool written;

	pthread_mutex_lock(&names.lock);
	memset(names.slots, 0, sizeof(names.slots));
	names.count = 0;
	pthread_mutex_lock(&state.lock);
	count = walk(agent, buffer, valid_bytes);
	written = state.written_count < agent->options.record_limit;
	*(written ? &state.written_count : &state.unwritten_count) += count;
	number = written ? state.file_buffers++ : 0;
	state.valid_bytes += valid_bytes;
	pthread_mutex_unlock(&state.lock);
	if (written) {
		capture_write(agent->file, CAPTURE_ACTIVITY, number,
			      &(struct capture_part){buffer, valid_bytes}, 1);
		write_names(agent, number);
	}
	pthread_mutex_unlock(&names.lock);
}

static void on_completed(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t bytes,
			 size_t valid_bytes)
{
	struct agent *agent = &capture_agent;

	if (valid_bytes && buffer != discard && !atomic_load(&agent->is_over))
		keep(agent, buffer, valid_bytes);
	pthread_mutex_lock(&state.lock);
	state.completed_count++;
	state.empty_count += !valid_bytes;
	state.discarded_count += buffer == discard;
	if (buffer != discard && state.free_count < BUFFERS_MOST)
		state.free[state.free_count++] = buffer;
	pthread_mutex_unlock(&state.lock);
}

static bool enable_kind(struct agent *agent, uint32_t kind)
{
	char call[64];

	snprintf(call, sizeof(call), "cuptiActivityEnable.%u", kind);
	return capture_cupti_said(&agent->cupti, agent->file, call,
				  agent->cupti.call.cuptiActivityEnable(kind));
}

static uint32_t enable_kinds(struct agent *agent)
{
	static const uint32_t usual[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					 CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
					 CUPTI_ACTIVITY_KIND_MEMSET};
	char copy[128], *rest = copy, *word;
	uint32_t count = 0;

	snprintf(copy, sizeof(copy), "%s", agent->options.kinds);
	while ((word = strsep(&rest, "+"))) {
		if (!strcmp(word, "default"))
			for (uint32_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
				count += enable_kind(agent, usual[i]);
		else if (atoi(word) > 0)
			count += enable_kind(agent, (uint32_t)atoi(word));
	}
	if (agent->options.has_graph_trace)
		count += enable_kind(agent, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	return count;
}

/* Before any kind is enabled, as the library makes its buffers then. */
static void limit_pool(struct agent *agent)
{
	size_t bytes = sizeof(size_t), limit = agent->options.pool_limit;

	if (limit)
		CUPTI_CALL(&agent->cupti, agent->file, cuptiActivitySetAttribute,
			   CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &limit);
	bytes = sizeof(limit);
	if (CUPTI_CALL(&agent->cupti, agent->file, cuptiActivityGetAttribute,
		       CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &limit))
		capture_fact(agent->file, "pool_limit", "%zu", limit);
}

bool capture_activity_start(struct agent *agent)
{
	struct capture_cupti *cupti = &agent->cupti;

	capture_stamp_register(cupti, agent->file, agent->options.stamp);
	CUPTI_CALL(cupti, agent->file, cuptiSetThreadIdType, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
	if (!CUPTI_CALL(cupti, agent->file, cuptiActivityRegisterCallbacks, on_requested,
			on_completed))
		return false;
	limit_pool(agent);
	agent->kind_count = enable_kinds(agent);
	capture_fact(agent->file, "kinds_enabled", "%u", agent->kind_count);
	return agent->kind_count > 0;
}

void capture_activity_flush(struct agent *agent, uint32_t flag)
{
	uint64_t begin_ns = capture_now_ns();
	char call[64];

	if (!agent->kind_count)
		return;
	snprintf(call, sizeof(call), "cuptiActivityFlushAll.%u", flag);
	capture_cupti_said(&agent->cupti, agent->file, call,
			   agent->cupti.call.cuptiActivityFlushAll(flag));
	if (atomic_load(&agent->is_exiting))
		capture_fact(agent->file, flag ? "flush_forced_ns" : "flush_ns", "%llu",
			     (unsigned long long)(capture_now_ns() - begin_ns));
}

static void kind_facts(struct agent *agent)
{
	char key[64];

	for (uint32_t kind = 0; kind < KINDS; kind++) {
		if (!state.records[kind])
			continue;
		snprintf(key, sizeof(key), "records.%u", kind);
		capture_fact(agent->file, key, "%llu", (unsigned long long)state.records[kind]);
		snprintf(key, sizeof(key), "stride.%u", kind);
		capture_fact(agent->file, key, "%u", state.strides[kind]);
		if (!state.untimed[kind])
			continue;
		snprintf(key, sizeof(key), "untimed.%u", kind);
		capture_fact(agent->file, key, "%llu", (unsigned long long)state.untimed[kind]);
	}
}

/* The drops are asked for without a lock: the library takes its own there. */
void capture_activity_facts(struct agent *agent)
{
	size_t dropped = 0;

	if (CUPTI_CALL(&agent->cupti, agent->file, cuptiActivityGetNumDroppedRecords, NULL, 0,
		       &dropped))
		capture_fact(agent->file, "dropped", "%zu", dropped);
	pthread_mutex_lock(&state.lock);
	kind_facts(agent);
	capture_fact(agent->file, "buffers",
		     "requested %llu completed %llu empty %llu "
		     "discarded %llu made %u",
		     (unsigned long long)state.requested_count,
		     (unsigned long long)state.completed_count,
		     (unsigned long long)state.empty_count,
		     (unsigned long long)state.discarded_count, state.made_count);
	capture_fact(agent->file, "records_written", "%llu",
		     (unsigned long long)state.written_count);
	capture_fact(agent->file, "records_not_written", "%llu",
		     (unsigned long long)state.unwritten_count);
	capture_fact(agent->file, "records_of_unknown_kind", "%llu",
		     (unsigned long long)state.unknown_count);
	capture_fact(agent->file, "record_bytes", "%llu", (unsigned long long)state.valid_bytes);
	if (state.first_untimed)
		capture_fact(agent->file, "first_untimed_kernel", "%llu",
			     (unsigned long long)state.first_untimed);
	if (state.strange)
		capture_fact(agent->file, "strange_kernels", "%llu, the first is number %llu",
			     (unsigned long long)state.strange,
			     (unsigned long long)state.first_strange);
	pthread_mutex_unlock(&state.lock);
}
