/* SPDX-License-Identifier: MIT
 *
 * page/view/head.h - the head of a view: the data that the page needs to draw anything
 */
#ifndef PAGE_VIEW_HEAD_H
#define PAGE_VIEW_HEAD_H

#include <stdbool.h>

struct string_builder;
struct view_about;
struct view_sections;
struct view_tracks;

struct view_head {
	const struct view_about *about;
	struct view_tracks *tracks;
	const struct view_sections *sections;
	bool has_texts;  /* texts of frames and stacks are in a section of their own */
	bool has_stalls; /* there is a section of device instruction samples */
};

/* Writes the JSON document. Errors: -ENOMEM, errors of the report. */
int view_head_write(const struct view_head *head, struct string_builder *text);

#endif
