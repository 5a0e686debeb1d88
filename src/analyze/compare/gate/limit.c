/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/gate/limit.c - parses the limits of a gate
 *
 * Runs in:  our own process
 * Gets:     an expression of the command line or of a configuration file
 * Gives:    a limit
 * Owns:     the texts of the limit
 * Fails:    -EINVAL with the expression, what was expected, and an example
 * Why from the end: names of kernels contain blanks, signs and colons, so only the amount at the
 * end and the word before it have a fixed place
 */
#include "analyze/compare/gate/limit.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

#define JOINT    " + "
#define EXAMPLES "such as 'wall +2 %%', 'kernel:gemm* mean +5 %%' or 'iteration +300us'"

static const char *const quantity_names[GATE_QUANTITIES] = {
	[GATE_WALL] = "wall",           [GATE_BUSY] = "busy",     [GATE_IDLE] = "idle",
	[GATE_ITERATION] = "iteration", [GATE_KERNEL] = "kernel", [GATE_COPY] = "copy",
	[GATE_CAUSE] = "idle",          [GATE_API] = "api",       [GATE_RANGE] = "range",
};

static const char *const part_names[] = {
	[GATE_TOTAL] = "total", [GATE_MEAN] = "mean", [GATE_COUNT] = "count"};

struct limit_unit {
	const char *suffix;
	enum gate_unit unit;
	double factor;
};

static const struct limit_unit units[] = {
	{"%", GATE_PERCENT, 1}, {"ns", GATE_NS, 1},  {"us", GATE_NS, 1e3},
	{"ms", GATE_NS, 1e6},   {"s", GATE_NS, 1e9}, {"", GATE_TIMES, 1},
};

const char *gate_quantity_name(enum gate_quantity quantity)
{
	return array_text(quantity_names, ARRAY_COUNT(quantity_names), quantity, "unknown");
}

const char *gate_part_name(enum gate_part part)
{
	return array_text(part_names, ARRAY_COUNT(part_names), part, "unknown");
}

/* ---- pieces of the expression ---------------------------------------------------------------- */

static size_t trimmed_length(const char *text, size_t length)
{
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	return length;
}

/* Digits with at most one point; no exponent, hexadecimal or "inf". */
static const char *find_number_end(const char *text)
{
	const char *digits = text;

	while (isdigit((unsigned char)*text))
		text++;
	if (*text == '.' && isdigit((unsigned char)text[1]))
		text++;
	while (isdigit((unsigned char)*text))
		text++;
	return text == digits ? NULL : text;
}

/* at: behind the sign. */
static int parse_amount(const char *at, bool is_negative, struct gate_limit *limit)
{
	const char *end;
	double amount;

	while (isspace((unsigned char)*at))
		at++;
	end = find_number_end(at);
	if (!end)
		return -EINVAL;
	amount = strtod(at, NULL);
	while (isspace((unsigned char)*end))
		end++;
	for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
		const size_t length = strlen(units[i].suffix);

		if (strncmp(end, units[i].suffix, length) != 0 ||
		    trimmed_length(end, strlen(end)) != length)
			continue;
		limit->unit = units[i].unit;
		limit->amount = (is_negative ? -amount : amount) * units[i].factor;
		return isfinite(limit->amount) ? 0 : -EINVAL;
	}
	return -EINVAL;
}

/* The last + or -. */
static const char *find_sign(const char *text)
{
	const char *sign = NULL;

	for (; *text; text++)
		if (*text == '+' || *text == '-')
			sign = text;
	return sign;
}

/* Takes the word for a part off the end of a head; without one the part is the total. */
static size_t take_part(const char *head, size_t length, enum gate_part *ret_part)
{
	*ret_part = GATE_TOTAL;
	for (size_t i = 0; i < ARRAY_COUNT(part_names); i++) {
		const size_t word = strlen(part_names[i]);

		if (length <= word || strncmp(head + length - word, part_names[i], word) != 0 ||
		    !isspace((unsigned char)head[length - word - 1]))
			continue;
		*ret_part = (enum gate_part)i;
		return trimmed_length(head, length - word);
	}
	return length;
}

static bool is_quantity(enum gate_quantity quantity, const char *head, size_t length)
{
	return strlen(quantity_names[quantity]) == length &&
	       strncmp(quantity_names[quantity], head, length) == 0;
}

/* -ENOENT: no such quantity. -ENAMETOOLONG: it takes no name. -EDESTADDRREQ: it needs one. */
static int parse_quantity(const char *head, size_t length, struct gate_limit *limit)
{
	const char *colon = memchr(head, ':', length);
	const size_t word = colon ? (size_t)(colon - head) : length;
	const char *name = colon ? colon + 1 : NULL;
	int error = -ENOENT;

	for (unsigned int i = 0; i < GATE_QUANTITIES; i++) {
		if (!is_quantity((enum gate_quantity)i, head, word))
			continue;
		if ((i >= GATE_KERNEL) != (name != NULL)) {
			error = name ? -ENAMETOOLONG : -EDESTADDRREQ;
			continue;
		}
		limit->quantity = (enum gate_quantity)i;
		error = 0;
		break;
	}
	if (error || !name)
		return error;
	while (name < head + length && isspace((unsigned char)*name))
		name++;
	if (name == head + length)
		return -EDESTADDRREQ;
	limit->name = strndup(name, (size_t)(head + length - name));
	return limit->name ? 0 : -ENOMEM;
}

static int refuse_quantity(const char *text, int error)
{
	if (error == -ENOMEM)
		return error_set(-ENOMEM, "out of memory");
	if (error == -ENAMETOOLONG)
		return error_set(-EINVAL,
				 "limit '%s': wall, busy and iteration take no name; names follow "
				 "kernel:, copy:, idle:, api: and range:, " EXAMPLES,
				 text);
	if (error == -EDESTADDRREQ)
		return error_set(-EINVAL, "limit '%s': a name must follow the quantity, " EXAMPLES,
				 text);
	return error_set(-EINVAL,
			 "limit '%s': it must begin with wall, busy, idle, iteration, kernel:NAME, "
			 "copy:NAME, idle:NAME, api:NAME or range:NAME, " EXAMPLES,
			 text);
}

/* ---- consistency ----------------------------------------------------------------------------- */

static int check_limit(const char *text, struct gate_limit *limit)
{
	if (limit->unit == GATE_TIMES && limit->amount == 0 && limit->part != GATE_COUNT)
		limit->unit = GATE_NS; /* +0 is 0 in any unit */
	if (limit->quantity < GATE_KERNEL && limit->part != GATE_TOTAL)
		return error_set(-EINVAL,
				 "limit '%s': mean and count belong to kernel:NAME, copy:NAME, "
				 "api:NAME and range:NAME, such as 'kernel:gemm* mean +5 %%'",
				 text);
	if (limit->quantity == GATE_CAUSE && limit->part != GATE_TOTAL)
		return error_set(-EINVAL,
				 "limit '%s': idle time has no mean and no count; write "
				 "'idle:NAME +5 %%'",
				 text);
	if (limit->part == GATE_COUNT && limit->unit == GATE_NS)
		return error_set(-EINVAL,
				 "limit '%s': a count takes a number or a percentage, such as "
				 "'kernel:gemm* count +0'",
				 text);
	if (limit->part != GATE_COUNT && limit->unit == GATE_TIMES)
		return error_set(
			-EINVAL,
			"limit '%s': the amount needs a unit: %%, ns, us, ms or s, " EXAMPLES,
			text);
	return 0;
}

static int parse_head(const char *text, const char *sign, struct gate_limit *limit)
{
	size_t length;
	int error;

	while (isspace((unsigned char)*text))
		text++;
	length = text < sign ? trimmed_length(text, (size_t)(sign - text)) : 0;
	length = take_part(text, length, &limit->part);
	error = parse_quantity(text, length, limit);
	return error ? refuse_quantity(limit->text, error) : check_limit(limit->text, limit);
}

int gate_limit_parse(const char *text, struct gate_limit *ret_limit)
{
	struct gate_limit limit = {.text = strdup(text)};
	const char *sign = find_sign(text);
	int error;

	if (!limit.text)
		return error_set(-ENOMEM, "out of memory");
	if (!sign || parse_amount(sign + 1, *sign == '-', &limit))
		error = error_set(
			-EINVAL,
			"limit '%s': it must end with a sign, a number and a unit, " EXAMPLES,
			text);
	else
		error = parse_head(text, sign, &limit);
	if (error) {
		gate_limit_fini(&limit);
		return error;
	}
	*ret_limit = limit;
	return 0;
}

void gate_limit_fini(struct gate_limit *limit)
{
	free(limit->name);
	free(limit->text);
	limit->name = limit->text = NULL;
}

bool gate_name_matches(const char *pattern, const char *text)
{
	return text_matches(pattern, text, strlen(text));
}

bool gate_names_match(const char *pattern, const char *names)
{
	const char *name = names, *joint;

	while ((joint = strstr(name, JOINT))) {
		if (text_matches(pattern, name, (size_t)(joint - name)))
			return true;
		name = joint + strlen(JOINT);
	}
	return gate_name_matches(pattern, name) || gate_name_matches(pattern, names);
}
