/* SPDX-License-Identifier: MIT
 *
 * page/view/parts.h - the sections of one run in a page, for pages with one or two runs
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/string.h"
#include "page/view/sections.h"
#include "page/view/stalls.h"

struct analysis;
struct view;
struct view_about;

struct view_parts {
	struct view *view; /* borrowed */
	struct view_sections sections;
	struct view_stalls stalls;
	struct string_builder head; /* JSON */
	bool has_texts;             /* texts of frames and stacks are in a section of their own */
};

/* Finishes the tracks and writes the head's JSON, after the observed analysis has finished. The
 * caller frees the parts after a failure too. Errors: -ENOMEM, -errno, errors of the report. */
int view_parts_init(struct view_parts *parts, struct view *view, const struct analysis *analysis,
		    const struct view_about *about);
void view_parts_fini(struct view_parts *parts);

/* Writes the sections that the page needs first, head and overview; then the others. */
int view_parts_write_first(struct view_parts *parts, FILE *file);
int view_parts_write_rest(struct view_parts *parts, FILE *file);
/* Writes an element with a text of its own, and the one that marks a complete file. */
int view_write_element(struct view *view, const char *id, const struct string_builder *text,
		       FILE *file);
int view_write_end(struct view *view, FILE *file);
