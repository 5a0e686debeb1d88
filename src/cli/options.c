/* SPDX-License-Identifier: MIT
 *
 * cli/options.c - read a command line by its table, and write the help from the same table
 *
 * Runs in:  our own process
 * Gets:     argv and the rows of a command   Gives: the caller's struct filled, operands last in argv
 * Owns:     nothing; OPTION_TEXT values point into argv
 * Fails:    with a message on stderr that names the option, what was expected and what was given
 * Why:      not getopt_long: it accepts abbreviations, so that a new option can break a script that
 *           worked the day before, and its messages cannot say what kind of value is expected
 */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/suggest.h"

#define HELP_WIDTH  78
#define HELP_COLUMN 26

enum { PARSE_HELP = -1, PARSE_USAGE = -2 };

struct unit {
	const char *suffix;
	uint64_t factor;
};

static const struct unit size_units[] = {
	{"", 1},           {"K", 1ull << 10}, {"M", 1ull << 20},
	{"G", 1ull << 30}, {"T", 1ull << 40}, {NULL, 0},
};

static const struct unit duration_units[] = {
	{"", 1000000000},
	{"s", 1000000000},
	{"ms", 1000000},
	{"us", 1000},
	{"ns", 1},
	{"m", 60ull * 1000000000},
	{"h", 3600ull * 1000000000},
	{NULL, 0},
};

/* What a value of each type looks like, for messages. */
static const char *const expectations[] = {
	[OPTION_NUMBER] = "a whole number such as 10",
	[OPTION_SIZE] = "a size in bytes such as 4096, 64K, 64M, 2G or 1T",
	[OPTION_DURATION] = "a time such as 5 (seconds), 2.5, 100ms, 3us, 20ns, 2m or 1h",
	[OPTION_SPAN] = "a time above 0 such as 5 (seconds), 2.5, 100ms, 3us, 20ns, 2m or 1h",
	[OPTION_OUTPUT] = "the name of a file (./- for one called -)",
	[OPTION_PATTERN] = "the name of a file (./- for one called -), in which % stands only in "
			   "%p (process id), %h (host), %q{VAR} (environment) and %% (itself)",
};

static const struct unit *find_unit(const struct unit *units, const char *suffix)
{
	for (; units->suffix; units++) {
		if (strcmp(units->suffix, suffix) == 0)
			return units;
	}
	return NULL;
}

/* Takes the digits at *text off; more than a uint64_t holds is an overflow. */
static int take_digits(const char **text, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (; isdigit((unsigned char)**text); ++*text) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(**text - '0'), &value))
			return -ERANGE;
	}
	*ret_value = value;
	return 0;
}

/* The digits behind a point, as value / scale: at most 18, so that the scale fits. */
static int take_fraction(const char **text, uint64_t *ret_value, uint64_t *ret_scale)
{
	const char *start = *text;
	uint64_t scale = 1;
	int error = take_digits(text, ret_value);

	if (error || *text == start)
		return error ? error : -EINVAL;
	if (*text - start > 18)
		return -ERANGE;
	for (ptrdiff_t i = 0; i < *text - start; i++)
		scale *= 10;
	*ret_scale = scale;
	return 0;
}

/* Digits, at most one point with digits behind it, a unit. The product must be whole: half a byte
 * is a mistake and not something to round. */
static int parse_scaled(const char *text, const struct unit *units, uint64_t *ret_value)
{
	uint64_t whole, fraction = 0, scale = 1;
	const struct unit *unit;
	unsigned __int128 product;
	int error;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	error = take_digits(&text, &whole);
	if (error == 0 && *text == '.') {
		text++;
		error = take_fraction(&text, &fraction, &scale);
	}
	if (error)
		return error;
	unit = find_unit(units, text);
	if (!unit)
		return -EINVAL;
	product = (unsigned __int128)fraction * unit->factor;
	if (product % scale)
		return -EINVAL;
	product = product / scale + (unsigned __int128)whole * unit->factor;
	if (product > UINT64_MAX)
		return -ERANGE;
	*ret_value = (uint64_t)product;
	return 0;
}

static int parse_number(const char *text, uint64_t *ret_value)
{
	static const struct unit none[] = {{"", 1}, {NULL, 0}};

	return strchr(text, '.') ? -EINVAL : parse_scaled(text, none, ret_value);
}

static int parse_span(const char *text, uint64_t *ret_value)
{
	uint64_t value;
	int error = parse_scaled(text, duration_units, &value);

	if (!error && !value)
		return -EINVAL;
	if (!error)
		*ret_value = value;
	return error;
}

/* A % that stands for nothing is a mistake: the file would carry a name nobody looks for. */
static bool is_pattern(const char *text)
{
	while ((text = strchr(text, '%'))) {
		const char *end = text[1] == 'q' && text[2] == '{' ? strchr(text + 3, '}') : NULL;

		if (end && end > text + 3)
			text = end + 1;
		else if (text[1] == 'p' || text[1] == 'h' || text[1] == '%')
			text += 2;
		else
			return false;
	}
	return true;
}

static bool is_text(enum option_type type)
{
	return type == OPTION_TEXT || type == OPTION_OUTPUT || type == OPTION_PATTERN;
}

static bool is_good_text(enum option_type type, const char *text)
{
	if (type == OPTION_TEXT)
		return true;
	return *text && strcmp(text, "-") != 0 && (type != OPTION_PATTERN || is_pattern(text));
}

static int parse_value(enum option_type type, const char *text, uint64_t *ret_value)
{
	switch (type) {
	case OPTION_SIZE:
		return parse_scaled(text, size_units, ret_value);
	case OPTION_DURATION:
		return parse_scaled(text, duration_units, ret_value);
	case OPTION_SPAN:
		return parse_span(text, ret_value);
	default:
		return parse_number(text, ret_value);
	}
}

/* "--top" or "-n", as it was written. */
static const char *spell(const struct option_row *row, bool by_letter, char *buffer, size_t size)
{
	if (by_letter)
		snprintf(buffer, size, "-%c", row->letter);
	else
		snprintf(buffer, size, "--%s", row->name);
	return buffer;
}

static int store(const struct command *command, const struct option_row *row, bool by_letter,
		 const char *text, void *values)
{
	void *place = (char *)values + row->offset;
	char name[64];
	uint64_t value = 0;
	int error = 0;

	if (row->type == OPTION_FLAG) {
		*(bool *)place = true;
		return 0;
	}
	if (!is_text(row->type))
		error = parse_value(row->type, text, &value);
	else if (!is_good_text(row->type, text))
		error = -EINVAL;
	if (error) {
		usage_error(command, "%s takes %s, not '%s'%s",
			    spell(row, by_letter, name, sizeof(name)), expectations[row->type],
			    text, error == -ERANGE ? ", which is too large" : "");
		return PARSE_USAGE;
	}
	if (is_text(row->type))
		*(const char **)place = text;
	else
		*(uint64_t *)place = value;
	return 0;
}

static const struct option_row *find_name(const struct option_row *rows, const char *name,
					  size_t length)
{
	for (; rows && rows->name; rows++) {
		if (strlen(rows->name) == length && strncmp(rows->name, name, length) == 0)
			return rows;
	}
	return NULL;
}

static const struct option_row *find_letter(const struct option_row *rows, char letter)
{
	for (; rows && rows->name; rows++) {
		if (rows->letter && rows->letter == letter)
			return rows;
	}
	return NULL;
}

static int unknown_name(const struct command *command, const char *word, size_t length)
{
	char name[64];
	const char *near;
	size_t count = 0;

	snprintf(name, sizeof(name), "%.*s", (int)length, word);
	while (command->options && command->options[count].name)
		count++;
	near = suggest_name(name, command->options, count, sizeof(*command->options));
	if (near)
		usage_error(command, "unknown option '--%s'; did you mean '--%s'?", name, near);
	else
		usage_error(command, "unknown option '--%s'", name);
	return PARSE_USAGE;
}

static int missing_argument(const struct command *command, const struct option_row *row,
			    bool by_letter)
{
	char name[64];

	usage_error(command, "%s needs an argument: %s", spell(row, by_letter, name, sizeof(name)),
		    row->argument ? row->argument : "VALUE");
	return PARSE_USAGE;
}

/* One argument that begins with "--". Returns how many of argv it used, or PARSE_*. */
static int take_long(const struct command *command, char **argv, void *values)
{
	const char *name = argv[0] + 2;
	size_t length = strcspn(name, "=");
	const char *text = name[length] ? name + length + 1 : NULL;
	const struct option_row *row;
	int error, used = 1;

	if (length == 4 && strncmp(name, "help", 4) == 0 && !text)
		return PARSE_HELP;
	row = find_name(command->options, name, length);
	if (!row)
		return unknown_name(command, name, length);
	if (row->type == OPTION_FLAG && text) {
		usage_error(command, "--%s takes no argument", row->name);
		return PARSE_USAGE;
	}
	if (row->type != OPTION_FLAG && !text) {
		text = argv[1];
		used = 2;
		if (!text)
			return missing_argument(command, row, false);
	}
	error = store(command, row, false, text, values);
	return error ? error : used;
}

/* One argument that begins with a single "-": flags may stand together, "-vq"; the first letter
 * that takes an argument takes the rest, or the next of argv. */
static int take_letters(const struct command *command, char **argv, void *values)
{
	for (const char *letter = argv[0] + 1; *letter; letter++) {
		const struct option_row *row = find_letter(command->options, *letter);
		const char *text;
		int error;

		if (!row && *letter == 'h')
			return PARSE_HELP;
		if (!row) {
			usage_error(command, "unknown option '-%c'", *letter);
			return PARSE_USAGE;
		}
		if (row->type != OPTION_FLAG) {
			text = letter[1] ? letter + 1 : argv[1];
			if (!text)
				return missing_argument(command, row, true);
			error = store(command, row, true, text, values);
			return error ? error : letter[1] ? 1 : 2;
		}
		store(command, row, true, NULL, values);
	}
	return 1;
}

/* Lets argv[from … from + count) change places with the operands in argv[first … from). */
static void move_before(char **argv, int first, int from, int count)
{
	for (int i = 0; i < count; i++) {
		char *moved = argv[from + i];

		memmove(&argv[first + i + 1], &argv[first + i],
			(size_t)(from - first) * sizeof(*argv));
		argv[first + i] = moved;
	}
}

/* Breaks `text` at spaces into lines that end before HELP_WIDTH; the first begins at `column`. */
static void print_wrapped(const char *text, int column, int indent)
{
	int used = column;

	while (*text) {
		int length = (int)strcspn(text, " ");

		if (used > indent && used + 1 + length > HELP_WIDTH) {
			printf("\n%*s", indent, "");
			used = indent;
		} else if (used > indent) {
			putchar(' ');
			used++;
		}
		printf("%.*s", length, text);
		used += length;
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_row(char letter, const char *name, const char *argument, const char *help)
{
	char left[80];
	int used;

	if (letter)
		used = snprintf(left, sizeof(left), "  -%c, --%s", letter, name);
	else
		used = snprintf(left, sizeof(left), "      --%s", name);
	if (argument && used < (int)sizeof(left))
		used += snprintf(left + used, sizeof(left) - (size_t)used, " %s", argument);
	fputs(left, stdout);
	if (used > HELP_COLUMN - 2) {
		putchar('\n');
		used = 0;
	}
	printf("%*s", HELP_COLUMN - used, "");
	print_wrapped(help, HELP_COLUMN, HELP_COLUMN);
}

static void print_help(const struct command *command)
{
	const char *arguments = command->arguments ? command->arguments : "";
	int column = printf("usage: duet %s%s", command->name, *arguments ? " " : "");

	print_wrapped(arguments, column, column);
	putchar('\n');
	print_wrapped(command->summary, 0, 0);
	printf("\noptions:\n");
	for (const struct option_row *row = command->options; row && row->name; row++)
		print_row(row->letter, row->name, row->argument, row->help);
	if (!find_letter(command->options, 'h'))
		print_row('h', "help", NULL, "print this help and exit");
	printf("\nMore: man duet-%s\n", command->name);
}

int options_parse(const struct command *command, int argc, char **argv, bool stop_at_operand,
		  void *values)
{
	int first = 1, i = 1;

	while (i < argc) {
		int used;

		if (argv[i][0] != '-' || !argv[i][1]) {
			if (stop_at_operand)
				break;
			i++;
			continue;
		}
		if (strcmp(argv[i], "--") == 0) {
			move_before(argv, first, i, 1);
			return first + 1;
		}
		used = argv[i][1] == '-' ? take_long(command, &argv[i], values)
					 : take_letters(command, &argv[i], values);
		if (used == PARSE_HELP)
			print_help(command);
		if (used < 0)
			return used;
		move_before(argv, first, i, used);
		first += used;
		i += used;
	}
	return first;
}
