/* SPDX-License-Identifier: MIT
 *
 * symbol/demangle.h - names of C++ and Rust as their programmers write them
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include <stdbool.h>

#define DEMANGLE_INPUT_LIMIT  16384 /* bytes; a longer name stays as it is */
#define DEMANGLE_OUTPUT_LIMIT 65536 /* bytes; so does one that would become longer */

struct demangler;

struct demangle_options {
	bool is_short; /* without parameters and without what stands between < and > */
	bool is_kernel; /* without parameters and the type of its result: what one kernel is told from another by */
	bool has_parameters; /* is_kernel with them: what overloaded ones are told apart by */
};

/* C++ needs libstdc++.so.6 at run time; where it is not there its names stay as they are. Errors:
 * -ENOMEM. */
int demangler_new(const struct demangle_options *options, struct demangler **ret_demangler);
void demangler_free(struct demangler *demangler); /* NULL-safe */

/* The name, to be freed by the caller; NULL for a name that is not mangled, makes no sense, exceeds
 * the limits, or without memory. */
char *demangler_find(struct demangler *demangler, const char *name);

/* Rust alone, both manglings; NULL as above. */
char *demangle_rust(const char *name);

/* Drops parameter lists, template arguments and what follows them, in place. */
void demangle_shorten(char *name);

#endif
