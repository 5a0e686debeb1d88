/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/names.h - the part of a kernel's name that stays when the kernel is
 * tuned, generated or compiled anew
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
	KERNEL_KEY_BYTES = 1024
}; /* room for the keys below; longer ones are cut, and end in a hash */

/* Writes the key of the name: its operation and data types, without tile sizes, stages, hashes and
 * counters. Kernels of one key are variants of one kernel. ret_pattern: the family, such as
 * "triton"; a constant. Returns 1, or 0 if no family knows the name; the outputs are then
 * untouched. size: at least 32. */
int kernel_family(const char *name, char *ret_key, size_t size, const char **ret_pattern);

/* The same without data types and without the library, for a weaker match. */
int kernel_family_loose(const char *name, char *ret_key, size_t size, const char **ret_pattern);

/* How sure a family is that equal keys are variants: 0 to 1. The pattern is one that a function
 * above returned. */
double kernel_family_confidence(const char *pattern);

/* The template arguments that stay in a plain name. */
enum plain_detail {
	PLAIN_FUNCTION, /* nothing */
	PLAIN_TYPES,    /* types and enumerators, but no numbers */
};

/* Writes the function of a demangled name, without return type, parameters and anonymous
 * namespaces. Returns false and writes nothing for a template whose arguments are its meaning, such
 * as the elementwise kernels of PyTorch, and for an empty name. size: at least 32. */
bool kernel_plain_name(const char *name, enum plain_detail detail, char *ret_plain, size_t size);
