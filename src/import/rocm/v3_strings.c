/* SPDX-License-Identifier: MIT
 *
 * import/rocm/v3_strings.c - the names of rocprofv3's JSON: kinds and operations of records, texts
 * of markers, counters
 *
 * Runs in:  our own process
 * Gets:     tokens of a JSON reader
 * Gives:    names by number
 * Owns:     the names
 * Fails:    errors of the reader, -ENOMEM
 * Why tables: a record has the numbers of its kind and operation, which differ between versions of
 *           ROCm, and the file lists their names
 */
#include "import/rocm/v3_strings.h"

#include <errno.h>
#include <string.h>

#include "base/json_reader.h"
#include "import/rocm/v3_json_fields.h"

void v3_strings_fini(struct v3_strings *strings)
{
	string_table_fini(&strings->texts);
	hash_map_fini(&strings->operations);
	hash_map_fini(&strings->markers);
	hash_map_fini(&strings->counters);
}

static int add_text(struct v3_strings *strings, struct hash_map *map, uint64_t key,
		    const char *text)
{
	uint32_t id = string_table_add(&strings->texts, text, strlen(text));

	if (!id)
		return *text ? -ENOMEM : 0;
	return hash_map_put(map, key, id);
}

/* ---- operations ---- */

static int read_operations(struct v3_strings *strings, struct json_reader *reader)
{
	uint64_t number = 0;
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_STRING)
		error = add_text(strings, &strings->operations, strings->kinds << 32 | ++number,
				 json_reader_text(reader, NULL));
	if (!error && token != JSON_ARRAY_END)
		error = json_fields_wrong(reader, "the name of an operation, which is a text",
					  token);
	return error;
}

static int read_kind(struct v3_strings *strings, struct json_reader *reader)
{
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_KEY) {
		bool is_name = strcmp(json_reader_text(reader, NULL), "kind") == 0;
		bool is_list = strcmp(json_reader_text(reader, NULL), "operations") == 0;

		token = json_reader_next(reader);
		if (is_name && token == JSON_STRING)
			error = add_text(strings, &strings->operations, strings->kinds << 32,
					 json_reader_text(reader, NULL));
		else if (is_list && token == JSON_ARRAY_BEGIN)
			error = read_operations(strings, reader);
		else
			error = json_reader_skip(reader, token);
	}
	strings->kinds++;
	return error ? error : (token < 0 ? token : 0);
}

static int read_kinds(struct v3_strings *strings, struct json_reader *reader)
{
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_OBJECT_BEGIN)
		error = read_kind(strings, reader);
	if (!error && token != JSON_ARRAY_END)
		error = json_fields_wrong(reader, "a kind of record, which is an object", token);
	return error;
}

/* ---- texts of markers ---- */

/* A row of a list that gives a text to a number. */
struct text_row {
	struct v3_text row;
	struct v3_strings *strings;
	struct hash_map *map;
};

static int on_text(void *context)
{
	const struct text_row *row = context;

	return row->row.key.is_known ? add_text(row->strings, row->map, row->row.key.value,
						string_builder_text(&row->row.value))
				     : 0;
}

static int read_texts(struct v3_strings *strings, struct hash_map *map, struct json_reader *reader,
		      const struct json_fields *fields, const char *item)
{
	struct text_row row = {.strings = strings, .map = map};
	int error = json_fields_each(reader, fields, &row.row, item, on_text, &row);

	json_fields_fini(fields, &row.row);
	return error;
}

int v3_strings_read(struct v3_strings *strings, struct json_reader *reader)
{
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_KEY) {
		bool is_kinds = strcmp(json_reader_text(reader, NULL), "buffer_records") == 0;
		bool is_markers = strcmp(json_reader_text(reader, NULL), "marker_api") == 0;

		token = json_reader_next(reader);
		if (is_kinds && token == JSON_ARRAY_BEGIN)
			error = read_kinds(strings, reader);
		else if (is_markers && token == JSON_ARRAY_BEGIN)
			error = read_texts(strings, &strings->markers, reader, &v3_text_fields,
					   "the text of a marker");
		else
			error = json_reader_skip(reader, token);
	}
	strings->is_read = true;
	return error ? error : (token < 0 ? token : 0);
}

int v3_strings_read_counters(struct v3_strings *strings, struct json_reader *reader)
{
	return read_texts(strings, &strings->counters, reader, &v3_counter_fields, "a counter");
}

/* ---- names by number ---- */

static const char *text_of(const struct v3_strings *strings, const struct hash_map *map,
			   uint64_t key)
{
	return string_table_text(&strings->texts, (uint32_t)hash_map_get(map, key, 0), NULL);
}

const char *v3_strings_kind(const struct v3_strings *strings, uint64_t kind)
{
	return text_of(strings, &strings->operations, kind << 32);
}

const char *v3_strings_operation(const struct v3_strings *strings, uint64_t kind,
				 uint64_t operation)
{
	return text_of(strings, &strings->operations, kind << 32 | (operation + 1));
}

const char *v3_strings_marker(const struct v3_strings *strings, uint64_t correlation)
{
	return text_of(strings, &strings->markers, correlation);
}

const char *v3_strings_counter(const struct v3_strings *strings, uint64_t counter)
{
	return text_of(strings, &strings->counters, counter);
}
