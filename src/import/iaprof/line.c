/* SPDX-License-Identifier: MIT
 *
 * import/iaprof/line.c - split a line of an iaprof profile into fields; parse the numbers and times
 * in them
 *
 * Runs in:  our own process
 * Gets:     a line that may be changed
 * Gives:    fields, values
 * Owns:     nothing
 * Fails:    -EBADMSG with a text
 * Why no scanf: it reads "-1" as 2^64 - 1 and " 7x" as 7, and wraps a number that is too large
 */
#include "import/iaprof/line.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/source.h"

#define SECOND_NS ((uint64_t)1000000000)

size_t iaprof_line_cut(char *line, char separator, size_t most, char **ret_fields)
{
	size_t count = 0;

	while (count < most) {
		char *end = count + 1 < most ? strchr(line, separator) : NULL;

		ret_fields[count++] = line;
		if (!end)
			return count;
		*end = 0;
		line = end + 1;
	}
	return count;
}

static int fail_number(const struct import_source *source, const char *what, uint64_t most,
		       const char *field)
{
	char expected[96];

	snprintf(expected, sizeof(expected), "%s, a whole number of at most %" PRIu64, what, most);
	return import_source_fail(source, expected, field);
}

int iaprof_line_number(const struct import_source *source, const char *what, const char *field,
		       uint64_t most, uint64_t *ret_number)
{
	char *end;
	uint64_t number;

	if (!isdigit((unsigned char)*field))
		return fail_number(source, what, most, field);
	errno = 0;
	number = strtoull(field, &end, 10);
	if (*end || errno || number > most)
		return fail_number(source, what, most, field);
	*ret_number = number;
	return 0;
}

int iaprof_line_offset(const struct import_source *source, const char *field, uint64_t *ret_offset)
{
	const char *digits = strncmp(field, "0x", 2) == 0 ? field + 2 : field;
	char *end;
	uint64_t offset;

	errno = 0;
	offset = strtoull(digits, &end, 16);
	if (!isxdigit((unsigned char)*digits) || strspn(digits, "xX") || *end || errno ||
	    (digits[0] == '0' && digits[1] == 'x'))
		return import_source_fail(source, "an offset, hexadecimal, below 2^64", field);
	*ret_offset = offset;
	return 0;
}

int iaprof_line_time(const struct import_source *source, const char *field, uint64_t *ret_ns)
{
	uint64_t seconds = 0, fraction = 0, unit = SECOND_NS;
	size_t whole = strspn(field, "0123456789"), parts;

	if (!whole || whole > 10)
		return import_source_fail(source, "a time in seconds, 12.345678", field);
	for (size_t i = 0; i < whole; i++)
		seconds = seconds * 10 + (uint64_t)(field[i] - '0');
	if (field[whole] == '.') {
		field += whole + 1;
		parts = strspn(field, "0123456789");
		for (size_t i = 0; i < parts && unit > 1; i++) {
			unit /= 10;
			fraction += (uint64_t)(field[i] - '0') * unit;
		}
		whole = parts;
	}
	if (field[whole] || !whole)
		return import_source_fail(source, "a time in seconds, 12.345678", field);
	*ret_ns = seconds * SECOND_NS + fraction;
	return 0;
}
