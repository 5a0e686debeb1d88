/* SPDX-License-Identifier: MIT
 *
 * symbol/perf_map.c - names of generated code from /tmp/perf-PID.map
 *
 * Runs in:  the recorder, which keeps what was hit, and the readers
 * Gets:     a text that the profiled program wrote, while it may still be writing; gives names
 * Owns:     the names and a flat table of who is where
 * Fails:    -ENOMEM, -errno of reading; a damaged line is left out and counted
 * Why the later line wins: a runtime reuses the memory of code that it threw away and cannot take a
 *           line back. The last line counts only with its newline: without one it is half written.
 */
#include "symbol/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "symbol/spans.h"

#define SIZE_LIMIT ((size_t)1 << 30) /* of the file; more is no list of functions */

struct perf_map {
	struct arena arena;
	const char **names;
	size_t count, capacity;
	size_t damaged_count;
	struct span_table where; /* depth: the line; value: index into names */
};

/* Hexadecimal, with or without 0x; returns behind it, NULL at something else. */
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

/* -EBADMSG for a line that makes no sense. */
static int parse_line(struct perf_map *map, const char *line, const char *end)
{
	struct interval interval = {.depth = (uint32_t)map->count, .value = (uint32_t)map->count};
	uint64_t size = 0;
	const char *name = parse_number(skip_spaces(line, end), end, &interval.start);

	name = skip_spaces(name, end);
	name = name ? parse_number(name, end, &size) : NULL;
	if (!name || name == end || (*name != ' ' && *name != '\t'))
		return -EBADMSG;
	name = skip_spaces(name, end);
	if (name < end && end[-1] == '\r')
		end--;
	if (name == end || memchr(name, '\0', (size_t)(end - name)) ||
	    __builtin_add_overflow(interval.start, size, &interval.end) || !size ||
	    map->count >= SPAN_NONE)
		return -EBADMSG;
	if (array_grow(map->names, map->capacity, map->count + 1))
		return -ENOMEM;
	map->names[map->count] = arena_copy(&map->arena, name, (size_t)(end - name));
	if (!map->names[map->count])
		return -ENOMEM;
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
