/* SPDX-License-Identifier: MIT
 *
 * symbol/elf_names.h - which of some names are in a program or library, and where
 */
#ifndef SYMBOL_ELF_NAMES_H
#define SYMBOL_ELF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bit i is set where the file defines names[i], exported or not; at most 32 names. A file that is damaged, or none of
 * this machine's, has none. */
uint32_t elf_names_find(int fd, const char *const *names, size_t count);

struct elf_symbol {
	uint64_t value, size; /* as the file says; 0: it does not define the name */
};

/* The same of functions and data, with what the first table that has them says, which is the dynamic one as linkers
 * write files. */
uint32_t elf_names_find_symbols(int fd, const char *const *names, size_t count,
				struct elf_symbol *ret_symbols);

/* What stands between prefix and suffix in the name of the first exported function that has both. False: none, or
 * one that does not fit in size bytes with its NUL. */
bool elf_names_find_between(int fd, const char *prefix, const char *suffix, char *ret_between,
			    size_t size);

/* Where in the file `size` bytes of an address are, as its symbols count. False: they are not in it. */
bool elf_names_offset(int fd, uint64_t address, size_t size, uint64_t *ret_offset);

/* What the file has at an address, as its symbols count. False: nothing, or not so much. */
bool elf_names_read(int fd, uint64_t address, void *ret_bytes, size_t size);

#endif
