/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_json.c - what is written is JSON, whatever goes in
 */
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>

#include "base/json.h"

TEST(writes_every_type)
{
	struct string_builder text;
	struct json_writer json;

	string_builder_init(&text);
	json_init_text(&json, &text);
	json_object_begin(&json);
	json_key(&json, "a");
	json_array_begin(&json);
	json_u64(&json, UINT64_MAX);
	json_i64(&json, INT64_MIN);
	json_double(&json, 0.1);
	json_double(&json, 1.0 / 3);
	json_double(&json, NAN);
	json_double(&json, -INFINITY);
	json_bool(&json, true);
	json_bool(&json, false);
	json_null(&json);
	json_string(&json, NULL);
	json_array_begin(&json);
	json_array_end(&json);
	json_object_begin(&json);
	json_object_end(&json);
	json_array_end(&json);
	json_key(&json, "b");
	json_string(&json, "c");
	json_object_end(&json);
	CHECK_EQUAL(json_error(&json), 0);
	CHECK_TEXT(string_builder_text(&text),
		   "{\"a\":[18446744073709551615,-9223372036854775808,0.1,0.3333333333333333,"
		   "null,null,true,false,null,null,[],{}],\"b\":\"c\"}");
	string_builder_fini(&text);
}

TEST(writes_keys_with_their_values)
{
	struct string_builder text;
	struct json_writer json;

	string_builder_init(&text);
	json_init_text(&json, &text);
	json_object_begin(&json);
	json_pair_i64(&json, "a", -1);
	json_pair_double(&json, "b", 0.5);
	json_pair_object(&json, "c");
	json_pair_bool(&json, "d", true);
	json_object_end(&json);
	json_pair_array(&json, "e");
	json_line_begin(&json);
	json_object_end(&json);
	json_array_end(&json);
	json_line_array(&json, "f");
	json_array_end(&json);
	json_object_end(&json);
	CHECK_EQUAL(json_error(&json), 0);
	CHECK_TEXT(string_builder_text(&text),
		   "{\"a\":-1,\"b\":0.5,\"c\":{\"d\":true},\"e\":[\n{}],\n\"f\":[]}");
	string_builder_fini(&text);
}

TEST(breaks_lines_after_commas)
{
	struct string_builder text;
	struct json_writer json;

	string_builder_init(&text);
	json_init_text(&json, &text);
	json_array_begin(&json);
	for (int i = 0; i < 2; i++) {
		json_newline(&json);
		json_u64(&json, (uint64_t)i);
	}
	json_newline(&json);
	json_array_end(&json);
	CHECK_TEXT(string_builder_text(&text), "[\n0,\n1\n]");
	string_builder_fini(&text);
}

TEST(thousandths_are_exact)
{
	static const struct {
		int64_t value;
		const char *wanted;
	} cases[] = {{0, "0.000"},
		     {1, "0.001"},
		     {-1, "-0.001"},
		     {1234567, "1234.567"},
		     {-999, "-0.999"},
		     {INT64_MAX, "9223372036854775.807"},
		     {INT64_MIN, "-9223372036854775.808"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct string_builder text;
		struct json_writer json;

		string_builder_init(&text);
		json_init_text(&json, &text);
		json_thousandths(&json, cases[i].value);
		CHECK_TEXT(string_builder_text(&text), cases[i].wanted);
		string_builder_fini(&text);
	}
}

static void check_string(const char *bytes, size_t size, const char *wanted)
{
	struct string_builder text;
	struct json_writer json;

	string_builder_init(&text);
	json_init_text(&json, &text);
	json_bytes(&json, bytes, size);
	CHECK_TEXT(string_builder_text(&text), wanted);
	string_builder_fini(&text);
}

#define BAD "\xef\xbf\xbd"

TEST(escapes_control_bytes)
{
	check_string("", 0, "\"\"");
	check_string("a\"\\/\b\f\n\r\t", 9, "\"a\\\"\\\\/\\b\\f\\n\\r\\t\"");
	check_string("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\"");
}

TEST(replaces_malformed_utf8)
{
	check_string("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9,
		     "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
	check_string("\x80", 1, "\"" BAD "\"");
	check_string("\xc0\xaf", 2, "\"" BAD BAD "\"");         /* overlong */
	check_string("\xed\xa0\x80", 3, "\"" BAD BAD BAD "\""); /* surrogate */
	check_string("\xf4\x90\x80\x80", 4, "\"" BAD BAD BAD BAD "\"");
	check_string("\xe2\x82", 2, "\"" BAD "\""); /* cut off: one sequence */
	check_string("\xe2\x82z", 3, "\"" BAD "z\"");
	check_string("\xff\"\xfe", 3, "\"" BAD "\\\"" BAD "\"");
}

TEST(tells_errors)
{
	struct string_builder text;
	struct json_writer json;
	FILE *full = fopen("/dev/full", "w");

	REQUIRE(full);
	setvbuf(full, NULL, _IONBF, 0);
	json_init_file(&json, full);
	json_u64(&json, 1);
	CHECK_EQUAL(json_error(&json), -ENOSPC);
	fclose(full);
	string_builder_init(&text);
	json_init_text(&json, &text);
	for (int i = 0; i <= JSON_DEPTH; i++)
		json_array_begin(&json);
	CHECK_EQUAL(json_error(&json), -E2BIG);
	string_builder_fini(&text);
}

int main(void)
{
	RUN(writes_every_type);
	RUN(writes_keys_with_their_values);
	RUN(thousandths_are_exact);
	RUN(breaks_lines_after_commas);
	RUN(escapes_control_bytes);
	RUN(replaces_malformed_utf8);
	RUN(tells_errors);
	return harness_end();
}
