/* SPDX-License-Identifier: MIT
 *
 * symbol/jit/jitdump.c - names, lines and bytes of JIT code from jit-PID.dump
 *
 * Runs in:  the recorder, which stores the records of sampled code in the trace, and all commands
 *           that read a trace
 * Gets:     a file that the profiled program wrote (version 1 of perf's format)
 * Gives:    code by address and time
 * Owns:     a copy of the file; names and code point into it
 * Fails:    -EPROTO, -ENOTSUP, -ENOMEM; a damaged record is left out and counted
 * Why code is looked up by time too: runtimes reuse addresses within milliseconds, and the newest
 *           function at an address is often not the one that ran at the time of the sample
 */
#include "symbol/jit/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/io.h"

#define MAGIC         0x4a695444u /* "JiTD" */
#define MAGIC_SWAPPED 0x4454694au
#define VERSION       1
#define HEAD_BYTES    40
#define RECORD_BYTES  16
#define SIZE_LIMIT    ((size_t)4 << 30)
#define CPU_CLOCK     1 /* in the flags */

enum record_kind {
	RECORD_LOAD,
	RECORD_MOVE,
	RECORD_DEBUG_INFO,
	RECORD_CLOSE,
	RECORD_UNWINDING,
};

struct record {
	uint32_t kind, size; /* including the 16 bytes of this head */
	uint64_t time;
	const uint8_t *body;
	size_t order; /* in the file */
};

struct line {
	uint64_t offset; /* in the code */
	const char *file;
	uint32_t line;
	size_t order;
};

struct code {
	const char *name;
	const uint8_t *bytes;
	uint64_t size, id;
	size_t line_first, line_count;
};

/* Code at an address from one time until another. */
struct stay {
	uint64_t start, end, from, until;
	uint64_t reach; /* the largest end up to this entry, in order of starts */
	size_t code, order;
};

struct jitdump {
	uint8_t *bytes;
	size_t size;
	struct jitdump_info info;
	struct record *records;
	size_t record_count, record_capacity;
	struct code *codes;
	size_t code_count, code_capacity;
	struct line *lines;
	size_t line_count, line_capacity;
	struct stay *stays; /* sorted by start */
	size_t stay_count, stay_capacity;
	struct hash_map newest; /* address -> the newest stay that starts there, while loading */
};

static uint32_t get_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint64_t get_u64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* ---- records ---- */

static int read_head(struct jitdump *dump, size_t *ret_at)
{
	const uint8_t *bytes = dump->bytes;

	if (dump->size < HEAD_BYTES || (get_u32(bytes) != MAGIC && get_u32(bytes) != MAGIC_SWAPPED))
		return error_set(-EPROTO, "jitdump: not a dump of JIT code");
	if (get_u32(bytes) == MAGIC_SWAPPED)
		return error_set(-ENOTSUP, "jitdump: written with another byte order");
	if (get_u32(bytes + 4) != VERSION)
		return error_set(-ENOTSUP, "jitdump: unsupported version %u (expected 1)",
				 get_u32(bytes + 4));
	*ret_at = get_u32(bytes + 8);
	if (*ret_at < HEAD_BYTES || *ret_at > dump->size)
		return error_set(-EPROTO, "jitdump: damaged head");
	dump->info.machine = get_u32(bytes + 12);
	dump->info.pid = get_u32(bytes + 20);
	dump->info.timestamp = get_u64(bytes + 24);
	dump->info.has_cpu_clock = get_u64(bytes + 32) & CPU_CLOCK;
	return 0;
}

static int read_records(struct jitdump *dump, size_t at)
{
	dump->info.is_truncated = true;
	while (dump->size - at >= RECORD_BYTES) {
		const uint8_t *head = dump->bytes + at;
		struct record record = {get_u32(head), get_u32(head + 4), get_u64(head + 8),
					head + RECORD_BYTES, dump->record_count};

		if (record.size < RECORD_BYTES || record.size > dump->size - at)
			return 0;
		if (record.kind == RECORD_CLOSE) {
			dump->info.is_truncated = false;
			return 0;
		}
		if (array_grow(dump->records, dump->record_capacity, dump->record_count + 1))
			return -ENOMEM;
		dump->records[dump->record_count++] = record;
		at += record.size;
	}
	return 0;
}

static int compare_records(const void *a, const void *b)
{
	const struct record *left = a, *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return left->order < right->order ? -1 : 1;
}

/* ---- code and lines ---- */

/* The text at `at`, NULL if it does not end before `end`. */
static const char *get_text(const uint8_t *at, const uint8_t *end)
{
	return at < end && memchr(at, '\0', (size_t)(end - at)) ? (const char *)at : NULL;
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *left = a, *right = b;

	if (left->offset != right->offset)
		return left->offset < right->offset ? -1 : 1;
	return left->order < right->order ? -1 : 1;
}

/* Lines of the code that is loaded next at the same address: address, count, then for each entry
 * address, line, column and file, which is "\xff" if it is that of the previous entry. */
static int add_lines(struct jitdump *dump, const struct record *record, struct code *code)
{
	const uint8_t *end = record->body + record->size - RECORD_BYTES, *at = record->body + 16;
	uint64_t count = get_u64(record->body + 8), start = get_u64(record->body);
	const char *file = NULL;

	code->line_first = dump->line_count;
	for (uint64_t i = 0; i < count && end - at >= 17; i++) {
		const char *text = get_text(at + 16, end);
		uint64_t address = get_u64(at);

		if (!text)
			break;
		file = strcmp(text, "\xff") == 0 ? file : text;
		if (array_grow(dump->lines, dump->line_capacity, dump->line_count + 1))
			return -ENOMEM;
		if (address >= start && address - start < code->size)
			dump->lines[dump->line_count] = (struct line){
				address - start, file, get_u32(at + 8), dump->line_count++};
		at += 16 + strlen(text) + 1;
	}
	code->line_count = dump->line_count - code->line_first;
	if (code->line_count)
		qsort(dump->lines + code->line_first, code->line_count, sizeof(*dump->lines),
		      compare_lines);
	return 0;
}

static int add_stay(struct jitdump *dump, size_t code, uint64_t start, uint64_t time)
{
	uint64_t end;

	if (__builtin_add_overflow(start, dump->codes[code].size, &end))
		return -EBADMSG;
	if (array_grow(dump->stays, dump->stay_capacity, dump->stay_count + 1) ||
	    hash_map_put(&dump->newest, start, dump->stay_count))
		return -ENOMEM;
	dump->stays[dump->stay_count] =
		(struct stay){start, end, time, UINT64_MAX, 0, code, dump->stay_count};
	dump->stay_count++;
	return 0;
}

/* pid, tid, address of the section, address, size, index, name, code */
static int add_code(struct jitdump *dump, const struct record *record, const struct record **debug)
{
	const uint8_t *body = record->body, *end = body + record->size - RECORD_BYTES;
	const char *name = record->size >= RECORD_BYTES + 40 ? get_text(body + 40, end) : NULL;
	struct code code = {.name = name};
	const uint8_t *bytes;
	int error = 0;

	if (!name)
		return -EBADMSG;
	code.size = get_u64(body + 24);
	code.id = get_u64(body + 32);
	bytes = (const uint8_t *)name + strlen(name) + 1;
	if (code.size <= (uint64_t)(end - bytes))
		code.bytes = bytes;
	if (!code.size)
		return -EBADMSG;
	if (*debug && get_u64((*debug)->body) == get_u64(body + 16)) {
		error = add_lines(dump, *debug, &code);
		*debug = NULL;
	}
	if (error || array_grow(dump->codes, dump->code_capacity, dump->code_count + 1))
		return -ENOMEM;
	dump->codes[dump->code_count++] = code;
	return add_stay(dump, dump->code_count - 1, get_u64(body + 16), record->time);
}

/* pid, tid, address of the section, old address, new one, size, index */
static int move_code(struct jitdump *dump, const struct record *record)
{
	struct stay *stay;
	uint64_t index;

	if (record->size < RECORD_BYTES + 48)
		return -EBADMSG;
	index = hash_map_get(&dump->newest, get_u64(record->body + 16), UINT64_MAX);
	stay = index < dump->stay_count ? &dump->stays[index] : NULL;
	if (!stay || stay->until != UINT64_MAX ||
	    dump->codes[stay->code].id != get_u64(record->body + 40))
		return -EBADMSG;
	stay->until = record->time;
	return add_stay(dump, stay->code, get_u64(record->body + 24), record->time);
}

/* Debug information belongs to the next load at its address. */
static int apply_records(struct jitdump *dump)
{
	const struct record *debug = NULL;
	int error = 0;

	for (size_t i = 0; i < dump->record_count && error != -ENOMEM; i++) {
		const struct record *record = &dump->records[i];

		error = 0;
		switch (record->kind) {
		case RECORD_LOAD:
			error = add_code(dump, record, &debug);
			break;
		case RECORD_MOVE:
			error = move_code(dump, record);
			break;
		case RECORD_DEBUG_INFO:
			debug = record->size >= RECORD_BYTES + 16 ? record : NULL;
			error = debug ? 0 : -EBADMSG;
			break;
		case RECORD_UNWINDING:
		default:
			break;
		}
		dump->info.damaged_count += error == -EBADMSG;
	}
	dump->info.code_count = dump->code_count;
	return error == -ENOMEM ? error : 0;
}

/* ---- lookups ---- */

static int compare_stays(const void *a, const void *b)
{
	const struct stay *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->order < right->order ? -1 : 1;
}

static void sort_stays(struct jitdump *dump)
{
	uint64_t reach = 0;

	if (dump->stay_count)
		qsort(dump->stays, dump->stay_count, sizeof(*dump->stays), compare_stays);
	for (size_t i = 0; i < dump->stay_count; i++) {
		if (dump->stays[i].end > reach)
			reach = dump->stays[i].end;
		dump->stays[i].reach = reach;
	}
}

/* Whether `stay` fits a time better than the best one so far. */
static bool is_newer(const struct stay *stay, const struct stay *best)
{
	return !best || stay->from > best->from ||
	       (stay->from == best->from && stay->order > best->order);
}

/* Max steps through overlapping code: a hostile file must not block the reader. */
enum { MAX_STEPS = 4096 };

static const struct stay *find_stay(const struct jitdump *dump, uint64_t address, uint64_t time)
{
	const struct stay *best = NULL;
	size_t low = LOWER_BOUND(dump->stay_count, i, dump->stays[i].start <= address);

	for (size_t i = 0; i < MAX_STEPS && low-- > 0 && dump->stays[low].reach > address; i++) {
		const struct stay *stay = &dump->stays[low];

		if (address < stay->end && stay->from <= time && is_newer(stay, best))
			best = stay;
	}
	/* code that was moved away is not at this address any more */
	return best && (time < best->until || best->until == UINT64_MAX) ? best : NULL;
}

int jitdump_find(const struct jitdump *dump, uint64_t address, uint64_t time,
		 struct jitdump_frame *ret_frame)
{
	const struct stay *stay = find_stay(dump, address, time);
	const struct code *code;
	size_t count;

	if (!stay)
		return -ENOENT;
	code = &dump->codes[stay->code];
	count = LOWER_BOUND(code->line_count, i,
			    dump->lines[code->line_first + i].offset <= address - stay->start);
	*ret_frame = (struct jitdump_frame){
		.name = code->name,
		.start = stay->start,
		.size = code->size,
		.code = code->bytes,
		.id = code->id,
	};
	if (count) {
		const struct line *line = &dump->lines[code->line_first + count - 1];

		ret_frame->file = line->file;
		ret_frame->line = line->line;
	}
	return 0;
}

void jitdump_info(const struct jitdump *dump, struct jitdump_info *ret_info)
{
	*ret_info = dump->info;
}

/* ---- open and close ---- */

static int take_bytes(uint8_t *bytes, size_t size, struct jitdump **ret_dump)
{
	struct jitdump *dump = calloc(1, sizeof(*dump));
	size_t at = 0;
	int error;

	if (!dump) {
		free(bytes);
		return error_set(-ENOMEM, "jitdump: out of memory");
	}
	dump->bytes = bytes;
	dump->size = size;
	error = read_head(dump, &at);
	if (error) {
		jitdump_close(dump);
		return error;
	}
	error = read_records(dump, at);
	if (!error && dump->record_count)
		qsort(dump->records, dump->record_count, sizeof(*dump->records), compare_records);
	if (!error)
		error = apply_records(dump);
	if (error) {
		jitdump_close(dump);
		return error_set(error, "jitdump: out of memory");
	}
	sort_stays(dump);
	*ret_dump = dump;
	return 0;
}

int jitdump_parse(const void *bytes, size_t size, struct jitdump **ret_dump)
{
	uint8_t *copy = malloc(size + 1);

	if (!copy)
		return error_set(-ENOMEM, "jitdump: out of memory");
	memcpy(copy, bytes, size);
	return take_bytes(copy, size, ret_dump);
}

/* ---- a part ---- */

#define PART_LIMIT ((size_t)16 << 20)
#define NAME_LIMIT ((uint32_t)4096)
#define LOAD_BYTES (RECORD_BYTES + 40) /* before the name */
#define MOVE_BYTES (RECORD_BYTES + 48)

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

struct part {
	struct window window;
	const uint64_t *addresses;
	size_t count;
	struct hash_map moved; /* ids of code that moved to one of the wanted addresses */
	bool has_moved;
	uint8_t *bytes; /* owned */
	size_t size, capacity;
};

static bool is_wanted(const struct part *part, uint64_t start, uint64_t size)
{
	size_t low = LOWER_BOUND(part->count, i, part->addresses[i] < start);

	return low < part->count && part->addresses[low] - start < size;
}

static int append_record(struct part *part, const uint8_t *bytes, uint32_t size)
{
	size_t at = part->size;

	if (at + size > PART_LIMIT)
		return 0;
	if (array_grow(part->bytes, part->capacity, at + size))
		return -ENOMEM;
	memcpy(part->bytes + at, bytes, size);
	/* the size of the record is reduced by the parts left out */
	if (at)
		memcpy(part->bytes + at + 4, &size, sizeof(size));
	part->size += size;
	return 0;
}

static int keep_load(struct part *part, uint64_t at, uint32_t size)
{
	const uint8_t *head =
		size >= LOAD_BYTES ? window_bytes(&part->window, at, LOAD_BYTES) : NULL;
	uint32_t room = size - LOAD_BYTES < NAME_LIMIT ? size - LOAD_BYTES : NAME_LIMIT;
	const uint8_t *end;

	if (!head || (!is_wanted(part, get_u64(head + RECORD_BYTES + 16),
				 get_u64(head + RECORD_BYTES + 24)) &&
		      !hash_map_find(&part->moved, get_u64(head + RECORD_BYTES + 32))))
		return 0;
	head = window_bytes(&part->window, at, LOAD_BYTES + room);
	end = head ? memchr(head + LOAD_BYTES, '\0', room) : NULL;
	return end ? append_record(part, head, (uint32_t)(end + 1 - head)) : 0;
}

static int keep_move(struct part *part, uint64_t at, uint32_t size)
{
	const uint8_t *head =
		size >= MOVE_BYTES ? window_bytes(&part->window, at, MOVE_BYTES) : NULL;
	const uint8_t *body = head ? head + RECORD_BYTES : NULL;

	if (!head)
		return 0;
	if (is_wanted(part, get_u64(body + 24), get_u64(body + 32))) {
		part->has_moved = true;
		if (hash_map_put(&part->moved, get_u64(body + 40), 1))
			return -ENOMEM;
	}
	return append_record(part, head, MOVE_BYTES);
}

static int read_part(struct part *part)
{
	const uint8_t *head = window_bytes(&part->window, 0, HEAD_BYTES);
	uint64_t at = head ? get_u32(head + 8) : 0;
	const uint32_t head_bytes = HEAD_BYTES;
	int error;

	part->size = 0;
	if (!head)
		return error_set(-EPROTO,
				 "jitdump: the file is shorter than the header of a JIT dump");
	error = append_record(part, head, HEAD_BYTES);
	if (!error && at >= HEAD_BYTES)
		memcpy(part->bytes + 8, &head_bytes, sizeof(head_bytes));
	while (!error && (head = window_bytes(&part->window, at, RECORD_BYTES))) {
		uint32_t kind = get_u32(head), size = get_u32(head + 4);

		if (size < RECORD_BYTES || kind == RECORD_CLOSE)
			break;
		if (kind == RECORD_LOAD)
			error = keep_load(part, at, size);
		else if (kind == RECORD_MOVE)
			error = keep_move(part, at, size);
		at += size;
	}
	return error;
}

int jitdump_open_part(int fd, uint64_t max_bytes, const uint64_t *addresses, size_t count,
		      struct jitdump **ret_dump)
{
	auto_free uint8_t *bytes = malloc(WINDOW_BYTES);
	struct part part = {{fd, bytes, 0, max_bytes, 0}, addresses, count, {0}, false, NULL, 0, 0};
	int error;

	if (!bytes)
		return error_set(-ENOMEM, "jitdump: out of memory");
	hash_map_init(&part.moved);
	error = read_part(&part);
	/* The original address of moved code is known only after a move record. */
	if (!error && part.has_moved) {
		part.window.size = 0;
		error = read_part(&part);
	}
	hash_map_fini(&part.moved);
	if (!error)
		return take_bytes(part.bytes, part.size, ret_dump);
	free(part.bytes);
	return error == -ENOMEM ? error_set(error, "jitdump: out of memory") : error;
}

int jitdump_open(const char *path, struct jitdump **ret_dump)
{
	char *bytes;
	size_t size;
	int error = read_file(path, SIZE_LIMIT, &bytes, &size);

	if (error)
		return error;
	error = take_bytes((uint8_t *)bytes, size, ret_dump);
	return error ? error_note(error, "read '%s'", path) : 0;
}

void jitdump_close(struct jitdump *dump)
{
	if (!dump)
		return;
	free(dump->bytes);
	free(dump->records);
	free(dump->codes);
	free(dump->lines);
	free(dump->stays);
	hash_map_fini(&dump->newest);
	free(dump);
}
