/* SPDX-License-Identifier: MIT
 *
 * page/pair/pair.h - a page with the timelines of two runs and the account of their difference
 *
 * docs/design/view.md, "Two runs", describes the file.
 */
#pragma once

#include <stdio.h>

struct analysis;
struct json_writer;
struct view;
struct view_about;

/* Prefix of the ids of the base's elements: the value of view_about.prefix. */
#define PAIR_BASE_PREFIX "b_"

struct pair_half {
	struct view *view;
	const struct analysis *analysis;
	const struct view_about *about;
};

struct pair_page {
	struct pair_half base, changed;
	/* Writes the comparison as one JSON object. */
	int (*write_comparison)(void *context, struct json_writer *json);
	void *context;
};

/* Writes the whole page after both observed analyses have finished. Errors: -errno with a text. */
int pair_write(const struct pair_page *page, FILE *file);
