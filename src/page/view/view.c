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
#include "flame/drawing.h"
#include "page/scope/scope.h"
#include "page/view/code.h"
#include "page/view/head.h"
#include "page/view/page.h"
#include "page/view/parts.h"
#include "page/view/tracks.h"

/* larger texts are a section that the page reads on demand */
#define TEXTS_BYTES ((size_t)1 << 20)

/* Cells of idle time: short enough for ranges of some ms, few enough for a file of 10^8 events. */
#define CELL_NS    UINT64_C(1000000)
#define MAX_VALUES 200000

struct view {
	struct view_store *store;
	struct view_deflater deflater;
	struct view_code code;
	struct view_tracks tracks;
	struct drawing *drawing; /* borrowed */
	struct scope *scope;     /* idle time by stack and cell */
	struct analysis_observer to_tracks, to_scope;
};

int view_new(struct drawing *drawing, const char *beside, struct view **ret_view)
{
	const struct scope_grid grid = {.row_ns = CELL_NS, .rows = 1, .max_values = MAX_VALUES};
	struct view *view = calloc(1, sizeof(*view));
	int error;

	if (!view)
		return -ENOMEM;
	view->drawing = drawing;
	error = view_store_new(beside, &view->store);
	if (!error)
		error = view_deflater_init(&view->deflater);
	if (!error)
		error = view_code_init(&view->code, drawing->model, drawing->frames);
	if (!error)
		error = scope_new(&grid, drawing_find_view("idle"), &view->scope);
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
	scope_free(view->scope);
	view_tracks_fini(&view->tracks);
	view_code_fini(&view->code);
	view_deflater_fini(&view->deflater);
	view_store_free(view->store);
	free(view);
}

static int on_begin(void *context, const struct analysis *analysis)
{
	struct view *view = context;
	int error = view->to_tracks.on_begin(view->to_tracks.context, analysis);

	return error ? error : view->to_scope.on_begin(view->to_scope.context, analysis);
}

static int on_row(void *context, const struct order_item *item, uint64_t launches)
{
	struct view *view = context;

	return view->to_tracks.on_row(view->to_tracks.context, item, launches);
}

static int on_command(void *context, const struct observed_command *command)
{
	struct view *view = context;

	return view->to_tracks.on_command(view->to_tracks.context, command);
}

static int on_flight(void *context, size_t device, uint64_t time_ns, int by)
{
	struct view *view = context;

	return view->to_tracks.on_flight(view->to_tracks.context, device, time_ns, by);
}

static int on_span(void *context, size_t device, const struct account_span *span)
{
	struct view *view = context;
	int error = view->to_tracks.on_span(view->to_tracks.context, device, span);

	return error ? error : view->to_scope.on_span(view->to_scope.context, device, span);
}

static int on_part(void *context, const struct observed_part *part)
{
	struct view *view = context;

	return view->to_scope.on_part(view->to_scope.context, part);
}

void view_observe(struct view *view, struct analysis_observer *ret_observer)
{
	view_tracks_observe(&view->tracks, view->store, &view->code, &view->to_tracks);
	scope_observe(view->scope, &view->to_scope);
	*ret_observer = (struct analysis_observer){.context = view,
						   .on_begin = on_begin,
						   .on_row = on_row,
						   .on_command = on_command,
						   .on_flight = on_flight,
						   .on_span = on_span,
						   .on_part = on_part};
}

/* ---- the page ---- */

/* An element's id in the page, such as "b_head". */
struct element_id {
	char text[48];
};

static struct element_id id_of(const struct view_parts *parts, const char *name)
{
	struct element_id id;

	snprintf(id.text, sizeof(id.text), "%s%s", parts->sections.prefix, name);
	return id;
}

/* Writes a section with one JSON object: `stalls` if given, otherwise the texts. */
static int write_json(const struct view_parts *parts, const char *name,
		      const struct view_stalls *stalls, FILE *file)
{
	struct view *view = parts->view;
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
		error = view_sections_write_bytes(&view->deflater, id_of(parts, name).text,
						  text.text, text.length, file);
	string_builder_fini(&text);
	return error;
}

/* Writes the stacks of each measured device's time, as docs/design/view.md describes them. */
static int write_graphs(const struct view_parts *parts, FILE *file)
{
	struct view *view = parts->view;
	const struct analysis *analysis = view->tracks.analysis;
	int error = 0;

	view->drawing->analysis = analysis;
	view->drawing->view = drawing_find_view("total");
	for (size_t i = 0; i < analysis_devices_shown(analysis) && !error; i++) {
		char head[32], cells[32];

		if (!analysis->devices[i].is_measured)
			continue;
		snprintf(head, sizeof(head), VIEW_GRAPH_ID, i);
		snprintf(cells, sizeof(cells), VIEW_CELLS_ID, i);
		view->drawing->device = i;
		error = scope_write_sections(view->scope, view->drawing, id_of(parts, head).text,
					     id_of(parts, cells).text, file);
	}
	return error;
}

int view_parts_write_first(struct view_parts *parts, FILE *file)
{
	int error = view_sections_write_bytes(&parts->view->deflater, id_of(parts, "head").text,
					      parts->head.text, parts->head.length, file);

	if (!error && parts->sections.count)
		error = view_sections_write(&parts->sections, 0, file);
	return error;
}

int view_parts_write_rest(struct view_parts *parts, FILE *file)
{
	int error = 0;

	for (size_t i = 1; i < parts->sections.count && !error && !ferror(file); i++)
		error = view_sections_write(&parts->sections, i, file);
	if (!error)
		error = write_graphs(parts, file);
	if (!error && parts->stalls.count)
		error = write_json(parts, "stalls", &parts->stalls, file);
	if (!error && parts->has_texts)
		error = write_json(parts, "texts", NULL, file);
	return error;
}

static int write_head(struct view_parts *parts, const struct view_about *about)
{
	const struct view_head head = {.about = about,
				       .tracks = &parts->view->tracks,
				       .sections = &parts->sections,
				       .has_texts = parts->has_texts,
				       .has_stalls = parts->stalls.count != 0};

	return view_head_write(&head, &parts->head);
}

int view_parts_init(struct view_parts *parts, struct view *view, const struct analysis *analysis,
		    const struct view_about *about)
{
	int error;

	*parts = (struct view_parts){.view = view};
	view->tracks.analysis = analysis;
	error = view_stalls_init(&parts->stalls, analysis, &view->code);
	view_sections_init(&parts->sections, view->store, about->max_bytes);
	parts->sections.prefix = about->prefix ? about->prefix : "";
	if (!error)
		error = view_tracks_finish(&view->tracks);
	if (!error)
		error = view_store_finish(view->store);
	parts->has_texts = view_code_size(&view->code) > TEXTS_BYTES;
	if (!error)
		error = view_sections_pack(&parts->sections, &view->tracks);
	return error ? error : write_head(parts, about);
}

void view_parts_fini(struct view_parts *parts)
{
	string_builder_fini(&parts->head);
	view_stalls_fini(&parts->stalls);
	view_sections_fini(&parts->sections);
}

int view_write_element(struct view *view, const char *id, const struct string_builder *text,
		       FILE *file)
{
	return view_sections_write_bytes(&view->deflater, id, text->text, text->length, file);
}

int view_write_end(struct view *view, FILE *file)
{
	return view_sections_write_bytes(&view->deflater, "end", "", 0, file);
}

static int write_page(struct view_parts *parts, FILE *file)
{
	int error;

	fwrite(view_page_begin, 1, view_page_begin_size, file);
	error = view_parts_write_first(parts, file);
	fwrite(view_page_script, 1, view_page_script_size, file);
	if (!error)
		error = view_parts_write_rest(parts, file);
	if (!error)
		error = view_write_end(parts->view, file);
	fwrite(view_page_end, 1, view_page_end_size, file);
	return error ? error : stream_flush(file);
}

int view_write(struct view *view, const struct analysis *analysis, const struct view_about *about,
	       FILE *file)
{
	struct view_parts parts;
	int error = view_parts_init(&parts, view, analysis, about);

	if (!error)
		error = write_page(&parts, file);
	view_parts_fini(&parts);
	if (error && !*error_text())
		return error_set(error, "write the view: %s", strerror(-error));
	return error;
}
