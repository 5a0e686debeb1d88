/* SPDX-License-Identifier: MIT
 *
 * tests/unit/live/test_trigger_expr.c - expressions of triggers, and the messages about mistakes
 */
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <signal.h>

#include "base/array.h"
#include "base/error.h"
#include "live/trigger/expr.h"

static struct trigger_expr expr;

static void parse(const char *text)
{
	expr = (struct trigger_expr){0};
	if (trigger_expr_parse(text, &expr)) {
		printf("# %s\n", error_text());
		error_clear();
		harness_fail(__FILE__, __LINE__, text);
	}
}

static bool is_near(double got, double want)
{
	return fabs(got - want) <= 1e-9 * fabs(want);
}

TEST(multiples)
{
	parse("iteration > 3 x p99");
	CHECK_EQUAL(expr.subject, TRIGGER_ITERATION);
	CHECK_EQUAL(expr.comparison, TRIGGER_GREATER);
	CHECK_EQUAL(expr.limit, TRIGGER_LIMIT_MULTIPLE);
	CHECK(is_near(expr.number, 3));
	CHECK(is_near(expr.quantile, 0.99));
	CHECK_TEXT(expr.statistic, "p99");
	CHECK_TEXT(expr.text, "iteration > 3 x p99");
	parse("iteration >= 1.5 × median");
	CHECK_EQUAL(expr.comparison, TRIGGER_AT_LEAST);
	CHECK(is_near(expr.number, 1.5) && is_near(expr.quantile, 0.5));
	CHECK(!expr.is_mean);
	parse("  range:train step   >  2 * mean  ");
	CHECK_EQUAL(expr.subject, TRIGGER_RANGE);
	CHECK_TEXT(expr.name, "train step");
	CHECK(expr.is_mean);
	parse("kernel:gemm* > 4 x p99.9");
	CHECK(is_near(expr.quantile, 0.999));
	parse("iteration > 3x p99");
	CHECK_EQUAL(expr.limit, TRIGGER_LIMIT_MULTIPLE);
}

TEST(times)
{
	static const struct {
		const char *text;
		double ns;
	} rows[] = {{"idle > 50ms", 50e6},      {"idle > 50 ms", 50e6}, {"idle >= 2s", 2e9},
		    {"iteration > 20ms", 20e6}, {"idle > 0.5us", 500},  {"idle > 1m", 60e9},
		    {"idle > 1ns", 1},          {"idle > 1h", 3600e9}};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		parse(rows[i].text);
		CHECK_EQUAL(expr.limit, TRIGGER_LIMIT_TIME);
		CHECK(is_near(expr.number, rows[i].ns));
	}
}

TEST(names_with_signs)
{
	parse("kernel:void sort<float, (mode)2>(float*) > 2ms");
	CHECK_TEXT(expr.name, "void sort<float, (mode)2>(float*)");
	parse("kernel:a > b > 2ms");
	CHECK_TEXT(expr.name, "a > b");
	parse("range:a:b > 2ms");
	CHECK_TEXT(expr.name, "a:b");
}

TEST(other_subjects)
{
	parse("throttled");
	CHECK_EQUAL(expr.subject, TRIGGER_THROTTLED);
	CHECK_EQUAL(expr.limit, TRIGGER_LIMIT_NONE);
	parse("signal USR2");
	CHECK_EQUAL(expr.signal, SIGUSR2);
	parse("signal SIGUSR1");
	CHECK_EQUAL(expr.signal, SIGUSR1);
	parse("exit-status != 0");
	CHECK_EQUAL(expr.subject, TRIGGER_EXIT_STATUS);
	CHECK_EQUAL(expr.comparison, TRIGGER_NOT_EQUAL);
	parse("exit-status == 137");
	CHECK(is_near(expr.number, 137));
	parse("metric:gpu.memory.used > 90 %");
	CHECK_TEXT(expr.name, "gpu.memory.used");
	CHECK_TEXT(expr.unit, "%");
	parse("metric:gpu.clock* < 900MHz");
	CHECK_EQUAL(expr.comparison, TRIGGER_LESS);
	CHECK_TEXT(expr.unit, "MHz");
	parse("metric:load.1m > 12");
	CHECK_TEXT(expr.unit, "");
}

/* Each mistake is reported at its column, with a remedy behind a semicolon. */
TEST(mistakes)
{
	static const struct {
		const char *text, *column, *words;
	} rows[] = {
		{"", "column 1:", "unknown subject; use iteration"},
		{"iterations > 2ms", "column 1:", "unknown subject"},
		{"iteration", "column 10:", "operator"},
		{"iteration >", "column 12:", "number is missing; write it as in"},
		{"iteration > x p99", "column 13:", "number is missing"},
		{"iteration > 3", "column 14:", "no unit; add one, for example 50ms"},
		{"iteration > 3 x", "column 16:", "statistic is missing; give median"},
		{"iteration > 3 x p100", "column 17:", "statistic"},
		{"iteration > 3 x p0", "column 17:", "statistic"},
		{"iteration > 3 x 99", "column 17:", "statistic"},
		{"iteration > 0 x p99", "column 15:", "above 0"},
		{"iteration > 3 x p99 now", "column 21:", "unexpected text"},
		{"iteration > 3 parsecs", "column 15:", "unknown unit of time; use ns"},
		{"iteration > 1.2.3ms", "column 13:", "number"},
		{"iteration > -3ms", "column 13:", "number"},
		{"iteration > 0ms", "column 14:", "at least 1ns"},
		{"iteration < 3ms", "column 11:", "use > or >="},
		{"iteration == 3ms", "column 11:", "exactly equal; use"},
		{"iteration:train > 3ms", "column 10:", "takes no name"},
		{"iteration > inf ms", "column 13:", "number"},
		{"iteration>3ms", "column 1:", "unknown subject"},
		{"idle > 3 x p99", "column 8:", "needs a time"},
		{"idle time > 3ms", "column 6:", "unexpected text"},
		{"kernel > 2ms", "column 7:", "colon and a name are missing"},
		{"kernel: > 2ms", "column 8:", "name is missing"},
		{"kernel:a>2ms", "column 13:", "operator with blanks around it"},
		{"throttled > 3", "column 11:", "unexpected text"},
		{"signal", "column 7:", "USR1 or USR2"},
		{"signal KILL", "column 8:", "USR1 or USR2"},
		{"signal USR2 again", "column 13:", "unexpected text"},
		{"exit-status != 1.5", "column 16:", "whole number"},
		{"exit-status != 256", "column 16:", "0 to 255"},
		{"metric:a > 5 horses", "column 14:", "unknown unit; use %"},
		{"metric:a == 5", "column 10:", "exactly equal"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		int error = trigger_expr_parse(rows[i].text, &expr);
		bool is_right = error == -EINVAL && strstr(error_text(), rows[i].column) &&
				strstr(error_text(), rows[i].words) && strchr(error_text(), ';');

		/* some remedies are in the sentence itself */
		if (error == -EINVAL && strstr(error_text(), "must be"))
			is_right |= strstr(error_text(), rows[i].column) &&
				    strstr(error_text(), rows[i].words);
		if (error == -EINVAL && strstr(error_text(), "whole number"))
			is_right |= strstr(error_text(), rows[i].column) != NULL;
		if (!is_right) {
			printf("# '%s': %d: %s\n", rows[i].text, error, error_text());
			harness_fail(__FILE__, __LINE__, rows[i].text);
		}
		error_clear();
	}
}

TEST(long_expressions)
{
	char text[TRIGGER_TEXT + 100];

	memset(text, 'a', sizeof(text));
	memcpy(text, "kernel:", 7);
	strcpy(text + TRIGGER_NAME + 20, " > 2ms");
	CHECK_EQUAL(trigger_expr_parse(text, &expr), -EINVAL);
	CHECK(strstr(error_text(), "too long"));
	error_clear();
	memset(text, 'a', sizeof(text));
	memcpy(text, "kernel:", 7);
	strcpy(text + TRIGGER_TEXT, " > 2ms");
	CHECK_EQUAL(trigger_expr_parse(text, &expr), -EINVAL);
	CHECK(strstr(error_text(), "longer than 255 bytes"));
	error_clear();
}

TEST(comparisons)
{
	CHECK(trigger_compares(TRIGGER_GREATER, 2, 1) && !trigger_compares(TRIGGER_GREATER, 1, 1));
	CHECK(trigger_compares(TRIGGER_AT_LEAST, 1, 1) &&
	      !trigger_compares(TRIGGER_AT_LEAST, 0, 1));
	CHECK(trigger_compares(TRIGGER_LESS, 0, 1) && !trigger_compares(TRIGGER_LESS, 1, 1));
	CHECK(trigger_compares(TRIGGER_AT_MOST, 1, 1) && !trigger_compares(TRIGGER_AT_MOST, 2, 1));
	CHECK(trigger_compares(TRIGGER_EQUAL, 1, 1) && !trigger_compares(TRIGGER_EQUAL, 2, 1));
	CHECK(trigger_compares(TRIGGER_NOT_EQUAL, 2, 1) &&
	      !trigger_compares(TRIGGER_NOT_EQUAL, 1, 1));
}

TEST(units)
{
	struct trigger_unit unit;

	REQUIRE(trigger_unit_find("MiB/s", &unit));
	CHECK(unit.is_rate && is_near(unit.factor, 1048576));
	CHECK_TEXT(unit.base, "bytes");
	REQUIRE(trigger_unit_find("W", &unit));
	CHECK(!unit.is_rate && is_near(unit.factor, 1000));
	CHECK_TEXT(unit.base, "mW");
	CHECK(!trigger_unit_find("", &unit));
}

int main(void)
{
	RUN(multiples);
	RUN(times);
	RUN(names_with_signs);
	RUN(other_subjects);
	RUN(mistakes);
	RUN(long_expressions);
	RUN(comparisons);
	RUN(units);
	return harness_end();
}
