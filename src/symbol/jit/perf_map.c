/* SPDX-License-Identifier: MIT
 *
 * symbol/jit/perf_map.c - names of JIT code from /tmp/perf-PID.map
 *
 * Runs in:  the recorder
 * Gets:     a text that the profiled program wrote, and may still be writing
 * Gives:    names
 * Owns:     a block of the file while it is read
 * Fails:    -ENOMEM, -errno of reading; a damaged line is left out
 * Why the later line wins: a runtime reuses the memory of discarded code and cannot remove its
 *           line. The last line counts only with its newline: without one it is half written.
 */
#include "symbol/jit/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"

#define BLOCK_BYTES ((size_t)1 << 18) /* a line is shorter */
#define MAX_STEPS   (UINT64_C(1) << 26)

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
