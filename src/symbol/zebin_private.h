/* SPDX-License-Identifier: MIT
 *
 * symbol/zebin_private.h - the sections of a zebin
 *
 * Only symbol/zebin*.c include this.
 */
#ifndef SYMBOL_ZEBIN_PRIVATE_H
#define SYMBOL_ZEBIN_PRIVATE_H

#include <elf.h>

#include "base/hash.h"
#include "symbol/zebin.h"

#ifndef EM_INTELGT
#define EM_INTELGT 205
#endif

/* Names are looked at again for each relocation, and a table may have no end. */
enum { ZEBIN_NAME_MOST = 1 << 16 };

#define ZEBIN_TEXT ".text." /* and a kernel's name: the section with its code */

struct zebin {
	const uint8_t *bytes; /* borrowed */
	size_t size;
	Elf64_Ehdr head;
	Elf64_Shdr names; /* their section */
	struct zebin_target target;
	struct string_table texts;
	struct hash_map
		by_name; /* a name's id in texts -> number of the kernel that has it first */
	struct zebin_kernel *kernels;
	uint32_t *sections; /* of the kernels */
	size_t count, capacity, sections_capacity;
};

/* False where the bytes are not all in the file. */
bool zebin_read(const struct zebin *zebin, uint64_t offset, void *ret, size_t size);
bool zebin_read_section(const struct zebin *zebin, size_t index, Elf64_Shdr *ret_section);

/* Whether what the section holds is in the file. */
bool zebin_has_bytes(const struct zebin *zebin, const Elf64_Shdr *section);

/* "" for what does not end inside of the table. */
const char *zebin_text(const struct zebin *zebin, const Elf64_Shdr *table, uint32_t offset);
const char *zebin_section_name(const struct zebin *zebin, const Elf64_Shdr *section);

/* NULL: there is none. */
struct zebin_kernel *zebin_kernel_of_section(const struct zebin *zebin, uint32_t index);
struct zebin_kernel *zebin_find_kernel(const struct zebin *zebin, const char *name);

#endif
