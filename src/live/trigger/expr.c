/* SPDX-License-Identifier: MIT
 *
 * live/trigger/expr.c - reads expressions of `duet record --trigger`
 *
 * Runs in:  our own process, before a recording
 * Gets:     SUBJECT, SUBJECT OPERATOR TIME, SUBJECT OPERATOR N x STATISTIC, …
 * Gives:    a struct trigger_expr, which owns no memory
 * Owns:     nothing
 * Fails:    -EINVAL with the column of the mistake and its remedy
 * Why the operator needs blanks around it: names of C++ kernels contain < and >
 */
#include "live/trigger/expr.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

struct parser {
	const char *text, *at;
};

static const struct subject {
	const char *word;
	bool has_name;       /* WORD:NAME */
	bool has_limit;      /* OPERATOR LIMIT */
	unsigned int limits; /* bits 1 << enum trigger_limit */
	const char *example;
} subjects[TRIGGER_SUBJECTS] = {
	[TRIGGER_ITERATION] = {"iteration", false, true,
			       1 << TRIGGER_LIMIT_TIME | 1 << TRIGGER_LIMIT_MULTIPLE,
			       "iteration > 3 x p99"},
	[TRIGGER_RANGE] = {"range", true, true,
			   1 << TRIGGER_LIMIT_TIME | 1 << TRIGGER_LIMIT_MULTIPLE,
			   "range:step > 2 x p99"},
	[TRIGGER_IDLE] = {"idle", false, true, 1 << TRIGGER_LIMIT_TIME, "idle > 50ms"},
	[TRIGGER_KERNEL] = {"kernel", true, true,
			    1 << TRIGGER_LIMIT_TIME | 1 << TRIGGER_LIMIT_MULTIPLE,
			    "kernel:gemm* > 2ms"},
	[TRIGGER_THROTTLED] = {"throttled", false, false, 0, "throttled"},
	[TRIGGER_METRIC] = {"metric", true, true, 1 << TRIGGER_LIMIT_NUMBER,
			    "metric:gpu.memory.used > 90 %"},
	[TRIGGER_EXIT_STATUS] = {"exit-status", false, true, 1 << TRIGGER_LIMIT_NUMBER,
				 "exit-status != 0"},
	[TRIGGER_SIGNAL] = {"signal", false, false, 0, "signal USR2"},
};

static const char *const comparison_texts[TRIGGER_COMPARISONS] = {
	[TRIGGER_GREATER] = ">",  [TRIGGER_AT_LEAST] = ">=", [TRIGGER_LESS] = "<",
	[TRIGGER_AT_MOST] = "<=", [TRIGGER_EQUAL] = "==",    [TRIGGER_NOT_EQUAL] = "!=",
};

static const struct {
	const char *name;
	double ns;
} times[] = {
	{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9},
};

static const struct trigger_unit units[] = {
	{"%", "%", 1, false},
	{"B", "bytes", 1, false},
	{"bytes", "bytes", 1, false},
	{"kB", "bytes", 1e3, false},
	{"KiB", "bytes", 1024, false},
	{"MB", "bytes", 1e6, false},
	{"MiB", "bytes", 1048576, false},
	{"GB", "bytes", 1e9, false},
	{"GiB", "bytes", 1073741824, false},
	{"TB", "bytes", 1e12, false},
	{"TiB", "bytes", 1099511627776, false},
	{"B/s", "bytes", 1, true},
	{"kB/s", "bytes", 1e3, true},
	{"MB/s", "bytes", 1e6, true},
	{"MiB/s", "bytes", 1048576, true},
	{"GB/s", "bytes", 1e9, true},
	{"GiB/s", "bytes", 1073741824, true},
	{"ns", "ns", 1, false},
	{"us", "ns", 1e3, false},
	{"ms", "ns", 1e6, false},
	{"s", "ns", 1e9, false},
	{"Hz", "Hz", 1, false},
	{"kHz", "Hz", 1e3, false},
	{"MHz", "Hz", 1e6, false},
	{"GHz", "Hz", 1e9, false},
	{"mW", "mW", 1, false},
	{"W", "mW", 1e3, false},
	{"kW", "mW", 1e6, false},
	{"J", "uJ", 1e6, false},
	{"C", "mC", 1e3, false},
	{"\xc2\xb0"
	 "C",
	 "mC", 1e3, false},
};

/* ---- mistakes -------------------------------------------------------------------------------- */

static int expr_refuse(const struct parser *parser, const char *at, const char *text)
{
	return error_set(-EINVAL, "'%s': column %zu: %s", parser->text,
			 (size_t)(at - parser->text) + 1, text);
}

static int refuse_with_example(const struct parser *parser, const char *at, const char *what,
			       enum trigger_subject subject)
{
	char line[256];

	snprintf(line, sizeof(line), "%s; write it as in '%s'", what, subjects[subject].example);
	return expr_refuse(parser, at, line);
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static void skip_blanks(struct parser *parser)
{
	while (is_blank(*parser->at))
		parser->at++;
}

/* Bytes up to the next blank. */
static size_t word_length(const char *at)
{
	return strcspn(at, " \t");
}

static bool word_is(const char *at, size_t length, const char *word)
{
	return strlen(word) == length && strncmp(at, word, length) == 0;
}

/* The operator that is a word of its own, the last one; NULL: there is none. */
static const char *find_operator(const char *at, enum trigger_comparison *ret_comparison)
{
	const char *found = NULL;

	while (*at) {
		size_t length = word_length(at);

		for (size_t i = 0; i < TRIGGER_COMPARISONS; i++)
			if (word_is(at, length, comparison_texts[i])) {
				*ret_comparison = (enum trigger_comparison)i;
				found = at;
			}
		at += length;
		while (is_blank(*at))
			at++;
	}
	return found;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Digits with an optional fraction, without a sign, an exponent or a word such as "inf". */
static bool parse_number(struct parser *parser, double *ret_number)
{
	size_t length = strspn(parser->at, "0123456789.");
	char digits[32], *end;

	if (!length || length >= sizeof(digits))
		return false;
	memcpy(digits, parser->at, length);
	digits[length] = '\0';
	*ret_number = strtod(digits, &end);
	if (*end || end == digits)
		return false;
	parser->at += length;
	return true;
}

/* "median", "mean" or "p99". */
static bool parse_statistic(const char *at, size_t length, struct trigger_expr *expr)
{
	char *end;

	if (length >= sizeof(expr->statistic))
		return false;
	memcpy(expr->statistic, at, length);
	expr->statistic[length] = '\0';
	expr->is_mean = strcmp(expr->statistic, "mean") == 0;
	expr->quantile = 0.5;
	if (expr->is_mean || strcmp(expr->statistic, "median") == 0)
		return true;
	if (expr->statistic[0] != 'p' || strspn(expr->statistic + 1, "0123456789.") != length - 1)
		return false;
	expr->quantile = strtod(expr->statistic + 1, &end) / 100;
	return !*end && end != expr->statistic + 1 && expr->quantile > 0 && expr->quantile < 1;
}

/* After the number: "x p99". */
static int parse_multiple(struct parser *parser, struct trigger_expr *expr)
{
	const char *factor = parser->at;
	size_t length;

	parser->at += strncmp(factor, "\xc3\x97", 2) == 0 ? 2 : 1;
	skip_blanks(parser);
	length = word_length(parser->at);
	if (!parse_statistic(parser->at, length, expr))
		return expr_refuse(parser, parser->at,
				   "a statistic is missing; give median, mean, or a percentile "
				   "such as p99");
	if (!(expr->number > 0))
		return expr_refuse(parser, factor,
				   "the factor must be above 0; for example 3 x p99");
	parser->at += length;
	expr->limit = TRIGGER_LIMIT_MULTIPLE;
	return 0;
}

static int parse_time(struct parser *parser, struct trigger_expr *expr)
{
	size_t length = word_length(parser->at);

	for (size_t i = 0; i < ARRAY_COUNT(times); i++) {
		if (!word_is(parser->at, length, times[i].name))
			continue;
		expr->number *= times[i].ns;
		expr->limit = TRIGGER_LIMIT_TIME;
		if (!(expr->number >= 1) || expr->number > 1e18)
			return expr_refuse(parser, parser->at,
					   "the time must be at least 1ns and at most 10 years");
		parser->at += length;
		return 0;
	}
	return expr_refuse(parser, parser->at,
			   length ? "unknown unit of time; use ns, us, ms, s, m or h"
				  : "the time has no unit; add one, for example 50ms");
}

bool trigger_unit_find(const char *name, struct trigger_unit *ret_unit)
{
	for (size_t i = 0; i < ARRAY_COUNT(units); i++)
		if (strcmp(units[i].name, name) == 0) {
			*ret_unit = units[i];
			return true;
		}
	return false;
}

static int parse_unit(struct parser *parser, struct trigger_expr *expr)
{
	size_t length = word_length(parser->at);
	struct trigger_unit unit;

	expr->limit = TRIGGER_LIMIT_NUMBER;
	if (!length)
		return 0;
	snprintf(expr->unit, sizeof(expr->unit), "%.*s", (int)length, parser->at);
	if (length >= sizeof(expr->unit) || !trigger_unit_find(expr->unit, &unit))
		return expr_refuse(
			parser, parser->at,
			"unknown unit; use %, a unit such as MiB, MB/s, ms, W, C or MHz, "
			"or none for the unit of `duet report --by metric`");
	parser->at += length;
	return 0;
}

/* An exit status is a whole number from 0 to 255. */
static int parse_status(struct parser *parser, const char *number, struct trigger_expr *expr)
{
	expr->limit = TRIGGER_LIMIT_NUMBER;
	if (expr->number != floor(expr->number) || expr->number > 255)
		return expr_refuse(parser, number,
				   "an exit status is a whole number from 0 to 255");
	return 0;
}

static bool is_times(const char *at)
{
	return ((*at == 'x' || *at == '*') && (is_blank(at[1]) || !at[1])) ||
	       strncmp(at, "\xc3\x97", 2) == 0;
}

static int parse_limit(struct parser *parser, struct trigger_expr *expr)
{
	const char *number = parser->at;
	const struct subject *subject = &subjects[expr->subject];

	if (!parse_number(parser, &expr->number))
		return refuse_with_example(parser, parser->at, "a number is missing",
					   expr->subject);
	skip_blanks(parser);
	if (expr->subject == TRIGGER_EXIT_STATUS)
		return parse_status(parser, number, expr);
	if (subject->limits & 1 << TRIGGER_LIMIT_NUMBER)
		return parse_unit(parser, expr);
	if (!is_times(parser->at))
		return parse_time(parser, expr);
	if (!(subject->limits & 1 << TRIGGER_LIMIT_MULTIPLE))
		return refuse_with_example(parser, number, "this needs a time", expr->subject);
	return parse_multiple(parser, expr);
}

static int check_operator(const struct parser *parser, const char *at,
			  const struct trigger_expr *expr)
{
	bool is_equality =
		expr->comparison == TRIGGER_EQUAL || expr->comparison == TRIGGER_NOT_EQUAL;
	bool is_less = expr->comparison == TRIGGER_LESS || expr->comparison == TRIGGER_AT_MOST;

	if (expr->subject == TRIGGER_EXIT_STATUS)
		return 0;
	if (is_equality)
		return expr_refuse(parser, at,
				   "a measured value is never exactly equal; use > or <");
	if (is_less && expr->subject != TRIGGER_METRIC)
		return expr_refuse(parser, at, "a trigger looks for long times; use > or >=");
	return 0;
}

/* ---- subjects -------------------------------------------------------------------------------- */

static int parse_name(struct parser *parser, const char *end, struct trigger_expr *expr)
{
	const char *begin = parser->at;
	size_t length;

	while (end > begin && is_blank(end[-1]))
		end--;
	length = (size_t)(end - begin);
	if (!length)
		return refuse_with_example(parser, begin, "the name is missing", expr->subject);
	if (length >= sizeof(expr->name))
		return expr_refuse(parser, begin,
				   "the name is too long; replace a part of it by *");
	memcpy(expr->name, begin, length);
	expr->name[length] = '\0';
	return 0;
}

static int parse_signal(struct parser *parser, struct trigger_expr *expr)
{
	const char *at = parser->at;
	size_t length;

	if (strncmp(at, "SIG", 3) == 0)
		at += 3;
	length = word_length(at);
	if (word_is(at, length, "USR1"))
		expr->signal = SIGUSR1;
	else if (word_is(at, length, "USR2"))
		expr->signal = SIGUSR2;
	else
		return expr_refuse(
			parser, parser->at,
			"the signal must be USR1 or USR2; other signals end the recording");
	parser->at = at + length;
	return 0;
}

static int parse_subject(struct parser *parser, struct trigger_expr *expr)
{
	size_t length = strcspn(parser->at, ": \t");

	for (size_t i = 0; i < TRIGGER_SUBJECTS; i++) {
		if (!word_is(parser->at, length, subjects[i].word))
			continue;
		expr->subject = (enum trigger_subject)i;
		parser->at += length;
		if (!subjects[i].has_name && *parser->at == ':')
			return refuse_with_example(parser, parser->at, "this takes no name",
						   expr->subject);
		if (subjects[i].has_name && *parser->at != ':')
			return refuse_with_example(parser, parser->at,
						   "a colon and a name are missing", expr->subject);
		parser->at += subjects[i].has_name;
		return 0;
	}
	return expr_refuse(parser, parser->at,
			   "unknown subject; use iteration, range:NAME, idle, kernel:NAME, "
			   "throttled, metric:NAME, exit-status or signal");
}

static int parse_comparison(struct parser *parser, struct trigger_expr *expr)
{
	const char *at = find_operator(parser->at, &expr->comparison);
	int error;

	if (!at)
		return refuse_with_example(parser, parser->text + strlen(parser->text),
					   "an operator with blanks around it is missing",
					   expr->subject);
	error = subjects[expr->subject].has_name ? parse_name(parser, at, expr) : 0;
	if (!error && !subjects[expr->subject].has_name && parser->at != at)
		error = refuse_with_example(parser, parser->at, "unexpected text", expr->subject);
	if (!error)
		error = check_operator(parser, at, expr);
	if (error)
		return error;
	parser->at = at + strlen(comparison_texts[expr->comparison]);
	skip_blanks(parser);
	return parse_limit(parser, expr);
}

int trigger_expr_parse(const char *text, struct trigger_expr *ret_expr)
{
	struct parser parser = {.text = text, .at = text};
	struct trigger_expr expr = {.limit = TRIGGER_LIMIT_NONE};
	int error;

	if (strlen(text) >= sizeof(expr.text))
		return error_set(-EINVAL,
				 "the expression is longer than %d bytes; replace a part of the "
				 "name by *",
				 TRIGGER_TEXT - 1);
	strcpy(expr.text, text);
	skip_blanks(&parser);
	error = parse_subject(&parser, &expr);
	if (!error && !subjects[expr.subject].has_name)
		skip_blanks(&parser);
	if (!error && expr.subject == TRIGGER_SIGNAL)
		error = parse_signal(&parser, &expr);
	else if (!error && subjects[expr.subject].has_limit)
		error = parse_comparison(&parser, &expr);
	if (error)
		return error;
	skip_blanks(&parser);
	if (*parser.at)
		return refuse_with_example(&parser, parser.at, "unexpected text at the end",
					   expr.subject);
	*ret_expr = expr;
	return 0;
}

bool trigger_compares(enum trigger_comparison comparison, double value, double limit)
{
	switch (comparison) {
	case TRIGGER_GREATER:
		return value > limit;
	case TRIGGER_AT_LEAST:
		return value >= limit;
	case TRIGGER_LESS:
		return value < limit;
	case TRIGGER_AT_MOST:
		return value <= limit;
	case TRIGGER_EQUAL:
		return !(value < limit || value > limit);
	case TRIGGER_NOT_EQUAL:
		return value < limit || value > limit;
	case TRIGGER_COMPARISONS:
		break;
	}
	return false;
}
