/* SPDX-License-Identifier: MIT
 *
 * config/value.c - one value of a field: parse it, store it in a message, format it as text
 *
 * Runs in:  our own process
 * Gets:     tokens, and the descriptor of the field
 * Gives:    the value in the message, or its text
 * Owns:     nothing; stored values belong to the message and come from malloc, because protobuf-c
 *           frees them
 * Fails:    -EINVAL with a problem in the report that describes valid values; -ENOMEM
 * Why:      protobuf-c stores a count but no capacity. So the array of a repeated field is doubled
 *           when its count is a power of two: a list of 100,000 values is moved 17 times
 */
#include "config/value.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static void append_expectation(const ProtobufCFieldDescriptor *field, struct string_builder *text)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
		string_builder_appendf(text, "a whole number from %d to %d", INT32_MIN, INT32_MAX);
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		string_builder_appendf(text, "a whole number from 0 to %u", UINT32_MAX);
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		string_builder_appendf(text, "a whole number from %" PRId64 " to %" PRId64,
				       INT64_MIN, INT64_MAX);
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		string_builder_appendf(text, "a whole number from 0 to %" PRIu64, UINT64_MAX);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
	case PROTOBUF_C_TYPE_DOUBLE:
		string_builder_append(text, "a decimal number, inf or nan");
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
	struct string_builder expected;
	int error;

	string_builder_init(&expected);
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

static bool is_word(const struct token *token, const char *word)
{
	return token->length == strlen(word) && memcmp(token->text, word, token->length) == 0;
}

/* Reads a number without its sign. */
static int read_magnitude(const struct token *token, uint64_t *ret_value)
{
	char digits[MAX_NUMBER];

	if (token->type != TOKEN_INTEGER || token->length >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, token->text, token->length);
	digits[token->length] = '\0';
	errno = 0;
	*ret_value = strtoull(digits, NULL, 0);
	return errno ? -EINVAL : 0;
}

static int read_signed(const struct literal *literal, int64_t least, int64_t most,
		       int64_t *ret_value)
{
	uint64_t magnitude, room = literal->is_negative ? -(uint64_t)least : (uint64_t)most;

	if (read_magnitude(&literal->token, &magnitude) || magnitude > room)
		return -EINVAL;
	*ret_value = (int64_t)(literal->is_negative ? -magnitude : magnitude);
	return 0;
}

static int read_unsigned(const struct literal *literal, uint64_t most, uint64_t *ret_value)
{
	if (literal->is_negative || read_magnitude(&literal->token, ret_value) || *ret_value > most)
		return -EINVAL;
	return 0;
}

static bool is_infinity(const struct token *token)
{
	return (token->length == 3 && strncasecmp(token->text, "inf", 3) == 0) ||
	       (token->length == 8 && strncasecmp(token->text, "infinity", 8) == 0);
}

static bool is_nan_word(const struct token *token)
{
	return token->length == 3 && strncasecmp(token->text, "nan", 3) == 0;
}

static bool is_decimal(const struct token *token)
{
	if (token->type == TOKEN_FLOAT)
		return true;
	return token->type == TOKEN_INTEGER && (token->text[0] != '0' || token->length == 1);
}

/* A number beyond the range of a double is infinite, as the specification requires. */
static int read_real(const struct literal *literal, double *ret_value)
{
	const struct token *token = &literal->token;
	char digits[MAX_NUMBER];
	double value;

	if (token->type == TOKEN_NAME && is_infinity(token)) {
		value = INFINITY;
	} else if (token->type == TOKEN_NAME && is_nan_word(token)) {
		value = NAN;
	} else if (is_decimal(token) && token->length < sizeof(digits)) {
		memcpy(digits, token->text, token->length);
		digits[token->length] = '\0';
		value = strtod(digits, NULL);
	} else {
		return -EINVAL;
	}
	*ret_value = literal->is_negative ? -value : value;
	return 0;
}

static int read_bool(const struct literal *literal, protobuf_c_boolean *ret_value)
{
	static const char *const words[][3] = {{"false", "f", "False"}, {"true", "t", "True"}};
	uint64_t number;

	if (!read_unsigned(literal, 1, &number)) {
		*ret_value = (protobuf_c_boolean)number;
		return 0;
	}
	for (int value = 0; value < 2 && !literal->is_negative; value++) {
		for (int i = 0; i < 3 && literal->token.type == TOKEN_NAME; i++) {
			if (is_word(&literal->token, words[value][i])) {
				*ret_value = value;
				return 0;
			}
		}
	}
	return -EINVAL;
}

/* Accepts a name, or the number of a name. */
static int read_enum(const ProtobufCEnumDescriptor *type, const struct literal *literal,
		     int32_t *ret_value)
{
	bool is_number = literal->token.type == TOKEN_INTEGER;
	int64_t number = 0;

	if (is_number && read_signed(literal, INT32_MIN, INT32_MAX, &number))
		return -EINVAL;
	if (!is_number && (literal->token.type != TOKEN_NAME || literal->is_negative))
		return -EINVAL;
	for (unsigned i = 0; i < type->n_value_names; i++) {
		const ProtobufCEnumValueIndex *name = &type->values_by_name[i];
		int32_t value = type->values[name->index].value;

		if (is_number ? value == number : is_word(&literal->token, name->name)) {
			*ret_value = value;
			return 0;
		}
	}
	return -EINVAL;
}

static int read_string(const ProtobufCFieldDescriptor *field, const struct literal *literal,
		       struct config_report *report, char **ret_string)
{
	char *copy;

	if (memchr(literal->string, '\0', literal->length))
		return config_report_add(report, literal->place,
					 "'%s' takes a text without the byte \\0", field->name);
	copy = malloc(literal->length + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, literal->string, literal->length + 1);
	*ret_string = copy;
	return 0;
}

static int read_bytes(const struct literal *literal, ProtobufCBinaryData *ret_bytes)
{
	uint8_t *copy = NULL;

	/* protobuf-c frees the bytes only if the length is not 0 */
	if (literal->length) {
		copy = malloc(literal->length);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, literal->string, literal->length);
	}
	*ret_bytes = (ProtobufCBinaryData){literal->length, copy};
	return 0;
}

static int read_number(const ProtobufCFieldDescriptor *field, const struct literal *literal,
		       union config_value_store *value)
{
	uint64_t whole = 0;
	int64_t integer = 0;
	double real;
	int error;

	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
		error = read_signed(literal, INT32_MIN, INT32_MAX, &integer);
		value->signed32 = (int32_t)integer;
		return error;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		return read_signed(literal, INT64_MIN, INT64_MAX, &value->signed64);
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		error = read_unsigned(literal, UINT32_MAX, &whole);
		value->unsigned32 = (uint32_t)whole;
		return error;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		return read_unsigned(literal, UINT64_MAX, &value->unsigned64);
	case PROTOBUF_C_TYPE_FLOAT:
		error = read_real(literal, &real);
		if (!error)
			value->single = (float)real;
		return error;
	case PROTOBUF_C_TYPE_DOUBLE:
		return read_real(literal, &value->twofold);
	case PROTOBUF_C_TYPE_BOOL:
		return read_bool(literal, &value->boolean);
	case PROTOBUF_C_TYPE_ENUM:
		return read_enum(field->descriptor, literal, &value->signed32);
	default:
		return -EINVAL;
	}
}

int config_value_read(const ProtobufCFieldDescriptor *field, const struct literal *literal,
		      struct config_report *report, union config_value_store *ret_value)
{
	bool takes_string =
		field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES;

	if (takes_string != literal->is_string ||
	    (!takes_string && read_number(field, literal, ret_value)))
		return mismatch(field, literal, report);
	if (field->type == PROTOBUF_C_TYPE_STRING)
		return read_string(field, literal, report, &ret_value->string);
	return takes_string ? read_bytes(literal, &ret_value->bytes) : 0;
}

/* ---- storing --------------------------------------------------------------------------------- */

size_t config_value_size(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return sizeof(uint64_t);
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	default:
		return sizeof(uint32_t);
	}
}

static void *member_of(const ProtobufCMessage *message, size_t offset)
{
	return (char *)(uintptr_t)message + offset;
}

void *config_value_last(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	void *member = member_of(message, field->offset);
	size_t count;

	if (field->label != PROTOBUF_C_LABEL_REPEATED)
		return member;
	count = *(size_t *)member_of(message, field->quantifier_offset);
	return *(char **)member + (count - 1) * config_value_size(field->type);
}

/* Room for one more value at the end of a repeated field; NULL: no memory. */
static void *grow(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	size_t *count = member_of(message, field->quantifier_offset);
	void **items = member_of(message, field->offset), *grown;

	if ((*count & (*count - 1)) == 0) {
		grown = reallocarray(*items, *count ? 2 * *count : 1,
				     config_value_size(field->type));
		if (!grown)
			return NULL;
		*items = grown;
	}
	++*count;
	return config_value_last(message, field);
}

int config_value_store(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
		       const union config_value_store *value)
{
	bool is_repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
	void *place = is_repeated ? grow(message, field) : config_value_last(message, field);

	if (!place)
		return -ENOMEM;
	memcpy(place, value, config_value_size(field->type));
	/* a string or message is present if its pointer is set, unless it is part of a oneof */
	if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		*(uint32_t *)member_of(message, field->quantifier_offset) = field->id;
	else if (!is_repeated && field->quantifier_offset)
		*(protobuf_c_boolean *)member_of(message, field->quantifier_offset) = 1;
	return 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void format_escape(unsigned char byte, struct string_builder *text)
{
	const char *named = byte ? strchr("\nn\rr\tt\"\"\\\\", byte) : NULL;

	/* the list has pairs: a character and its escape letter */
	if (named)
		string_builder_appendf(text, "\\%c", named[1]);
	else
		string_builder_appendf(text, "\\%03o", byte);
}

static bool is_plain(unsigned char byte)
{
	return byte != '"' && byte != '\\';
}

/* Keeps printable UTF-8 and escapes all other bytes. */
static void format_string(const char *bytes, size_t length, struct string_builder *text)
{
	string_builder_append_char(text, '"');
	for (size_t i = 0; i < length;) {
		int shown = utf8_printable(bytes + i, length - i);
		size_t size = (size_t)(shown < 0 ? -shown : shown);

		if (shown > 0 && is_plain((unsigned char)bytes[i]))
			string_builder_append_bytes(text, bytes + i, size);
		else
			for (size_t j = 0; j < size; j++)
				format_escape((unsigned char)bytes[i + j], text);
		i += size;
	}
	string_builder_append_char(text, '"');
}

/* Uses the fewest digits, at least 6, that read back as the same number. */
static void format_real(double value, bool is_single, struct string_builder *text)
{
	char digits[40];

	if (isnan(value) || isinf(value)) {
		string_builder_appendf(text, "%s%s", signbit(value) ? "-" : "",
				       isnan(value) ? "nan" : "inf");
		return;
	}
	for (int precision = 6; precision <= DBL_DECIMAL_DIG; precision++) {
		double again;

		snprintf(digits, sizeof(digits), "%.*g", precision, value);
		again = strtod(digits, NULL);
		if (is_single ? (float)again == (float)value : again == value)
			break;
	}
	string_builder_append(text, digits);
}

/* Searches itself because protobuf-c's search misses 2147483647. */
static void format_enum(const ProtobufCEnumDescriptor *type, int32_t number,
			struct string_builder *text)
{
	for (unsigned i = 0; i < type->n_values; i++) {
		if (type->values[i].value == number) {
			string_builder_append(text, type->values[i].name);
			return;
		}
	}
	string_builder_appendf(text, "%" PRId32, number);
}

void config_value_format(const ProtobufCFieldDescriptor *field, const void *member,
			 struct string_builder *text)
{
	union config_value_store value;

	memcpy(&value, member, config_value_size(field->type));
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
		string_builder_appendf(text, "%" PRId32, value.signed32);
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		string_builder_appendf(text, "%" PRId64, value.signed64);
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		string_builder_appendf(text, "%" PRIu32, value.unsigned32);
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		string_builder_appendf(text, "%" PRIu64, value.unsigned64);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		format_real((double)value.single, true, text);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		format_real(value.twofold, false, text);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		string_builder_append(text, value.boolean ? "true" : "false");
		break;
	case PROTOBUF_C_TYPE_ENUM:
		format_enum(field->descriptor, value.signed32, text);
		break;
	case PROTOBUF_C_TYPE_STRING:
		format_string(value.string, strlen(value.string), text);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		format_string((const char *)value.bytes.data, value.bytes.len, text);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		break;
	}
}
