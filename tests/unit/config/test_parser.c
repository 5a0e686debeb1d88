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
#include "config/printer.h"
#include "harness.h"

#include "every.pb-c.h"
#include "plain.pb-c.h"

static struct config_report report;
static struct string_builder said;

/* The problems of a text, a line each: "LINE:COLUMN: what". */
static const char *problems_of_bytes(const char *text, size_t length)
{
	ProtobufCMessage *message = NULL;
	int error;

	memset(&report, 0, sizeof(report));
	string_builder_clear(&said);
	error = config_parse(text, length, &every__every__descriptor, NULL, &report, &message);
	for (size_t i = 0; i < config_report_kept(&report); i++)
		string_builder_appendf(&said, "%s%u:%u: %s", i ? "\n" : "",
				       report.problems[i].place.line,
				       report.problems[i].place.column, report.problems[i].text);
	if ((error == 0) != (report.count == 0) || (error == 0) != (message != NULL))
		string_builder_append(&said, "status and problems differ");
	protobuf_c_message_free_unpacked(message, NULL);
	return string_builder_text(&said);
}

static const char *problems(const char *text)
{
	return problems_of_bytes(text, strlen(text));
}

/* What the text says, as the printer says it; its problems where it has some. */
static const char *meaning(const char *text)
{
	ProtobufCMessage *message = NULL;

	if (*problems(text))
		return string_builder_text(&said);
	memset(&report, 0, sizeof(report));
	config_parse(text, strlen(text), &every__every__descriptor, NULL, &report, &message);
	string_builder_clear(&said);
	if (message)
		config_format(message, &said);
	protobuf_c_message_free_unpacked(message, NULL);
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
		{"an_int32: 7", "an_int32: 7\n"},
		{"an_int32: -2147483648", "an_int32: -2147483648\n"},
		{"an_int32: 0x7fffffff", "an_int32: 2147483647\n"},
		{"an_int32: - # sign\n 017", "an_int32: -15\n"},
		{"an_int64: -9223372036854775808", "an_int64: -9223372036854775808\n"},
		{"a_uint32: 4294967295", "a_uint32: 4294967295\n"},
		{"a_uint64: 0XFFFFFFFFFFFFFFFF", "a_uint64: 18446744073709551615\n"},
		{"a_sint32: -1", "a_sint32: -1\n"},
		{"a_sint64: -0x8000000000000000", "a_sint64: -9223372036854775808\n"},
		{"a_fixed32: 1", "a_fixed32: 1\n"},
		{"a_fixed64: 2", "a_fixed64: 2\n"},
		{"a_sfixed32: -3", "a_sfixed32: -3\n"},
		{"a_sfixed64: -4", "a_sfixed64: -4\n"},
		{"a_float: 1.5f", "a_float: 1.5\n"},
		{"a_float: 1e40", "a_float: inf\n"},
		{"a_float: 3.4028235e38", "a_float: 3.4028235e+38\n"},
		{"a_double: .5", "a_double: 0.5\n"},
		{"a_double: 5.", "a_double: 5\n"},
		{"a_double: 10F", "a_double: 10\n"},
		{"a_double: 1e-3", "a_double: 0.001\n"},
		{"a_double: 0.1", "a_double: 0.1\n"},
		{"a_double: 123456789012345678", "a_double: 1.2345678901234568e+17\n"},
		{"a_double: -Infinity", "a_double: -inf\n"},
		{"a_double: iNf", "a_double: inf\n"},
		{"a_double: nan", "a_double: nan\n"},
		{"a_double: -NaN", "a_double: -nan\n"},
		{"a_double: -0", "a_double: -0\n"},
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
		{"a_mode: -3", "a_mode: MODE_LESS\n"},
		{"a_mode: 0x7fffffff", "a_mode: MODE_MOST\n"},
		{"a_string: ''", "a_string: \"\"\n"},
		{"a_string: 'a\"b' # and\n\"c'd\"", "a_string: \"a\\\"bc'd\"\n"},
		{"a_string: '\\a\\b\\f\\n\\r\\t\\v\\?\\\\\\'\\\"'",
		 "a_string: \"\\007\\010\\014\\n\\r\\t\\013?\\\\'\\\"\"\n"},
		{"a_string: '\\101\\x41\\x4a\\u00e9\\U0001F600'",
		 "a_string: \"AAJ\xc3\xa9\xf0\x9f\x98\x80\"\n"},
		{"a_string: '\\u0416\\u20ac'", "a_string: \"\xd0\x96\xe2\x82\xac\"\n"},
		{"a_string: '\\351'", "a_string: \"\\351\"\n"},
		{"a_bytes: '\\0\\377'", "a_bytes: \"\\000\\377\"\n"},
		{"a_bytes: ''", "a_bytes: \"\"\n"},
		{"said: 'unsaid' forty_two: 42", "said: \"unsaid\"\nforty_two: 42\n"},
		{"int32s: 1 int32s: [2, 3] int32s: []", "int32s: [1, 2, 3]\n"},
		{"strings: ['a' 'b', \"c\"];", "strings: [\"ab\", \"c\"]\n"},
		{"an_int32:1,a_bool:t;a_uint32:2", "an_int32: 1\na_uint32: 2\na_bool: true\n"},
		{"needs { here: 1 }", "needs {\n  here: 1\n}\n"},
		{"needs: < here: 1; >,", "needs {\n  here: 1\n}\n"},
		{"inners [{}, < an_int32: 1 >] inners: [] inners {}",
		 "inners [{\n}, {\n  an_int32: 1\n}, {\n}]\n"},
		{"inner { inner { a_bool: true } }",
		 "inner {\n  inner {\n    a_bool: true\n  }\n}\n"},
		{"chosen_text: 'x'", "chosen_text: \"x\"\n"},
		{"chosen_needs { here: 5 }", "chosen_needs {\n  here: 5\n}\n"},
		{"an_int32\r\n:\v1\f", "an_int32: 1\n"},
	};

	CHECK_PAIRS(meaning, pairs);
}

TEST(values_that_a_field_does_not_take)
{
	static const struct pair pairs[] = {
		{"an_int32: 2147483648", "1:11: 'an_int32' takes a whole number from -2147483648 "
					 "to 2147483647, not 2147483648"},
		{"a_sint32: -2147483649", "1:11: 'a_sint32' takes a whole number from -2147483648 "
					  "to 2147483647, not -2147483649"},
		{"a_sfixed32: 1.5",
		 "1:13: 'a_sfixed32' takes a whole number from -2147483648 to 2147483647, not 1.5"},
		{"an_int64: 9223372036854775808",
		 "1:11: 'an_int64' takes a whole number from "
		 "-9223372036854775808 to 9223372036854775807, not "
		 "9223372036854775808"},
		{"a_sint64: 'x'",
		 "1:11: 'a_sint64' takes a whole number from -9223372036854775808 to "
		 "9223372036854775807, not 'x'"},
		{"a_sfixed64: true",
		 "1:13: 'a_sfixed64' takes a whole number from -9223372036854775808 "
		 "to 9223372036854775807, not true"},
		{"a_uint32: -1",
		 "1:11: 'a_uint32' takes a whole number from 0 to 4294967295, not -1"},
		{"a_fixed32: 4294967296",
		 "1:12: 'a_fixed32' takes a whole number from 0 to 4294967295, not 4294967296"},
		{"a_uint64: -0",
		 "1:11: 'a_uint64' takes a whole number from 0 to 18446744073709551615, not -0"},
		{"a_fixed64: 18446744073709551616",
		 "1:12: 'a_fixed64' takes a whole number from 0 to "
		 "18446744073709551615, not 18446744073709551616"},
		{"a_float: 0x10", "1:10: 'a_float' takes a decimal number, inf or nan, not 0x10"},
		{"a_double: 010", "1:11: 'a_double' takes a decimal number, inf or nan, not 010"},
		{"a_double: infinite",
		 "1:11: 'a_double' takes a decimal number, inf or nan, not infinite"},
		{"a_bool: yes", "1:9: 'a_bool' takes true or false, not yes"},
		{"a_bool: -t", "1:9: 'a_bool' takes true or false, not -t"},
		{"a_bool: 2", "1:9: 'a_bool' takes true or false, not 2"},
		{"a_string: text", "1:11: 'a_string' takes a text in quotes, not text"},
		{"a_bytes: 5", "1:10: 'a_bytes' takes a text in quotes, not 5"},
		{"a_string: 'a\\0b'", "1:11: 'a_string' takes a text without the byte \\0"},
		{"a_string {}", "1:10: 'a_string' takes a text in quotes, not a group of fields"},
		{"a_mode: MODE_ON",
		 "1:9: 'a_mode' takes MODE_LESS, MODE_NONE, MODE_ONE or MODE_MOST, "
		 "not MODE_ON; did you mean MODE_ONE?"},
		{"a_mode: 'MODE_ONE'",
		 "1:9: 'a_mode' takes MODE_LESS, MODE_NONE, MODE_ONE or MODE_MOST, "
		 "not 'MODE_ONE'; did you mean MODE_ONE, without quotes?"},
		{"a_mode: 7",
		 "1:9: 'a_mode' takes MODE_LESS, MODE_NONE, MODE_ONE or MODE_MOST, not 7"},
		{"a_mode: -MODE_ONE",
		 "1:9: 'a_mode' takes MODE_LESS, MODE_NONE, MODE_ONE or MODE_MOST, "
		 "not -MODE_ONE; did you mean MODE_ONE?"},
		{"a_mode: 2147483648",
		 "1:9: 'a_mode' takes MODE_LESS, MODE_NONE, MODE_ONE or MODE_MOST, not 2147483648"},
		{"inner: 5", "1:8: 'inner' takes a group of fields in { }, not 5"},
		{"an_int32: [1]", "1:11: 'an_int32' takes one value, not a list"},
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
		{"an_int23: 1", "1:1: unknown field 'an_int23'; did you mean 'an_int32'?"},
		{"needs { here: 1 heer: 2 }",
		 "1:17: unknown field 'heer' in 'needs'; did you mean 'here'?"},
		{"needs { here: 1 x { y: 2 z: [ { } ] } }",
		 "1:17: unknown field 'x' in 'needs'; there are: here, also"},
		{"inner { needs { here: 1 a_name_that_is_longer_than_what_is_shown_of_it: 1 } }",
		 "1:25: unknown field 'a_name_that_is_longer_than_what_is_shown…' in "
		 "'inner.needs'; there "
		 "are: here, also"},
		{"a_bool: t\n\n  a_bool: f",
		 "3:3: 'a_bool' has a value already, in line 1: keep one of the two"},
		{"needs { here: 1 } needs { here: 1 }",
		 "1:19: 'needs' has a value already, in line 1: keep one of the two"},
		{"chosen_number: 0 chosen_text: 'x'",
		 "1:18: 'chosen_text' excludes 'chosen_number', which "
		 "has a value already: keep one of the two"},
		{"needs {}", "1:7: the required field 'here' is missing"},
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
		{"an_int32 = 5",
		 "1:10: '=' has no meaning here: a field is written as name: value"},
		{"a_string: \xc3\xa4", "1:11: byte 0xc3 is outside quotes: put texts in quotes"},
		{"a_string: *", "1:11: '*' has no meaning here: put texts in quotes"},
		{"\001", "1:1: byte 0x01 is outside quotes: put texts in quotes"},
		{"an_int32 5", "1:10: expected ':' after the field's name, found '5'"},
		{"needs 5", "1:7: expected '{' after the field's name, found '5'"},
		{"unknown 5",
		 "1:1: unknown field 'unknown'; there are: an_int32, an_int64, a_uint32, "
		 "a_uint64, a_sint32, a_sint64, a_fixed32, a_fixed64, a_sfixed32, "
		 "a_sfixed64, a_float, a_double, a_bool, a_string, a_bytes, a_mode, needs, "
		 "inner, int32s, int64s, uint32s, uint64s, sint32s, sint64s, fixed32s, "
		 "fixed64s, sfixed32s, sfixed64s, floats, doubles, bools, strings, byteses, "
		 "modes, inners, chosen_number, chosen_text, chosen_needs, chosen_bytes, "
		 "said, forty_two\n"
		 "1:9: expected ':' after the field's name, found '5'"},
		{"int32s [1]", "1:9: expected ':' after the field's name, found '1'"},
		{"an_int32:", "1:10: expected a value, found the end of the text"},
		{"an_int32: }", "1:11: expected a value, found '}'"},
		{"an_int32: - ", "1:13: expected a number after '-', found the end of the text"},
		{"a_string: -'x'", "1:12: expected a number after '-', found ''x''"},
		{"int32s: [1, 2",
		 "1:14: expected ',' or ']' in the list, found the end of the text"},
		{"int32s: [1 2]", "1:12: expected ',' or ']' in the list, found '2'"},
		{"int32s: [1,]", "1:12: expected a value, found ']'"},
		{"int32s: [[1]]", "1:10: expected a value, found '['"},
		{"5: 1", "1:1: expected the name of a field, found '5'"},
		{"}", "1:1: expected the name of a field, found '}'"},
		{"a_bool: t,, a_bool: f", "1:11: expected the name of a field, found ','"},
		{"needs { here: 1 >", "1:17: expected the name of a field, found '>'"},
		{"needs <\nhere: 1", "1:7: the group that starts here has no end: '>' is missing"},
		{"inner { inner {", "1:15: the group that starts here has no end: '}' is missing"},
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
		snprintf(text, sizeof(text), "\tan_int32: %s ", numbers[i]);
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
			    "an_int23: 5\n"
			    "a_string: 'good'\n"
			    "needs { }\n"
			    "int32s: [1, x, 3, y]\n"
			    "a_uint32: ]\n"
			    "a_uint32: -1\n"),
		   "1:9: 'a_bool' takes true or false, not maybe\n"
		   "2:1: unknown field 'an_int23'; did you mean 'an_int32'?\n"
		   "4:7: the required field 'here' is missing\n"
		   "5:13: 'int32s' takes a whole number from -2147483648 to 2147483647, not x\n"
		   "5:19: 'int32s' takes a whole number from -2147483648 to 2147483647, not y\n"
		   "6:11: expected a value, found ']'");
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
static const char *nested(const char *name, int depth)
{
	static char text[8192];

	*text = '\0';
	for (int i = 0; i < depth; i++)
		strcat(strcat(text, name), "{");
	for (int i = 0; i < depth; i++)
		strcat(text, "}");
	return problems(text);
}

TEST(groups_in_groups_have_an_end)
{
	CHECK_TEXT(nested("inner", MAX_CONFIG_DEPTH), "");
	CHECK_TEXT(nested("inner", MAX_CONFIG_DEPTH + 1),
		   "1:390: groups are nested deeper than 64");
	CHECK(strstr(nested("x", 1000), "\n1:130: groups are nested deeper than 64"));
}

TEST(long_lists)
{
	struct string_builder text;
	ProtobufCMessage *message = NULL;
	const Every__Every *every;

	string_builder_init(&text);
	for (int i = 0; i < 10000; i++)
		string_builder_appendf(&text, "int32s: %d strings: '%d' inners { an_int32: %d }", i,
				       i, i);
	memset(&report, 0, sizeof(report));
	REQUIRE(!config_parse(text.text, text.length, &every__every__descriptor, NULL, &report,
			      &message));
	every = (const Every__Every *)message;
	CHECK_EQUAL(every->n_int32s, 10000);
	CHECK_EQUAL(every->int32s[9999], 9999);
	CHECK_TEXT(every->strings[1023], "1023");
	CHECK_EQUAL(every->inners[4097]->an_int32, 4097);
	protobuf_c_message_free_unpacked(message, NULL);
	string_builder_fini(&text);
}

static int note(void *context, const char *path, const ProtobufCFieldDescriptor *field,
		const void *member, struct config_place place)
{
	struct string_builder *notes = context;

	string_builder_appendf(notes, "%s %s %u:%u\n", path, field->name, place.line, place.column);
	return strcmp(field->name, "a_bool") == 0 ? -ECANCELED : 0;
}

TEST(a_listener_is_told_of_each_value)
{
	static const char text[] = "an_int32: -1 strings: ['a', 'b']\n"
				   "inner { needs { also: 'x' here: 5 } nothing: 1 }\n"
				   "a_string: 'c'\n";
	struct string_builder notes;
	const struct config_listener listener = {note, &notes};

	string_builder_init(&notes);
	memset(&report, 0, sizeof(report));
	CHECK_EQUAL(config_parse(text, sizeof(text) - 1, &every__every__descriptor, &listener,
				 &report, NULL),
		    -EINVAL);
	CHECK_TEXT(string_builder_text(&notes), "an_int32 an_int32 1:11\n"
						"strings strings 1:24\n"
						"strings strings 1:29\n"
						"inner inner 2:7\n"
						"inner.needs needs 2:15\n"
						"inner.needs.also also 2:23\n"
						"inner.needs.here here 2:33\n"
						"a_string a_string 3:11\n");
	string_builder_clear(&notes);
	memset(&report, 0, sizeof(report));
	CHECK_EQUAL(config_parse("a_bool: t a_string: 'x'", 23, &every__every__descriptor,
				 &listener, &report, NULL),
		    -ECANCELED);
	CHECK_TEXT(string_builder_text(&notes), "a_bool a_bool 1:9\n");
	string_builder_fini(&notes);
}

TEST(values_are_set_by_their_paths)
{
	Every__Every *every = calloc(1, sizeof(*every));
	ProtobufCMessage *message = (ProtobufCMessage *)every;

	every__every__init(every);
	CHECK_EQUAL(config_set(message, "a_string", "no 'quotes' \\n"), 0);
	CHECK_EQUAL(config_set(message, "strings", "a"), 0);
	CHECK_EQUAL(config_set(message, "strings", ""), 0);
	CHECK_EQUAL(config_set(message, "inner.needs.here", "-5"), 0);
	CHECK_EQUAL(config_set(message, "inner.needs.also", "b"), 0);
	CHECK_EQUAL(config_set(message, "needs", ""), 0);
	CHECK_EQUAL(config_set(message, "a_mode", "MODE_ONE"), 0);
	CHECK_EQUAL(config_set(message, "a_bytes", "'c'"), 0);
	CHECK_EQUAL(config_set(message, "nothing", "1"), -EINVAL);
	CHECK_EQUAL(config_set(message, "inner.nothing", "1"), -EINVAL);
	CHECK_EQUAL(config_set(message, "a_bool.x", "1"), -EINVAL);
	CHECK_EQUAL(config_set(message, "inners.a_bool", "true"), -EINVAL);
	CHECK_EQUAL(config_set(message, "inner", "{}"), -EINVAL);
	CHECK_EQUAL(config_set(message, "inners", ""), -EINVAL);
	CHECK_EQUAL(config_set(message, "a_uint32", "-1"), -EINVAL);
	CHECK_EQUAL(config_set(message, "a_double", "x"), -EINVAL);
	CHECK_EQUAL(config_set(message, "a_float", "$"), -EINVAL);
	string_builder_clear(&said);
	config_format(message, &said);
	CHECK_TEXT(string_builder_text(&said),
		   "a_string: \"no 'quotes' \\\\n\"\n"
		   "a_bytes: \"c\"\n"
		   "a_mode: MODE_ONE\n"
		   "needs {\n  here: 0\n}\n"
		   "inner {\n  needs {\n    here: -5\n    also: \"b\"\n  }\n}\n"
		   "strings: [\"a\", \"\"]\n");
	CHECK_EQUAL(config_set(message, "an_int32", "1 2"), -EINVAL);
	protobuf_c_message_free_unpacked(message, NULL);
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
	RUN(a_listener_is_told_of_each_value);
	RUN(values_are_set_by_their_paths);
	string_builder_fini(&said);
	return harness_end();
}
