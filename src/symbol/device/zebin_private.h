/* SPDX-License-Identifier: MIT
 *
 * symbol/device/zebin_private.h - the zebin object that zebin.c and zebin_link.c share
 */
#pragma once

#include "base/hash.h"
#include "symbol/device/zebin.h"
#include "symbol/elf/image.h"

#ifndef EM_INTELGT
#define EM_INTELGT 205
#endif

/* Max bytes of a name: names are compared again for each relocation, and a table may lack its final
 *                      NUL. */
enum { MAX_ZEBIN_NAME = 1 << 16 };

#define ZEBIN_TEXT ".text." /* prefix of a code section's name; the kernel's name follows */

struct zebin {
	struct elf_image image;
	struct zebin_target target;
	struct string_table texts;
	/* a name's id in texts -> number of the kernel that has it first */
	struct hash_map by_name;
	struct zebin_kernel *kernels;
	uint32_t *sections; /* section index of each kernel */
	size_t count, capacity, sections_capacity;
};

/* The text at an offset; "" if it does not end inside the texts or is not a valid name. */
const char *zebin_text(const struct elf_texts *texts, uint32_t offset);
const char *zebin_section_name(const struct zebin *zebin, const Elf64_Shdr *section);

/* The kernel whose code is in the section; NULL: none. */
struct zebin_kernel *zebin_kernel_of_section(const struct zebin *zebin, uint32_t index);
struct zebin_kernel *zebin_find_kernel(const struct zebin *zebin, const char *name);
