/* SPDX-License-Identifier: MIT
 *
 * import/json_fields.h - read JSON objects into structs, by tables of keys
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

struct json_reader;

/* An optional whole number, also one that the file writes as a string. */
struct json_whole {
	bool is_known;
	uint64_t value;
};

enum json_field_type {
	JSON_FIELD_TEXT,   /* struct string_builder; a number is kept as written */
	JSON_FIELD_WHOLE,  /* struct json_whole */
	JSON_FIELD_DOUBLE, /* double; otherwise 0 */
	JSON_FIELD_OBJECT, /* its members belong to the struct of the outer object */
	/* An array or object that a function reads after its first token. It gets `values`. */
	JSON_FIELD_LIST
};

struct json_fields;
typedef int json_field_list(struct json_reader *reader, void *values);

struct json_field {
	const char *key;
	enum json_field_type type;
	size_t offset;
	const struct json_fields *inner; /* JSON_FIELD_OBJECT */
	json_field_list *list;           /* JSON_FIELD_LIST */
};

struct json_fields {
	const struct json_field *rows;
	size_t count;
};

/* A row of a table: a key whose value goes to a member. */
#define JSON_FIELD(type, key, structure, member)                          \
	{                                                                 \
		key, type, offsetof(struct structure, member), NULL, NULL \
	}
#define JSON_INNER(key, fields)                            \
	{                                                  \
		key, JSON_FIELD_OBJECT, 0, &(fields), NULL \
	}
#define JSON_LIST(key, function)                           \
	{                                                  \
		key, JSON_FIELD_LIST, 0, NULL, &(function) \
	}

void json_fields_clear(const struct json_fields *fields, void *values);
void json_fields_fini(const struct json_fields *fields, void *values);

/* Reads an object after its '{'. Skips unknown keys and values of another type. Errors: those of
 * the reader, -ENOMEM. */
int json_fields_read(struct json_reader *reader, const struct json_fields *fields, void *values);

/* Reads an object from a text; a text that is none sets nothing. Errors: the same. */
int json_fields_parse(const char *text, const struct json_fields *fields, void *values);

/* Reads an array of objects after its '['. Clears the values before each object and calls on_row
 * after it. item: for the message, "a counter". Errors: as above, those of on_row. */
int json_fields_each(struct json_reader *reader, const struct json_fields *fields, void *values,
		     const char *item, int (*on_row)(void *context), void *context);

/* Returns the error of a token that is none of those that are expected. */
int json_fields_wrong(struct json_reader *reader, const char *expected, int token);
