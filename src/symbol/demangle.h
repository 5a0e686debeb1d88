/* SPDX-License-Identifier: MIT
 *
 * symbol/demangle.h - demangle C++ and Rust names
 */
#pragma once

#include <stdbool.h>

#define DEMANGLE_INPUT_LIMIT  16384 /* bytes; a longer name is not demangled */
#define DEMANGLE_OUTPUT_LIMIT 65536 /* bytes; nor is a name with a longer result */

struct demangler;

struct demangle_options {
	bool is_short;       /* without parameters and template arguments */
	bool is_kernel;      /* without parameters and result type: enough to distinguish kernels */
	bool has_parameters; /* is_kernel with parameters: distinguishes overloaded kernels */
};

/* C++ needs libstdc++.so.6 at run time; without it C++ names stay mangled. Errors: -ENOMEM. */
int demangler_new(const struct demangle_options *options, struct demangler **ret_demangler);
void demangler_free(struct demangler *demangler); /* NULL-safe */

/* The demangled name, to be freed by the caller; NULL for a name that is not mangled, is invalid,
 * exceeds the limits, or without memory. */
char *demangler_find(struct demangler *demangler, const char *name);

/* Rust only, both mangling schemes; NULL as above. */
char *demangle_rust(const char *name);

/* Drops parameter lists, template arguments and everything after them, in place. */
void demangle_shorten(char *name);
