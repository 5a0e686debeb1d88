/* SPDX-License-Identifier: MIT
 *
 * page/view/view.h - a page with the timeline of a run: the writing half of docs/design/view.md
 *
 * 	view_new(&drawing, "run.html", &view);
 * 	view_observe(view, &observer);
 * 	analysis_new(model, &(struct analysis_options){.observer = &observer}, &analysis);
 * 	view_write(view, analysis, &about, file);
 * 	view_free(view);
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

struct analysis;
struct analysis_observer;
struct drawing;
struct json_writer;
struct short_names;
struct view;

/* Texts of the page. */
struct view_about {
	const char *title, *version;
	const char *prefix;                    /* for the elements' ids; NULL: none */
	const char *incomplete;                /* text about missing data; "": complete */
	uint64_t max_bytes;                    /* approximate limit of the file's size */
	const struct short_names *short_names; /* names of kernels; NULL: full names only */
	/* Writes the value of the head's key "report". */
	int (*write_report)(void *context, struct json_writer *json);
	void *context;
};

/* drawing: open, borrowed; its analysis is set by view_write. Chunks go into an unnamed file in the
 * folder of `beside`; NULL: in $TMPDIR. Errors: -ENOMEM, -errno with a text. */
int view_new(struct drawing *drawing, const char *beside, struct view **ret_view);
void view_free(struct view *view); /* NULL-safe */

/* Sets the observer's callbacks, which fill the view. */
void view_observe(struct view *view, struct analysis_observer *ret_observer);

/* Writes the whole page after the observed analysis has finished. Errors: -errno with a text. */
int view_write(struct view *view, const struct analysis *analysis, const struct view_about *about,
	       FILE *file);
