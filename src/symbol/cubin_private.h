/* SPDX-License-Identifier: MIT
 *
 * symbol/cubin_private.h - the sections of a cubin
 *
 * Only symbol/cubin*.c include this.
 */
#ifndef SYMBOL_CUBIN_PRIVATE_H
#define SYMBOL_CUBIN_PRIVATE_H

#include <elf.h>

#include "base/hash.h"
#include "symbol/cubin.h"

#ifndef EM_CUDA
#define EM_CUDA 190
#endif

struct cubin_line {
	uint64_t offset;  /* in the file: from here to the next one */
	const char *file; /* NULL: of no line */
	uint32_t line;
};

struct cubin {
	const uint8_t *bytes; /* borrowed */
	size_t size;
	Elf64_Ehdr head;
	uint32_t section_count;
	Elf64_Shdr names; /* their section */
	Elf64_Shdr symbols, texts;
	uint64_t names_end,
		texts_end; /* behind the last NUL of names and texts: what begins before it ends */
	char target[16];
	struct cubin_function *functions;
	size_t count, capacity;
	bool has_lines;           /* read */
	struct cubin_line *lines; /* by offset */
	size_t line_count, line_capacity;
	struct string_table files;
};

/* False where the bytes are not all in the file. */
bool cubin_read(const struct cubin *cubin, uint64_t offset, void *ret, size_t size);
bool cubin_read_section(const struct cubin *cubin, uint32_t index, Elf64_Shdr *ret_section);
bool cubin_has_bytes(const struct cubin *cubin, const Elf64_Shdr *section);
/* Of a section; "" where it does not end inside of the table. */
const char *cubin_name(const struct cubin *cubin, const Elf64_Shdr *section);
bool cubin_read_symbol(const struct cubin *cubin, uint64_t index, Elf64_Sym *ret_symbol);

/* Fills in lines; where there are none it stays empty. */
void cubin_read_lines(struct cubin *cubin);

#endif
