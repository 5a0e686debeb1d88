/* SPDX-License-Identifier: MIT
 *
 * collect/counter/scan.h - reads numbers and words from a text with a length, not NUL-terminated
 *
 * If text is missing, the outputs are unchanged and the result is false: the kernel may be older or
 * newer, or the file cut.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct scan {
	const char *at, *end;
};

static inline struct scan scan_of(const char *text, size_t length)
{
	return (struct scan){text, text + length};
}

static inline void scan_blanks(struct scan *scan)
{
	while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t'))
		scan->at++;
}

/* Takes the next line, without its end. */
static inline bool scan_line(struct scan *scan, struct scan *ret_line)
{
	const char *end;

	if (scan->at == scan->end)
		return false;
	end = memchr(scan->at, '\n', (size_t)(scan->end - scan->at));
	*ret_line = (struct scan){scan->at, end ? end : scan->end};
	scan->at = end ? end + 1 : scan->end;
	return true;
}

/* Takes the text up to the next blank. */
static inline bool scan_word(struct scan *scan, struct scan *ret_word)
{
	struct scan word;

	scan_blanks(scan);
	word = (struct scan){scan->at, scan->at};
	while (word.end < scan->end && *word.end != ' ' && *word.end != '\t')
		word.end++;
	scan->at = word.end;
	*ret_word = word;
	return word.at < word.end;
}

/* False for a number above UINT64_MAX. */
static inline bool scan_u64(struct scan *scan, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *at;

	scan_blanks(scan);
	for (at = scan->at; at < scan->end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return false;
	if (at == scan->at)
		return false;
	scan->at = at;
	*ret_value = value;
	return true;
}

static inline bool scan_i64(struct scan *scan, int64_t *ret_value)
{
	bool is_negative;
	uint64_t value;

	scan_blanks(scan);
	is_negative = scan->at < scan->end && *scan->at == '-';
	scan->at += is_negative;
	if (!scan_u64(scan, &value) || value > INT64_MAX)
		return false;
	*ret_value = is_negative ? -(int64_t)value : (int64_t)value;
	return true;
}

/* Moves behind a text that comes next; false: another text. */
static inline bool scan_text(struct scan *scan, const char *text)
{
	size_t length = strlen(text);

	if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, text, length) != 0)
		return false;
	scan->at += length;
	return true;
}

/* A line with a name, a colon or blank, and a number. */
struct scan_field {
	const char *name;
	uint64_t unit; /* factor for the number */
};

/* Sets values[i] for each fields[i] that is found; returns a bit per value. */
static inline uint64_t scan_fields(const char *text, size_t length, const struct scan_field *fields,
				   size_t count, uint64_t *values)
{
	struct scan rest = scan_of(text, length), line;
	uint64_t found = 0, value;

	while (scan_line(&rest, &line)) {
		for (size_t i = 0; i < count; i++) {
			struct scan at = line;

			if (!scan_text(&at, fields[i].name) || at.at == at.end ||
			    (*at.at != ':' && *at.at != ' '))
				continue;
			at.at++;
			if (scan_u64(&at, &value) &&
			    !__builtin_mul_overflow(value, fields[i].unit, &values[i]))
				found |= (uint64_t)1 << i;
			break;
		}
	}
	return found;
}
