/* SPDX-License-Identifier: MIT
 *
 * page/diff/document.c - writes a page around one JSON document
 *
 * Runs in:  our own process
 * Gets:     the document
 * Gives:    an HTML page
 * Owns:     its buffers during the call
 * Fails:    -ENOMEM, -EIO
 * Why deflate and base64: the page of a history with 1000 recordings has a million numbers. And no
 *           name of a kernel can end the element that contains it.
 */
#include "page/diff/document.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/file/stream.h"
#include "base/json.h"
#include "page/diff/page.h"
#include "page/series/page.h"
#include "page/view/deflate.h"
#include "page/view/sections.h"

struct part {
	const char *text;
	const size_t *size;
};

static const struct {
	struct part begin, script, end;
} pages[] = {
	[PAGE_DIFF] = {{diff_page_begin, &diff_page_begin_size},
		       {diff_page_script, &diff_page_script_size},
		       {diff_page_end, &diff_page_end_size}},
	[PAGE_SERIES] = {{series_page_begin, &series_page_begin_size},
			 {series_page_script, &series_page_script_size},
			 {series_page_end, &series_page_end_size}},
};

static void write_part(struct part part, FILE *file)
{
	fwrite(part.text, 1, *part.size, file);
}

static int write_head(struct view_deflater *deflater, const struct document_about *about,
		      FILE *file)
{
	struct string_builder text = {0};
	struct json_writer json;
	int error;

	json_init_text(&json, &text);
	json_object_begin(&json);
	json_pair_text(&json, "version", about->version);
	if (about->per) {
		json_pair_text(&json, "per", about->per);
		json_pair_u64(&json, "base_units", about->base_units);
		json_pair_u64(&json, "new_units", about->changed_units);
	}
	json_object_end(&json);
	error = json_error(&json);
	if (!error)
		error = view_sections_write_bytes(deflater, "head", text.text, text.length, file);
	string_builder_fini(&text);
	return error;
}

int document_page_write(enum document_page page, const struct document_about *about,
			const char *json, size_t size, FILE *file)
{
	struct view_deflater deflater;
	int error = view_deflater_init(&deflater);

	write_part(pages[page].begin, file);
	if (!error)
		error = write_head(&deflater, about, file);
	if (!error)
		error = view_sections_write_bytes(&deflater, "document", json, size, file);
	write_part(pages[page].script, file);
	write_part(pages[page].end, file);
	view_deflater_fini(&deflater);
	if (!error)
		error = stream_flush(file);
	if (error && !*error_text())
		return error_set(error, "write the page: %s", strerror(-error));
	return error;
}
