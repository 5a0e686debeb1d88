/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python_lines.c - from an instruction of a CPython code object to its line
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     the bytes of a line table, copied from the program
 * Gives:    a line
 * Owns:     nothing
 * Fails:    -ENOTSUP, -ENODATA, -EBADMSG; never reads outside the table
 * Why three readers: 3.10 replaced co_lnotab, which cannot express "no line", by ranges (PEP 626),
 *           and 3.11 replaced the ranges by locations with columns (PEP 657). 3.12 to 3.14 kept the
 *           format of 3.11.
 */
#include "symbol/remote/python_lines.h"

#include <errno.h>
#include <stdbool.h>

#define OLDEST 0x0306 /* line deltas are signed from this version on */
#define NEWEST 0x030e

struct place {
	int64_t line;
	uint64_t end; /* bytes; end of the current entry */
	bool has_line;
};

static int return_line(const struct place *place, uint32_t *ret_line)
{
	if (!place->has_line)
		return -ENODATA;
	if (place->line < 0 || place->line > UINT32_MAX)
		return -EBADMSG;
	*ret_line = (uint32_t)place->line;
	return 0;
}

/* Pairs: advance by N bytes, then by N lines. The last line extends to the end. */
static int find_in_lnotab(const uint8_t *table, size_t size, uint32_t first_line, uint32_t offset,
			  uint32_t *ret_line)
{
	struct place place = {first_line, 0, true};

	for (size_t i = 0; i + 1 < size; i += 2) {
		place.end += table[i];
		if (place.end > offset)
			break;
		place.line += (int8_t)table[i + 1];
	}
	return return_line(&place, ret_line);
}

/* Pairs: advance by N lines, for N bytes; -128: no line. */
static int find_in_ranges(const uint8_t *table, size_t size, uint32_t first_line, uint32_t offset,
			  uint32_t *ret_line)
{
	struct place place = {first_line, 0, true};

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		place.end += table[i];
		place.has_line = delta != -128;
		place.line += place.has_line ? delta : 0;
		if (place.end > offset)
			return return_line(&place, ret_line);
	}
	return -EBADMSG;
}

/* Six bits a byte, the lowest first; 0x40: more follow. False at the table's end. */
static bool read_varint(const uint8_t *table, size_t size, size_t *at, uint64_t *ret_value)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	while (*at < size && !(table[*at] & 0x80) && shift < 36) {
		value |= (uint64_t)(table[*at] & 0x3f) << shift;
		shift += 6;
		if (!(table[(*at)++] & 0x40)) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

/* Entries start with a byte above 0x7f: kind in bits 3 to 6, length in units of two bytes less one
 * in bits 0 to 2. Kinds: 0 to 9 the same line; 10 to 12 advance by 0 to 2 lines; 13 and 14 a signed
 * varint, its sign in the lowest bit; 15 no line. Columns and end lines follow and are skipped. */
static int find_in_locations(const uint8_t *table, size_t size, uint32_t first_line,
			     uint32_t offset, uint32_t *ret_line)
{
	struct place place = {first_line, 0, true};
	size_t at = 0;

	while (at < size) {
		uint8_t head = table[at++], kind = head >> 3 & 15;
		uint64_t delta;

		if (!(head & 0x80))
			return -EBADMSG;
		place.end += 2 * ((head & 7) + 1);
		place.has_line = kind != 15;
		if (kind >= 10 && kind <= 12) {
			place.line += kind - 10;
		} else if (kind == 13 || kind == 14) {
			if (!read_varint(table, size, &at, &delta))
				return -EBADMSG;
			place.line += delta & 1 ? -(int64_t)(delta >> 1) : (int64_t)(delta >> 1);
		}
		if (place.end > offset)
			return return_line(&place, ret_line);
		while (at < size && !(table[at] & 0x80))
			at++;
	}
	return -EBADMSG;
}

int python_line(uint32_t version, const uint8_t *table, size_t size, uint32_t first_line,
		uint32_t instruction_offset_bytes, uint32_t *ret_line)
{
	if (version < OLDEST || version > NEWEST)
		return -ENOTSUP;
	if (version < 0x030a)
		return find_in_lnotab(table, size, first_line, instruction_offset_bytes, ret_line);
	if (version == 0x030a)
		return find_in_ranges(table, size, first_line, instruction_offset_bytes, ret_line);
	return find_in_locations(table, size, first_line, instruction_offset_bytes, ret_line);
}
