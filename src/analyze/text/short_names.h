/* SPDX-License-Identifier: MIT
 *
 * analyze/text/short_names.h - the part of a C++ name that distinguishes it from the others
 */
#pragma once

#include <stddef.h>

struct short_names;

/* Makes a short name for each of `count` demangled names of kernels; no two different names share
 * one. The names must outlive the result. Errors: -ENOMEM. */
int short_names_new(const char *const *names, size_t count, struct short_names **ret_short);
/* The same for functions of the host: without return types, template arguments and parameters.
 * Functions that would share a name keep their full names. Errors: -ENOMEM. */
int short_functions_new(const char *const *names, size_t count, struct short_names **ret_short);
void short_names_free(struct short_names *names); /* NULL-safe */

/* The short name of the name at `index`. Never NULL; valid until free. */
const char *short_names_at(const struct short_names *names, size_t index);

/* The short name of a full name; the name itself if it is not one of the names. names NULL: the
 * full name. */
const char *short_names_find(const struct short_names *names, const char *full);
