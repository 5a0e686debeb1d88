/* SPDX-License-Identifier: MIT
 *
 * export/view.h - a timeline of a run in one page: the writer's half of docs/design/view.md
 *
 *	view_new(model, frames, "run.html", &view);
 *	view_observe(view, &observer);
 *	analysis_new(model, &(struct analysis_options){.observer = &observer}, &analysis);
 *	view_write(view, analysis, &about, file);
 *	view_free(view);
 */
#ifndef EXPORT_VIEW_H
#define EXPORT_VIEW_H

#include <stdint.h>
#include <stdio.h>

struct analysis;
struct analysis_observer;
struct frames;
struct json_writer;
struct model;
struct view;

/* What the page says about itself. */
struct view_about {
	const char *title, *version;
	const char *incomplete; /* what is missing in the trace; "": nothing */
	uint64_t most_bytes;    /* of the file, more or less */
	/* Writes the value of the head's key "report". */
	int (*write_report)(void *context, struct json_writer *json);
	void *context;
};

/* model and frames are borrowed. Chunks go to a file without a name in the folder of `beside`; NULL: in $TMPDIR.
 * Errors: -ENOMEM, -errno with a text. */
int view_new(const struct model *model, struct frames *frames, const char *beside,
	     struct view **ret_view);
void view_free(struct view *view); /* NULL-safe */

/* What fills it. */
void view_observe(struct view *view, struct analysis_observer *ret_observer);

/* The whole page, once the analysis that it observed is there. Errors: -errno with a text. */
int view_write(struct view *view, const struct analysis *analysis, const struct view_about *about,
	       FILE *file);

#endif
