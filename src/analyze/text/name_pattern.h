/* SPDX-License-Identifier: MIT
 *
 * analyze/text/name_pattern.h - the name that numbered threads and processes share
 */
#pragma once

#include <stddef.h>

enum { NAME_PATTERN_BYTES = 128 };

/* Leaves out " (process 12)" at the end of a name, and cuts a longer name. */
void name_without_process(const char *name, char ret_name[NAME_PATTERN_BYTES]);

/* The part that name_without_process leaves out; "": there is none. */
const char *name_process_of(const char *name);

/* Replaces each number of such a name by "*": "worker-17" is "worker-*". It cuts a longer name, and
 * name_pattern_cut one that has no room; a pattern is never longer than its name. */
void name_pattern(const char *name, char ret_pattern[NAME_PATTERN_BYTES]);
void name_pattern_cut(const char *name, char *ret_pattern, size_t room); /* room: at least 1 */
