/* SPDX-License-Identifier: MIT
 *
 * symbol/elf_names.h - which of some functions are in a program or library
 */
#ifndef SYMBOL_ELF_NAMES_H
#define SYMBOL_ELF_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Bit i is set where the file defines names[i], exported or not; at most 32 names. A file that is damaged, or none of
 * this machine's, has none. */
uint32_t elf_names_find(int fd, const char *const *names, size_t count);

#endif
