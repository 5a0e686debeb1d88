/* SPDX-License-Identifier: MIT
 *
 * tests/unit/config/test_parser.c - what the text format may say, and every mistake with its exact
 * message
 */
#include "config/parser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"
#include "config/config_private.h"
#include "harness.h"

#include "every.pb-c.h"

static struct config_report report;
static struct string_builder said;

static struct config *new_config(void)
{
	struct config *config;

	if (config_new(&every__every__descriptor, &config))
		abort();
	return config;
}

/* The problems of a text, a line each: "LINE:COLUMN: what". */
static const char *problems_of_bytes(const char *text, size_t length)
{
	struct config *config = new_config();
	int error;

	memset(&report, 0, sizeof(report));
	string_builder_clear(&said);
	error = config_parse(config, text, length, &report);
	for (size_t i = 0; i < config_report_kept(&report); i++)
		string_builder_appendf(&said, "%s%u:%u: %s", i ? "\n" : "",
				       report.problems[i].place.line,
				       report.problems[i].place.column, report.problems[i].text);
	if ((error == 0) != (report.count == 0))
		string_builder_append(&said, "status and problems differ");
	config_close(config);
	return string_builder_text(&said);
}

static const char *problems(const char *text)
{
	return problems_of_bytes(text, strlen(text));
}

/* What the text says, as the printer says it; its problems where it has some. */
static const char *meaning(const char *text)
{
	struct config *config;

	if (*problems(text))
		return string_builder_text(&said);
	config = new_config();
	config_parse(config, text, strlen(text), &report);
	string_builder_clear(&said);
	config_format(config, &said);
	config_close(config);
	return string_builder_text(&said);
}

struct pair {
	const char *text, *expected;
};

static void check_pairs(const char *(*function)(const char *), const struct pair *pairs,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *got = function(pairs[i].text);

		CHECK_TEXT(got, pairs[i].expected);
		if (strcmp(got, pairs[i].expected) != 0)
			printf("#   of: %s\n", pairs[i].text);
	}
}

#define CHECK_PAIRS(function, pairs) check_pairs(function, pairs, ARRAY_COUNT(pairs))

TEST(ways_to_write_numbers)
{
	static const struct pair pairs[] = {
		{"a_uint32: 7", "a_uint32: 7\n"},
		{"a_uint32: 4294967295", "a_uint32: 4294967295\n"},
		{"a_uint32: 0x7fffffff", "a_uint32: 2147483647\n"},
		{"a_uint32: # octal\n 017", "a_uint32: 15\n"},
		{"a_uint64: 0XFFFFFFFFFFFFFFFF", "a_uint64: 18446744073709551615\n"},
	};

	CHECK_PAIRS(meaning, pairs);
}

TEST(ways_to_write_the_rest)
{
	static const struct pair pairs[] = {
		{"", ""},
		{"\xef\xbb\xbf# a mark of byte order, and a comment", ""},
		{"a_bool: true", "a_bool: true\n"},
		{"a_bool: t", "a_bool: true\n"},
		{"a_bool: True", "a_bool: true\n"},
		{"a_bool: 0x1", "a_bool: true\n"},
		{"a_bool: f", "a_bool: false\n"},
		{"a_bool: False", "a_bool: false\n"},
		{"a_bool: 00", "a_bool: false\n"},
		{"a_mode: MODE_ONE", "a_mode: MODE_ONE\n"},
		{"a_mode: 0x7fffffff", "a_mode: MODE_MOST\n"},
		{"a_string: ''", "a_string: \"\"\n"},
		{"a_string: 'a\"b' # and\n\"c'd\"", "a_string: \"a\\\"bc'd\"\n"},
		{"a_string: '\\a\\b\\f\\n\\r\\t\\v\\?\\\\\\'\\\"'",
		 "a_string: \"\\007\\010\\014\\n\\r\\t\\013?\\\\'\\\"\"\n"},
		{"a_string: '\\101\\x41\\x4a\\u00e9\\U0001F600'",
		 "a_string: \"AAJ\xc3\xa9\xf0\x9f\x98\x80\"\n"},
		{"a_string: '\\u0416\\u20ac'", "a_string: \"\xd0\x96\xe2\x82\xac\"\n"},
		{"a_string: '\\351'", "a_string: \"\\351\"\n"},
		{"uint32s: 1 uint32s: [2, 3] uint32s: []", "uint32s: [1, 2, 3]\n"},
		{"strings: ['a' 'b', \"c\"];", "strings: [\"ab\", \"c\"]\n"},
		{"a_uint32:1,a_bool:t;a_uint64:2", "a_uint32: 1\na_uint64: 2\na_bool: true\n"},
		{"inner { here: 1 }", "inner {\n  here: 1\n}\n"},
		{"inner: < here: 1; >,", "inner {\n  here: 1\n}\n"},
		{"inner { deeper { } }", "inner {\n  deeper {\n  }\n}\n"},
		{"a_uint32\r\n:\v1\f", "a_uint32: 1\n"},
	};

	CHECK_PAIRS(meaning, pairs);
}

TEST(values_that_a_field_does_not_take)
{
	static const struct pair pairs[] = {
		{"a_uint32: 1.5",
		 "1:11: 'a_uint32' takes a whole number from 0 to 4294967295, not 1.5"},
		{"a_uint32: 1e9",
		 "1:11: 'a_uint32' takes a whole number from 0 to 4294967295, not 1e9"},
		{"a_uint32: 'x'",
		 "1:11: 'a_uint32' takes a whole number from 0 to 4294967295, not 'x'"},
		{"a_uint32: inf",
		 "1:11: 'a_uint32' takes a whole number from 0 to 4294967295, not inf"},
		{"a_uint32: -1",
		 "1:11: 'a_uint32' takes a whole number from 0 to 4294967295, not -1"},
		{"a_uint32: 4294967296",
		 "1:11: 'a_uint32' takes a whole number from 0 to 4294967295, not 4294967296"},
		{"a_uint64: -0",
		 "1:11: 'a_uint64' takes a whole number from 0 to 18446744073709551615, not -0"},
		{"a_uint64: 18446744073709551616",
		 "1:11: 'a_uint64' takes a whole number from 0 to "
		 "18446744073709551615, not 18446744073709551616"},
		{"a_bool: yes", "1:9: 'a_bool' takes true or false, not yes"},
		{"a_bool: -t", "1:9: 'a_bool' takes true or false, not -t"},
		{"a_bool: 2", "1:9: 'a_bool' takes true or false, not 2"},
		{"a_string: text", "1:11: 'a_string' takes a text in quotes, not text"},
		{"a_string: 'a\\0b'", "1:11: 'a_string' takes a text without the byte \\0"},
		{"a_string {}", "1:10: 'a_string' takes a text in quotes, not a group of fields"},
		{"a_mode: MODE_ON", "1:9: 'a_mode' takes MODE_NONE, MODE_ONE or MODE_MOST, "
				    "not MODE_ON; did you mean MODE_ONE?"},
		{"a_mode: 'MODE_ONE'", "1:9: 'a_mode' takes MODE_NONE, MODE_ONE or MODE_MOST, "
				       "not 'MODE_ONE'; did you mean MODE_ONE, without quotes?"},
		{"a_mode: 7", "1:9: 'a_mode' takes MODE_NONE, MODE_ONE or MODE_MOST, not 7"},
		{"a_mode: -MODE_ONE", "1:9: 'a_mode' takes MODE_NONE, MODE_ONE or MODE_MOST, "
				      "not -MODE_ONE; did you mean MODE_ONE?"},
		{"a_mode: -1", "1:9: 'a_mode' takes MODE_NONE, MODE_ONE or MODE_MOST, not -1"},
		{"a_mode: 2147483648",
		 "1:9: 'a_mode' takes MODE_NONE, MODE_ONE or MODE_MOST, not 2147483648"},
		{"inner: 5", "1:8: 'inner' takes a group of fields in { }, not 5"},
		{"a_uint32: [1]", "1:11: 'a_uint32' takes one value, not a list"},
		{"a_string: 'a text of more than forty characters is cut in what is said of it' "
		 "a_bool: 'a text of more than forty characters is cut in what is said of it'",
		 "1:87: 'a_bool' takes true or false, not 'a text of more than forty characters "
		 "is…"},
	};

	CHECK_PAIRS(problems, pairs);
}

TEST(fields_that_are_not_there_or_there_twice)
{
	static const struct pair pairs[] = {
		{"a_uint23: 1", "1:1: unknown field 'a_uint23'; did you mean 'a_uint32'?"},
		{"inner { here: 1 heer: 2 }",
		 "1:17: unknown field 'heer' in 'inner'; did you mean 'here'?"},
		{"inner { here: 1 x { y: 2 z: [ { } ] } }",
		 "1:17: unknown field 'x' in 'inner'; there are: here, also, deeper"},
		{"inner { deeper { here: 1 a_name_that_is_longer_than_what_is_shown_of_it: 1 } }",
		 "1:26: unknown field 'a_name_that_is_longer_than_what_is_shown…' in "
		 "'inner.deeper'; there are: here, also, deeper"},
		{"a_bool: t\n\n  a_bool: f",
		 "3:3: 'a_bool' has a value already, in line 1: keep one of the two"},
		{"inner { here: 1 } inner { here: 1 }",
		 "1:19: 'inner' has a value already, in line 1: keep one of the two"},
		{"[every.extension]: 5 a_bool: maybe",
		 "1:1: an extension ([NAME]) is not read here: write a field by its name\n"
		 "1:30: 'a_bool' takes true or false, not maybe"},
		{"[type.example.com/every.Every] { a: 5 }",
		 "1:1: a message of any type ([HOST/TYPE]) is "
		 "not read here: write a field by its name"},
	};

	CHECK_PAIRS(problems, pairs);
}

TEST(what_is_no_text_format)
{
	static const struct pair pairs[] = {
		{"a_uint32 = 5",
		 "1:10: '=' has no meaning here: a field is written as name: value"},
		{"a_string: \xc3\xa4", "1:11: byte 0xc3 is outside quotes: put texts in quotes"},
		{"a_string: *", "1:11: '*' has no meaning here: put texts in quotes"},
		{"\001", "1:1: byte 0x01 is outside quotes: put texts in quotes"},
		{"a_uint32 5", "1:10: expected ':' after the field's name, found '5'"},
		{"inner 5", "1:7: expected '{' after the field's name, found '5'"},
		{"unknown 5",
		 "1:1: unknown field 'unknown'; there are: a_uint32, a_uint64, a_bool, a_string, "
		 "a_mode, inner, uint32s, uint64s, bools, strings, modes\n"
		 "1:9: expected ':' after the field's name, found '5'"},
		{"uint32s [1]", "1:10: expected ':' after the field's name, found '1'"},
		{"a_uint32:", "1:10: expected a value, found the end of the text"},
		{"a_uint32: }", "1:11: expected a value, found '}'"},
		{"a_uint32: - ", "1:13: expected a number after '-', found the end of the text"},
		{"a_string: -'x'", "1:12: expected a number after '-', found ''x''"},
		{"uint32s: [1, 2",
		 "1:15: expected ',' or ']' in the list, found the end of the text"},
		{"uint32s: [1 2]", "1:13: expected ',' or ']' in the list, found '2'"},
		{"uint32s: [1,]", "1:13: expected a value, found ']'"},
		{"uint32s: [[1]]", "1:11: expected a value, found '['"},
		{"5: 1", "1:1: expected the name of a field, found '5'"},
		{"}", "1:1: expected the name of a field, found '}'"},
		{"a_bool: t,, a_bool: f", "1:11: expected the name of a field, found ','"},
		{"inner { here: 1 >", "1:17: expected the name of a field, found '>'"},
		{"inner <\nhere: 1", "1:7: the group that starts here has no end: '>' is missing"},
		{"inner { deeper {", "1:16: the group that starts here has no end: '}' is missing"},
		{"[a {", "1:4: expected ']' after the name of an extension, found '{'"},
		{"[a.b",
		 "1:5: expected ']' after the name of an extension, found the end of the text"},
		{"a_string: 'abc\n'",
		 "1:11: the text that starts here has no end: close it with ' on the "
		 "same line (write \\n for a line break)"},
		{"a_string: \"abc\\",
		 "1:11: the text that starts here has no end: close it with \" on the "
		 "same line (write \\n for a line break)"},
		{"a_string: 'abc\\\n'",
		 "1:11: the text that starts here has no end: close it with ' on "
		 "the same line (write \\n for a line break)"},
	};

	CHECK_PAIRS(problems, pairs);
}

TEST(numbers_and_escapes_that_are_none)
{
	static const char what[] = "write 12, -3, 017 (octal), 0x1f or 1.5e3; put texts in quotes";
	static const char escapes[] =
		"is not an escape; escapes are \\n \\r \\t \\a \\b \\f \\v \\? \\\\ "
		"\\' \\\" \\101 \\x41 \\u0041 \\U00000041";
	static const char *const numbers[] = {"08",    "0x",    "0xg", "10bar", "1.2.3", "1e",
					      "012.5", "0x1.8", "5s",  "1.5ms", "1_000"};
	static const struct pair bad[] = {
		{"a_string: '\\q'", "1:12: '\\q'"},
		{"a_string: '\xc3\xa4\\8'", "1:13: '\\8'"},
		{"a_string: '\\xg'", "1:12: '\\x'"},
		{"a_string: '\\X41'", "1:12: '\\X'"},
		{"a_string: '\\u12'", "1:12: '\\u'"},
		{"a_string: '\\ud800'", "1:12: '\\u'"},
		{"a_string: '\\U00110000'", "1:12: '\\U'"},
		{"a_string: '\\777'", "1:12: '\\7'"},
		{"a_string: '\\\x01'", "1:12: '\\?'"},
		{"a_string: 'good' '\\ '", "1:19: '\\?'"},
	};
	char text[64], expected[512];

	for (size_t i = 0; i < ARRAY_COUNT(numbers); i++) {
		snprintf(text, sizeof(text), "\ta_uint32: %s ", numbers[i]);
		snprintf(expected, sizeof(expected), "1:12: '%s' is not a number: %s", numbers[i],
			 what);
		CHECK_TEXT(problems(text), expected);
	}
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		snprintf(expected, sizeof(expected), "%s %s", bad[i].expected, escapes);
		CHECK_TEXT(problems(bad[i].text), expected);
	}
}

TEST(bytes_that_end_no_text)
{
	CHECK_TEXT(problems_of_bytes("a_bool: t\0", 10),
		   "1:10: byte 0x00 is outside quotes: put texts in quotes");
	CHECK_TEXT(problems_of_bytes("a_string: '\0'", 13),
		   "1:11: 'a_string' takes a text without the byte \\0");
	CHECK_TEXT(problems_of_bytes("a_string: 'x' rest", 12),
		   "1:11: the text that starts here has no end: close it with ' on the same line "
		   "(write \\n for a line break)");
}

TEST(several_mistakes_are_told_at_once)
{
	CHECK_TEXT(problems("a_bool: maybe\n"
			    "a_uint23: 5\n"
			    "a_string: 'good'\n"
			    "uint32s: [1, x, 3, y]\n"
			    "a_uint32: ]\n"
			    "a_uint32: -1\n"),
		   "1:9: 'a_bool' takes true or false, not maybe\n"
		   "2:1: unknown field 'a_uint23'; did you mean 'a_uint32'?\n"
		   "4:14: 'uint32s' takes a whole number from 0 to 4294967295, not x\n"
		   "4:20: 'uint32s' takes a whole number from 0 to 4294967295, not y\n"
		   "5:11: expected a value, found ']'");
}

TEST(more_mistakes_than_are_told)
{
	string_builder_clear(&said);
	problems("x:1 x:1 x:1 x:1 x:1 x:1 x:1 x:1 x:1 x:1 x:1 x:1 x:1 x:1 x:1 x:1 x:1 x:1");
	CHECK_EQUAL(report.count, 18);
	CHECK_EQUAL(config_report_kept(&report), MAX_CONFIG_PROBLEMS);
	CHECK_EQUAL(report.problems[MAX_CONFIG_PROBLEMS - 1].place.column, 61);
}

/* `depth` messages in one another, known or not. */
static const char *nested(const char *first, const char *name, int depth)
{
	static char text[8192];

	strcat(strcpy(text, first), "{");
	for (int i = 1; i < depth; i++)
		strcat(strcat(text, name), "{");
	for (int i = 0; i < depth; i++)
		strcat(text, "}");
	return problems(text);
}

TEST(groups_in_groups_have_an_end)
{
	CHECK_TEXT(nested("inner", "deeper", MAX_CONFIG_DEPTH), "");
	CHECK_TEXT(nested("inner", "deeper", MAX_CONFIG_DEPTH + 1),
		   "1:454: groups are nested deeper than 64");
	CHECK(strstr(nested("x", "x", 1000), "\n1:130: groups are nested deeper than 64"));
}

TEST(long_lists)
{
	struct string_builder text;
	const struct config_value *value = NULL;
	struct config *config = new_config();
	char wanted[16];

	string_builder_init(&text);
	for (int i = 0; i < 10000; i++)
		string_builder_appendf(&text, "uint32s: %d strings: '%d' ", i, i);
	memset(&report, 0, sizeof(report));
	REQUIRE(!config_parse(config, text.text, text.length, &report));
	for (int i = 0; i < 10000; i++) {
		value = config_next(config, i % 2 ? "strings" : "uint32s", value);
		REQUIRE(value);
		snprintf(wanted, sizeof(wanted), "%d", i % 2 ? i / 2 : (i + 1) / 2);
		CHECK_TEXT(value->text, wanted);
	}
	config_close(config);
	string_builder_fini(&text);
}

TEST(values_come_in_the_order_of_the_text)
{
	static const char text[] = "a_uint32: 1 strings: ['a', 'b']\n"
				   "inner { deeper { also: 'x' here: 5 } nothing: 1 }\n"
				   "a_string: 'c'\n";
	struct config *config = new_config();
	struct string_builder notes;

	string_builder_init(&notes);
	memset(&report, 0, sizeof(report));
	CHECK_EQUAL(config_parse(config, text, sizeof(text) - 1, &report), -EINVAL);
	for (size_t i = 0; i < config->count; i++)
		string_builder_appendf(&notes, "%s %s %u:%u\n", config->values[i].path,
				       config->values[i].text, config->values[i].place.line,
				       config->values[i].place.column);
	CHECK_TEXT(string_builder_text(&notes), "a_uint32 1 1:11\n"
						"strings a 1:23\n"
						"strings b 1:28\n"
						"inner  2:7\n"
						"inner.deeper  2:16\n"
						"inner.deeper.also x 2:24\n"
						"inner.deeper.here 5 2:34\n"
						"a_string c 3:11\n");
	string_builder_fini(&notes);
	config_close(config);
}

TEST(values_are_set_by_their_paths)
{
	struct config *config = new_config();

	CHECK_EQUAL(config_set(config, "a_string", "no 'quotes' \\n"), 0);
	CHECK_EQUAL(config_set(config, "strings", "a"), 0);
	CHECK_EQUAL(config_set(config, "strings", ""), 0);
	CHECK_EQUAL(config_set(config, "inner.deeper.here", "0x5"), 0);
	CHECK_EQUAL(config_set(config, "inner.deeper.also", "b"), 0);
	CHECK_EQUAL(config_set(config, "a_mode", "1"), 0);
	CHECK_EQUAL(config_set(config, "nothing", "1"), -EINVAL);
	CHECK_EQUAL(config_set(config, "inner.nothing", "1"), -EINVAL);
	CHECK_EQUAL(config_set(config, "a_bool.x", "1"), -EINVAL);
	CHECK_EQUAL(config_set(config, "inner", "{}"), -EINVAL);
	CHECK_EQUAL(config_set(config, "a_uint32", "-1"), -EINVAL);
	CHECK_EQUAL(config_set(config, "a_uint64", "x"), -EINVAL);
	CHECK_EQUAL(config_set(config, "a_bool", "$"), -EINVAL);
	string_builder_clear(&said);
	config_format(config, &said);
	CHECK_TEXT(string_builder_text(&said),
		   "a_string: \"no 'quotes' \\\\n\"\n"
		   "a_mode: MODE_ONE\n"
		   "inner {\n  deeper {\n    here: 5\n    also: \"b\"\n  }\n}\n"
		   "strings: [\"a\", \"\"]\n");
	CHECK_EQUAL(config_set(config, "a_uint32", "1 2"), -EINVAL);
	config_close(config);
	config = new_config();
	CHECK_EQUAL(config_set(config, "inner", ""), 0);
	string_builder_clear(&said);
	config_format(config, &said);
	CHECK_TEXT(string_builder_text(&said), "inner {\n}\n");
	config_close(config);
}

int main(void)
{
	string_builder_init(&said);
	RUN(ways_to_write_numbers);
	RUN(ways_to_write_the_rest);
	RUN(values_that_a_field_does_not_take);
	RUN(fields_that_are_not_there_or_there_twice);
	RUN(what_is_no_text_format);
	RUN(numbers_and_escapes_that_are_none);
	RUN(bytes_that_end_no_text);
	RUN(several_mistakes_are_told_at_once);
	RUN(more_mistakes_than_are_told);
	RUN(groups_in_groups_have_an_end);
	RUN(long_lists);
	RUN(values_come_in_the_order_of_the_text);
	RUN(values_are_set_by_their_paths);
	string_builder_fini(&said);
	return harness_end();
}
