/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_string.c - the string builder
 */
#include "harness.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/string.h"

TEST(builds)
{
	struct string_builder builder;
	char *text;

	string_builder_init(&builder);
	CHECK_TEXT(string_builder_text(&builder), "");
	string_builder_append(&builder, "a");
	string_builder_append_char(&builder, 'b');
	string_builder_append_bytes(&builder, "cde", 2);
	string_builder_appendf(&builder, "%d-%s", 42, "x");
	CHECK_TEXT(string_builder_text(&builder), "abcd42-x");
	CHECK_EQUAL(builder.length, 8);
	text = string_builder_take(&builder);
	CHECK_TEXT(text, "abcd42-x");
	free(text);
	text = string_builder_take(&builder);
	CHECK_TEXT(text, "");
	free(text);
	string_builder_fini(&builder);
}

TEST(formats_texts_of_every_length)
{
	static char wanted[5000];
	struct string_builder builder;

	for (size_t length = 0; length < sizeof(wanted); length += length / 7 + 1) {
		memset(wanted, 'y', length);
		wanted[length] = '\0';
		string_builder_init(&builder);
		string_builder_appendf(&builder, "%s", wanted);
		string_builder_appendf(&builder, "%s", "");
		CHECK_EQUAL(builder.length, length);
		CHECK_TEXT(string_builder_text(&builder), wanted);
		string_builder_clear(&builder);
		CHECK_TEXT(string_builder_text(&builder), "");
		string_builder_fini(&builder);
	}
}

TEST(remembers_running_out_of_memory)
{
	struct string_builder builder;

	string_builder_init(&builder);
	string_builder_append(&builder, "abc");
	string_builder_append_bytes(&builder, "x", SIZE_MAX);
	string_builder_append(&builder, "def");
	CHECK_EQUAL(builder.error, -ENOMEM);
	CHECK_TEXT(string_builder_text(&builder), "abc");
	CHECK(string_builder_take(&builder) == NULL);
	string_builder_fini(NULL);
}

TEST(only_what_a_terminal_just_shows)
{
	char text[64], small[8];

	CHECK_TEXT(string_make_printable("", text, sizeof(text)), "");
	CHECK_TEXT(string_make_printable("a\033[31m\nb\177", text, sizeof(text)), "a?[31m?b?");
	CHECK_TEXT(string_make_printable("\xc2\x9b"
					 "31m \x9b \xff\xfe",
					 text, sizeof(text)),
		   "?31m ? ??");
	CHECK_TEXT(string_make_printable("Grö\u00dfe \u202egnp\u2066 \u200b \ufeff \u061c€😀", text,
					 sizeof(text)),
		   "Größe ?gnp? ? ? ?€😀");
	CHECK_TEXT(string_make_printable("1234567", small, sizeof(small)), "1234567");
	CHECK_TEXT(string_make_printable("12345678", small, sizeof(small)), "1234…");
	CHECK_TEXT(string_make_printable("123€56789", small, sizeof(small)), "123…");
}

TEST(walks_lists)
{
	const char *at = "kernel,,copy,";
	size_t length = 0;
	uint64_t number = 0;

	CHECK(word_list_next(&at, &length) && length == 6);
	CHECK(word_list_next(&at, &length) && length == 0);
	CHECK(strncmp(word_list_next(&at, &length), "copy,", 5) == 0 && length == 4);
	CHECK(!word_list_next(&at, &length));
	at = "12,345";
	CHECK(number_list_next(&at, &number) && number == 12);
	CHECK(number_list_next(&at, &number) && number == 345 && !*at);
	at = "18446744073709551615";
	CHECK(number_list_next(&at, &number) && number == UINT64_MAX);
	for (const char **bad = (const char *[]){"", "x", "-1", " 1", "1,", "1 ", "1x,2",
						 "18446744073709551616", NULL};
	     *bad; bad++) {
		at = *bad;
		CHECK(!number_list_next(&at, &number));
	}
}

int main(void)
{
	RUN(builds);
	RUN(formats_texts_of_every_length);
	RUN(only_what_a_terminal_just_shows);
	RUN(remembers_running_out_of_memory);
	RUN(walks_lists);
	return harness_end();
}
