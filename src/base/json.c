/* SPDX-License-Identifier: MIT
 *
 * base/json.c - write JSON piece by piece
 *
 * Runs in:  our own process, in all commands that read a trace (report, export); one writer belongs
 *           to one thread
 * Gets:     values, strings of any bytes
 * Gives:    JSON in a FILE or a string builder that it borrows
 * Owns:     nothing
 * Fails:    keeps the first error, which json_error returns at the end
 * Why runs of bytes: bytes that need no escape are written in one piece; kernel names and paths
 *           rarely need one, and the timeline export writes millions of them
 */
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

void json_init_file(struct json_writer *json, FILE *file)
{
	*json = (struct json_writer){.file = file};
}

void json_init_text(struct json_writer *json, struct string_builder *text)
{
	*json = (struct json_writer){.text = text};
}

static void put_bytes(struct json_writer *json, const void *bytes, size_t size)
{
	if (json->error || !size)
		return;
	if (json->text) {
		string_builder_append_bytes(json->text, bytes, size);
		json->error = json->text->error;
	} else if (fwrite_unlocked(bytes, 1, size, json->file) != size) {
		json->error = errno ? -errno : -EIO;
	}
}

static void put_text(struct json_writer *json, const char *text)
{
	put_bytes(json, text, strlen(text));
}

static void put_newline(struct json_writer *json)
{
	if (json->newline)
		put_bytes(json, "\n", 1);
	json->newline = false;
}

/* The separator before a value: a comma, except after a key and at the start. */
static void begin_value(struct json_writer *json)
{
	if (!json->after_key && json->has_items[json->depth])
		put_bytes(json, ",", 1);
	put_newline(json);
	json->has_items[json->depth] = true;
	json->after_key = false;
}

static void open_level(struct json_writer *json, const char *bracket)
{
	begin_value(json);
	put_bytes(json, bracket, 1);
	if (json->depth == JSON_DEPTH) {
		if (!json->error)
			json->error = -E2BIG;
		return;
	}
	json->has_items[++json->depth] = false;
}

static void close_level(struct json_writer *json, const char *bracket)
{
	if (json->depth)
		json->depth--;
	put_newline(json);
	put_bytes(json, bracket, 1);
}

void json_object_begin(struct json_writer *json)
{
	open_level(json, "{");
}

void json_object_end(struct json_writer *json)
{
	close_level(json, "}");
}

void json_array_begin(struct json_writer *json)
{
	open_level(json, "[");
}

void json_array_end(struct json_writer *json)
{
	close_level(json, "]");
}

/* Valid JSON, but a terminal may interpret it: control characters of two bytes (C1). */
static bool is_c1(const unsigned char *s, int length)
{
	return length == 2 && s[0] == 0xc2 && s[1] < 0xa0;
}

static void put_escape(struct json_writer *json, unsigned char byte)
{
	static const char *const named[] = {
		['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r",
		['\t'] = "\\t", ['"'] = "\\\"", ['\\'] = "\\\\"};
	char text[8];

	if (byte < sizeof(named) / sizeof(named[0]) && named[byte]) {
		put_text(json, named[byte]);
		return;
	}
	snprintf(text, sizeof(text), "\\u%04x", byte);
	put_text(json, text);
}

static void put_quoted(struct json_writer *json, const unsigned char *s, size_t size)
{
	size_t start = 0, i = 0;

	put_bytes(json, "\"", 1);
	while (i < size) {
		int length = utf8_length(s + i, size - i);
		bool escape = s[i] < 0x20 || s[i] == '"' || s[i] == '\\' || s[i] == 0x7f ||
			      is_c1(s + i, length);

		if (length > 0 && !escape) {
			i += (size_t)length;
			continue;
		}
		put_bytes(json, s + start, i - start);
		if (escape)
			put_escape(json, s[i + (size_t)length - 1]);
		else
			put_text(json, REPLACEMENT);
		i += (size_t)abs(length);
		start = i;
	}
	put_bytes(json, s + start, size - start);
	put_bytes(json, "\"", 1);
}

void json_key(struct json_writer *json, const char *key)
{
	begin_value(json);
	put_quoted(json, (const unsigned char *)key, strlen(key));
	put_bytes(json, ":", 1);
	json->after_key = true;
}

void json_space(struct json_writer *json)
{
	put_bytes(json, " ", 1);
}

void json_bytes(struct json_writer *json, const void *bytes, size_t size)
{
	begin_value(json);
	put_quoted(json, bytes, size);
}

void json_string(struct json_writer *json, const char *text)
{
	if (text)
		json_bytes(json, text, strlen(text));
	else
		json_null(json);
}

static void put_number(struct json_writer *json, uint64_t size, bool is_negative)
{
	char text[24], *end = text + sizeof(text), *at = number_digits(end, size);

	if (is_negative)
		*--at = '-';
	begin_value(json);
	put_bytes(json, at, (size_t)(end - at));
}

void json_u64(struct json_writer *json, uint64_t value)
{
	put_number(json, value, false);
}

void json_i64(struct json_writer *json, int64_t value)
{
	put_number(json, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0);
}

void json_double(struct json_writer *json, double value)
{
	char text[40];

	if (!isfinite(value)) {
		json_null(json);
		return;
	}
	/* The shortest of the three precisions that reads back as the same number. */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	/* A locale may have another decimal point. */
	for (char *point = text; (point = strchr(point, ',')); point++)
		*point = '.';
	begin_value(json);
	put_text(json, text);
}

void json_thousandths(struct json_writer *json, int64_t value)
{
	uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char text[32];

	begin_value(json);
	put_bytes(json, text,
		  (size_t)snprintf(text, sizeof(text), "%s%" PRIu64 ".%03u", value < 0 ? "-" : "",
				   size / 1000, (unsigned int)(size % 1000)));
}

void json_bool(struct json_writer *json, bool value)
{
	begin_value(json);
	put_text(json, value ? "true" : "false");
}

void json_null(struct json_writer *json)
{
	begin_value(json);
	put_text(json, "null");
}

void json_pair_text(struct json_writer *json, const char *key, const char *text)
{
	json_key(json, key);
	json_string(json, text);
}

void json_pair_u64(struct json_writer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

void json_pair_i64(struct json_writer *json, const char *key, int64_t value)
{
	json_key(json, key);
	json_i64(json, value);
}

void json_pair_double(struct json_writer *json, const char *key, double value)
{
	json_key(json, key);
	json_double(json, value);
}

void json_pair_bool(struct json_writer *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

void json_pair_object(struct json_writer *json, const char *key)
{
	json_key(json, key);
	json_object_begin(json);
}

void json_pair_array(struct json_writer *json, const char *key)
{
	json_key(json, key);
	json_array_begin(json);
}

void json_newline(struct json_writer *json)
{
	json->newline = true;
}

void json_line_begin(struct json_writer *json)
{
	json_newline(json);
	json_object_begin(json);
}

void json_line_array(struct json_writer *json, const char *key)
{
	json_newline(json);
	json_pair_array(json, key);
}

int json_error(const struct json_writer *json)
{
	return json->error;
}
