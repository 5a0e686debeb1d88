/* SPDX-License-Identifier: MIT
 *
 * tests/unit/config/test_printer.c - what is printed is read as the same message
 */
#include "config/printer.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "config/parser.h"
#include "harness.h"

#include "every.pb-c.h"
#include "plain.pb-c.h"

/* Reads, prints and reads again; the printed text, or "" where one of the two reads failed. */
static const char *print_again(const ProtobufCMessageDescriptor *type, const char *text)
{
	static struct string_builder printed;
	ProtobufCMessage *first = NULL, *second = NULL;
	struct config_report report = {.count = 0};
	uint8_t *bytes[2] = {NULL, NULL};
	size_t sizes[2] = {0, 1};

	string_builder_clear(&printed);
	if (!config_parse(text, strlen(text), type, NULL, &report, &first)) {
		config_format(first, &printed);
		config_parse(string_builder_text(&printed), printed.length, type, NULL, &report,
			     &second);
	}
	if (second) {
		ProtobufCMessage *messages[] = {first, second};

		for (int i = 0; i < 2; i++) {
			bytes[i] = malloc(protobuf_c_message_get_packed_size(messages[i]) + 1);
			sizes[i] = protobuf_c_message_pack(messages[i], bytes[i]);
		}
	}
	if (sizes[0] != sizes[1] || memcmp(bytes[0], bytes[1], sizes[0]) != 0)
		string_builder_clear(&printed);
	protobuf_c_message_free_unpacked(first, NULL);
	protobuf_c_message_free_unpacked(second, NULL);
	free(bytes[0]);
	free(bytes[1]);
	return string_builder_text(&printed);
}

TEST(a_field_of_every_kind)
{
	static const char text[] =
		"an_int32: -2147483648\n"
		"an_int64: -9223372036854775808\n"
		"a_uint32: 4294967295\n"
		"a_uint64: 18446744073709551615\n"
		"a_sint32: -1\n"
		"a_sint64: -2\n"
		"a_fixed32: 3\n"
		"a_fixed64: 4\n"
		"a_sfixed32: -5\n"
		"a_sfixed64: -6\n"
		"a_float: 0.1\n"
		"a_double: 0.30000000000000004\n"
		"a_bool: false\n"
		"a_string: \"tab\\tquote\\\" backslash\\\\ \xc3\xa4 \\001\\302\\205\\377\"\n"
		"a_bytes: \"\\000\\n\\r\"\n"
		"a_mode: MODE_LESS\n"
		"needs {\n  here: 0\n}\n"
		"inner {\n}\n"
		"int32s: [1, -1]\n"
		"int64s: [2, -2]\n"
		"uint32s: [3]\n"
		"uint64s: [4]\n"
		"sint32s: [-5]\n"
		"sint64s: [-6]\n"
		"fixed32s: [7]\n"
		"fixed64s: [8]\n"
		"sfixed32s: [-9]\n"
		"sfixed64s: [-10]\n"
		"floats: [1.4013e-45, inf, 16777216]\n"
		"doubles: [4.94066e-324, -inf, nan, -0, 1e+100]\n"
		"bools: [true, false]\n"
		"strings: [\"\", \"x\"]\n"
		"byteses: [\"\", \"\\000\"]\n"
		"modes: [MODE_NONE, MODE_ONE, MODE_MOST]\n"
		"inners [{\n}, {\n  inners [{\n    a_bool: true\n  }]\n}]\n"
		"chosen_bytes: \"\"\n"
		"said: \"unsaid\"\n"
		"forty_two: 42\n";

	CHECK_TEXT(print_again(&every__every__descriptor, text), text);
}

TEST(one_of_several)
{
	static const char *const texts[] = {"chosen_number: 0\n", "chosen_text: \"\"\n",
					    "chosen_needs {\n  here: 1\n}\n"};

	for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
		CHECK_TEXT(print_again(&every__every__descriptor, texts[i]), texts[i]);
}

TEST(fields_without_presence)
{
	static const char text[] = "number: -1\n"
				   "text: \"x\"\n"
				   "raw: \"y\"\n"
				   "flag: true\n"
				   "real: 0.5\n"
				   "colour: WHITE\n"
				   "inner {\n}\n"
				   "numbers: [0, 1]\n"
				   "colours: [BLACK, WHITE]\n"
				   "ages [{\n  key: \"a\"\n  value: 5\n}]\n"
				   "left: 0\n";

	CHECK_TEXT(print_again(&plain__plain__descriptor, text), text);
	CHECK_TEXT(print_again(&plain__plain__descriptor, "number: 0 flag: false real: 0 inner {}"),
		   "inner {\n}\n");
}

TEST(a_number_that_has_no_name)
{
	Every__Every every;
	struct string_builder text;

	every__every__init(&every);
	every.has_a_mode = 1;
	every.a_mode = (Every__Mode)99;
	string_builder_init(&text);
	config_format(&every.base, &text);
	CHECK_TEXT(string_builder_text(&text), "a_mode: 99\n");
	string_builder_fini(&text);
}

int main(void)
{
	RUN(a_field_of_every_kind);
	RUN(one_of_several);
	RUN(fields_without_presence);
	RUN(a_number_that_has_no_name);
	return harness_end();
}
