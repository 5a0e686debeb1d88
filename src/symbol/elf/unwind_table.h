/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/unwind_table.h - unwind rules from a program's or library's .eh_frame or .debug_frame
 * (x86-64)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/unwind_rule.h"

struct unwind_table;

/* Opens .eh_frame of a regular file, or .debug_frame if .eh_frame has no entries. fd is borrowed,
 * and the caller may close it afterwards. Errors: -ENOMEM; -ENOEXEC: not an ELF file of this
 * processor; -ENODATA: no usable tables; -errno of reading. Does not set the error chain, because
 * files without tables are common. */
int unwind_table_open(int fd, struct unwind_table **ret_table);

/* The same for an image in memory, such as the vdso. File offsets are then offsets in the image. */
int unwind_table_open_memory(const void *image, size_t size, struct unwind_table **ret_table);

void unwind_table_close(struct unwind_table *table); /* NULL-safe */

/* The rule for the instruction at a file offset; for a caller's frame, pass the return address
 * minus one. RULE_UNKNOWN: no rule. Not thread-safe, because answers are cached. */
union unwind_rule unwind_table_find(struct unwind_table *table, uint64_t file_offset);

/* A function, or a part of one; addresses are those of the file's symbols. */
struct unwind_part {
	uint64_t begin, end;
	bool is_cold; /* starts with a frame already set up, as only a part split off from a
			 function does */
};
bool unwind_table_find_part(const struct unwind_table *table, uint64_t address,
			    struct unwind_part *ret_part);
