/* SPDX-License-Identifier: MIT
 *
 * symbol/device/cubin_private.h - the cubin object that cubin.c and cubin_lines.c share
 */
#pragma once

#include "base/hash.h"
#include "symbol/device/cubin.h"
#include "symbol/elf/image.h"

#ifndef EM_CUDA
#define EM_CUDA 190
#endif

struct cubin_line {
	uint64_t offset;  /* file offset of its first byte; it extends to the next line's offset */
	const char *file; /* NULL: code without a line */
	uint32_t line;
};

struct cubin {
	struct elf_image image;
	Elf64_Shdr symbols;
	struct elf_texts texts; /* symbol names */
	char target[16];
	struct cubin_function *functions;
	size_t count, capacity;
	bool has_lines;           /* the line table was read */
	struct cubin_line *lines; /* sorted by offset */
	size_t line_count, line_capacity;
	struct string_table files;
};

/* Fills cubin->lines; they stay empty if the file has none. */
void cubin_read_lines(struct cubin *cubin);
