/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_json_reader.c - tokens, places of errors, numbers; whatever the pieces are
 * in which bytes come
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/string.h"
#include "harness.h"

struct bytes {
	const char *bytes;
	size_t size, piece;
};

static ssize_t read_piece(void *context, void *buffer, size_t size)
{
	struct bytes *bytes = context;
	size_t given = bytes->size < bytes->piece ? bytes->size : bytes->piece;

	given = given < size ? given : size;
	memcpy(buffer, bytes->bytes, given);
	bytes->bytes += given;
	bytes->size -= given;
	return (ssize_t)given;
}

/* The tokens of a document as a text, and how it ended. */
static int read_all(const char *document, size_t size, size_t piece, struct string_builder *text)
{
	static const char signs[] = "$ {}[]:ssTFN";
	struct bytes bytes = {document, size, piece};
	struct json_reader *reader;
	int token;

	token = json_reader_new(read_piece, &bytes, &reader);
	CHECK_EQUAL(token, 0);
	while ((token = json_reader_next(reader)) > JSON_END) {
		const char *value = json_reader_text(reader, NULL);

		if (token == JSON_KEY || token == JSON_STRING || token == JSON_NUMBER)
			string_builder_appendf(text, "%s%c", value,
					       token == JSON_KEY      ? ':'
					       : token == JSON_STRING ? ';'
								      : '#');
		else
			string_builder_append_char(text, signs[token + 1]);
	}
	CHECK_EQUAL(json_reader_next(reader), token); /* the same for ever */
	json_reader_free(reader);
	return token;
}

static void check(const char *document, const char *wanted)
{
	for (size_t piece = 1; piece < 70000; piece = piece == 1 ? 3 : piece * 30) {
		struct string_builder text;

		string_builder_init(&text);
		CHECK_EQUAL(read_all(document, strlen(document), piece, &text), JSON_END);
		CHECK_TEXT(string_builder_text(&text), wanted);
		string_builder_fini(&text);
	}
}

static void check_error(const char *document, const char *wanted)
{
	for (size_t piece = 1; piece < 70000; piece = piece == 1 ? 3 : piece * 30) {
		struct string_builder text;

		string_builder_init(&text);
		CHECK_EQUAL(read_all(document, strlen(document), piece, &text), -EBADMSG);
		CHECK_TEXT(error_text(), wanted);
		string_builder_fini(&text);
		error_clear();
	}
}

TEST(tokens)
{
	check("{}", "{}");
	check(" [ ] ", "[]");
	check("1", "1#");
	check("{\"a\": 1, \"b\" :[true,false , null],\n\"c\":{}}", "{a:1#b:[TFN]c:{}}");
	check("[-0.5e+10,0,12.25,1E3]", "[-0.5e+10#0#12.25#1E3#]");
	check("[[[\"x\"]],\"\"]", "[[[x;]];]");
}

TEST(escapes)
{
	check("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\/\b\f\n\r\t;]");
	check("[\"\\u0041\\u00e9\\u20ac\\ud83d\\ude80\"]",
	      "[A\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x80;]");
	check("[\"\\ud83dx\\ude80\\ud83d\\n\\ud83d\\u0041\"]",
	      "[\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\n\xef\xbf\xbd"
	      "A;]");
}

TEST(errors_have_a_place)
{
	check_error("", "line 1, byte 1: expected a value, found the end of the file");
	check_error("[1,\n2,,3]", "line 2, byte 7: expected a value, found ','");
	check_error("[1 2]", "line 1, byte 4: expected ',' or ']', found '2'");
	check_error("{\"a\":1]", "line 1, byte 7: expected ',' or '}', found ']'");
	check_error("{1:2}", "line 1, byte 2: expected a key, found '1'");
	check_error("{\"a\" 2}", "line 1, byte 6: expected ':', found '2'");
	check_error("{\"a\":1,}", "line 1, byte 8: expected a key, found '}'");
	check_error("[1,]", "line 1, byte 4: expected a value, found ']'");
	check_error("[tru]", "line 1, byte 5: expected 'true', found ']'");
	check_error("[-]", "line 1, byte 3: expected a digit, found ']'");
	check_error("[1.]", "line 1, byte 4: expected a digit, found ']'");
	check_error("[\"a\nb\"]",
		    "line 1, byte 4: expected the '\"' that ends a string, found byte 0x0a");
	check_error("[\"\\x\"]",
		    "line 1, byte 4: expected one of \"\\/bfnrtu after a backslash, found 'x'");
	check_error("[\"\\u12g4\"]", "line 1, byte 7: expected four hexadecimal digits, found 'g'");
	check_error("{} x", "line 1, byte 4: expected the end of the document, found 'x'");
	check_error(
		"[\"abc",
		"line 1, byte 6: expected the '\"' that ends a string, found the end of the file");
	check_error("NaN", "line 1, byte 1: expected a value, found 'N'");
}

TEST(limits)
{
	struct string_builder document, text;

	string_builder_init(&document);
	string_builder_init(&text);
	for (int i = 0; i <= JSON_READER_DEPTH; i++)
		string_builder_append_char(&document, '[');
	CHECK_EQUAL(read_all(document.text, document.length, SIZE_MAX, &text), -EBADMSG);
	CHECK(strstr(error_text(), "more than 256 brackets open"));
	string_builder_clear(&document);
	string_builder_append_char(&document, '"');
	for (size_t i = 0; i < JSON_READER_STRING / 16 + 1; i++)
		string_builder_append(&document, "0123456789abcdef");
	string_builder_append_char(&document, '"');
	CHECK_EQUAL(read_all(document.text, document.length, SIZE_MAX, &text), -EBADMSG);
	CHECK(strstr(error_text(), "a string is longer than 16 MiB"));
	string_builder_fini(&document);
	string_builder_fini(&text);
	error_clear();
}

/* Whatever is done to a document, reading it ends, with the end or with an error. */
TEST(cut_and_changed_documents_end)
{
	static const char document[] = "{\"a\":[1.5e3,-2,{\"b\":\"\\u00e9\\ud83d\\ude80x\"},true,"
				       "null],\"c\":{\"d\":[[]]}}";
	unsigned int chance = 1;

	for (size_t size = 0; size < sizeof(document) - 1; size++) {
		struct string_builder text;

		string_builder_init(&text);
		CHECK_EQUAL(read_all(document, size, 5, &text), -EBADMSG);
		string_builder_fini(&text);
	}
	for (int turn = 0; turn < 20000; turn++) {
		char changed[sizeof(document)];
		struct string_builder text;
		int ended;

		memcpy(changed, document, sizeof(document));
		for (int i = 0; i < 1 + turn % 3; i++) {
			chance = chance * 1103515245 + 12345;
			changed[(chance >> 16) % (sizeof(document) - 1)] = (char)(chance >> 8);
		}
		string_builder_init(&text);
		ended = read_all(changed, sizeof(document) - 1, 7, &text);
		CHECK(ended == JSON_END || ended == -EBADMSG);
		string_builder_fini(&text);
	}
	error_clear();
}

TEST(skipping)
{
	static const char document[] = "{\"a\":{\"b\":[1,{\"c\":2}]},\"d\":3,\"e\":[]}";
	struct bytes bytes = {document, strlen(document), 4};
	struct json_reader *reader;
	char keys[8] = "";
	int token;

	REQUIRE(json_reader_new(read_piece, &bytes, &reader) == 0);
	CHECK_EQUAL(json_reader_expect(reader, JSON_OBJECT_BEGIN), 0);
	while ((token = json_reader_next(reader)) == JSON_KEY) {
		strcat(keys, json_reader_text(reader, NULL));
		CHECK_EQUAL(json_reader_skip(reader, json_reader_next(reader)), 0);
	}
	CHECK_EQUAL(token, JSON_OBJECT_END);
	CHECK_TEXT(keys, "ade");
	CHECK_EQUAL(json_reader_expect(reader, JSON_NUMBER), -EBADMSG);
	CHECK_TEXT(error_text(), "line 1, byte 37: expected a number, found the end");
	json_reader_free(reader);
	error_clear();
}

TEST(arrays_without_an_end)
{
	static const struct {
		const char *document;
		bool is_cut;
	} cases[] = {{"[{},{}", true}, {"[{},", true},       {"[", true},     {"[{},{", false},
		     {"[[1,2", false}, {"{\"a\":[1", false}, {"[1 2", false}, {"[1]", false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes bytes = {cases[i].document, strlen(cases[i].document), 3};
		struct json_reader *reader;

		REQUIRE(json_reader_new(read_piece, &bytes, &reader) == 0);
		while (json_reader_next(reader) > JSON_END)
			;
		CHECK_EQUAL(json_reader_is_cut(reader), cases[i].is_cut);
		json_reader_free(reader);
	}
	error_clear();
}

TEST(thousandths)
{
	static const struct {
		const char *text;
		int error;
		int64_t wanted;
	} cases[] = {{"0", 0, 0},
		     {"1", 0, 1000},
		     {"-1.5", 0, -1500},
		     {"0.001", 0, 1},
		     {"-0.001", 0, -1},
		     {"1.0005", 0, 1001},
		     {"1.0004999", 0, 1000},
		     {"1700000000000000.123", 0, 1700000000000000123},
		     {"9223372036854775.807", 0, INT64_MAX},
		     {"9223372036854775.808", -ERANGE, 0},
		     {"99999999999999999999", -ERANGE, 0},
		     {"1e3", 0, 1000000},
		     {"1.5e-3", 0, 2},
		     {"1.2345e2", 0, 123450},
		     {"1e300", -ERANGE, 0},
		     {"", -EINVAL, 0},
		     {"x", -EINVAL, 0},
		     {"1x", -EINVAL, 0},
		     {"1.2.3", -EINVAL, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t value = 0;

		CHECK_EQUAL(json_parse_thousandths(cases[i].text, &value), cases[i].error);
		CHECK_EQUAL(value, cases[i].wanted);
	}
}

int main(void)
{
	RUN(tokens);
	RUN(escapes);
	RUN(errors_have_a_place);
	RUN(limits);
	RUN(cut_and_changed_documents_end);
	RUN(skipping);
	RUN(arrays_without_an_end);
	RUN(thousandths);
	return harness_end();
}
