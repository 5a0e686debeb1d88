/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/names.h - look up symbols of a program or library by name
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bit i is set if the file defines a function names[i], exported or not; at most 32 names. 0 for a
 * damaged file or another machine's. */
uint32_t elf_names_find(int fd, const char *const *names, size_t count);

struct elf_symbol {
	uint64_t value, size; /* as in the symbol table; 0: the file does not define the name */
};

/* The same for functions and data, with values. If several tables have a name, the first one
 * counts. Linkers write the dynamic table first. */
uint32_t elf_names_find_symbols(int fd, const char *const *names, size_t count,
				struct elf_symbol *ret_symbols);

/* Finds the first exported function whose name starts with prefix and ends with suffix, and copies
 * the part between them. False: none, or the part does not fit into `size` bytes with its NUL. */
bool elf_names_find_between(int fd, const char *prefix, const char *suffix, char *ret_between,
			    size_t size);

/* File offset of an address range; addresses are those of the file's symbols. False: not in the
 * file. */
bool elf_names_offset(int fd, uint64_t address, size_t size, uint64_t *ret_offset);

/* Reads the file's bytes at an address of its symbols. False: the file has fewer than `size` bytes
 * there. */
bool elf_names_read(int fd, uint64_t address, void *ret_bytes, size_t size);
