/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_activity.c - keeps activity buffers as they came
 *
 * Runs in:  the captured program: buffers come on CUPTI's thread, or on that which flushes
 * Gets:     buffers of records
 * Gives:    each buffer, the texts its records point to, counts
 * Owns:     the buffers, which are used again. Where all are in use, one is made that is thrown
 *           away with its records when it comes back, which is counted; what comes back and is not
 *           ours is not looked at
 * Fails:    by a fact
 * Why:      no lock is held while records are walked, as cuptiActivityGetNextRecord may wait for
 *           one of the library's that the thread holds which asks for a buffer
 */
#include "capture_agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BUFFER_BYTES = 1 << 20,
	SPARE_BYTES = 1 << 16,
	MAX_BUFFERS = 512,
	MAX_SPARES = 64,
	KINDS = 64,
	NAME_SLOTS = 1 << 14, /* of one buffer: a power of two, more than a buffer has records */
	MAX_NAMES = NAME_SLOTS / 2
};
#define LONGEST_NS INT64_C(100000000000)

enum owner { OURS, THEIRS, SPARE };
struct buffer {
	uint8_t *bytes;
	enum owner owner; /* THEIRS: the library has it */
};

/* What the records of some buffers were. */
struct counts {
	uint64_t records[KINDS], untimed[KINDS], unknown;
	uint64_t first_untimed;          /* which kernel record it was, from 1 */
	uint64_t strange, first_strange; /* kernels at impossible times */
	uint64_t last_start;
	uint32_t strides[KINDS];
};

/* Reads one buffer: its records, and the texts that they point to, by hash. */
struct walker {
	struct walker *next;
	struct counts counts;
	const char *slots[NAME_SLOTS];
	const char *found[MAX_NAMES];
	uint32_t name_count;
	char *bytes;
	size_t used, room;
};

static struct {
	pthread_mutex_t lock;
	struct buffer buffers[MAX_BUFFERS], spares[MAX_SPARES];
	uint32_t made_count;
	uint64_t requested_count, completed_count, empty_count, discarded_count, refused_count;
	uint64_t valid_bytes, written_count, unwritten_count;
	struct counts counts;
	struct walker *walkers; /* that are free */
	uint32_t file_buffers;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* For when there is no memory at all. */
static _Alignas(8) uint8_t last_resort[SPARE_BYTES];

/* ---- buffers --------------------------------------------------------------------------------- */

/* Under the lock. */
static uint8_t *take_buffer(uint32_t most)
{
	for (uint32_t i = 0; i < state.made_count; i++)
		if (state.buffers[i].owner == OURS) {
			state.buffers[i].owner = THEIRS;
			return state.buffers[i].bytes;
		}
	if (state.made_count < most && state.made_count < MAX_BUFFERS) {
		uint8_t *bytes = aligned_alloc(8, BUFFER_BYTES);

		if (bytes)
			state.buffers[state.made_count++] = (struct buffer){bytes, THEIRS};
		return bytes;
	}
	return NULL;
}

/* Under the lock: each its own, as the library writes to it until it gives it back. */
static uint8_t *make_spare(void)
{
	for (uint32_t i = 0; i < MAX_SPARES; i++)
		if (!state.spares[i].bytes) {
			state.spares[i] = (struct buffer){aligned_alloc(8, SPARE_BYTES), SPARE};
			return state.spares[i].bytes;
		}
	return NULL;
}

static void on_requested(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_max_record_count)
{
	uint8_t *buffer, *spare = NULL;

	*ret_max_record_count = 0;
	atomic_store(&capture_agent.is_awake, true);
	pthread_mutex_lock(&state.lock);
	state.requested_count++;
	buffer = take_buffer(capture_agent.options.buffer_limit);
	if (!buffer)
		spare = make_spare();
	pthread_mutex_unlock(&state.lock);
	*ret_buffer = buffer ? buffer : spare ? spare : last_resort;
	*ret_bytes = buffer ? BUFFER_BYTES : SPARE_BYTES;
}

/* The buffer at the address, of those that the library has; NULL: it is none of them. */
static struct buffer *find_buffer(const uint8_t *bytes)
{
	for (uint32_t i = 0; i < state.made_count; i++)
		if (state.buffers[i].bytes == bytes)
			return state.buffers[i].owner == THEIRS ? &state.buffers[i] : NULL;
	for (uint32_t i = 0; i < MAX_SPARES; i++)
		if (bytes && state.spares[i].bytes == bytes)
			return &state.spares[i];
	return NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

static struct walker *get_walker(void)
{
	struct walker *walker;

	pthread_mutex_lock(&state.lock);
	walker = state.walkers;
	if (walker)
		state.walkers = walker->next;
	pthread_mutex_unlock(&state.lock);
	if (!walker)
		return calloc(1, sizeof(*walker));
	memset(&walker->counts, 0, sizeof(walker->counts));
	memset(walker->slots, 0, sizeof(walker->slots));
	walker->name_count = 0;
	walker->used = 0;
	return walker;
}

static void put_walker(struct walker *walker)
{
	pthread_mutex_lock(&state.lock);
	walker->next = state.walkers;
	state.walkers = walker;
	pthread_mutex_unlock(&state.lock);
}

static void note_name(struct walker *walker, const char *name)
{
	uint64_t hash = ((uint64_t)(uintptr_t)name >> 3) * UINT64_C(0x9e3779b97f4a7c15);

	if (!name || walker->name_count == MAX_NAMES)
		return;
	for (uint32_t i = (uint32_t)(hash >> 40);; i++) {
		const char **slot = &walker->slots[i % NAME_SLOTS];

		if (*slot == name)
			return;
		if (!*slot) {
			*slot = name;
			walker->found[walker->name_count++] = name;
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

/* A kernel that ends before it starts, lasts too long, or starts far from the one before it in its
 * buffer. */
static void note_times(struct counts *counts, const uint64_t times[2])
{
	int64_t step = counts->last_start ? (int64_t)(times[0] - counts->last_start) : 0;

	if (times[1] >= times[0] && times[1] - times[0] < (uint64_t)LONGEST_NS &&
	    step < LONGEST_NS && step > -LONGEST_NS) {
		counts->last_start = times[0];
		return;
	}
	counts->strange++;
	if (!counts->first_strange)
		counts->first_strange = counts->records[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL];
}

static void note_record(struct walker *walker, const struct cupti_activity *record, uint32_t room)
{
	struct counts *counts = &walker->counts;
	uint32_t kind = record->kind;
	const uint64_t *times = (const uint64_t *)((const char *)record + 16);

	if (kind >= KINDS) {
		counts->unknown++;
		return;
	}
	counts->records[kind]++;
	for (uint32_t i = 0; i < sizeof(name_places) / sizeof(*name_places); i++)
		if (name_places[i].kind == kind && room >= name_places[i].bytes) {
			const char *name;

			memcpy(&name, (const char *)record + name_places[i].at, sizeof(name));
			note_name(walker, name);
		}
	if ((kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_MEMCPY ||
	     kind == CUPTI_ACTIVITY_KIND_MEMSET) &&
	    (times[0] == 0 || times[1] == 0)) {
		if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && !counts->first_untimed)
			counts->first_untimed = counts->records[kind];
		counts->untimed[kind]++;
	} else if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
		note_times(counts, times);
	}
}

/* Returns how many records there are. */
static uint64_t walk(struct agent *agent, struct walker *walker, uint8_t *buffer,
		     size_t valid_bytes)
{
	struct cupti_activity *record = NULL, *before = NULL;
	uint32_t *strides = walker->counts.strides;
	uint64_t count = 0;
	cupti_result result;

	while ((result = agent->cupti.call.cuptiActivityGetNextRecord(buffer, valid_bytes,
								      &record)) == 0) {
		uint32_t room = (uint32_t)((size_t)(buffer + valid_bytes - (uint8_t *)record));

		if (before && before->kind < KINDS)
			strides[before->kind] = (uint32_t)((char *)record - (char *)before);
		note_record(walker, record, room);
		before = record;
		count++;
	}
	if (before && before->kind < KINDS && !strides[before->kind])
		strides[before->kind] = (uint32_t)((char *)buffer + valid_bytes - (char *)before);
	if (result != CUPTI_ERROR_MAX_LIMIT_REACHED)
		capture_cupti_said(&agent->cupti, agent->file, "cuptiActivityGetNextRecord",
				   result);
	return count;
}

/* Under the lock. */
static void add_counts(const struct counts *more)
{
	struct counts *all = &state.counts;
	uint64_t kernels = all->records[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL];

	if (more->first_untimed && !all->first_untimed)
		all->first_untimed = kernels + more->first_untimed;
	if (more->first_strange && !all->first_strange)
		all->first_strange = kernels + more->first_strange;
	all->strange += more->strange;
	all->unknown += more->unknown;
	for (uint32_t kind = 0; kind < KINDS; kind++) {
		all->records[kind] += more->records[kind];
		all->untimed[kind] += more->untimed[kind];
		if (more->strides[kind])
			all->strides[kind] = more->strides[kind];
	}
	if (more->last_start)
		all->last_start = more->last_start;
}

static bool put(struct walker *walker, const void *data, size_t bytes)
{
	size_t padded = (bytes + 7) / 8 * 8;

	if (walker->used + padded > walker->room) {
		size_t room = (walker->used + padded) * 2;
		char *more = realloc(walker->bytes, room);

		if (!more)
			return false;
		walker->bytes = more;
		walker->room = room;
	}
	memset(walker->bytes + walker->used, 0, padded);
	memcpy(walker->bytes + walker->used, data, bytes);
	walker->used += padded;
	return true;
}

static void collect_names(struct walker *walker)
{
	for (uint32_t i = 0; i < walker->name_count; i++) {
		struct capture_name head = {.pointer = (uint64_t)(uintptr_t)walker->found[i],
					    .length = (uint32_t)strnlen(walker->found[i], 4096)};

		if (!put(walker, &head, sizeof(head)) ||
		    !put(walker, walker->found[i], head.length))
			break;
	}
}

/* The names belong to the buffer before them in the file, so nothing comes between the two. */
static void write_buffer(struct agent *agent, const struct walker *walker, const uint8_t *buffer,
			 size_t valid_bytes)
{
	static pthread_mutex_t in_order = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&in_order);
	capture_write(agent->file, CAPTURE_ACTIVITY, state.file_buffers,
		      &(struct capture_part){buffer, valid_bytes}, 1);
	capture_write(agent->file, CAPTURE_NAMES, state.file_buffers++,
		      &(struct capture_part){walker->bytes, walker->used}, 1);
	pthread_mutex_unlock(&in_order);
}

static void keep(struct agent *agent, uint8_t *buffer, size_t valid_bytes)
{
	struct walker *walker = get_walker();
	uint64_t count;
	bool written;

	if (!walker)
		return;
	pthread_mutex_lock(&state.lock);
	walker->counts.last_start = state.counts.last_start;
	pthread_mutex_unlock(&state.lock);
	count = walk(agent, walker, buffer, valid_bytes);
	pthread_mutex_lock(&state.lock);
	add_counts(&walker->counts);
	written = state.written_count < agent->options.record_limit;
	*(written ? &state.written_count : &state.unwritten_count) += count;
	state.valid_bytes += valid_bytes;
	pthread_mutex_unlock(&state.lock);
	if (written) {
		collect_names(walker);
		write_buffer(agent, walker, buffer, valid_bytes);
	}
	put_walker(walker);
}

static void on_completed(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t bytes,
			 size_t valid_bytes)
{
	struct agent *agent = &capture_agent;
	struct buffer *found;
	bool is_kept;

	pthread_mutex_lock(&state.lock);
	found = find_buffer(buffer);
	is_kept = found && found->owner == THEIRS;
	state.completed_count++;
	state.empty_count += !valid_bytes;
	state.discarded_count += buffer == last_resort || (found && found->owner == SPARE);
	state.refused_count += !found && buffer != last_resort;
	if (found && found->owner == SPARE) {
		free(found->bytes);
		found->bytes = NULL;
	}
	pthread_mutex_unlock(&state.lock);
	if (!is_kept)
		return;
	if (valid_bytes && valid_bytes <= BUFFER_BYTES && !atomic_load(&agent->is_over))
		keep(agent, buffer, valid_bytes);
	pthread_mutex_lock(&state.lock);
	found->owner = OURS;
	pthread_mutex_unlock(&state.lock);
}

/* ---- begin and end --------------------------------------------------------------------------- */

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
		if (!state.counts.records[kind])
			continue;
		snprintf(key, sizeof(key), "records.%u", kind);
		capture_fact(agent->file, key, "%llu",
			     (unsigned long long)state.counts.records[kind]);
		snprintf(key, sizeof(key), "stride.%u", kind);
		capture_fact(agent->file, key, "%u", state.counts.strides[kind]);
		if (!state.counts.untimed[kind])
			continue;
		snprintf(key, sizeof(key), "untimed.%u", kind);
		capture_fact(agent->file, key, "%llu",
			     (unsigned long long)state.counts.untimed[kind]);
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
		     "discarded %llu refused %llu made %u",
		     (unsigned long long)state.requested_count,
		     (unsigned long long)state.completed_count,
		     (unsigned long long)state.empty_count,
		     (unsigned long long)state.discarded_count,
		     (unsigned long long)state.refused_count, state.made_count);
	capture_fact(agent->file, "records_written", "%llu",
		     (unsigned long long)state.written_count);
	capture_fact(agent->file, "records_not_written", "%llu",
		     (unsigned long long)state.unwritten_count);
	capture_fact(agent->file, "records_of_unknown_kind", "%llu",
		     (unsigned long long)state.counts.unknown);
	capture_fact(agent->file, "record_bytes", "%llu", (unsigned long long)state.valid_bytes);
	if (state.counts.first_untimed)
		capture_fact(agent->file, "first_untimed_kernel", "%llu",
			     (unsigned long long)state.counts.first_untimed);
	if (state.counts.strange)
		capture_fact(agent->file, "strange_kernels", "%llu, the first is number %llu",
			     (unsigned long long)state.counts.strange,
			     (unsigned long long)state.counts.first_strange);
	pthread_mutex_unlock(&state.lock);
}
