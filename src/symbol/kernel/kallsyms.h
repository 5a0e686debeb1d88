/* SPDX-License-Identifier: MIT
 *
 * symbol/kernel/kallsyms.h - functions of the running kernel and its modules, by address
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { KERNEL_SYMBOL_BYTES = 256 };

/* The function at or before an address. */
struct kernel_symbol {
	uint64_t address;
	uint64_t distance;              /* from the function's start */
	char name[KERNEL_SYMBOL_BYTES]; /* "function", "function [module]"; "": none */
};

/* No function is this long: a name this far before an address belongs to other code. */
#define KALLSYMS_FAR (UINT64_C(1) << 20)

/* Names the addresses, and sorts them. path NULL: /proc/kallsyms, which takes about 24 ms for its
 * 180,000 lines. Errors: -EACCES if the file contains no addresses (missing rights), -ENOMEM,
 * -errno of reading, each with the error chain. */
int kallsyms_name(const char *path, struct kernel_symbol *symbols, size_t count);

/* Parses the kernel's own text for an address, "function+0x12/0x80 [module]", into name and
 * distance. Text in another form, such as a bare number, gives an empty name. */
void kernel_symbol_parse(const char *text, struct kernel_symbol *symbol);
