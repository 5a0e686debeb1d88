/* SPDX-License-Identifier: MIT
 *
 * analyze/kernel_names.h - names of kernels as their programmers wrote them, by the string id of their symbol
 */
#ifndef ANALYZE_KERNEL_NAMES_H
#define ANALYZE_KERNEL_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct kernel_names;
struct trace_reader;

/* Of all kernels of a trace; its texts must outlive the names. Errors: -ENOMEM. */
int kernel_names_new(const struct trace_reader *reader, struct kernel_names **ret_names);
void kernel_names_free(struct kernel_names *names); /* NULL-safe */

/* Valid until free; NULL: the symbol is what is shown, or no kernel has it. */
const char *kernel_names_find(const struct kernel_names *names, uint32_t symbol_string);

/* "[kernel 0x1000ffff0040]" of a code object (id) without a name, of which an address is known; else NULL. */
const char *kernel_names_place(const struct kernel_names *names, uint32_t code);

#endif
