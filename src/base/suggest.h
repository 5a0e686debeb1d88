/* SPDX-License-Identifier: MIT
 *
 * base/suggest.h - suggest a name for a mistyped word
 */
#pragma once

#include <stddef.h>

/* The name nearest to `word` in a table of `count` rows, `stride` bytes apart, each of which starts
 * with a const char * to its name; NULL if none is near enough. Rows with a NULL name are skipped.
 */
const char *suggest_name(const char *word, const void *rows, size_t count, size_t stride);
