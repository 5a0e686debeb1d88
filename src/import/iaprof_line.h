/* SPDX-License-Identifier: MIT
 *
 * import/iaprof_line.h - a line of an iaprof profile: its fields, and numbers and times in them
 *
 * What fails does so with -EBADMSG and a text that has the line's number.
 */
#ifndef IMPORT_IAPROF_LINE_H
#define IMPORT_IAPROF_LINE_H

#include <stddef.h>
#include <stdint.h>

enum { IAPROF_FIELDS_MOST = 14 };

struct import_source;

/* Cuts at the separator; the last of `most` fields has the rest. Returns how many there are. */
size_t iaprof_line_cut(char *line, char separator, size_t most, char **ret_fields);

/* `what` names the field in the text. */
int iaprof_line_number(const struct import_source *source, const char *what, const char *field,
		       uint64_t most, uint64_t *ret_number);
/* Hexadecimal, with or without 0x. */
int iaprof_line_offset(const struct import_source *source, const char *field, uint64_t *ret_offset);
/* "12.345678" seconds. */
int iaprof_line_time(const struct import_source *source, const char *field, uint64_t *ret_ns);

#endif
