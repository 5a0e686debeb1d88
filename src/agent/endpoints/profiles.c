/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/profiles.c - requests that carry profiles
 *
 * Runs in:  our own process, the agent's child for endpoints
 * Gets:     the newest part of a recording
 * Gives:    URLs and bodies for Pyroscope, Parca, OTLP and plain receivers
 * Owns:     nothing
 * Fails:    NULL or -ENOMEM; errors of the exporter
 * Why Parca's JSON: its store takes pprof over gRPC, and over HTTP as JSON with base64. JSON needs
 *           no further library.
 */
#include "agent/endpoints/profiles.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/output_options.h"
#include "base/error.h"
#include "base/string.h"
#include "export/common/gzip.h"
#include "export/exporter.h"
#include "live/follow.h"

int profile_export(const struct live_window *window, const struct exporter *exporter,
		   const char *version, void **ret_bytes, size_t *ret_size)
{
	const struct analysis *analysis = window->analysis;
	const struct output_options options = {.has_from = true,
					       .has_to = true,
					       .from_ns = analysis->from_ns - analysis->begin_ns,
					       .to_ns = analysis->to_ns - analysis->begin_ns,
					       .kinds = "execution,cpu_sample",
					       .version = version};
	char *bytes = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&bytes, &size);
	uint64_t rows = 0;
	int error;

	if (!file)
		return error_no_memory();
	error = exporter->write(window->model, &options, file, &rows);
	if (fclose(file) && !error)
		error = error_no_memory();
	if (!error && !rows)
		error = -ENODATA;
	if (error) {
		free(bytes);
		return error;
	}
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

void *gzip_bytes(void *bytes, size_t *inout_size)
{
	struct gzip gzip;
	char *packed = NULL;
	size_t size = 0;
	FILE *file = bytes ? open_memstream(&packed, &size) : NULL;
	bool is_done = false;

	if (file && !gzip_init(&gzip, file)) {
		gzip_write(&gzip, bytes, *inout_size);
		gzip_end(&gzip);
		gzip_fini(&gzip);
		is_done = !ferror(file);
	}
	if (file && fclose(file))
		is_done = false;
	free(bytes);
	if (!is_done) {
		free(packed);
		return NULL;
	}
	*inout_size = size;
	return packed;
}

/* ---- URLs ---- */

static void append_path(struct string_builder *url, const char *base, const char *path)
{
	size_t length = strlen(base);

	while (length && base[length - 1] == '/')
		length--;
	string_builder_append_bytes(url, base, length);
	string_builder_append_char(url, '/');
	string_builder_append(url, path);
}

char *url_join(const char *base, const char *path)
{
	struct string_builder url = {0};

	append_path(&url, base, path);
	return string_builder_take(&url);
}

static void append_escaped(struct string_builder *url, const char *text)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789-._~";

	for (; *text; text++) {
		if (strchr(safe, *text))
			string_builder_append_char(url, *text);
		else
			string_builder_appendf(url, "%%%02X", (unsigned char)*text);
	}
}

static void append_pyroscope(struct string_builder *url, const struct profile_place *place)
{
	struct string_builder name = {0};

	string_builder_appendf(&name, "%s{host=%s}", place->name, place->host);
	append_path(url, place->url, "ingest?name=");
	append_escaped(url, string_builder_text(&name));
	string_builder_appendf(url, "&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof&spyName=duet",
			       place->from_ns / 1000000000, place->until_ns / 1000000000);
	if (name.error)
		url->error = name.error;
	string_builder_fini(&name);
}

char *profile_url(enum pprof_receiver receiver, const struct profile_place *place)
{
	struct string_builder url = {0};

	if (receiver == PPROF_PYROSCOPE)
		append_pyroscope(&url, place);
	else if (receiver == PPROF_PARCA)
		append_path(&url, place->url, "api/profiles/writeraw");
	else
		string_builder_append(&url, place->url);
	return string_builder_take(&url);
}

/* ---- bodies ---- */

const char *profile_content_type(enum pprof_receiver receiver)
{
	return receiver == PPROF_PARCA ? "application/json" : "application/octet-stream";
}

static void append_base64(struct string_builder *text, const unsigned char *bytes, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		uint32_t group = (uint32_t)bytes[i] << 16;
		char four[4];

		group |= i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0;
		group |= i + 2 < size ? bytes[i + 2] : 0;
		four[0] = digits[group >> 18];
		four[1] = digits[group >> 12 & 63];
		four[2] = i + 1 < size ? digits[group >> 6 & 63] : '=';
		four[3] = i + 2 < size ? digits[group & 63] : '=';
		string_builder_append_bytes(text, four, sizeof(four));
	}
}

static void append_json_text(struct string_builder *text, const char *value)
{
	string_builder_append_char(text, '"');
	for (; *value; value++) {
		if (*value == '"' || *value == '\\' || (unsigned char)*value < ' ')
			string_builder_appendf(text, "\\u%04x", (unsigned char)*value);
		else
			string_builder_append_char(text, *value);
	}
	string_builder_append_char(text, '"');
}

static void append_parca_label(struct string_builder *text, const char *name, const char *value)
{
	string_builder_appendf(text, "{\"name\":\"%s\",\"value\":", name);
	append_json_text(text, value);
	string_builder_append_char(text, '}');
}

void *profile_body(enum pprof_receiver receiver, const struct profile_place *place, void *bytes,
		   size_t *inout_size)
{
	struct string_builder text = {0};
	char *body;

	if (receiver != PPROF_PARCA)
		return bytes;
	string_builder_append(&text, "{\"normalized\":true,\"series\":[{\"labels\":{\"labels\":[");
	append_parca_label(&text, "__name__", "duet");
	string_builder_append_char(&text, ',');
	append_parca_label(&text, "job", place->name);
	string_builder_append_char(&text, ',');
	append_parca_label(&text, "instance", place->host);
	string_builder_append(&text, "]},\"samples\":[{\"rawProfile\":\"");
	append_base64(&text, bytes, *inout_size);
	string_builder_append(&text, "\"}]}]}");
	*inout_size = text.length;
	body = string_builder_take(&text);
	free(bytes);
	return body;
}
