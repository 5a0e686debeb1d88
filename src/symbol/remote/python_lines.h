/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python_lines.h - from an instruction of a CPython code object to its line
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* version: 0xMMmm, as 0x030b for 3.11. table: co_lnotab of 3.6 to 3.9, co_linetable of later
 * versions. The instruction is an offset in bytes from the start of the code; in 3.10 and later
 * frames count in units of two. Errors: -ENOTSUP for a version before 3.6 or above 3.14, -ENODATA
 * for an instruction without a line, -EBADMSG for a table that is invalid or ends before it. */
int python_line(uint32_t version, const uint8_t *table, size_t size, uint32_t first_line,
		uint32_t instruction_offset_bytes, uint32_t *ret_line);
