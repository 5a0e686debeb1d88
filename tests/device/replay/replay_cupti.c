/* SPDX-License-Identifier: MIT
 *
 * tests/device/replay/replay_cupti.c - a libcupti that says again what one on a GPU said: a
 * capture, played to a tool
 *
 * Runs in:  tests/device/replay/replay.c, brought in by duet's guest, which DUET_CUPTI tells to
 *           take it
 * Gets:     REPLAY_CAPTURE, a file as tests/device/capture writes them
 * Gives:    its callbacks and its records
 * Owns:     the file's bytes, a thread for each that called
 * Fails:    with a line on stderr and status 1: a test with a wrong file must not pass
 * Why:      callbacks come in the order and from as many threads as they came; a record has the
 *           bytes that it had, but for its name, which is a pointer, and its times: they are as far
 *           from the call of its correlation now as they were from it then. So what a real library
 *           wrote goes through duet's own decoding, on a machine without a GPU.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../capture/capture.h"
#include "sim/nvidia/cupti_abi.h"

#define EXPORTED __attribute__((visibility("default")))

enum {
	CBIDS = 4096,
	KINDS = 128,
	CALLS = 1 << 20,
	MAX_THREADS = 256,
	NAME_BYTES = 25,
	DAY_S = 86400
};

/* A call, by its correlation id: when it came then, and now. */
struct call {
	uint64_t then_ns, now_ns;
};

static struct {
	const uint8_t *bytes;
	size_t size;
	struct capture_header header;
	cupti_callback_function callback;
	void *user;
	bool is_enabled[CBIDS];
	char names[CBIDS][NAME_BYTES];
	cupti_buffer_requested requested;
	cupti_buffer_completed completed;
	uint64_t latest_ns;    /* time in a record that was copied */
	size_t strides[KINDS]; /* of records, as the capture noted them; 0: none seen */
	struct call *calls;    /* CALLS */
	const char **symbols;  /* CALLS: of the kernel that a call launched */
} replay;

static void die(const char *text)
{
	fprintf(stderr, "replay: %s\n", text);
	_exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The next chunk behind *inout_at (0: the first); NULL: the file ends. */
static const struct capture_chunk *next_chunk(size_t *inout_at)
{
	const struct capture_chunk *chunk;

	if (!*inout_at)
		*inout_at = replay.header.header_bytes;
	if (*inout_at + sizeof(*chunk) > replay.size)
		return NULL;
	chunk = (const void *)(replay.bytes + *inout_at);
	if (chunk->bytes > replay.size - *inout_at - sizeof(*chunk))
		return NULL;
	*inout_at += sizeof(*chunk) + (chunk->bytes + 7) / 8 * 8;
	return chunk;
}

static void load(void)
{
	const char *path = getenv("REPLAY_CAPTURE");
	int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct stat about;

	if (file < 0 || fstat(file, &about) || about.st_size < (off_t)sizeof(replay.header))
		die("REPLAY_CAPTURE names no capture file");
	replay.size = (size_t)about.st_size;
	replay.bytes = mmap(NULL, replay.size, PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	if (replay.bytes == MAP_FAILED)
		die("no memory for the file");
	memcpy(&replay.header, replay.bytes, sizeof(replay.header));
	if (memcmp(replay.header.magic, CAPTURE_MAGIC, sizeof(replay.header.magic)) != 0 ||
	    replay.header.header_bytes > replay.size)
		die("REPLAY_CAPTURE names no capture file");
	replay.calls = calloc(CALLS, sizeof(*replay.calls));
	replay.symbols = calloc(CALLS, sizeof(*replay.symbols));
	if (!replay.calls || !replay.symbols)
		die("out of memory");
}

static void find_callbacks(void)
{
	const struct capture_chunk *chunk;

	for (size_t at = 0; (chunk = next_chunk(&at));) {
		const struct capture_callback *rows = (const void *)(chunk + 1);

		for (size_t i = 0;
		     chunk->type == CAPTURE_CALLBACKS && i < chunk->bytes / sizeof(*rows); i++)
			if (rows[i].domain == CUPTI_CB_DOMAIN_DRIVER_API &&
			    rows[i].callback_id < CBIDS)
				memcpy(replay.names[rows[i].callback_id], rows[i].name,
				       sizeof(rows[i].name));
	}
}

/* Facts are lines of KEY=VALUE; those of records are "stride.KIND=BYTES". */
static void read_strides(const char *at, const char *end)
{
	static const char key[] = "stride.";

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		unsigned int kind, bytes;
		char line[64] = "";

		line_end = line_end ? line_end : end;
		if ((size_t)(line_end - at) < sizeof(line))
			memcpy(line, at, (size_t)(line_end - at));
		if (!strncmp(line, key, sizeof(key) - 1) &&
		    sscanf(line + sizeof(key) - 1, "%u=%u", &kind, &bytes) == 2 && kind < KINDS)
			replay.strides[kind] = bytes;
		at = line_end + 1;
	}
}

static void find_strides(void)
{
	const struct capture_chunk *chunk;

	for (size_t at = 0; (chunk = next_chunk(&at));)
		if (chunk->type == CAPTURE_FACTS)
			read_strides((const char *)(chunk + 1),
				     (const char *)(chunk + 1) + chunk->bytes);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Bytes of a record in the file's version; 0: unknown. */
static size_t stride_of(uint32_t kind)
{
	static const struct {
		uint32_t kind, version, bytes;
	} sizes[] = {
#define SIZE(kind, version, bytes) {CUPTI_ACTIVITY_KIND_##kind, version, bytes},
		CUPTI_RECORD_SIZES(SIZE)
#undef SIZE
	};
	uint32_t wanted =
		kind == CUPTI_ACTIVITY_KIND_KERNEL ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL : kind;
	size_t bytes = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].kind == wanted && sizes[i].version <= replay.header.cupti_version)
			bytes = sizes[i].bytes;
	return bytes || kind >= KINDS ? bytes : replay.strides[kind];
}

static bool is_work(uint32_t kind)
{
	return kind == CUPTI_ACTIVITY_KIND_KERNEL ||
	       kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
	       kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_MEMCPY2 ||
	       kind == CUPTI_ACTIVITY_KIND_MEMSET || kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
}

/* Where a record of work has its parts. */
struct parts {
	size_t start, correlation, name; /* name 0: it has none */
};

static struct parts parts_of(uint32_t kind)
{
#define AT(type, member) offsetof(struct cupti_activity_##type, member)
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return (struct parts){AT(memcpy, start_ns), AT(memcpy, correlation_id), 0};
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return (struct parts){AT(memcpy_peer, start_ns), AT(memcpy_peer, correlation_id),
				      0};
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return (struct parts){AT(memset, start_ns), AT(memset, correlation_id), 0};
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		return (struct parts){AT(graph_trace, start_ns), AT(graph_trace, correlation_id),
				      0};
	default:
		return (struct parts){AT(kernel, start_ns), AT(kernel, correlation_id),
				      AT(kernel, name)};
	}
#undef AT
}

/* In the names behind the buffer; they are not ended by a zero there. */
static const char *find_name(const struct capture_chunk *names, uint64_t pointer)
{
	const uint8_t *at = (const void *)(names + 1);
	const uint8_t *end = at + (names->type == CAPTURE_NAMES ? names->bytes : 0);

	while (at + sizeof(struct capture_name) <= end) {
		const struct capture_name *name = (const void *)at;

		at += sizeof(*name);
		if (name->length > (size_t)(end - at))
			return "";
		if (name->pointer == pointer)
			return strndup((const char *)at, name->length);
		at += (name->length + 7) / 8 * 8;
	}
	return "";
}

/* Its times were CLOCK_MONOTONIC's, or CLOCK_REALTIME's. */
static void move_times(uint8_t *record, size_t start, uint32_t correlation)
{
	const struct call *call = &replay.calls[correlation % CALLS];
	const uint64_t real = replay.header.realtime_ns - replay.header.monotonic_ns;
	uint64_t times[2];

	memcpy(times, record + start, sizeof(times));
	for (int i = 0; i < 2; i++) {
		if (!times[i])
			continue;
		if (times[i] + (uint64_t)DAY_S * 1000000000u > replay.header.realtime_ns)
			times[i] -= real;
		times[i] += call->now_ns - call->then_ns;
		replay.latest_ns = times[i] > replay.latest_ns ? times[i] : replay.latest_ns;
	}
	memcpy(record + start, times, sizeof(times));
}

/* Writes what is played of a buffer into another; returns the bytes. learn: nothing is written,
 * only whose kernels they are. */
static size_t copy_records(const struct capture_chunk *chunk, const struct capture_chunk *names,
			   size_t *inout_at, uint8_t *to, size_t room, bool learn)
{
	const uint8_t *from = (const void *)(chunk + 1);
	size_t used = 0;

	while (*inout_at + sizeof(uint32_t) <= chunk->bytes) {
		uint32_t kind, correlation;
		struct parts parts;
		const char *name;
		uint64_t pointer;
		size_t stride;

		memcpy(&kind, from + *inout_at, sizeof(kind));
		stride = stride_of(kind);
		if (!stride || *inout_at + stride > chunk->bytes) {
			*inout_at = chunk->bytes;
			break;
		}
		if (!is_work(kind)) {
			*inout_at += stride;
			continue;
		}
		if (!learn && used + stride > room)
			break;
		parts = parts_of(kind);
		memcpy(&correlation, from + *inout_at + parts.correlation, sizeof(correlation));
		memcpy(&pointer, from + *inout_at + parts.name, sizeof(pointer));
		name = parts.name ? find_name(names, pointer) : NULL;
		if (learn) {
			if (name)
				replay.symbols[correlation % CALLS] = name;
			*inout_at += stride;
			continue;
		}
		memcpy(to + used, from + *inout_at, stride);
		move_times(to + used, parts.start, correlation);
		if (name)
			memcpy(to + used + parts.name, &name, sizeof(name));
		used += stride;
		*inout_at += stride;
	}
	return used;
}

/* A record comes after its command has ended. */
static void wait_for_latest(void)
{
	const struct timespec until = {.tv_sec = (time_t)(replay.latest_ns / 1000000000),
				       .tv_nsec = (long)(replay.latest_ns % 1000000000)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void each_buffer(bool learn)
{
	const struct capture_chunk *chunk, *names;

	for (size_t at = 0; (chunk = next_chunk(&at));) {
		size_t behind = at, done = 0;

		names = chunk->type == CAPTURE_ACTIVITY ? next_chunk(&behind) : NULL;
		while (names && done < chunk->bytes) {
			uint8_t *buffer = NULL;
			size_t bytes = 0, most = 0, used;

			if (!learn)
				replay.requested(&buffer, &bytes, &most);
			if (!learn && !buffer)
				die("no buffer");
			used = copy_records(chunk, names, &done, buffer, bytes, learn);
			if (learn)
				continue;
			wait_for_latest();
			replay.completed(NULL, 0, buffer, bytes, used);
		}
	}
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static struct player {
	pthread_t thread;
	uint32_t tid;
	sem_t turn, done;
	const struct capture_callback *row; /* NULL: it is over */
} players[MAX_THREADS];
static uint32_t player_count;

static void tell_call(const struct capture_callback *row)
{
	static _Thread_local uint64_t ours;
	const struct cupti_callback_data data = {
		.site = row->site,
		.function_name = replay.names[row->callback_id],
		.function_return_value = &(int){0},
		.symbol_name = replay.symbols[row->correlation_id % CALLS],
		.context = (CUcontext)(uintptr_t)(row->context_uid ? row->context_uid : 1),
		.context_id = row->context_uid,
		.correlation_data = &ours,
		.correlation_id = row->correlation_id,
	};
	struct call *call = &replay.calls[row->correlation_id % CALLS];

	replay.callback(replay.user, row->domain, row->callback_id, &data);
	/* After the guest has noted the call's begin: before it, a thread that was held up in
	 * between would show a command that started before its call. */
	if (row->site == CUPTI_API_ENTER)
		*call = (struct call){row->monotonic_ns, now_ns()};
}

static void tell_node(void)
{
	const struct cupti_resource_data data = {.context = (CUcontext)1};

	replay.callback(replay.user, CUPTI_CB_DOMAIN_RESOURCE,
			CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &data);
}

static void *play_turns(void *argument)
{
	struct player *player = argument;

	for (;;) {
		sem_wait(&player->turn);
		if (!player->row)
			return NULL;
		if (player->row->domain == CUPTI_CB_DOMAIN_RESOURCE)
			tell_node();
		else
			tell_call(player->row);
		sem_post(&player->done);
	}
}

static struct player *player_of(uint32_t tid)
{
	struct player *player = players;

	while (player < players + player_count && player->tid != tid)
		player++;
	if (player < players + player_count)
		return player;
	if (player_count == MAX_THREADS)
		die("too many threads");
	player_count++;
	player->tid = tid;
	sem_init(&player->turn, 0, 0);
	sem_init(&player->done, 0, 0);
	if (pthread_create(&player->thread, NULL, play_turns, player))
		die("no thread can be made");
	return player;
}

static bool is_played(const struct capture_callback *row)
{
	if (row->callback_id >= CBIDS)
		return false;
	if (row->domain == CUPTI_CB_DOMAIN_RESOURCE)
		return row->callback_id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED;
	return row->domain == CUPTI_CB_DOMAIN_DRIVER_API && replay.is_enabled[row->callback_id];
}

static void play_callbacks(void)
{
	const struct capture_chunk *chunk;

	for (size_t at = 0; (chunk = next_chunk(&at));) {
		const struct capture_callback *rows = (const void *)(chunk + 1);

		for (size_t i = 0;
		     chunk->type == CAPTURE_CALLBACKS && i < chunk->bytes / sizeof(*rows); i++) {
			struct player *player;

			if (!is_played(&rows[i]))
				continue;
			player = player_of(rows[i].tid);
			player->row = &rows[i];
			sem_post(&player->turn);
			sem_wait(&player->done);
		}
	}
}

static void end_players(void)
{
	for (uint32_t i = 0; i < player_count; i++) {
		players[i].row = NULL;
		sem_post(&players[i].turn);
		pthread_join(players[i].thread, NULL);
	}
}

EXPORTED int replay_play(void);
EXPORTED int replay_play(void)
{
	const struct cupti_resource_data context = {.context = (CUcontext)1};

	if (!replay.callback || !replay.requested)
		die("nobody subscribed, or wants records");
	each_buffer(true);
	replay.callback(replay.user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
			&context);
	play_callbacks();
	each_buffer(false);
	end_players();
	return 0;
}

/* ---- the library ----------------------------------------------------------------------------- */

#define FUNCTION(name, parameters)             \
	EXPORTED cupti_result name parameters; \
	EXPORTED cupti_result name parameters

FUNCTION(cuptiGetVersion, (uint32_t * ret_version))
{
	if (!replay.bytes)
		load();
	*ret_version = replay.header.cupti_version;
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiGetResultString, (cupti_result result, const char **ret_text))
{
	*ret_text = "replayed";
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiSubscribe,
	 (cupti_subscriber * ret_subscriber, cupti_callback_function callback, void *user))
{
	find_callbacks();
	find_strides();
	replay.callback = callback;
	replay.user = user;
	*ret_subscriber = (cupti_subscriber)&replay;
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiUnsubscribe, (cupti_subscriber subscriber))
{
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiEnableCallback,
	 (uint32_t enable, cupti_subscriber subscriber, cupti_domain domain, uint32_t cbid))
{
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < CBIDS)
		replay.is_enabled[cbid] = enable;
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiEnableDomain, (uint32_t enable, cupti_subscriber subscriber, cupti_domain domain))
{
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiGetCallbackName, (cupti_domain domain, uint32_t cbid, const char **ret_name))
{
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || cbid >= CBIDS || !replay.names[cbid][0])
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_name = replay.names[cbid];
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiActivityRegisterCallbacks,
	 (cupti_buffer_requested requested, cupti_buffer_completed completed))
{
	replay.requested = requested;
	replay.completed = completed;
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiActivityRegisterTimestampCallback, (cupti_timestamp_function function))
{
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiActivityEnable, (cupti_kind kind))
{
	return is_work(kind) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

FUNCTION(cuptiActivityDisable, (cupti_kind kind))
{
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiActivityGetNextRecord,
	 (uint8_t * buffer, size_t valid_bytes, struct cupti_activity **record))
{
	uint8_t *next = buffer;
	uint32_t kind;

	if (*record) {
		memcpy(&kind, *record, sizeof(kind));
		next = (uint8_t *)*record + stride_of(kind);
	}
	if (next >= buffer + valid_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (void *)next;
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiActivityGetNumDroppedRecords,
	 (CUcontext context, uint32_t stream_id, size_t *ret_count))
{
	*ret_count = 0;
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiActivityFlushAll, (uint32_t flag))
{
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiActivityGetAttribute, (cupti_attribute attribute, size_t *size, void *ret_value))
{
	return CUPTI_ERROR_NOT_SUPPORTED;
}

FUNCTION(cuptiActivitySetAttribute, (cupti_attribute attribute, size_t *size, void *value))
{
	return CUPTI_ERROR_NOT_SUPPORTED;
}

FUNCTION(cuptiGetTimestamp, (uint64_t * ret_ns))
{
	*ret_ns = now_ns();
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiGetContextId, (CUcontext context, uint32_t *ret_id))
{
	*ret_id = (uint32_t)(uintptr_t)context;
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiGetDeviceId, (CUcontext context, uint32_t *ret_id))
{
	*ret_id = 0;
	return CUPTI_SUCCESS;
}

FUNCTION(cuptiGetStreamIdEx,
	 (CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *ret_id))
{
	*ret_id = 7;
	return CUPTI_SUCCESS;
}
