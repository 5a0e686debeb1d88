/* SPDX-License-Identifier: MIT
 *
 * symbol/unwind_table.h - where frames begin, from the unwind tables of a program or library (x86-64)
 */
#ifndef SYMBOL_UNWIND_TABLE_H
#define SYMBOL_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/unwind_rule.h"

struct unwind_table;

/* Copies the tables out of a regular file, which is not needed afterwards: .eh_frame, or where that has no entries
 * .debug_frame. fd: borrowed. Errors: -ENOMEM, -ENOEXEC for no ELF file of this processor, -ENODATA without tables
 * that can be used, -errno of reading. The error chain is left alone: a file without tables is nothing unusual. */
int unwind_table_open(int fd, struct unwind_table **ret_table);

/* The same for the image of a file in memory, such as the vdso; a file's offset is one in the image. */
int unwind_table_open_memory(const void *image, size_t size, struct unwind_table **ret_table);

void unwind_table_close(struct unwind_table *table); /* NULL-safe */

/* Of the instruction at an offset in the file: where a call was left, one before the return address. RULE_UNKNOWN
 * where there is none. Answers are kept, so that one thread at a time may ask. */
union unwind_rule unwind_table_find(struct unwind_table *table, uint64_t file_offset);

/* The function, or the part of one, that has an address as the file's symbols count. */
struct unwind_part {
	uint64_t begin, end;
	bool is_cold; /* begins in the middle of another one's frame, as only a part that was moved away does */
};
bool unwind_table_find_part(const struct unwind_table *table, uint64_t address,
			    struct unwind_part *ret_part);

#endif
