/* SPDX-License-Identifier: MIT
 *
 * symbol/jit/jitdump.c - names of JIT code from jit-PID.dump
 *
 * Runs in:  the recorder
 * Gets:     a file that the profiled program wrote (version 1 of perf's format)
 * Gives:    names by address and time
 * Owns:     the names, and the times at which code was at an address
 * Fails:    -EPROTO, -ENOTSUP, -ENOMEM; a damaged record is left out
 * Why with times: runtimes reuse addresses within milliseconds, and the newest function at an
 *           address is often not the one that ran at the time of the sample
 */
#include "symbol/jit/jitdump.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/hash.h"

#define MAGIC         0x4a695444u /* "JiTD" */
#define MAGIC_SWAPPED 0x4454694au
#define VERSION       1
#define HEAD_BYTES    40
#define RECORD_BYTES  16
#define LOAD_BYTES    (RECORD_BYTES + 40) /* before the name */
#define MOVE_BYTES    (RECORD_BYTES + 48)
#define CPU_CLOCK     1 /* in the flags */
#define KEPT_LIMIT    ((size_t)16 << 20)
#define NAME_LIMIT    ((uint32_t)4096)

enum record_kind { RECORD_LOAD, RECORD_MOVE, RECORD_DEBUG_INFO, RECORD_CLOSE };

/* A load of code at `start`, or a move from `old` to there. */
struct record {
	uint64_t time, start, old, size, id;
	const char *name; /* NULL: a move */
	size_t order;     /* in the file */
};

/* Code at an address from one time until another. */
struct stay {
	uint64_t start, end, from, until;
	uint64_t reach; /* the largest end up to this entry, in order of starts */
	const char *name;
	uint64_t id; /* numbered by the runtime */
	size_t order;
};

struct jitdump {
	struct arena names;
	bool has_cpu_clock;
	struct record *records;
	size_t record_count, record_capacity, kept_bytes;
	struct stay *stays; /* sorted by start */
	size_t stay_count, stay_capacity;
	struct hash_map newest; /* address -> the newest stay that starts there, while loading */
};

/* ---- the file -------------------------------------------------------------------------------- */

/* Reads a file through a window, from its start to its end. */
struct window {
	int fd;
	uint8_t *bytes;
	uint64_t at, most;
	size_t size;
};

enum { WINDOW_BYTES = 1 << 18 };

/* `size` bytes at an offset; NULL if the file ends before, or cannot be read. */
static const uint8_t *window_bytes(struct window *window, uint64_t at, size_t size)
{
	ssize_t got;

	if (at + size > window->most)
		return NULL;
	if (at >= window->at && at + size <= window->at + window->size)
		return window->bytes + (at - window->at);
	got = pread(window->fd, window->bytes, WINDOW_BYTES, (off_t)at);
	window->at = at;
	window->size = got > 0 ? (size_t)got : 0;
	return window->size >= size ? window->bytes : NULL;
}

struct loading {
	struct jitdump *dump;
	struct window window;
	const uint64_t *addresses;
	size_t count;
	struct hash_map moved; /* ids of code that moved to one of the wanted addresses */
	bool has_moved;
};

static bool is_wanted(const struct loading *loading, uint64_t start, uint64_t size)
{
	size_t low = LOWER_BOUND(loading->count, i, loading->addresses[i] < start);

	return low < loading->count && loading->addresses[low] - start < size;
}

static int keep_record(struct jitdump *dump, const struct record *record, size_t bytes)
{
	if (array_grow(dump->records, dump->record_capacity, dump->record_count + 1))
		return -ENOMEM;
	dump->records[dump->record_count] = *record;
	dump->records[dump->record_count].order = dump->record_count;
	dump->record_count++;
	dump->kept_bytes += bytes;
	return 0;
}

/* pid, tid, address of the section, address, size, index, name, code */
static int keep_load(struct loading *loading, uint64_t at, uint32_t size)
{
	struct jitdump *dump = loading->dump;
	const uint8_t *head =
		size >= LOAD_BYTES ? window_bytes(&loading->window, at, LOAD_BYTES) : NULL;
	uint32_t room = size - LOAD_BYTES < NAME_LIMIT ? size - LOAD_BYTES : NAME_LIMIT;
	struct record record;
	const char *name, *end;

	if (!head || dump->kept_bytes > KEPT_LIMIT)
		return 0;
	record = (struct record){.time = word_at(head, 8),
				 .start = word_at(head, RECORD_BYTES + 16),
				 .size = word_at(head, RECORD_BYTES + 24),
				 .id = word_at(head, RECORD_BYTES + 32)};
	if (!is_wanted(loading, record.start, record.size) &&
	    !hash_map_find(&loading->moved, record.id))
		return 0;
	head = window_bytes(&loading->window, at, LOAD_BYTES + room);
	name = head ? (const char *)head + LOAD_BYTES : NULL;
	end = name ? memchr(name, '\0', room) : NULL;
	if (!end)
		return 0;
	record.name = arena_copy(&dump->names, name, (size_t)(end - name));
	return record.name ? keep_record(dump, &record, LOAD_BYTES + (size_t)(end - name))
			   : -ENOMEM;
}

/* pid, tid, address of the section, old address, new one, size, index */
static int keep_move(struct loading *loading, uint64_t at, uint32_t size)
{
	const uint8_t *head =
		size >= MOVE_BYTES ? window_bytes(&loading->window, at, MOVE_BYTES) : NULL;
	struct record record;

	if (!head)
		return 0;
	record = (struct record){.time = word_at(head, 8),
				 .old = word_at(head, RECORD_BYTES + 16),
				 .start = word_at(head, RECORD_BYTES + 24),
				 .size = word_at(head, RECORD_BYTES + 32),
				 .id = word_at(head, RECORD_BYTES + 40)};
	if (is_wanted(loading, record.start, record.size)) {
		loading->has_moved = true;
		if (hash_map_put(&loading->moved, record.id, 1))
			return -ENOMEM;
	}
	if (loading->dump->kept_bytes > KEPT_LIMIT)
		return 0;
	return keep_record(loading->dump, &record, MOVE_BYTES);
}

static int read_head(struct loading *loading, uint64_t *ret_at)
{
	const uint8_t *head = window_bytes(&loading->window, 0, HEAD_BYTES);

	if (!head || (half_at(head, 0) != MAGIC && half_at(head, 0) != MAGIC_SWAPPED))
		return -EPROTO;
	if (half_at(head, 0) == MAGIC_SWAPPED || half_at(head, 4) != VERSION)
		return -ENOTSUP;
	*ret_at = half_at(head, 8);
	loading->dump->has_cpu_clock = word_at(head, 32) & CPU_CLOCK;
	return *ret_at < HEAD_BYTES ? -EPROTO : 0;
}

static int read_records(struct loading *loading)
{
	const uint8_t *head;
	uint64_t at;
	int error = read_head(loading, &at);

	loading->dump->record_count = loading->dump->kept_bytes = 0;
	while (!error && (head = window_bytes(&loading->window, at, RECORD_BYTES))) {
		uint32_t kind = half_at(head, 0), size = half_at(head, 4);

		if (size < RECORD_BYTES || kind == RECORD_CLOSE)
			break;
		if (kind == RECORD_LOAD)
			error = keep_load(loading, at, size);
		else if (kind == RECORD_MOVE)
			error = keep_move(loading, at, size);
		at += size;
	}
	return error;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* A record may be written later than it happened. */
static int compare_records(const void *a, const void *b)
{
	const struct record *left = a, *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return left->order < right->order ? -1 : 1;
}

/* Code of no size, or beyond the last address, is left out. */
static int add_stay(struct jitdump *dump, struct stay stay, uint64_t size)
{
	if (!size || __builtin_add_overflow(stay.start, size, &stay.end))
		return 0;
	stay.until = UINT64_MAX;
	stay.order = dump->stay_count;
	if (array_grow(dump->stays, dump->stay_capacity, dump->stay_count + 1) ||
	    hash_map_put(&dump->newest, stay.start, dump->stay_count))
		return -ENOMEM;
	dump->stays[dump->stay_count++] = stay;
	return 0;
}

/* A move of code that is not there, or is not there any more, is left out. */
static int move_code(struct jitdump *dump, const struct record *record)
{
	uint64_t index = hash_map_get(&dump->newest, record->old, UINT64_MAX);
	struct stay *old = index < dump->stay_count ? &dump->stays[index] : NULL;
	struct stay moved = {.start = record->start, .from = record->time, .id = record->id};

	if (!old || old->until != UINT64_MAX || old->id != record->id)
		return 0;
	old->until = record->time;
	moved.name = old->name;
	return add_stay(dump, moved, old->end - old->start);
}

static int compare_stays(const void *a, const void *b)
{
	const struct stay *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->order < right->order ? -1 : 1;
}

static int build_stays(struct jitdump *dump)
{
	uint64_t reach = 0;
	int error = 0;

	if (dump->record_count)
		qsort(dump->records, dump->record_count, sizeof(*dump->records), compare_records);
	for (size_t i = 0; i < dump->record_count && !error; i++) {
		const struct record *record = &dump->records[i];
		const struct stay stay = {.start = record->start,
					  .from = record->time,
					  .name = record->name,
					  .id = record->id};

		error = record->name ? add_stay(dump, stay, record->size) : move_code(dump, record);
	}
	if (dump->stay_count)
		qsort(dump->stays, dump->stay_count, sizeof(*dump->stays), compare_stays);
	for (size_t i = 0; i < dump->stay_count; i++) {
		if (dump->stays[i].end > reach)
			reach = dump->stays[i].end;
		dump->stays[i].reach = reach;
	}
	return error;
}

/* Whether `stay` fits a time better than the best one so far. */
static bool is_newer(const struct stay *stay, const struct stay *best)
{
	return !best || stay->from > best->from ||
	       (stay->from == best->from && stay->order > best->order);
}

/* Max steps through overlapping code: a hostile file must not block the reader. */
enum { MAX_STEPS = 4096 };

const char *jitdump_find(const struct jitdump *dump, uint64_t address, uint64_t time)
{
	const struct stay *best = NULL;
	size_t low = LOWER_BOUND(dump->stay_count, i, dump->stays[i].start <= address);

	if (dump->has_cpu_clock)
		time = UINT64_MAX;
	for (size_t i = 0; i < MAX_STEPS && low-- > 0 && dump->stays[low].reach > address; i++) {
		const struct stay *stay = &dump->stays[low];

		if (address < stay->end && stay->from <= time && is_newer(stay, best))
			best = stay;
	}
	/* code that was moved away is not at this address any more */
	return best && (time < best->until || best->until == UINT64_MAX) ? best->name : NULL;
}

/* ---- open and close -------------------------------------------------------------------------- */

static int load(struct loading *loading)
{
	int error = read_records(loading);

	/* The original address of moved code is known only after a move record. */
	if (!error && loading->has_moved) {
		loading->window.size = 0;
		error = read_records(loading);
	}
	return error ? error : build_stays(loading->dump);
}

int jitdump_open(int fd, uint64_t max_bytes, const uint64_t *addresses, size_t count,
		 struct jitdump **ret_dump)
{
	auto_free uint8_t *bytes = malloc(WINDOW_BYTES);
	struct jitdump *dump = calloc(1, sizeof(*dump));
	struct loading loading = {.dump = dump,
				  .window = {.fd = fd, .bytes = bytes, .most = max_bytes},
				  .addresses = addresses,
				  .count = count};
	int error;

	if (!bytes || !dump) {
		free(dump);
		return -ENOMEM;
	}
	error = load(&loading);
	hash_map_fini(&loading.moved);
	if (error)
		jitdump_close(dump);
	else
		*ret_dump = dump;
	return error;
}

void jitdump_close(struct jitdump *dump)
{
	if (!dump)
		return;
	arena_fini(&dump->names);
	free(dump->records);
	free(dump->stays);
	hash_map_fini(&dump->newest);
	free(dump);
}
