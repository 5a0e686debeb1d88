/* SPDX-License-Identifier: MIT
 *
 * base/suggest.h - the name somebody most likely meant
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stddef.h>

/* The name nearest to `word` in a table of `count` rows, `stride` bytes apart, each of which begins
 * with a const char * to its name; NULL where none is near enough to be worth offering. Rows with a
 * NULL name are passed over. */
const char *suggest_name(const char *word, const void *rows, size_t count, size_t stride);

#endif
