/* SPDX-License-Identifier: MIT
 *
 * import/json_fields.c - read JSON objects into structs, by tables of keys
 *
 * Runs in:  our own process
 * Gets:     tokens of a JSON reader
 * Gives:    members of a struct
 * Owns:     nothing
 * Fails:    errors of the reader, -ENOMEM
 * Why tables: objects may have any keys in any order; unknown ones are skipped without being
 *           stored
 */
#include "import/json_fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"

static bool is_text(enum json_field_type type)
{
	return type == JSON_FIELD_TEXT || type == JSON_FIELD_TEXT_IN;
}

/* It runs for each field of each object; most have no text. */
static void clear_value(const struct json_field *field, void *value)
{
	switch (field->type) {
	case JSON_FIELD_TEXT:
	case JSON_FIELD_TEXT_IN:
		if (((struct string_builder *)value)->length)
			string_builder_clear(value);
		break;
	case JSON_FIELD_INTEGER:
		((struct json_integer *)value)->is_known = false;
		((struct json_integer *)value)->value = 0;
		break;
	case JSON_FIELD_WHOLE:
		*(struct json_whole *)value = (struct json_whole){0};
		break;
	case JSON_FIELD_DOUBLE:
		*(double *)value = 0;
		break;
	case JSON_FIELD_OBJECT:
		json_fields_clear(field->inner, value);
		break;
	case JSON_FIELD_OWN:
		memset(value, 0, field->size);
		break;
	case JSON_FIELD_LIST:
		break;
	}
}

void json_fields_clear(const struct json_fields *fields, void *values)
{
	for (size_t i = 0; i < fields->count; i++)
		clear_value(&fields->rows[i], (char *)values + fields->rows[i].offset);
}

void json_fields_fini(const struct json_fields *fields, void *values)
{
	for (size_t i = 0; i < fields->count; i++) {
		const struct json_field *field = &fields->rows[i];
		void *value = (char *)values + field->offset;

		if (is_text(field->type))
			string_builder_fini(value);
		else if (field->type == JSON_FIELD_OBJECT)
			json_fields_fini(field->inner, value);
	}
}

static const struct json_field *find_field(const struct json_fields *fields,
					   const struct json_reader *reader)
{
	size_t length;
	const char *key = json_reader_text(reader, &length);

	for (size_t i = 0; i < fields->count; i++)
		if (fields->rows[i].key_length == length &&
		    memcmp(fields->rows[i].key, key, length) == 0)
			return &fields->rows[i];
	return NULL;
}

struct json_integer json_fields_integer(const char *text)
{
	struct json_integer integer;
	char *end;

	errno = 0;
	integer.value = strtoll(text, &end, 10);
	integer.is_known = end != text && !*end && !errno;
	return integer;
}

static struct json_whole parse_whole(const char *text)
{
	struct json_whole whole = {.is_known = *text != '\0'};

	for (; *text; text++) {
		unsigned int digit = (unsigned int)(*text - '0');

		if (digit > 9 || __builtin_mul_overflow(whole.value, 10, &whole.value) ||
		    __builtin_add_overflow(whole.value, digit, &whole.value))
			return (struct json_whole){0};
	}
	return whole;
}

static int take_scalar(struct json_reader *reader, const struct json_field *field, void *value)
{
	const char *text = json_reader_text(reader, NULL);
	struct string_builder *builder = value;

	switch (field->type) {
	case JSON_FIELD_TEXT:
		string_builder_clear(builder);
		string_builder_append(builder, text);
		return builder->error;
	case JSON_FIELD_WHOLE:
		*(struct json_whole *)value = parse_whole(text);
		return 0;
	case JSON_FIELD_INTEGER:
		*(struct json_integer *)value = json_fields_integer(text);
		return 0;
	case JSON_FIELD_DOUBLE:
		*(double *)value = strtod(text, NULL);
		return 0;
	default:
		break;
	}
	return 0;
}

/* A key may have two rows one after the other: for a scalar, and for an object. */
static const struct json_field *choose_field(const struct json_fields *fields,
					     const struct json_field *field, int token)
{
	const struct json_field *next = field + 1;

	if (token != JSON_OBJECT_BEGIN || next == fields->rows + fields->count ||
	    strcmp(next->key, field->key) != 0)
		return field;
	return next;
}

/* Skips a value whose type is not that of the field. */
static int read_value(struct json_reader *reader, const struct json_field *field, int token,
		      void *values)
{
	void *value = (char *)values + field->offset;
	const bool is_scalar = token == JSON_STRING || token == JSON_NUMBER;

	switch (field->type) {
	case JSON_FIELD_OBJECT:
		return token == JSON_OBJECT_BEGIN ? json_fields_read(reader, field->inner, value)
						  : json_reader_skip(reader, token);
	case JSON_FIELD_LIST:
		return token == JSON_ARRAY_BEGIN || token == JSON_OBJECT_BEGIN
			       ? field->list(reader, values)
			       : json_reader_skip(reader, token);
	case JSON_FIELD_TEXT_IN:
	case JSON_FIELD_OWN:
		return field->read(reader, field, token, value);
	default:
		return is_scalar ? take_scalar(reader, field, value)
				 : json_reader_skip(reader, token);
	}
}

static int read_field(struct json_reader *reader, const struct json_fields *fields, void *values)
{
	const struct json_field *field = find_field(fields, reader);
	const int token = json_reader_next(reader);

	return field ? read_value(reader, choose_field(fields, field, token), token, values)
		     : json_reader_skip(reader, token);
}

int json_fields_read(struct json_reader *reader, const struct json_fields *fields, void *values)
{
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_KEY)
		error = read_field(reader, fields, values);
	return error ? error : (token < 0 ? token : 0);
}

struct text_left {
	const char *text;
	size_t size;
};

static ssize_t read_text(void *context, void *buffer, size_t size)
{
	struct text_left *left = context;

	size = size < left->size ? size : left->size;
	memcpy(buffer, left->text, size);
	left->text += size;
	left->size -= size;
	return (ssize_t)size;
}

int json_fields_parse(const char *text, const struct json_fields *fields, void *values)
{
	struct text_left left = {text, strlen(text)};
	struct json_reader *reader;
	int error;

	if (*text != '{')
		return 0;
	error = json_reader_new(read_text, &left, &reader);
	if (error)
		return error;
	error = json_reader_next(reader);
	if (error == JSON_OBJECT_BEGIN)
		error = json_fields_read(reader, fields, values);
	json_reader_free(reader);
	return error < 0 ? error : 0;
}

int json_fields_each(struct json_reader *reader, const struct json_fields *fields, void *values,
		     const char *item, int (*on_row)(void *context), void *context)
{
	char expected[96];
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_OBJECT_BEGIN) {
		json_fields_clear(fields, values);
		error = json_fields_read(reader, fields, values);
		if (!error)
			error = on_row(context);
	}
	if (error || token == JSON_ARRAY_END)
		return error;
	snprintf(expected, sizeof(expected), "%s, which is an object", item);
	return json_fields_wrong(reader, expected, token);
}

int json_fields_wrong(struct json_reader *reader, const char *expected, int token)
{
	return token < 0 ? token : json_reader_fail(reader, expected, json_token_name(token));
}
