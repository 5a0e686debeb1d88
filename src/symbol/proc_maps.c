/* SPDX-License-Identifier: MIT
 *
 * symbol/proc_maps.c - the mappings of a process, from /proc/PID/maps
 *
 * Runs in:  the recorder, and all commands that read a trace
 * Gets:     the text
 * Gives:    mappings
 * Owns:     the mappings and one block with all their paths
 * Fails:    -ENOMEM, -errno of reading; a damaged line is left out and counted
 * Why not sscanf: sscanf reads "%s" only up to a space, which paths may contain, and accepts a
 *           number that overflows. The kernel writes a newline in a path as \012 and every other
 *           character as it is
 */
#include "symbol/proc_maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

#define DELETED " (deleted)"

struct cursor {
	const char *at, *end;
};

static bool accept_char(struct cursor *cursor, char character)
{
	if (cursor->at == cursor->end || *cursor->at != character)
		return false;
	cursor->at++;
	return true;
}

static bool take_number(struct cursor *cursor, unsigned int base, uint64_t *ret_number)
{
	const char *begin = cursor->at;
	uint64_t number = 0;

	for (; cursor->at < cursor->end; cursor->at++) {
		char character = *cursor->at;
		unsigned int digit = character >= '0' && character <= '9'   ? character - '0'
				     : character >= 'a' && character <= 'f' ? character - 'a' + 10
									    : 16;

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			return false;
	}
	*ret_number = number;
	return cursor->at > begin;
}

static bool take_flag(struct cursor *cursor, char letter, char other, bool *ret_flag)
{
	*ret_flag = accept_char(cursor, letter);
	return *ret_flag || accept_char(cursor, other);
}

static bool take_device(struct cursor *cursor, struct proc_mapping *mapping)
{
	uint64_t major, minor;

	if (!take_number(cursor, 16, &major) || !accept_char(cursor, ':') ||
	    !take_number(cursor, 16, &minor) || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	mapping->device_major = (uint32_t)major;
	mapping->device_minor = (uint32_t)minor;
	return true;
}

static enum proc_mapping_kind kind_of(const struct proc_mapping *mapping)
{
	const char *path = mapping->path;

	if (!*path || strncmp(path, "[anon:", 6) == 0)
		return PROC_MAPPING_ANONYMOUS;
	if (*path == '[')
		return PROC_MAPPING_SPECIAL;
	if (strncmp(path, "/memfd:", 7) == 0 || strncmp(path, "/SYSV", 5) == 0 ||
	    (mapping->is_deleted && strcmp(path, "/dev/zero") == 0))
		return PROC_MAPPING_MEMORY;
	return PROC_MAPPING_FILE;
}

/* Copies the rest of a line; returns the address after the copy's NUL. */
static char *take_path(struct cursor *cursor, struct proc_mapping *mapping, char *to)
{
	size_t deleted = strlen(DELETED);

	while (accept_char(cursor, ' '))
		;
	mapping->path = to;
	mapping->is_deleted = (size_t)(cursor->end - cursor->at) >= deleted &&
			      memcmp(cursor->end - deleted, DELETED, deleted) == 0;
	if (mapping->is_deleted)
		cursor->end -= deleted;
	while (cursor->at < cursor->end) {
		bool is_newline =
			cursor->end - cursor->at >= 4 && memcmp(cursor->at, "\\012", 4) == 0;

		*to++ = is_newline ? '\n' : *cursor->at;
		cursor->at += is_newline ? 4 : 1;
	}
	*to++ = '\0';
	mapping->kind = kind_of(mapping);
	return to;
}

/* "START-END PERMISSIONS OFFSET DEVICE INODE    PATH"; NULL for an invalid line. */
static char *parse_line(struct cursor *cursor, struct proc_mapping *mapping, char *to)
{
	*mapping = (struct proc_mapping){0};
	if (!take_number(cursor, 16, &mapping->start) || !accept_char(cursor, '-') ||
	    !take_number(cursor, 16, &mapping->end) || !accept_char(cursor, ' ') ||
	    !take_flag(cursor, 'r', '-', &mapping->is_readable) ||
	    !take_flag(cursor, 'w', '-', &mapping->is_writable) ||
	    !take_flag(cursor, 'x', '-', &mapping->is_executable) ||
	    !take_flag(cursor, 's', 'p', &mapping->is_shared) || !accept_char(cursor, ' ') ||
	    !take_number(cursor, 16, &mapping->file_offset) || !accept_char(cursor, ' ') ||
	    !take_device(cursor, mapping) || !accept_char(cursor, ' ') ||
	    !take_number(cursor, 10, &mapping->inode) || mapping->start >= mapping->end ||
	    (cursor->at < cursor->end && *cursor->at != ' '))
		return NULL;
	return take_path(cursor, mapping, to);
}

static int compare(const void *a, const void *b)
{
	const struct proc_mapping *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

int proc_maps_parse(const char *text, size_t size, struct proc_maps *ret_maps)
{
	struct proc_maps maps = {0};
	const char *end = text + size;
	size_t capacity = 0;
	/* a path is shorter than its line, so that all fit with their NULs */
	char *to = maps.texts = malloc(size + 1);

	while (maps.texts && text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct cursor cursor = {text, newline ? newline : end};
		struct proc_mapping mapping;
		char *next = parse_line(&cursor, &mapping, to);

		text = newline ? newline + 1 : end;
		maps.damaged_count += !next;
		if (!next)
			continue;
		to = next;
		if (array_grow(maps.mappings, capacity, maps.count + 1)) {
			proc_maps_fini(&maps);
			return -ENOMEM;
		}
		maps.mappings[maps.count++] = mapping;
	}
	if (!maps.texts)
		return -ENOMEM;
	if (maps.count)
		qsort(maps.mappings, maps.count, sizeof(*maps.mappings), compare);
	*ret_maps = maps;
	return 0;
}

int proc_maps_read(pid_t pid, struct proc_maps *ret_maps)
{
	auto_free char *text = NULL;
	char path[64];
	size_t size;
	int error;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	error = read_file(path, 0, &text, &size);
	if (error)
		return error;
	error = proc_maps_parse(text, size, ret_maps);
	return error ? error_set(error, "read '%s': out of memory", path) : 0;
}

void proc_maps_fini(struct proc_maps *maps)
{
	if (!maps)
		return;
	free(maps->mappings);
	free(maps->texts);
	*maps = (struct proc_maps){0};
}

const struct proc_mapping *proc_maps_find(const struct proc_maps *maps, uint64_t address)
{
	size_t low = LOWER_BOUND(maps->count, i, maps->mappings[i].start <= address);

	return low && address < maps->mappings[low - 1].end ? &maps->mappings[low - 1] : NULL;
}
