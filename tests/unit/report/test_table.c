/* SPDX-License-Identifier: MIT
 *
 * tests/unit/report/test_table.c - numbers for people, and columns that hold whatever a name is
 */
#include "report/table.h"

#include "capture.h"
#include "harness.h"

static struct capture capture;

TEST(duration)
{
	CHECK_TEXT(format_duration(0).text, "0 ns");
	CHECK_TEXT(format_duration(999).text, "999 ns");
	CHECK_TEXT(format_duration(1000).text, "1.000 µs");
	CHECK_TEXT(format_duration(12345).text, "12.35 µs");
	CHECK_TEXT(format_duration(123456789).text, "123.5 ms");
	CHECK_TEXT(format_duration(UINT64_C(3600000000000)).text, "3600.0 s");
}

TEST(size_percent_count)
{
	CHECK_TEXT(format_size(1023).text, "1023 B");
	CHECK_TEXT(format_size(4096).text, "4.0 KiB");
	CHECK_TEXT(format_size(1.5 * (1 << 30)).text, "1.5 GiB");
	CHECK_TEXT(format_percent(1, 3).text, "33.3 %");
	CHECK_TEXT(format_percent(0, 0).text, "-");
	CHECK_TEXT(format_count(UINT64_MAX).text, "18446744073709551615");
	CHECK_TEXT(format_value(999999999).text, "999999999");
	CHECK_TEXT(format_value(734079173812).text, "7.341e+11");
}

TEST(columns)
{
	capture_start(&capture, STDOUT_FILENO);
	table_put_left("µ", 3);
	table_put_right("x", 3);
	table_put_name("a\033[1mvery long", 8);
	table_put_rest(10, 10, "kernel", "kernels");
	table_put_rest(9, 10, "kernel", "kernels");
	CHECK_TEXT(capture_stop(&capture), "µ    x  a?[1m…  … 1 more kernel (--top 0 shows all)\n");
}

TEST(names_keep_both_ends)
{
	capture_start(&capture, STDOUT_FILENO);
	table_put_name_ends("gemm<float, 128>", 12);
	table_put_name_ends("|\302\265-and-\302\265", 8);
	table_put_name_ends("|short|", 9);
	CHECK_TEXT(capture_stop(&capture), "  gemm… 128>  |µ…d-µ  |short|");
}

TEST(lines_of_files_stay)
{
	capture_start(&capture, STDOUT_FILENO);
	table_put_left("<module> (profiler_api.py:42)", 20);
	table_put_left("|f (a.py:1)", 12);
	table_put_left("|operator()(int) (x)", 10);
	CHECK_TEXT(capture_stop(&capture), "<module> …api.py:42)|f (a.py:1) |operator…");
}

TEST(widths)
{
	CHECK(table_width("") == 0);
	CHECK(table_width("µs") == 2);
	CHECK(table_width("a\033[1m…") == 6); /* the escape is shown as '?' */
}

int main(void)
{
	RUN(duration);
	RUN(size_percent_count);
	RUN(columns);
	RUN(names_keep_both_ends);
	RUN(lines_of_files_stay);
	RUN(widths);
	return harness_end();
}
