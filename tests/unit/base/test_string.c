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

int main(void)
{
	RUN(builds);
	RUN(formats_texts_of_every_length);
	RUN(remembers_running_out_of_memory);
	return harness_end();
}
