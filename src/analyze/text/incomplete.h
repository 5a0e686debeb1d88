/* SPDX-License-Identifier: MIT
 *
 * analyze/text/incomplete.h - one line about the missing parts of a trace
 */
#pragma once

#include <stddef.h>

struct analysis;
struct model;

struct incomplete {
	char text[512]; /* "" if nothing is missing */
};

/* For example "3 commands in flight at exit; 131 rows lost; 1 damaged chunk left out". */
struct incomplete incomplete_analysis(const struct analysis *analysis);

/* The same for exporters, which do not count commands: only losses and the damage found so far. */
struct incomplete incomplete_model(const struct model *model);

/* The reason why a device (by its index) has no account. */
const char *incomplete_unmeasured(const struct analysis *analysis, size_t device);
