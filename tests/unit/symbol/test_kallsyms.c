/* SPDX-License-Identifier: MIT
 *
 * tests/unit/symbol/test_kallsyms.c - functions of the kernel by address
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "symbol/kallsyms.h"

static char path[] = "/tmp/duet-test-kallsyms-XXXXXX";

static bool write_text(const char *text)
{
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return false;
	if (write_all(fd, text, strlen(text)) < 0) {
		close(fd);
		return false;
	}
	return close(fd) == 0;
}

TEST(finds_what_is_before)
{
	struct kallsyms *symbols = NULL;

	REQUIRE(write_text("ffffffff81000200 T second\n"
			   "ffffffff81000000 t first\n"
			   "ffffffff81000100 d no_function\n"
			   "0000000000000000 A absolute\n"
			   "nonsense\n"
			   "ffffffff8100030\n"
			   "ffffffffc0000000 t inside\t[module]\n"
			   "ffffffffc0000100 W last"));
	CHECK_EQUAL(kallsyms_open(path, &symbols), 0);
	unlink(path);
	REQUIRE(symbols != NULL);
	CHECK_EQUAL(kallsyms_count(symbols), 4);
	CHECK(kallsyms_find(symbols, 0xffffffff80ffffff) == NULL);
	CHECK_TEXT(kallsyms_find(symbols, 0xffffffff81000000), "first");
	CHECK_TEXT(kallsyms_find(symbols, 0xffffffff810001ff), "first");
	CHECK_TEXT(kallsyms_find(symbols, 0xffffffff81000200), "second");
	CHECK_TEXT(kallsyms_find(symbols, 0xffffffffc0000001), "inside [module]");
	CHECK_TEXT(kallsyms_find(symbols, UINT64_MAX), "last");
	kallsyms_close(symbols);
}

TEST(tells_who_may_not_look)
{
	struct kallsyms *symbols = NULL;

	REQUIRE(write_text("0000000000000000 T second\n0000000000000000 t first\n"));
	CHECK_EQUAL(kallsyms_open(path, &symbols), -EACCES);
	unlink(path);
	CHECK_EQUAL(kallsyms_open("/nonexistent/kallsyms", &symbols), -ENOENT);
	kallsyms_close(NULL);
}

int main(void)
{
	RUN(finds_what_is_before);
	RUN(tells_who_may_not_look);
	return harness_end();
}
