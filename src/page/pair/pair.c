/* SPDX-License-Identifier: MIT
 *
 * page/pair/pair.c - a page with the timelines of two runs and the account of their difference
 *
 * Runs in:  our own process
 * Gets:     two finished views and a comparison
 * Gives:    an HTML file
 * Owns:     the sections of both runs
 * Fails:    -ENOMEM, -errno with a text if a file has no space
 * Why two complete views: each run keeps its own names, stacks and levels, so the viewer's code for
 *           one run draws both, and a part that is cut on one side does not touch the other.
 */
#include "page/pair/pair.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/file/stream.h"
#include "base/json.h"
#include "base/string.h"
#include "page/pair/page.h"
#include "page/view/parts.h"

static int write_comparison(const struct pair_page *page, FILE *file)
{
	struct string_builder text = {0};
	struct json_writer json;
	int error;

	json_init_text(&json, &text);
	error = page->write_comparison(page->context, &json);
	if (!error)
		error = json_error(&json);
	if (!error)
		error = view_write_element(page->changed.view, "diff", &text, file);
	string_builder_fini(&text);
	return error;
}

static int write_halves(const struct pair_page *page, struct view_parts *base,
			struct view_parts *changed, FILE *file)
{
	int error;

	fwrite(pair_page_begin, 1, pair_page_begin_size, file);
	error = write_comparison(page, file);
	if (!error)
		error = view_parts_write_first(base, file);
	if (!error)
		error = view_parts_write_first(changed, file);
	fwrite(pair_page_script, 1, pair_page_script_size, file);
	if (!error)
		error = view_parts_write_rest(base, file);
	if (!error)
		error = view_parts_write_rest(changed, file);
	if (!error)
		error = view_write_end(changed->view, file);
	fwrite(pair_page_end, 1, pair_page_end_size, file);
	return error ? error : stream_flush(file);
}

static int init_half(const struct pair_half *half, struct view_parts *parts)
{
	return view_parts_init(parts, half->view, half->analysis, half->about);
}

int pair_write(const struct pair_page *page, FILE *file)
{
	struct view_parts base = {0}, changed = {0};
	int error = init_half(&page->base, &base);

	if (!error)
		error = init_half(&page->changed, &changed);
	if (!error)
		error = write_halves(page, &base, &changed, file);
	view_parts_fini(&base);
	view_parts_fini(&changed);
	if (error && !*error_text())
		return error_set(error, "write the view: %s", strerror(-error));
	return error;
}
