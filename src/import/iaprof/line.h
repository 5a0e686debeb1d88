/* SPDX-License-Identifier: MIT
 *
 * import/iaprof/line.h - split a line of an iaprof profile into fields; parse the numbers and times
 * in them
 *
 * All errors are -EBADMSG with a text that contains the line's number.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { MAX_IAPROF_FIELDS = 14 };

struct import_source;

/* Splits the line at the separator; the last of `most` fields contains the rest. Returns the number
 * of fields. */
size_t iaprof_line_cut(char *line, char separator, size_t most, char **ret_fields);

/* Parses a whole number of at most `most`; `what` is the field's name in error texts. */
int iaprof_line_number(const struct import_source *source, const char *what, const char *field,
		       uint64_t most, uint64_t *ret_number);
/* Hexadecimal, with or without 0x. */
int iaprof_line_offset(const struct import_source *source, const char *field, uint64_t *ret_offset);
/* "12.345678" seconds. */
int iaprof_line_time(const struct import_source *source, const char *field, uint64_t *ret_ns);
