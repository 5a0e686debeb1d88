/* SPDX-License-Identifier: MIT
 *
 * tests/unit/symbol/test_kallsyms.c - functions of the kernel by address
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "symbol/kernel/kallsyms.h"

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

static const char LINES[] = "ffffffff81000200 T second\n"
			    "ffffffff81000000 t first\n"
			    "ffffffff81000100 d no_function\n"
			    "0000000000000000 A absolute\n"
			    "nonsense\n"
			    "ffffffff8100030\n"
			    "ffffffffc0000000 t inside\t[module]\n"
			    "ffffffffc0000100 W last";

TEST(names_addresses_in_any_order)
{
	struct kernel_symbol symbols[] = {
		{.address = UINT64_MAX},         {.address = 0xffffffff81000200},
		{.address = 0xffffffff810001ff}, {.address = 0xffffffff80ffffff},
		{.address = 0xffffffff81000000}, {.address = 0xffffffffc0000001},
		{.address = 0xffffffffc0000000},
	};
	static const struct {
		const char *name;
		uint64_t distance;
	} expected[] = {{"", 0},
			{"first", 0},
			{"first", 0x1ff},
			{"second", 0},
			{"inside [module]", 0},
			{"inside [module]", 1},
			{"last", UINT64_MAX - 0xffffffffc0000100}};

	REQUIRE(write_text(LINES));
	CHECK_EQUAL(kallsyms_name(path, symbols, 7), 0);
	unlink(path);
	for (size_t i = 0; i < 7; i++) {
		CHECK_TEXT(symbols[i].name, expected[i].name);
		if (expected[i].name[0])
			CHECK_EQUAL(symbols[i].distance, expected[i].distance);
	}
}

TEST(reports_who_may_not_look)
{
	struct kernel_symbol symbol = {.address = 1};

	REQUIRE(write_text("0000000000000000 T second\n0000000000000000 t first\n"));
	CHECK_EQUAL(kallsyms_name(path, &symbol, 1), -EACCES);
	unlink(path);
	CHECK_EQUAL(kallsyms_name("/nonexistent/kallsyms", &symbol, 1), -ENOENT);
}

TEST(parses_the_kernels_text)
{
	struct kernel_symbol symbol;

	kernel_symbol_parse("schedule+0x1f/0xb0", &symbol);
	CHECK_TEXT(symbol.name, "schedule");
	CHECK_EQUAL(symbol.distance, 0x1f);
	kernel_symbol_parse("i915_request_wait+0x0/0x80 [i915]", &symbol);
	CHECK_TEXT(symbol.name, "i915_request_wait [i915]");
	CHECK_EQUAL(symbol.distance, 0);
	kernel_symbol_parse("0xffffffffc0000000", &symbol);
	CHECK_TEXT(symbol.name, "");
	kernel_symbol_parse("cut_name_without_the_rest", &symbol);
	CHECK_TEXT(symbol.name, "");
	kernel_symbol_parse("", &symbol);
	CHECK_TEXT(symbol.name, "");
}

int main(void)
{
	RUN(names_addresses_in_any_order);
	RUN(reports_who_may_not_look);
	RUN(parses_the_kernels_text);
	return harness_end();
}
