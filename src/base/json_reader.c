/* SPDX-License-Identifier: MIT
 *
 * base/json_reader.c - read JSON token by token, from a file of any size
 *
 * Runs in:  our own process, while foreign files are imported
 * Gets:     bytes
 * Gives:    tokens
 * Owns:     a buffer of 64 KiB, the token's text
 * Fails:    -EBADMSG with line, byte, the expected and the found token; it stops reading after an
 *           error
 * Why our own: a PyTorch timeline is a gigabyte. The JSON libraries of Debian (jansson, json-c,
 *           cJSON) build a tree of the whole file in memory, which is larger than the file. yajl
 *           reads piece by piece, but its last release is from 2014.
 */
#include "base/json_reader.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

enum { BUFFER_BYTES = 65536, NO_BYTE = -1 };

enum expected {
	EXPECT_VALUE,      /* the value of a key, or the document */
	EXPECT_FIRST_ITEM, /* or the end of the array */
	EXPECT_FIRST_KEY,  /* or the end of the object */
	EXPECT_KEY,
	EXPECT_COMMA_OR_END, /* after an item of an open array or object */
	EXPECT_END           /* the end of the document */
};

struct json_reader {
	json_reader_more *more;
	void *context;
	unsigned char buffer[BUFFER_BYTES];
	size_t used, size;
	bool is_over;
	uint64_t line, byte;             /* position of the next byte, counted from 1 */
	uint64_t token_line, token_byte; /* start of the token */
	char open[JSON_READER_DEPTH];    /* '{' or '[' */
	size_t depth;
	enum expected expected;
	struct string_builder text;
	int error;
};

/* ---- bytes ---- */

static int fill(struct json_reader *reader)
{
	ssize_t size = reader->more(reader->context, reader->buffer, BUFFER_BYTES);

	if (size < 0)
		return reader->error = (int)size;
	reader->used = 0;
	reader->size = (size_t)size;
	reader->is_over = !size;
	return 0;
}

/* The next byte, which is not consumed; NO_BYTE at the end and after an error. */
static int peek(struct json_reader *reader)
{
	if (reader->used == reader->size && !reader->is_over && !reader->error)
		fill(reader);
	return reader->used < reader->size && !reader->error ? reader->buffer[reader->used]
							     : NO_BYTE;
}

static void step(struct json_reader *reader)
{
	reader->byte++;
	if (reader->buffer[reader->used++] == '\n')
		reader->line++;
}

/* Passes the blanks in the buffer. */
static void pass_buffered_blanks(struct json_reader *reader)
{
	size_t used = reader->used;

	for (; used < reader->size; used++) {
		const unsigned char byte = reader->buffer[used];

		if (byte == '\n')
			reader->line++;
		else if (byte != ' ' && byte != '\t' && byte != '\r')
			break;
	}
	reader->byte += used - reader->used;
	reader->used = used;
}

static int pass_blanks(struct json_reader *reader)
{
	int byte;

	do {
		pass_buffered_blanks(reader);
		byte = peek(reader);
	} while (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r');
	return byte;
}

int json_reader_fail(const struct json_reader *reader, const char *expected, const char *found)
{
	return error_set(-EBADMSG, "line %llu, byte %llu: expected %s, found %s",
			 (unsigned long long)reader->token_line,
			 (unsigned long long)reader->token_byte, expected, found);
}

/* Fails at the next byte. */
static int fail_expected(struct json_reader *reader, const char *expected)
{
	char found[32];
	int byte = peek(reader);

	if (reader->error)
		return reader->error;
	if (byte == NO_BYTE)
		snprintf(found, sizeof(found), "the end of the file");
	else if (byte > ' ' && byte < 0x7f)
		snprintf(found, sizeof(found), "'%c'", byte);
	else
		snprintf(found, sizeof(found), "byte 0x%02x", (unsigned int)byte);
	reader->token_line = reader->line;
	reader->token_byte = reader->byte;
	return reader->error = json_reader_fail(reader, expected, found);
}

/* ---- strings ---- */

static int append(struct json_reader *reader, const void *bytes, size_t size)
{
	if (reader->text.length + size > JSON_READER_STRING)
		return reader->error = error_set(
			       -EBADMSG, "line %llu, byte %llu: a string is longer than 16 MiB",
			       (unsigned long long)reader->token_line,
			       (unsigned long long)reader->token_byte);
	string_builder_append_bytes(&reader->text, bytes, size);
	return reader->error = reader->text.error;
}

static int read_hex(struct json_reader *reader, unsigned int *ret_value)
{
	unsigned int value = 0;

	for (int i = 0; i < 4; i++) {
		int byte = peek(reader);

		if (byte == NO_BYTE || !isxdigit(byte))
			return fail_expected(reader, "four hexadecimal digits");
		value = value * 16 +
			(unsigned int)(byte <= '9' ? byte - '0' : (byte | 0x20) - 'a' + 10);
		step(reader);
	}
	*ret_value = value;
	return 0;
}

static int append_character(struct json_reader *reader, uint32_t character)
{
	string_builder_append_character(&reader->text, character);
	return append(reader, "", 0);
}

/* Two surrogates make one character; a single one becomes U+FFFD. */
static int read_unicode(struct json_reader *reader)
{
	unsigned int high, low;

	if (read_hex(reader, &high))
		return reader->error;
	while (high >= 0xd800 && high < 0xdc00) {
		if (peek(reader) != '\\')
			return append_character(reader, 0xfffd);
		step(reader);
		if (peek(reader) != 'u') {
			if (append_character(reader, 0xfffd))
				return reader->error;
			return 1; /* the backslash of the next escape is already consumed */
		}
		step(reader);
		if (read_hex(reader, &low))
			return reader->error;
		if (low >= 0xdc00 && low < 0xe000)
			return append_character(reader,
						0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
		if (append_character(reader, 0xfffd))
			return reader->error;
		high = low;
	}
	return append_character(reader, high >= 0xdc00 && high < 0xe000 ? 0xfffd : high);
}

/* Reads the part of an escape after the backslash. */
static int read_escape(struct json_reader *reader)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *found;
	int byte, status;

	do {
		byte = peek(reader);
		found = byte > 0 ? strchr(names, byte) : NULL;
		if (found) {
			step(reader);
			return append(reader, &values[found - names], 1);
		}
		if (byte != 'u')
			return fail_expected(reader, "one of \"\\/bfnrtu after a backslash");
		step(reader);
		status = read_unicode(reader);
	} while (status == 1);
	return status;
}

/* Appends all bytes of the buffer up to the next special one. */
static int append_run(struct json_reader *reader)
{
	size_t begin = reader->used;

	while (reader->used < reader->size && reader->buffer[reader->used] >= 0x20 &&
	       reader->buffer[reader->used] != '"' && reader->buffer[reader->used] != '\\')
		reader->used++;
	reader->byte += reader->used - begin;
	return append(reader, reader->buffer + begin, reader->used - begin);
}

static int read_string(struct json_reader *reader)
{
	int byte;

	step(reader);
	string_builder_clear(&reader->text);
	while ((byte = peek(reader)) != '"') {
		if (byte == NO_BYTE || byte < 0x20)
			return fail_expected(reader, "the '\"' that ends a string");
		if (byte == '\\') {
			step(reader);
			if (read_escape(reader))
				return reader->error;
		} else if (append_run(reader)) {
			return reader->error;
		}
	}
	step(reader);
	return 0;
}

/* ---- numbers and words ---- */

static bool is_digit(int byte)
{
	return byte >= '0' && byte <= '9';
}

static int append_digits(struct json_reader *reader)
{
	if (!is_digit(peek(reader)))
		return fail_expected(reader, "a digit");
	while (is_digit(peek(reader))) {
		const size_t begin = reader->used;

		while (reader->used < reader->size && is_digit(reader->buffer[reader->used]))
			reader->used++;
		reader->byte += reader->used - begin;
		if (append(reader, reader->buffer + begin, reader->used - begin))
			return reader->error;
	}
	return reader->error;
}

/* Appends the next byte if it is `wanted`. */
static bool accept_byte(struct json_reader *reader, int wanted)
{
	char byte = (char)wanted;

	if (peek(reader) != wanted || append(reader, &byte, 1))
		return false;
	step(reader);
	return true;
}

static int read_number(struct json_reader *reader)
{
	string_builder_clear(&reader->text);
	accept_byte(reader, '-');
	if (!accept_byte(reader, '0') && append_digits(reader))
		return reader->error;
	if (accept_byte(reader, '.') && append_digits(reader))
		return reader->error;
	if (accept_byte(reader, 'e') || accept_byte(reader, 'E')) {
		if (!accept_byte(reader, '-'))
			accept_byte(reader, '+');
		if (append_digits(reader))
			return reader->error;
	}
	return reader->error ? reader->error : JSON_NUMBER;
}

static int read_word(struct json_reader *reader, const char *word, enum json_token token)
{
	char expected[16];

	for (const char *at = word; *at; at++) {
		if (peek(reader) != *at) {
			snprintf(expected, sizeof(expected), "'%s'", word);
			return fail_expected(reader, expected);
		}
		step(reader);
	}
	return token;
}

/* ---- the grammar ---- */

static int open_level(struct json_reader *reader, char bracket)
{
	if (reader->depth == JSON_READER_DEPTH)
		return reader->error = error_set(
			       -EBADMSG, "line %llu, byte %llu: more than %d brackets open",
			       (unsigned long long)reader->line, (unsigned long long)reader->byte,
			       JSON_READER_DEPTH);
	step(reader);
	reader->open[reader->depth++] = bracket;
	reader->expected = bracket == '{' ? EXPECT_FIRST_KEY : EXPECT_FIRST_ITEM;
	return bracket == '{' ? JSON_OBJECT_BEGIN : JSON_ARRAY_BEGIN;
}

static void end_value(struct json_reader *reader)
{
	reader->expected = reader->depth ? EXPECT_COMMA_OR_END : EXPECT_END;
}

static int close_level(struct json_reader *reader)
{
	bool is_object = reader->open[--reader->depth] == '{';

	step(reader);
	end_value(reader);
	return is_object ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static int read_value(struct json_reader *reader, int byte)
{
	if (byte == '{' || byte == '[')
		return open_level(reader, (char)byte);
	end_value(reader);
	if (byte == '"')
		return read_string(reader) ? reader->error : JSON_STRING;
	if (byte == '-' || (byte != NO_BYTE && isdigit(byte)))
		return read_number(reader);
	if (byte == 't')
		return read_word(reader, "true", JSON_TRUE);
	if (byte == 'f')
		return read_word(reader, "false", JSON_FALSE);
	if (byte == 'n')
		return read_word(reader, "null", JSON_NULL);
	return fail_expected(reader, "a value");
}

static int read_key(struct json_reader *reader, int byte)
{
	if (byte != '"')
		return fail_expected(reader, "a key");
	if (read_string(reader))
		return reader->error;
	if (pass_blanks(reader) != ':')
		return fail_expected(reader, "':'");
	step(reader);
	reader->expected = EXPECT_VALUE;
	return JSON_KEY;
}

/* After an item: the token that closes the array or object, or 0 after a comma. */
static int pass_comma(struct json_reader *reader, int byte)
{
	bool is_object = reader->open[reader->depth - 1] == '{';

	if (byte == (is_object ? '}' : ']'))
		return close_level(reader);
	if (byte != ',')
		return fail_expected(reader, is_object ? "',' or '}'" : "',' or ']'");
	step(reader);
	reader->expected = is_object ? EXPECT_KEY : EXPECT_VALUE;
	return 0;
}

int json_reader_next(struct json_reader *reader)
{
	int byte, token;

	if (reader->error)
		return reader->error;
	byte = pass_blanks(reader);
	if (!reader->error && reader->expected == EXPECT_COMMA_OR_END) {
		token = pass_comma(reader, byte);
		if (token)
			return token;
		byte = pass_blanks(reader);
	}
	reader->token_line = reader->line;
	reader->token_byte = reader->byte;
	if (reader->error)
		return reader->error;
	switch (reader->expected) {
	case EXPECT_END:
		return byte == NO_BYTE ? JSON_END
				       : fail_expected(reader, "the end of the document");
	case EXPECT_FIRST_ITEM:
		return byte == ']' ? close_level(reader) : read_value(reader, byte);
	case EXPECT_FIRST_KEY:
		return byte == '}' ? close_level(reader) : read_key(reader, byte);
	case EXPECT_KEY:
		return read_key(reader, byte);
	default:
		return read_value(reader, byte);
	}
}

const char *json_token_name(int token)
{
	static const char *const names[] = {
		[JSON_END] = "the end",     [JSON_OBJECT_BEGIN] = "an object",
		[JSON_OBJECT_END] = "'}'",  [JSON_ARRAY_BEGIN] = "an array",
		[JSON_ARRAY_END] = "']'",   [JSON_KEY] = "a key",
		[JSON_STRING] = "a string", [JSON_NUMBER] = "a number",
		[JSON_TRUE] = "true",       [JSON_FALSE] = "false",
		[JSON_NULL] = "null",
	};

	return array_text(names, ARRAY_COUNT(names), (size_t)token, "an error");
}

int json_reader_expect(struct json_reader *reader, enum json_token token)
{
	int found = json_reader_next(reader);

	if (found < 0 || found == (int)token)
		return found < 0 ? found : 0;
	return reader->error =
		       json_reader_fail(reader, json_token_name(token), json_token_name(found));
}

bool json_reader_is_cut(const struct json_reader *reader)
{
	return reader->error == -EBADMSG && reader->is_over && reader->depth == 1 &&
	       reader->open[0] == '[' && reader->expected == EXPECT_COMMA_OR_END;
}

int json_reader_skip(struct json_reader *reader, int first)
{
	size_t depth = 0;
	int token = first;

	for (;;) {
		if (token < 0)
			return token;
		if (token == JSON_OBJECT_BEGIN || token == JSON_ARRAY_BEGIN)
			depth++;
		else if (token == JSON_OBJECT_END || token == JSON_ARRAY_END)
			depth--;
		if (!depth)
			return 0;
		token = json_reader_next(reader);
	}
}

const char *json_reader_text(const struct json_reader *reader, size_t *ret_length)
{
	if (ret_length)
		*ret_length = reader->text.length;
	return string_builder_text(&reader->text);
}

uint64_t json_reader_line(const struct json_reader *reader)
{
	return reader->token_line;
}

uint64_t json_reader_byte(const struct json_reader *reader)
{
	return reader->token_byte;
}

int json_reader_new(json_reader_more *more, void *context, struct json_reader **ret_reader)
{
	struct json_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->more = more;
	reader->context = context;
	reader->line = reader->byte = 1;
	string_builder_init(&reader->text);
	*ret_reader = reader;
	return 0;
}

void json_reader_free(struct json_reader *reader)
{
	if (!reader)
		return;
	string_builder_fini(&reader->text);
	free(reader);
}

/* ---- numbers ---- */

/* A number with an exponent is not a count of ns but was printed from a float. */
static int parse_wide(const char *text, int64_t *ret_value)
{
	char *end;
	double value = strtod(text, &end) * 1000;

	if (end == text || *end)
		return -EINVAL;
	if (!(fabs(value) < 9.2e18))
		return -ERANGE;
	*ret_value = (int64_t)llround(value);
	return 0;
}

int json_parse_thousandths(const char *text, int64_t *ret_value)
{
	const char *at = text + (*text == '-');
	uint64_t value = 0;
	int behind = -1; /* digits after the point */
	bool rounds_up = false;

	if (!isdigit((unsigned char)*at))
		return -EINVAL;
	for (; *at && behind < 3; at++) {
		if (*at == '.' && behind < 0) {
			behind = 0;
			continue;
		}
		if (!isdigit((unsigned char)*at))
			return parse_wide(text, ret_value);
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return -ERANGE;
		behind += behind >= 0;
	}
	rounds_up = *at >= '5' && *at <= '9';
	for (const char *rest = at; *rest; rest++)
		if (!isdigit((unsigned char)*rest))
			return parse_wide(text, ret_value);
	for (behind = behind < 0 ? 0 : behind; behind < 3; behind++)
		if (__builtin_mul_overflow(value, 10u, &value))
			return -ERANGE;
	value += rounds_up;
	if (value > INT64_MAX)
		return -ERANGE;
	*ret_value = *text == '-' ? -(int64_t)value : (int64_t)value;
	return 0;
}
