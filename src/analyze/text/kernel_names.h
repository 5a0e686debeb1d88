/* SPDX-License-Identifier: MIT
 *
 * analyze/text/kernel_names.h - demangled names of kernels, by the string id of their symbol
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct kernel_names;
struct short_names;
struct trace_reader;

/* Makes the names of all kernels of a trace. The reader must outlive them. Errors: -ENOMEM. */
int kernel_names_new(const struct trace_reader *reader, struct kernel_names **ret_names);
void kernel_names_free(struct kernel_names *names); /* NULL-safe */

/* The name for a symbol, valid until free; NULL: show the symbol itself, or no kernel has it. */
const char *kernel_names_find(const struct kernel_names *names, uint32_t symbol_string);

/* "[kernel 0x1000ffff0040]" for a kernel (by its code id) with an address but without a name; NULL
 * for all others. */
const char *kernel_names_place(const struct kernel_names *names, uint32_t code);

/* The short names of all kernels. The kernel names must outlive them. Errors: -ENOMEM. */
int kernel_names_shorten(const struct kernel_names *names, struct short_names **ret_short);
