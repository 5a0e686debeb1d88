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

/* The same with a sign. */
struct json_integer {
	bool is_known;
	int64_t value;
};

enum json_field_type {
	JSON_FIELD_TEXT,    /* struct string_builder; a number is kept as written */
	JSON_FIELD_WHOLE,   /* struct json_whole */
	JSON_FIELD_INTEGER, /* struct json_integer */
	JSON_FIELD_DOUBLE,  /* double; otherwise 0 */
	JSON_FIELD_OBJECT,  /* its members are in the same struct, from the offset on */
	/* An array or object that a function reads after its first token. It gets `values`. */
	JSON_FIELD_LIST,
	JSON_FIELD_TEXT_IN, /* struct string_builder, which a function reads from an array */
	JSON_FIELD_OWN      /* any member, which a function reads */
};

struct json_field;
struct json_fields;
typedef int json_field_list(struct json_reader *reader, void *values);
/* Reads a value whose first token was read. `value`: the member. */
typedef int json_field_read(struct json_reader *reader, const struct json_field *field, int token,
			    void *value);

struct json_field {
	const char *key;
	size_t key_length;
	enum json_field_type type;
	size_t offset;
	const struct json_fields *inner; /* JSON_FIELD_OBJECT */
	json_field_list *list;           /* JSON_FIELD_LIST */
	json_field_read *read;           /* JSON_FIELD_TEXT_IN, JSON_FIELD_OWN */
	size_t size;                     /* JSON_FIELD_OWN: bytes of the member */
};

struct json_fields {
	const struct json_field *rows;
	size_t count;
};

/* A row of a table: a key whose value goes to a member. */
#define JSON_FIELD(type, key, structure, member)                                \
	{                                                                       \
		key, sizeof(key) - 1, type, offsetof(struct structure, member), \
	}
#define JSON_INNER(key, fields)                                             \
	{                                                                   \
		key, sizeof(key) - 1, JSON_FIELD_OBJECT, .inner = &(fields) \
	}
#define JSON_LIST(key, function)                                           \
	{                                                                  \
		key, sizeof(key) - 1, JSON_FIELD_LIST, .list = &(function) \
	}
#define JSON_OWN(type, key, structure, member, function)                                     \
	{                                                                                    \
		key, sizeof(key) - 1, type, offsetof(struct structure, member),              \
			.read = &(function), .size = sizeof(((struct structure *)0)->member) \
	}

void json_fields_clear(const struct json_fields *fields, void *values);
void json_fields_fini(const struct json_fields *fields, void *values);

/* Reads an object after its '{'. Skips unknown keys and values of another type. Errors: those of
 * the reader, -ENOMEM. */
int json_fields_read(struct json_reader *reader, const struct json_fields *fields, void *values);

/* Parses a number; anything else is not known. */
struct json_integer json_fields_integer(const char *text);

/* Reads an object from a text; a text that is none sets nothing. Errors: the same. */
int json_fields_parse(const char *text, const struct json_fields *fields, void *values);

/* Reads an array of objects after its '['. Clears the values before each object and calls on_row
 * after it. item: for the message, "a counter". Errors: as above, those of on_row. */
int json_fields_each(struct json_reader *reader, const struct json_fields *fields, void *values,
		     const char *item, int (*on_row)(void *context), void *context);

/* Returns the error of a token that is none of those that are expected. */
int json_fields_wrong(struct json_reader *reader, const char *expected, int token);
