/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/names.h - the part of a kernel's name that stays when the kernel is
 * tuned, generated or compiled anew
 */
#pragma once

#include <stddef.h>

/* Writes the key of the name: its family, operation and data types, without tile sizes, stages,
 * hashes and counters. Kernels of one key are variants of one kernel. ret_pattern: the family,
 * such as "triton"; a constant. A key that does not fit is cut and gets a hash of the rest.
 * Returns 1, or 0 if no family knows the name; the outputs are then untouched. size: at least 32.
 */
int kernel_family(const char *name, char *ret_key, size_t size, const char **ret_pattern);

/* Writes the function of a demangled name, without return type, template arguments, parameters and
 * anonymous namespaces. The same rule for a name that does not fit. Returns its length. */
size_t kernel_plain_name(const char *name, char *ret_plain, size_t size);
