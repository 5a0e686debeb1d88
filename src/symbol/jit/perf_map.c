/* SPDX-License-Identifier: MIT
 *
 * symbol/jit/perf_map.c - names of JIT code from /tmp/perf-PID.map
 *
 * Runs in:  the recorder, which stores the names of sampled code in the trace, and all commands
 *           that read a trace
 * Gets:     a text that the profiled program wrote, and may still be writing
 * Gives:    names
 * Owns:     the names and a flat table of their addresses
 * Fails:    -ENOMEM, -errno of reading; a damaged line is left out and counted
 * Why the later line wins: a runtime reuses the memory of discarded code and cannot remove the old
 *           code's line. The last line of the file counts only with its newline: without a newline
 *           it is half written.
 */
#include "symbol/jit/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "symbol/interval_map.h"

#define SIZE_LIMIT  ((size_t)1 << 30) /* max file size; a larger file is not a list of functions */
#define BLOCK_BYTES ((size_t)1 << 18) /* a line is shorter */
#define MAX_STEPS   (UINT64_C(1) << 26)

struct perf_map {
	struct arena arena;
	const char **names;
	size_t count, capacity;
	size_t damaged_count;
	struct span_table where; /* depth: the line; value: index into names */
};

/* Hexadecimal, with or without 0x; returns the address after it, NULL if it is not a number. */
static const char *parse_number(const char *text, const char *end, uint64_t *ret_number)
{
	const char *begin;
	uint64_t number = 0;

	if (end - text > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	for (begin = text; text < end; text++) {
		char low = *text | 0x20;
		unsigned int digit = *text >= '0' && *text <= '9' ? (unsigned int)(*text - '0')
				     : low >= 'a' && low <= 'f'   ? (unsigned int)(low - 'a') + 10
								  : 16;

		if (digit == 16)
			break;
		if (number >> 60)
			return NULL;
		number = number << 4 | digit;
	}
	*ret_number = number;
	return text > begin ? text : NULL;
}

static const char *skip_spaces(const char *text, const char *end)
{
	while (text && text < end && (*text == ' ' || *text == '\t'))
		text++;
	return text;
}

struct line {
	uint64_t start, end;
	const char *name;
	size_t length;
};

/* False for an invalid line. */
static bool scan_line(const char *text, const char *end, struct line *ret_line)
{
	uint64_t size = 0;
	const char *name = parse_number(skip_spaces(text, end), end, &ret_line->start);

	name = skip_spaces(name, end);
	name = name ? parse_number(name, end, &size) : NULL;
	if (!name || name == end || (*name != ' ' && *name != '\t'))
		return false;
	name = skip_spaces(name, end);
	if (name < end && end[-1] == '\r')
		end--;
	ret_line->name = name;
	ret_line->length = (size_t)(end - name);
	return name < end && !memchr(name, '\0', ret_line->length) && size &&
	       !__builtin_add_overflow(ret_line->start, size, &ret_line->end);
}

/* -EBADMSG for an invalid line. */
static int parse_line(struct perf_map *map, const char *text, const char *end)
{
	struct interval interval = {.depth = (uint32_t)map->count, .value = (uint32_t)map->count};
	struct line line;

	if (!scan_line(text, end, &line) || map->count >= SPAN_NONE)
		return -EBADMSG;
	if (array_grow(map->names, map->capacity, map->count + 1))
		return -ENOMEM;
	map->names[map->count] = arena_copy(&map->arena, line.name, line.length);
	if (!map->names[map->count])
		return -ENOMEM;
	interval.start = line.start;
	interval.end = line.end;
	map->count++;
	return span_table_add(&map->where, &interval);
}

int perf_map_parse(const char *text, size_t size, struct perf_map **ret_map)
{
	struct perf_map *map = calloc(1, sizeof(*map));
	const char *end = text + size, *newline;
	int error = map ? 0 : -ENOMEM;

	while (!error && text < end && (newline = memchr(text, '\n', (size_t)(end - text)))) {
		error = parse_line(map, text, newline);
		if (error == -EBADMSG) {
			map->damaged_count++;
			error = 0;
		}
		text = newline + 1;
	}
	if (!error)
		error = span_table_build(&map->where);
	if (error)
		perf_map_close(map);
	else
		*ret_map = map;
	return error;
}

int perf_map_open(const char *path, struct perf_map **ret_map)
{
	auto_free char *text = NULL;
	size_t size;
	int error = read_file(path, SIZE_LIMIT, &text, &size);

	if (error)
		return error;
	error = perf_map_parse(text, size, ret_map);
	return error ? error_set(error, "read '%s': out of memory", path) : 0;
}

void perf_map_close(struct perf_map *map)
{
	if (!map)
		return;
	span_table_fini(&map->where);
	free(map->names);
	arena_fini(&map->arena);
	free(map);
}

/* ---- without a map in memory ---- */

struct search {
	struct perf_map_wanted *wanted;
	size_t count;
	uint64_t steps_left; /* limits lines that all cover the whole range */
};

static void take_line(struct search *search, const char *text, const char *end, uint64_t at)
{
	size_t low;
	struct line line;

	if (!scan_line(text, end, &line))
		return;
	low = LOWER_BOUND(search->count, i, search->wanted[i].address < line.start);
	for (; low < search->count && search->wanted[low].address < line.end && search->steps_left;
	     low++) {
		search->wanted[low].at = at + (uint64_t)(line.name - text);
		search->wanted[low].length = (uint32_t)line.length;
		search->steps_left--;
	}
}

/* Lines of a block that starts at `at`; returns the offset of the last, unfinished one. */
static size_t take_block(struct search *search, const char *block, size_t size, uint64_t at)
{
	const char *text = block, *end = block + size, *newline;

	while (text < end && (newline = memchr(text, '\n', (size_t)(end - text)))) {
		take_line(search, text, newline, at + (uint64_t)(text - block));
		text = newline + 1;
	}
	return (size_t)(text - block);
}

int perf_map_search(int fd, uint64_t max_bytes, struct perf_map_wanted *wanted, size_t count)
{
	auto_free char *block = malloc(BLOCK_BYTES);
	struct search search = {wanted, count, MAX_STEPS};
	uint64_t at = 0;
	size_t held = 0;

	if (!block)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		wanted[i].length = 0;
	while (at + held < max_bytes) {
		ssize_t got = pread(fd, block + held, BLOCK_BYTES - held, (off_t)(at + held));
		size_t taken;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : 0;
		held += (size_t)got;
		taken = take_block(&search, block, held, at);
		/* a line longer than the block is dropped; its rest is read as an invalid line, or
		 * none */
		if (!taken && held == BLOCK_BYTES)
			taken = held;
		at += taken;
		held -= taken;
		memmove(block, block + taken, held);
	}
	return 0;
}

char *perf_map_name(int fd, const struct perf_map_wanted *wanted)
{
	char *name = wanted->length ? malloc(wanted->length + (size_t)1) : NULL;

	if (!name)
		return NULL;
	name[wanted->length] = '\0';
	/* the program may have truncated its file since */
	if (pread_all(fd, name, wanted->length, wanted->at) == 0 &&
	    strlen(name) == wanted->length && !strchr(name, '\n'))
		return name;
	free(name);
	return NULL;
}

int perf_map_find(const struct perf_map *map, uint64_t address, struct perf_map_entry *ret_entry)
{
	const struct interval *found = span_table_find(&map->where, address);

	if (!found)
		return -ENOENT;
	*ret_entry = (struct perf_map_entry){map->names[found->value], found->start,
					     found->end - found->start};
	return 0;
}

size_t perf_map_count(const struct perf_map *map)
{
	return map->count;
}

size_t perf_map_damaged_count(const struct perf_map *map)
{
	return map->damaged_count;
}
