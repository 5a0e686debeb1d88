/* SPDX-License-Identifier: MIT
 *
 * cli/remote/glibc.h - the oldest glibc that a file runs with, and that of a machine
 */
#pragma once

#include <stddef.h>

/* N of the newest version GLIBC_2.N that an ELF file asks for; 0: none, or not an ELF file. */
unsigned glibc_needed(const void *bytes, size_t size);

/* N of "2.N" at the end of the first line of `ldd --version` or getconf; 0: not of glibc. */
unsigned glibc_parse(const char *text);
