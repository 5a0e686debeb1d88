/* SPDX-License-Identifier: MIT
 *
 * page/view/view.c - a page with the timeline of a run: the writing half of docs/design/view.md
 *
 * Runs in:  our own process
 * Gets:     the callbacks of an analysis during its sweep
 * Gives:    an HTML file that contains the whole timeline
 * Owns:     the tracks, the names, a file of chunks
 * Fails:    -ENOMEM, -errno with a text if a file has no space
 * Why all data of the trace are base64: a kernel may have any name, but text in base64 cannot
 *           contain markup or end an element. base64 makes the data a third larger, but no escaping
 *           can be forgotten.
 */
#include "page/view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/observer.h"
#include "base/error.h"
#include "base/file/stream.h"
#include "base/json.h"
#include "base/string.h"
#include "page/view/code.h"
#include "page/view/head.h"
#include "page/view/page.h"
#include "page/view/sections.h"
#include "page/view/stalls.h"
#include "page/view/tracks.h"

/* larger texts are a section that the page reads on demand */
#define TEXTS_BYTES ((size_t)1 << 20)

struct view {
	struct view_store *store;
	struct view_deflater deflater;
	struct view_code code;
	struct view_tracks tracks;
};

int view_new(const struct model *model, struct frames *frames, const char *beside,
	     struct view **ret_view)
{
	struct view *view = calloc(1, sizeof(*view));
	int error;

	if (!view)
		return -ENOMEM;
	error = view_store_new(beside, &view->store);
	if (!error)
		error = view_deflater_init(&view->deflater);
	if (!error)
		error = view_code_init(&view->code, model, frames);
	if (error) {
		view_free(view);
		return error;
	}
	*ret_view = view;
	return 0;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	view_tracks_fini(&view->tracks);
	view_code_fini(&view->code);
	view_deflater_fini(&view->deflater);
	view_store_free(view->store);
	free(view);
}

void view_observe(struct view *view, struct analysis_observer *ret_observer)
{
	view_tracks_observe(&view->tracks, view->store, &view->code, ret_observer);
}

/* ---- the page ---- */

/* Writes a section with one JSON object: `stalls` if given, otherwise the texts. */
static int write_json(struct view *view, const char *id, const struct view_stalls *stalls,
		      FILE *file)
{
	struct string_builder text = {0};
	struct json_writer json;
	int error;

	json_init_text(&json, &text);
	if (stalls) {
		view_stalls_write(stalls, &json);
	} else {
		json_object_begin(&json);
		view_code_write(&view->code, &json);
		json_object_end(&json);
	}
	error = json_error(&json);
	if (!error)
		error = view_sections_write_bytes(&view->deflater, id, text.text, text.length,
						  file);
	string_builder_fini(&text);
	return error;
}

static int write_page(struct view *view, struct view_sections *sections,
		      const struct string_builder *head, bool has_texts,
		      const struct view_stalls *stalls, FILE *file)
{
	int error;

	fwrite(view_page_begin, 1, view_page_begin_size, file);
	error = view_sections_write_bytes(&view->deflater, "head", head->text, head->length, file);
	if (!error && sections->count)
		error = view_sections_write(sections, 0, file);
	fwrite(view_page_script, 1, view_page_script_size, file);
	for (size_t i = 1; i < sections->count && !error && !ferror(file); i++)
		error = view_sections_write(sections, i, file);
	if (!error && stalls->count)
		error = write_json(view, "stalls", stalls, file);
	if (!error && has_texts)
		error = write_json(view, "texts", NULL, file);
	if (!error)
		error = view_sections_write_bytes(&view->deflater, "end", "", 0, file);
	fwrite(view_page_end, 1, view_page_end_size, file);
	return error ? error : stream_flush(file);
}

static int write_sections(struct view *view, const struct view_about *about,
			  struct view_sections *sections, const struct view_stalls *stalls,
			  FILE *file)
{
	struct view_head head = {.about = about,
				 .tracks = &view->tracks,
				 .sections = sections,
				 .has_texts = view_code_size(&view->code) > TEXTS_BYTES,
				 .has_stalls = stalls->count != 0};
	struct string_builder text = {0};
	int error = view_sections_pack(sections, &view->tracks);

	if (!error)
		error = view_head_write(&head, &text);
	if (!error)
		error = write_page(view, sections, &text, head.has_texts, stalls, file);
	string_builder_fini(&text);
	return error;
}

int view_write(struct view *view, const struct analysis *analysis, const struct view_about *about,
	       FILE *file)
{
	struct view_sections sections;
	struct view_stalls stalls;
	int error;

	view->tracks.analysis = analysis;
	error = view_stalls_init(&stalls, analysis, &view->code);
	view_sections_init(&sections, view->store, about->max_bytes);
	if (!error)
		error = view_tracks_finish(&view->tracks);
	if (!error)
		error = view_store_finish(view->store);
	if (!error)
		error = write_sections(view, about, &sections, &stalls, file);
	view_stalls_fini(&stalls);
	view_sections_fini(&sections);
	if (error && !*error_text())
		return error_set(error, "write the view: %s", strerror(-error));
	return error;
}
