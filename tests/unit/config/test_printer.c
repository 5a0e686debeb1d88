/* SPDX-License-Identifier: MIT
 *
 * tests/unit/config/test_printer.c - what is printed is read as the same values
 */
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/parser.h"
#include "harness.h"

#include "every.pb-c.h"

/* Reads and prints; the printed text, or "" where it is refused. */
static const char *print_again(const char *text)
{
	static struct string_builder printed;
	struct config_report report = {.count = 0};
	struct config *config;

	string_builder_clear(&printed);
	if (config_new(&every__every__descriptor, &config))
		return "no memory";
	if (!config_parse(config, text, strlen(text), &report))
		config_format(config, &printed);
	config_close(config);
	return string_builder_text(&printed);
}

TEST(a_field_of_every_kind)
{
	static const char text[] =
		"a_uint32: 4294967295\n"
		"a_uint64: 18446744073709551615\n"
		"a_bool: false\n"
		"a_string: \"tab\\tquote\\\" backslash\\\\ \xc3\xa4 \\001\\302\\205\\377\"\n"
		"a_mode: MODE_ONE\n"
		"inner {\n  here: 0\n  deeper {\n    also: \"\"\n  }\n}\n"
		"uint32s: [3]\n"
		"uint64s: [4, 5]\n"
		"bools: [true, false]\n"
		"strings: [\"\", \"x\"]\n"
		"modes: [MODE_NONE, MODE_ONE, MODE_MOST]\n";

	CHECK_TEXT(print_again(text), text);
}

TEST(fields_in_another_order)
{
	CHECK_TEXT(print_again("strings: 'a' inner { also: 'x' here: 1 } strings: 'b' a_uint32: 2"),
		   "a_uint32: 2\ninner {\n  here: 1\n  also: \"x\"\n}\nstrings: [\"a\", \"b\"]\n");
}

int main(void)
{
	RUN(a_field_of_every_kind);
	RUN(fields_in_another_order);
	return harness_end();
}
