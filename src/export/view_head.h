/* SPDX-License-Identifier: MIT
 *
 * export/view_head.h - the head of a view: what is needed to draw anything
 */
#ifndef EXPORT_VIEW_HEAD_H
#define EXPORT_VIEW_HEAD_H

#include <stdbool.h>

struct string_builder;
struct view_about;
struct view_sections;
struct view_tracks;

struct view_head {
	const struct view_about *about;
	struct view_tracks *tracks;
	const struct view_sections *sections;
	bool has_texts;  /* names of frames and stacks have a section of their own */
	bool has_stalls; /* so have samples of device instructions, where there are some */
};

/* The JSON document. -ENOMEM, errors of the report. */
int view_head_write(const struct view_head *head, struct string_builder *text);

#endif
