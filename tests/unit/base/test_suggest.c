/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_suggest.c - near names, and words that resemble nothing
 */
#include "base/suggest.h"

#include <string.h>

#include "harness.h"

struct row {
	const char *name;
	int other;
};

static const struct row rows[] = {
	{"record", 1}, {"report", 2}, {NULL, 3}, {"export", 4}, {"list", 5}, {"doctor", 6},
};

static const char *suggest(const char *word)
{
	const char *name =
		suggest_name(word, rows, sizeof(rows) / sizeof(rows[0]), sizeof(rows[0]));

	return name ? name : "";
}

TEST(slips_of_the_finger)
{
	CHECK_TEXT(suggest("reprot"), "report");
	CHECK_TEXT(suggest("lst"), "list");
	CHECK_TEXT(suggest("docter"), "doctor");
	CHECK_TEXT(suggest("records"), "record");
	CHECK_TEXT(suggest("lits"), "list");
}

TEST(words_that_resemble_nothing)
{
	CHECK_TEXT(suggest("x"), "");
	CHECK_TEXT(suggest(""), "");
	CHECK_TEXT(suggest("compare"), "");
	CHECK_TEXT(suggest("foo"), "");
	CHECK_TEXT(suggest("li"), "");
	CHECK_TEXT(suggest("a-word-that-is-longer-than-any-name-of-a-verb"), "");
}

TEST(an_empty_table)
{
	CHECK(suggest_name("list", NULL, 0, sizeof(rows[0])) == NULL);
}

int main(void)
{
	RUN(slips_of_the_finger);
	RUN(words_that_resemble_nothing);
	RUN(an_empty_table);
	return harness_end();
}
