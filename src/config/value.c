/* SPDX-License-Identifier: MIT
 *
 * config/value.c - one value of a field: check it and bring it into its usual form
 *
 * Runs in:  our own process
 * Gets:     tokens, and the descriptor of the field
 * Gives:    the value as a text
 * Owns:     nothing
 * Fails:    -EINVAL with a problem in the report that describes valid values
 * Why few types: proto/duet_config.proto has no others, and a test fails if it gets one
 */
#include "config/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"

enum { MAX_SHOWN = 40, MAX_NUMBER = 512 };

/* ---- expected values of a field -------------------------------------------------------------- */

static void append_enum_names(const ProtobufCEnumDescriptor *type, struct string_builder *text)
{
	for (unsigned i = 0; i < type->n_values; i++) {
		const char *between = i + 1 == type->n_values ? " or " : ", ";

		string_builder_appendf(text, "%s%s", i ? between : "", type->values[i].name);
	}
}

static uint64_t largest_number(const ProtobufCFieldDescriptor *field)
{
	return field->type == PROTOBUF_C_TYPE_UINT32 ? UINT32_MAX : UINT64_MAX;
}

static void append_expectation(const ProtobufCFieldDescriptor *field, struct string_builder *text)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_UINT64:
		string_builder_appendf(text, "a whole number from 0 to %" PRIu64,
				       largest_number(field));
		break;
	case PROTOBUF_C_TYPE_BOOL:
		string_builder_append(text, "true or false");
		break;
	case PROTOBUF_C_TYPE_ENUM:
		append_enum_names(field->descriptor, text);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		string_builder_append(text, "a group of fields in { }");
		break;
	default:
		string_builder_append(text, "a text in quotes");
	}
}

static const char *nearest_enum_name(const ProtobufCFieldDescriptor *field,
				     const struct literal *literal)
{
	const ProtobufCEnumDescriptor *type = field->descriptor;
	char word[MAX_SHOWN];

	if (field->type != PROTOBUF_C_TYPE_ENUM)
		return NULL;
	snprintf(word, sizeof(word), "%.*s",
		 (int)(literal->is_string ? literal->length : literal->token.length),
		 literal->is_string ? literal->string : literal->token.text);
	return suggest_name(word, type->values, type->n_values, sizeof(*type->values));
}

int config_value_refuse(const ProtobufCFieldDescriptor *field, struct config_place place,
			const char *found, struct config_report *report)
{
	struct string_builder expected = {0};
	int error;

	append_expectation(field, &expected);
	error = config_report_add(report, place, "'%s' takes %s, not %s", field->name,
				  string_builder_text(&expected), found);
	string_builder_fini(&expected);
	return error;
}

static int mismatch(const ProtobufCFieldDescriptor *field, const struct literal *literal,
		    struct config_report *report)
{
	const struct token *token = &literal->token;
	const char *near = nearest_enum_name(field, literal);
	char found[4 * MAX_SHOWN];

	snprintf(found, sizeof(found), "%s%.*s%s%s%s%s%s", literal->is_negative ? "-" : "",
		 (int)(token->length < MAX_SHOWN ? token->length : MAX_SHOWN), token->text,
		 token->length < MAX_SHOWN ? "" : "…", near ? "; did you mean " : "",
		 near ? near : "", near && literal->is_string ? ", without quotes" : "",
		 near ? "?" : "");
	return config_value_refuse(field, literal->place, found, report);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_word(const struct literal *literal, const char *word)
{
	const struct token *token = &literal->token;

	return token->type == TOKEN_NAME && !literal->is_negative &&
	       token->length == strlen(word) && memcmp(token->text, word, token->length) == 0;
}

static bool read_number(const struct literal *literal, uint64_t most, uint64_t *ret_value)
{
	const struct token *token = &literal->token;
	char digits[MAX_NUMBER];

	if (literal->is_negative || token->type != TOKEN_INTEGER || token->length >= sizeof(digits))
		return false;
	memcpy(digits, token->text, token->length);
	digits[token->length] = '\0';
	errno = 0;
	*ret_value = strtoull(digits, NULL, 0);
	return !errno && *ret_value <= most;
}

static bool append_number(const ProtobufCFieldDescriptor *field, const struct literal *literal,
			  struct string_builder *text)
{
	uint64_t number;

	if (!read_number(literal, largest_number(field), &number))
		return false;
	string_builder_appendf(text, "%" PRIu64, number);
	return true;
}

/* NULL: neither. */
static const char *find_bool(const struct literal *literal)
{
	static const char *const words[][4] = {{"false", "f", "False"}, {"true", "t", "True"}};
	uint64_t number;

	if (read_number(literal, 1, &number))
		return words[number][0];
	for (int value = 0; value < 2; value++)
		for (int i = 0; words[value][i]; i++)
			if (is_word(literal, words[value][i]))
				return words[value][0];
	return NULL;
}

/* The value may also be its number. NULL: the enum has no such value. */
static const char *find_enum(const ProtobufCEnumDescriptor *type, const struct literal *literal)
{
	uint64_t number;
	bool is_number = read_number(literal, INT32_MAX, &number);

	for (unsigned i = 0; i < type->n_values; i++) {
		const ProtobufCEnumValue *value = &type->values[i];

		if (is_number ? (uint64_t)value->value == number : is_word(literal, value->name))
			return value->name;
	}
	return NULL;
}

/* Appends the value; false: the field does not take it. */
static bool append_value(const ProtobufCFieldDescriptor *field, const struct literal *literal,
			 struct string_builder *text)
{
	const char *word = NULL;

	if (field->type == PROTOBUF_C_TYPE_UINT32 || field->type == PROTOBUF_C_TYPE_UINT64)
		return append_number(field, literal, text);
	if (field->type == PROTOBUF_C_TYPE_BOOL)
		word = find_bool(literal);
	else if (field->type == PROTOBUF_C_TYPE_ENUM)
		word = find_enum(field->descriptor, literal);
	if (word)
		string_builder_append(text, word);
	return word != NULL;
}

int config_value_read(const ProtobufCFieldDescriptor *field, const struct literal *literal,
		      struct config_report *report, struct string_builder *text)
{
	bool takes_string = field->type == PROTOBUF_C_TYPE_STRING;

	if (takes_string != literal->is_string ||
	    (!takes_string && !append_value(field, literal, text)))
		return mismatch(field, literal, report);
	if (!takes_string)
		return 0;
	if (memchr(literal->string, '\0', literal->length))
		return config_report_add(report, literal->place,
					 "'%s' takes a text without the byte \\0", field->name);
	string_builder_append_bytes(text, literal->string, literal->length);
	return 0;
}
