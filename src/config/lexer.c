/* SPDX-License-Identifier: MIT
 *
 * config/lexer.c - split protobuf's text format into tokens
 *
 * Runs in:  our own process
 * Gets:     a text of any bytes
 * Gives:    tokens with their places; strings with escapes replaced
 * Owns:     nothing; tokens point into the text
 * Fails:    -EINVAL with a problem in the report: the place, the invalid text, and the expected
 *           form
 * Why:      the tokens follow protobuf's "Text Format Language Specification", so duet accepts
 *           every file that protoc accepts. Columns count characters, not bytes, as editors do
 */
#include "config/lexer.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

void lexer_init(struct lexer *lexer, const char *text, size_t length)
{
	*lexer = (struct lexer){text, text + length, {1, 1}};
	if (length >= 3 && memcmp(text, BYTE_ORDER_MARK, 3) == 0)
		lexer->at += 3;
}

/* The byte `ahead` positions after the next one; 0 after the end. */
static char peek(const struct lexer *lexer, size_t ahead)
{
	return (size_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : '\0';
}

static bool is_letter(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

static bool is_hex(char c)
{
	return isxdigit((unsigned char)c);
}

/* Advances the column by one per character: UTF-8 continuation bytes do not count. */
static void pass_columns(struct config_place *place, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		place->column += ((unsigned char)text[i] & 0xc0) != 0x80;
}

/* Skips bytes that contain no line end. */
static void skip_bytes(struct lexer *lexer, size_t length)
{
	pass_columns(&lexer->place, lexer->at, length);
	lexer->at += length;
}

static void pass_line_end(struct lexer *lexer)
{
	lexer->at++;
	lexer->place.line++;
	lexer->place.column = 1;
}

static void skip_comment(struct lexer *lexer)
{
	while (lexer->at < lexer->end && *lexer->at != '\n')
		skip_bytes(lexer, 1);
}

static void skip_blanks(struct lexer *lexer)
{
	while (lexer->at < lexer->end) {
		if (*lexer->at == '\n')
			pass_line_end(lexer);
		else if (*lexer->at == '#')
			skip_comment(lexer);
		else if (memchr(" \t\v\f\r", *lexer->at, 5))
			skip_bytes(lexer, 1);
		else
			return;
	}
}

/* ---- numbers --------------------------------------------------------------------------------- */

static size_t count_digits(const struct lexer *lexer, size_t from, bool (*is_one)(char))
{
	size_t count = 0;

	while (is_one(peek(lexer, from + count)))
		count++;
	return count;
}

/* Scans a decimal number, with fraction and exponent. Returns its length, or 0 if an exponent has
 * no digits. */
static size_t scan_decimal(const struct lexer *lexer, bool *ret_is_float)
{
	size_t length = count_digits(lexer, 0, is_digit);

	*ret_is_float = false;
	if (peek(lexer, length) == '.') {
		*ret_is_float = true;
		length++;
		length += count_digits(lexer, length, is_digit);
	}
	if (peek(lexer, length) == 'e' || peek(lexer, length) == 'E') {
		size_t digits;

		*ret_is_float = true;
		length++;
		length += peek(lexer, length) == '+' || peek(lexer, length) == '-';
		digits = count_digits(lexer, length, is_digit);
		if (!digits)
			return 0;
		length += digits;
	}
	if (peek(lexer, length) == 'f' || peek(lexer, length) == 'F') {
		*ret_is_float = true;
		length++;
	}
	return length;
}

/* As scan_decimal, for a number that starts with 0x, or with 0 and another digit. */
static size_t scan_based(const struct lexer *lexer)
{
	if (is_digit(peek(lexer, 1)))
		return count_digits(lexer, 0, is_octal);
	return is_hex(peek(lexer, 2)) ? 2 + count_digits(lexer, 2, is_hex) : 0;
}

static bool is_based(const struct lexer *lexer)
{
	char second = peek(lexer, 1);

	return peek(lexer, 0) == '0' && (second == 'x' || second == 'X' || is_digit(second));
}

/* Reports the whole invalid word, up to the next separator. */
static int bad_number(const struct lexer *lexer, struct config_report *report)
{
	size_t length = 0;

	while (is_letter(peek(lexer, length)) || is_digit(peek(lexer, length)) ||
	       peek(lexer, length) == '.')
		length++;
	return config_report_add(
		report, lexer->place,
		"'%.*s' is not a number: write 12, -3, 017 (octal), 0x1f or 1.5e3; put texts "
		"in quotes",
		(int)(length < 40 ? length : 40), lexer->at);
}

static int scan_number(struct lexer *lexer, struct token *token, struct config_report *report)
{
	bool is_float = false;
	size_t length = is_based(lexer) ? scan_based(lexer) : scan_decimal(lexer, &is_float);
	char after = peek(lexer, length);

	if (!length || is_letter(after) || is_digit(after) || after == '.')
		return bad_number(lexer, report);
	token->type = is_float ? TOKEN_FLOAT : TOKEN_INTEGER;
	token->length = length;
	return 0;
}

/* ---- the other tokens ------------------------------------------------------------------------ */

static int scan_string(struct lexer *lexer, struct token *token, struct config_report *report)
{
	char quote = *lexer->at;
	size_t length = 1, left = (size_t)(lexer->end - lexer->at);

	for (; length < left && lexer->at[length] != quote; length++) {
		if (lexer->at[length] == '\\' && length + 1 < left)
			length++;
		if (lexer->at[length] == '\n')
			break;
	}
	if (length >= left || lexer->at[length] != quote)
		return config_report_add(
			report, lexer->place,
			"the text that starts here has no end: close it with %c on the "
			"same line (write \\n for a line break)",
			quote);
	token->type = TOKEN_STRING;
	token->length = length + 1;
	return 0;
}

static int bad_character(const struct lexer *lexer, struct config_report *report)
{
	unsigned char c = (unsigned char)*lexer->at;

	if (c < ' ' || c >= 0x7f)
		return config_report_add(report, lexer->place,
					 "byte 0x%02x is outside quotes: put texts in quotes", c);
	return config_report_add(report, lexer->place, "'%c' has no meaning here: %s", c,
				 c == '=' ? "a field is written as name: value"
					  : "put texts in quotes");
}

int lexer_next(struct lexer *lexer, struct token *ret_token, struct config_report *report)
{
	struct token token;
	int error = 0;

	skip_blanks(lexer);
	token = (struct token){.text = lexer->at, .place = lexer->place};
	if (lexer->at == lexer->end) {
		token.type = TOKEN_END;
	} else if (is_letter(*lexer->at)) {
		token.type = TOKEN_NAME;
		while (is_letter(peek(lexer, token.length)) || is_digit(peek(lexer, token.length)))
			token.length++;
	} else if (is_digit(*lexer->at) || (*lexer->at == '.' && is_digit(peek(lexer, 1)))) {
		error = scan_number(lexer, &token, report);
	} else if (*lexer->at == '"' || *lexer->at == '\'') {
		error = scan_string(lexer, &token, report);
	} else if (memchr(":{}<>[],;-./", *lexer->at, 12)) {
		token.type = TOKEN_MARK;
		token.length = 1;
	} else {
		error = bad_character(lexer, report);
	}
	if (error)
		return error;
	skip_bytes(lexer, token.length);
	*ret_token = token;
	return 0;
}

/* ---- escapes --------------------------------------------------------------------------------- */

static const struct escape {
	char letter, byte;
} escapes[] = {{'a', '\a'}, {'b', '\b'}, {'f', '\f'},  {'n', '\n'},  {'r', '\r'}, {'t', '\t'},
	       {'v', '\v'}, {'?', '?'},  {'\\', '\\'}, {'\'', '\''}, {'"', '"'}};

/* Reads at most `most` digits of one base; returns their number. */
static size_t scan_code(const char *text, size_t most, unsigned base, uint32_t *ret_code)
{
	bool (*is_one)(char) = base == 8 ? is_octal : is_hex;
	size_t count = 0;

	*ret_code = 0;
	for (; count < most && is_one(text[count]); count++) {
		char c = text[count];
		unsigned digit =
			is_digit(c) ? (unsigned)(c - '0') : (unsigned)(tolower(c) - 'a') + 10;

		*ret_code = *ret_code * base + digit;
	}
	return count;
}

/* Reads a character: \u and four digits, or \U and eight. Two \u surrogates are not joined; a
 *                    character beyond U+FFFF needs \U. */
static size_t take_character(const char *at, struct string_builder *text)
{
	size_t wanted = at[1] == 'u' ? 4 : 8;
	uint32_t code;

	if (scan_code(at + 2, wanted, 16, &code) != wanted || code > 0x10ffff ||
	    (code >= 0xd800 && code < 0xe000))
		return 0;
	string_builder_append_character(text, code);
	return 2 + wanted;
}

static size_t take_byte(const char *at, size_t prefix, size_t most, unsigned base,
			struct string_builder *text)
{
	uint32_t code;
	size_t digits = scan_code(at + prefix, most, base, &code);

	if (!digits || code > 0xff)
		return 0;
	string_builder_append_char(text, (char)code);
	return prefix + digits;
}

/* Reads an escape at a backslash; returns its length, 0 if it is invalid. The closing quote stops
 * every scan. */
static size_t take_escape(const char *at, struct string_builder *text)
{
	if (at[1] == 'u' || at[1] == 'U')
		return take_character(at, text);
	if (at[1] == 'x')
		return take_byte(at, 2, 2, 16, text);
	if (is_octal(at[1]))
		return take_byte(at, 1, 3, 8, text);
	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		if (escapes[i].letter == at[1]) {
			string_builder_append_char(text, escapes[i].byte);
			return 2;
		}
	}
	return 0;
}

static int bad_escape(const struct token *token, const char *at, struct config_report *report)
{
	struct config_place place = token->place;
	unsigned char c = (unsigned char)at[1];

	pass_columns(&place, token->text, (size_t)(at - token->text));
	return config_report_add(
		report, place,
		"'\\%c' is not an escape; escapes are \\n \\r \\t \\a \\b \\f \\v \\? "
		"\\\\ \\' \\\" \\101 \\x41 \\u0041 \\U00000041",
		c > ' ' && c < 0x7f ? c : '?');
}

int token_unescape(const struct token *token, struct string_builder *text,
		   struct config_report *report)
{
	const char *at = token->text + 1, *end = token->text + token->length - 1;
	int error = 0;

	while (at < end) {
		size_t length = *at == '\\' ? take_escape(at, text) : 0;

		if (!length && *at == '\\') {
			error = bad_escape(token, at, report);
			length = 2;
		} else if (!length) {
			string_builder_append_char(text, *at);
			length = 1;
		}
		at += length;
	}
	return error ? error : text->error;
}
