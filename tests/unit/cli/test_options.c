/* SPDX-License-Identifier: MIT
 *
 * tests/unit/cli/test_options.c - every way to write an option, and every way to write it wrongly
 */
#include "cli/options.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "capture.h"
#include "cli/command.h"
#include "harness.h"

struct values {
	bool json, verbose;
	const char *output;
	const char *file, *pattern;
	uint64_t top, size, duration_ns, span_ns;
};

static const struct option_row rows[] = {
	{"json", 0, OPTION_FLAG, NULL, "print one JSON document", offsetof(struct values, json)},
	{"verbose", 'v', OPTION_FLAG, NULL, "say more", offsetof(struct values, verbose)},
	{"output", 'o', OPTION_TEXT, "FILE",
	 "write to FILE, which may hold %p for the process id, %h for the host's name and "
	 "%q{VAR} for a variable of the environment",
	 offsetof(struct values, output)},
	{"top", 'n', OPTION_NUMBER, "N", "show the N largest", offsetof(struct values, top)},
	{"max-size", 0, OPTION_SIZE, "SIZE", "keep the file below", offsetof(struct values, size)},
	{"a-long-option-name", 0, OPTION_TEXT, "WITH-A-LONG-ARGUMENT", "a row that needs two lines",
	 offsetof(struct values, output)},
	{"duration", 'd', OPTION_DURATION, "TIME", "stop after TIME",
	 offsetof(struct values, duration_ns)},
	{"span", 's', OPTION_SPAN, "TIME", "for TIME", offsetof(struct values, span_ns)},
	{"file", 'f', OPTION_OUTPUT, "FILE", "write to FILE", offsetof(struct values, file)},
	{"pattern", 'p', OPTION_PATTERN, "FILE", "write to FILE", offsetof(struct values, pattern)},
	{NULL},
};

static const struct cli_command command = {
	.name = "try",
	.arguments = "[options] [FILE]",
	.summary = "a command that exists for this test only, with a summary that is long enough "
		   "to be broken into two lines",
	.options = rows,
};

#define MOST 16

static struct values values;
static struct capture capture;
static char *vector[MOST + 1];
static int vector_count;

/* Parses the words of `line`, separated by single spaces; returns what options_parse did. */
static int parse_line(const char *line, bool stop_at_operand)
{
	static char words[512];
	int result;

	memset(&values, 0, sizeof(values));
	snprintf(words, sizeof(words), "try%s%s", *line ? " " : "", line);
	vector_count = 0;
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		vector[vector_count++] = word;
	vector[vector_count] = NULL;
	capture_start(&capture, STDERR_FILENO);
	result = options_parse(&command, vector_count, vector, stop_at_operand, &values);
	capture_stop(&capture);
	return result;
}

static bool said(const char *text)
{
	if (strstr(capture.text, text))
		return true;
	printf("#   got: %s", capture.text);
	return false;
}

TEST(nothing)
{
	CHECK_EQUAL(parse_line("", false), 1);
	CHECK_EQUAL(vector_count, 1);
	CHECK_TEXT(capture.text, "");
}

TEST(every_form_of_a_value)
{
	CHECK_EQUAL(parse_line("--output=a --top 3", false), 4);
	CHECK_TEXT(values.output, "a");
	CHECK_EQUAL(values.top, 3);
	CHECK_EQUAL(parse_line("-ob -n 4", false), 4);
	CHECK_TEXT(values.output, "b");
	CHECK_EQUAL(values.top, 4);
	CHECK_EQUAL(parse_line("-o -n", false), 3);
	CHECK_TEXT(values.output, "-n");
	CHECK_EQUAL(parse_line("--output=", false), 2);
	CHECK_TEXT(values.output, "");
	CHECK_EQUAL(parse_line("--output=a=b", false), 2);
	CHECK_TEXT(values.output, "a=b");
}

TEST(a_span_is_not_nothing)
{
	CHECK_EQUAL(parse_line("-s 1ns --duration 0", false), 5);
	CHECK_EQUAL(values.span_ns, 1);
	CHECK_EQUAL(values.duration_ns, 0);
	CHECK_EQUAL(parse_line("-s 0", false), -2);
	CHECK(said("-s takes a time above 0 such as 5 (seconds)") && said("not '0'"));
	CHECK_EQUAL(parse_line("--span=0.0h", false), -2);
	CHECK_EQUAL(parse_line("--span=x", false), -2);
}

TEST(an_output_is_a_file)
{
	CHECK_EQUAL(parse_line("-f ./- -p a-%p-%h-%q{RANK}-100%%", false), 5);
	CHECK_TEXT(values.file, "./-");
	CHECK_TEXT(values.pattern, "a-%p-%h-%q{RANK}-100%%");
	CHECK_EQUAL(parse_line("-f %z", false), 3);
	CHECK_TEXT(values.file, "%z");
	CHECK_EQUAL(parse_line("-f -", false), -2);
	CHECK(said("-f takes the name of a file (./- for one called -), not '-'"));
	CHECK_EQUAL(parse_line("--file=", false), -2);
	CHECK_EQUAL(parse_line("-p -", false), -2);
}

TEST(a_percent_stands_for_something)
{
	static const char *const wrong[] = {"x%z", "%",    "100%", "%%%", "%q",
					    "%qA", "%q{A", "%q{}", "%P"};
	char line[64];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(line, sizeof(line), "-p %s", wrong[i]);
		CHECK_EQUAL(parse_line(line, false), -2);
		CHECK(said("%q{VAR}") && said(wrong[i]));
	}
}

TEST(flags)
{
	CHECK_EQUAL(parse_line("--json -v", false), 3);
	CHECK(values.json && values.verbose);
	CHECK_EQUAL(parse_line("-vn7", false), 2);
	CHECK(values.verbose);
	CHECK_EQUAL(values.top, 7);
	CHECK_EQUAL(parse_line("--json=1", false), -2);
	CHECK(said("--json takes no argument"));
}

TEST(the_last_one_wins)
{
	CHECK_EQUAL(parse_line("-o a --output b", false), 5);
	CHECK_TEXT(values.output, "b");
}

TEST(operands_move_behind_options)
{
	REQUIRE(parse_line("x -o a y --top 3 z", false) == 5);
	CHECK_TEXT(vector[1], "-o");
	CHECK_TEXT(vector[2], "a");
	CHECK_TEXT(vector[3], "--top");
	CHECK_TEXT(vector[5], "x");
	CHECK_TEXT(vector[6], "y");
	CHECK_TEXT(vector[7], "z");
	CHECK(vector[8] == NULL);
}

TEST(two_dashes_end_the_options)
{
	REQUIRE(parse_line("x -v -- -o y", false) == 3);
	CHECK(values.verbose);
	CHECK(!values.output);
	CHECK_TEXT(vector[3], "x");
	CHECK_TEXT(vector[4], "-o");
	CHECK_TEXT(vector[5], "y");
	REQUIRE(parse_line("-- --", false) == 2);
	CHECK_TEXT(vector[2], "--");
}

TEST(stops_at_the_first_operand)
{
	REQUIRE(parse_line("-o a ls -o --json", true) == 3);
	CHECK_TEXT(values.output, "a");
	CHECK(!values.json);
	CHECK_TEXT(vector[3], "ls");
	CHECK_TEXT(vector[4], "-o");
	REQUIRE(parse_line("-o a -- ls -v", true) == 4);
	CHECK_TEXT(vector[4], "ls");
	CHECK(!values.verbose);
}

TEST(one_dash_is_an_operand)
{
	REQUIRE(parse_line("-v -", false) == 2);
	CHECK_TEXT(vector[2], "-");
}

TEST(unknown_options_are_named)
{
	CHECK_EQUAL(parse_line("--frob", false), -2);
	CHECK(said("duet try: unknown option '--frob'\n"));
	CHECK(said("Try 'duet try --help'."));
	CHECK_EQUAL(parse_line("-vx", false), -2);
	CHECK(said("unknown option '-x'"));
	CHECK_EQUAL(parse_line("--jsn=3", false), -2);
	CHECK(said("unknown option '--jsn'; did you mean '--json'?"));
}

TEST(abbreviations_are_unknown)
{
	CHECK_EQUAL(parse_line("--out=x", false), -2);
	CHECK(said("unknown option '--out'"));
	CHECK_EQUAL(parse_line("--outputs x", false), -2);
	CHECK_EQUAL(parse_line("--he", false), -2);
}

TEST(missing_arguments_are_named)
{
	CHECK_EQUAL(parse_line("--output", false), -2);
	CHECK(said("--output needs an argument: FILE"));
	CHECK_EQUAL(parse_line("-v -n", false), -2);
	CHECK(said("-n needs an argument: N"));
}

TEST(numbers)
{
	CHECK_EQUAL(parse_line("--top=18446744073709551615", false), 2);
	CHECK(values.top == UINT64_MAX);
	CHECK_EQUAL(parse_line("--top=0", false), 2);
	CHECK_EQUAL(parse_line("--top=18446744073709551616", false), -2);
	CHECK(said("; '18446744073709551616' is too large"));
	CHECK_EQUAL(parse_line("-n 99999999999999999999999999", false), -2);
	CHECK(said("too large"));
}

TEST(bad_numbers_say_what_is_expected)
{
	static const char *const bad[] = {"x", "-1", "+1", "1x", "1.5", "0x10", "1e3"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char line[64];

		snprintf(line, sizeof(line), "--top=%s", bad[i]);
		CHECK_EQUAL(parse_line(line, false), -2);
		snprintf(line, sizeof(line), "--top takes a whole number such as 10, not '%s'",
			 bad[i]);
		CHECK(said(line));
	}
	CHECK_EQUAL(parse_line("--top=", false), -2);
	CHECK_EQUAL(values.top, 0);
}

/* What one option's value comes to; -1 where it is refused. */
static int64_t value_of(const char *option, const char *text)
{
	char line[128];

	snprintf(line, sizeof(line), "--%s=%s", option, text);
	if (parse_line(line, false) < 0)
		return -1;
	return (int64_t)(strcmp(option, "max-size") == 0 ? values.size : values.duration_ns);
}

TEST(sizes)
{
	CHECK_EQUAL(value_of("max-size", "10"), 10);
	CHECK_EQUAL(value_of("max-size", "4K"), 4096);
	CHECK_EQUAL(value_of("max-size", "64M"), 64ll << 20);
	CHECK_EQUAL(value_of("max-size", "2G"), 2ll << 30);
	CHECK_EQUAL(value_of("max-size", "1T"), 1ll << 40);
	CHECK_EQUAL(value_of("max-size", "1.5K"), 1536);
	CHECK_EQUAL(value_of("max-size", "1.5"), -1);
	CHECK_EQUAL(value_of("max-size", "4k"), -1);
	CHECK_EQUAL(value_of("max-size", "4KB"), -1);
	CHECK_EQUAL(value_of("max-size", "K"), -1);
	CHECK(said("--max-size takes a size in bytes such as 4096, 64K, 64M, 2G or 1T, not 'K'"));
}

TEST(sizes_do_not_overflow)
{
	CHECK_EQUAL(parse_line("--max-size=16777215T", false), 2);
	CHECK(values.size == UINT64_C(16777215) << 40);
	CHECK_EQUAL(value_of("max-size", "16777216T"), -1);
	CHECK(said("too large"));
}

TEST(durations)
{
	CHECK_EQUAL(value_of("duration", "5"), 5000000000);
	CHECK_EQUAL(value_of("duration", "2.5"), 2500000000);
	CHECK_EQUAL(value_of("duration", "5s"), 5000000000);
	CHECK_EQUAL(value_of("duration", "100ms"), 100000000);
	CHECK_EQUAL(value_of("duration", "3us"), 3000);
	CHECK_EQUAL(value_of("duration", "20ns"), 20);
	CHECK_EQUAL(value_of("duration", "2m"), 120000000000);
	CHECK_EQUAL(value_of("duration", "1h"), 3600000000000);
	CHECK_EQUAL(value_of("duration", "0.000000001"), 1);
	CHECK_EQUAL(value_of("duration", "0"), 0);
}

TEST(bad_durations)
{
	static const char *const bad[] = {"", ".5", "5.", "1.2.3", "-5", "5sec", "0.5ns"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQUAL(value_of("duration", bad[i]), -1);
	CHECK_EQUAL(value_of("duration", "x"), -1);
	CHECK(said("--duration takes a time such as 5 (seconds), 2.5, 100ms"));
}

TEST(durations_do_not_overflow)
{
	CHECK_EQUAL(parse_line("-d 5124095h", false), 3);
	CHECK(values.duration_ns == UINT64_C(5124095) * 3600 * 1000000000);
	CHECK_EQUAL(value_of("duration", "5124096h"), -1);
	CHECK(said("too large"));
	CHECK_EQUAL(value_of("duration", "0.99999999999999999999"), -1);
}

TEST(help_fits_80_columns_and_names_every_option)
{
	char first[] = "try", second[] = "-h";
	char *arguments[] = {first, second, NULL};
	int result;

	capture_start(&capture, STDOUT_FILENO);
	result = options_parse(&command, 2, arguments, false, &values);
	capture_stop(&capture);
	CHECK_EQUAL(result, -1);
	CHECK(said("usage: duet try [options] [FILE]\n"));
	for (const struct option_row *row = rows; row->name; row++)
		CHECK(said(row->name));
	CHECK(said("  -h, --help"));
	for (const char *line = capture.text; *line; line += strcspn(line, "\n") + 1)
		CHECK(strcspn(line, "\n") < 80);
}

TEST(help_wins_where_it_is_met_first)
{
	capture_start(&capture, STDOUT_FILENO);
	CHECK_EQUAL(options_parse(&command, 3, (char *[]){"try", "--help", "--frob", NULL}, false,
				  &values),
		    -1);
	capture_stop(&capture);
	CHECK(said("usage:"));
}

struct filed {
	enum option_switch archive;
	bool flag;
	const char *list, *text;
	uint64_t count, size, span_ns;
};

static const struct option_row filed_rows[] = {
	{"archive", 'A', OPTION_SWITCH, NULL, "keep files", offsetof(struct filed, archive)},
	{"flag", 'f', OPTION_FLAG, NULL, "a flag", offsetof(struct filed, flag)},
	{"list", 'l', OPTION_LIST, "WORD,...", "words", offsetof(struct filed, list)},
	{"text", 't', OPTION_TEXT, "TEXT", "a text", offsetof(struct filed, text)},
	{"count", 'n', OPTION_NUMBER, "N", "a number", offsetof(struct filed, count)},
	{"size", 's', OPTION_SIZE, "SIZE", "a size", offsetof(struct filed, size)},
	{"span", 'd', OPTION_SPAN, "TIME", "a time", offsetof(struct filed, span_ns)},
	{NULL},
};

TEST(a_switch_is_taken_back)
{
	static const struct cli_command switched = {.name = "try", .options = filed_rows};
	struct filed filed;

	options_clear(filed_rows, &filed);
	CHECK_EQUAL(options_parse(&switched, 2, (char *[]){"try", "-A", NULL}, false, &filed), 2);
	CHECK_EQUAL(filed.archive, SWITCH_ON);
	CHECK_EQUAL(
		options_parse(&switched, 2, (char *[]){"try", "--no-archive", NULL}, false, &filed),
		2);
	CHECK_EQUAL(filed.archive, SWITCH_OFF);
	CHECK_EQUAL(
		options_parse(&switched, 2, (char *[]){"try", "--archive", NULL}, false, &filed),
		2);
	CHECK_EQUAL(filed.archive, SWITCH_ON);
	capture_start(&capture, STDERR_FILENO);
	CHECK_EQUAL(options_parse(&switched, 2, (char *[]){"try", "--no-archive=x", NULL}, false,
				  &filed),
		    -2);
	capture_stop(&capture);
	CHECK(said("duet try: --no-archive takes no argument\n"));
	capture_start(&capture, STDERR_FILENO);
	CHECK_EQUAL(
		options_parse(&switched, 2, (char *[]){"try", "--no-flag", NULL}, false, &filed),
		-2);
	capture_stop(&capture);
	CHECK(said("duet try: unknown option '--no-flag'\n"));
}

TEST(what_is_said_and_what_is_not)
{
	static const char *const texts[] = {"true", "true", "a,b", "", "0", "64M", "90m"};
	struct filed filed;

	options_clear(filed_rows, &filed);
	for (size_t i = 0; filed_rows[i].name; i++) {
		CHECK(!option_is_set(&filed_rows[i], &filed));
		CHECK_EQUAL(option_set(&filed_rows[i], texts[i], &filed), 0);
		CHECK(option_is_set(&filed_rows[i], &filed));
	}
	CHECK_EQUAL(filed.size, 64 << 20);
	CHECK_EQUAL(option_set(option_find(filed_rows, "archive"), "false", &filed), 0);
	CHECK(option_is_set(&filed_rows[0], &filed));
	CHECK(!option_find(filed_rows, "nothing"));
}

TEST(a_value_that_is_refused_says_why)
{
	static const char *const bad[][3] = {
		{"archive", "yes", "takes true or false, not 'yes'"},
		{"count", "1.5", "takes a whole number such as 10, not '1.5'"},
		{"size", "1X", "takes a size in bytes such as 4096, 64K, 64M, 2G or 1T, not '1X'"},
		{"size", "99999999999999T",
		 "takes a size in bytes such as 4096, 64K, 64M, 2G or 1T; '99999999999999T' is too "
		 "large"},
		{"span", "0",
		 "takes a time above 0 such as 5 (seconds), 2.5, 100ms, 3us, 20ns, 2m or 1h, "
		 "not '0'"},
	};
	struct filed filed;

	options_clear(filed_rows, &filed);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQUAL(option_set(option_find(filed_rows, bad[i][0]), bad[i][1], &filed),
			    -EINVAL);
		CHECK_TEXT(error_text(), bad[i][2]);
		CHECK(!option_is_set(option_find(filed_rows, bad[i][0]), &filed));
	}
	error_clear();
}

/* What is printed of a value that was set by a text. */
static const char *formatted(const char *name, const char *value)
{
	static struct string_builder printed;
	const struct option_row *row = option_find(filed_rows, name);
	struct filed filed;

	options_clear(filed_rows, &filed);
	string_builder_clear(&printed);
	if (!option_set(row, value, &filed))
		option_format(row, &filed, &printed);
	return string_builder_text(&printed);
}

TEST(values_are_printed_as_they_are_read)
{
	CHECK_TEXT(formatted("archive", "false"), "false");
	CHECK_TEXT(formatted("flag", "true"), "true");
	CHECK_TEXT(formatted("list", "a,b"), "a,b");
	CHECK_TEXT(formatted("count", "18446744073709551614"), "18446744073709551614");
	CHECK_TEXT(formatted("size", "0"), "0");
	CHECK_TEXT(formatted("size", "1.5K"), "1536");
	CHECK_TEXT(formatted("size", "2048M"), "2G");
	CHECK_TEXT(formatted("size", "1048577"), "1048577");
	CHECK_TEXT(formatted("span", "5"), "5s");
	CHECK_TEXT(formatted("span", "7200"), "2h");
	CHECK_TEXT(formatted("span", "1.5"), "1500ms");
	CHECK_TEXT(formatted("span", "1ns"), "1ns");
}

int main(void)
{
	RUN(a_switch_is_taken_back);
	RUN(what_is_said_and_what_is_not);
	RUN(a_value_that_is_refused_says_why);
	RUN(values_are_printed_as_they_are_read);
	RUN(nothing);
	RUN(every_form_of_a_value);
	RUN(a_span_is_not_nothing);
	RUN(an_output_is_a_file);
	RUN(a_percent_stands_for_something);
	RUN(flags);
	RUN(the_last_one_wins);
	RUN(operands_move_behind_options);
	RUN(two_dashes_end_the_options);
	RUN(stops_at_the_first_operand);
	RUN(one_dash_is_an_operand);
	RUN(unknown_options_are_named);
	RUN(abbreviations_are_unknown);
	RUN(missing_arguments_are_named);
	RUN(numbers);
	RUN(bad_numbers_say_what_is_expected);
	RUN(sizes);
	RUN(sizes_do_not_overflow);
	RUN(durations);
	RUN(bad_durations);
	RUN(durations_do_not_overflow);
	RUN(help_fits_80_columns_and_names_every_option);
	RUN(help_wins_where_it_is_met_first);
	return harness_end();
}
