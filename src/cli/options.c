/* SPDX-License-Identifier: MIT
 *
 * cli/options.c - parse a command line by a table of options, and print the help from the same
 * table
 *
 * Runs in:  our own process
 * Gets:     argv and the rows of a command
 * Gives:    the caller's struct filled, operands last in argv
 * Owns:     nothing; OPTION_TEXT values point into argv
 * Fails:    with a message on stderr that names the option, what was expected and what was given
 * Why:      getopt_long accepts abbreviations, so a new option can break an existing script, and
 *           its messages do not contain the expected kind of value
 */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "base/suggest.h"
#include "cli/command.h"
#include "cli/remote/options.h"

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

/* Description of each type's values, for messages. */
static const char *const expectations[] = {
	[OPTION_FLAG] = "true or false",
	[OPTION_SWITCH] = "true or false",
	[OPTION_TEXTS] = "at most 64 values",
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

/* Reads digits and advances *text; -ERANGE if they exceed a uint64_t. */
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

/* Reads the digits after a point as value / scale; at most 18 digits, so that the scale fits. */
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

/* Digits, optionally a point and digits, then a unit. The product must be a whole number: half a
 * byte is an error and is not rounded. */
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

/* Whether each % starts a known sequence. Otherwise the file would get a name that the user does
 * not expect. */
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
	return type == OPTION_TEXT || type == OPTION_LIST || type == OPTION_OUTPUT ||
	       type == OPTION_PATTERN;
}

/* Whether the option takes no argument on the command line. */
static bool is_flag(enum option_type type)
{
	return type == OPTION_FLAG || type == OPTION_SWITCH;
}

static bool is_good_text(enum option_type type, const char *text)
{
	if (type == OPTION_TEXT || type == OPTION_LIST)
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

/* "--top" or "-n", as in the command line. */
static const char *format_name(const struct option_row *row, bool by_letter, char *buffer,
			       size_t size)
{
	if (by_letter)
		snprintf(buffer, size, "-%c", row->letter);
	else
		snprintf(buffer, size, "--%s", row->name);
	return buffer;
}

static int set_flag(const struct option_row *row, const char *text, void *place)
{
	bool is_on = strcmp(text, "true") == 0;

	if (!is_on && strcmp(text, "false") != 0)
		return -EINVAL;
	if (row->type == OPTION_FLAG)
		*(bool *)place = is_on;
	else
		*(enum option_switch *)place = is_on ? SWITCH_ON : SWITCH_OFF;
	return 0;
}

static int set_number(const struct option_row *row, const char *text, void *place)
{
	uint64_t value;
	int error = parse_value(row->type, text, &value);

	if (!error)
		*(uint64_t *)place = value;
	return error;
}

static int add_text(const char *text, struct option_texts *texts)
{
	if (texts->count == MAX_OPTION_TEXTS)
		return -EINVAL;
	texts->texts[texts->count++] = text;
	return 0;
}

int option_set(const struct option_row *row, const char *text, void *values)
{
	void *place = (char *)values + row->offset;
	int error = 0;

	if (is_flag(row->type))
		error = set_flag(row, text, place);
	else if (row->type == OPTION_TEXTS)
		error = add_text(text, place);
	else if (!is_text(row->type))
		error = set_number(row, text, place);
	else if (is_good_text(row->type, text))
		*(const char **)place = text;
	else
		error = -EINVAL;
	if (error == -ERANGE)
		error_set(-EINVAL, "takes %s; '%s' is too large", expectations[row->type], text);
	else if (error)
		error_set(-EINVAL, "takes %s, not '%s'", expectations[row->type], text);
	return error ? -EINVAL : 0;
}

static int set_option(const struct cli_command *command, const struct option_row *row,
		      bool by_letter, const char *text, void *values)
{
	char name[64];

	if (option_set(row, text, values) == 0)
		return 0;
	usage_error(command, "%s %s", format_name(row, by_letter, name, sizeof(name)),
		    error_text());
	error_clear();
	return PARSE_USAGE;
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

/* The switch that "no-NAME" turns off. */
static const struct option_row *find_denied(const struct option_row *rows, const char *name,
					    size_t length, const char **ret_word)
{
	const struct option_row *row;

	if (length <= 3 || strncmp(name, "no-", 3) != 0)
		return NULL;
	row = find_name(rows, name + 3, length - 3);
	if (!row || row->type != OPTION_SWITCH)
		return NULL;
	*ret_word = "false";
	return row;
}

static const struct option_row *find_letter(const struct option_row *rows, char letter)
{
	for (; rows && rows->name; rows++) {
		if (rows->letter && rows->letter == letter)
			return rows;
	}
	return NULL;
}

static int unknown_name(const struct cli_command *command, const char *word, size_t length)
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

static int missing_argument(const struct cli_command *command, const struct option_row *row,
			    bool by_letter)
{
	char name[64];

	usage_error(command, "%s needs an argument: %s",
		    format_name(row, by_letter, name, sizeof(name)),
		    row->argument ? row->argument : "VALUE");
	return PARSE_USAGE;
}

/* Parses one argument that begins with "--". Returns the number of argv entries used, or PARSE_*.
 * */
static int take_long(const struct cli_command *command, char **argv, void *values)
{
	const char *name = argv[0] + 2;
	size_t length = strcspn(name, "=");
	const char *text = name[length] ? name + length + 1 : NULL;
	const char *word = "true";
	const struct option_row *row;
	int error, used = 1;

	if (length == 4 && strncmp(name, "help", 4) == 0 && !text)
		return PARSE_HELP;
	row = find_name(command->options, name, length);
	if (!row)
		row = find_denied(command->options, name, length, &word);
	if (!row)
		return unknown_name(command, name, length);
	if (is_flag(row->type) && text) {
		usage_error(command, "--%.*s takes no argument", (int)length, name);
		return PARSE_USAGE;
	}
	if (is_flag(row->type)) {
		text = word;
	} else if (!text) {
		text = argv[1];
		used = 2;
		if (!text)
			return missing_argument(command, row, false);
	}
	error = set_option(command, row, false, text, values);
	return error ? error : used;
}

/* Parses one argument that begins with a single "-". Flags may be combined, "-vq". The first letter
 * that takes an argument takes the rest of the word, or the next argv entry. */
static int take_letters(const struct cli_command *command, char **argv, void *values)
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
		if (!is_flag(row->type)) {
			text = letter[1] ? letter + 1 : argv[1];
			if (!text)
				return missing_argument(command, row, true);
			error = set_option(command, row, true, text, values);
			return error ? error : letter[1] ? 1 : 2;
		}
		set_option(command, row, true, "true", values);
	}
	return 1;
}

/* Moves argv[from … from + count) before the operands in argv[first … from). */
static void move_before(char **argv, int first, int from, int count)
{
	for (int i = 0; i < count; i++) {
		char *moved = argv[from + i];

		memmove(&argv[first + i + 1], &argv[first + i],
			(size_t)(from - first) * sizeof(*argv));
		argv[first + i] = moved;
	}
}

/* Prints `text`, wrapped at spaces before HELP_WIDTH; the first line starts at `column`. */
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

static void print_rows(const struct option_row *rows)
{
	for (const struct option_row *row = rows; row && row->name; row++)
		if (row->help)
			print_row(row->letter, row->name, row->argument, row->help);
}

static void print_help(const struct cli_command *command)
{
	const char *arguments = command->arguments ? command->arguments : "";
	int column = printf("usage: duet %s%s", command->name, *arguments ? " " : "");

	print_wrapped(arguments, column, column);
	putchar('\n');
	print_wrapped(command->summary, 0, 0);
	printf("\noptions:\n");
	print_rows(command->options);
	if (!find_letter(command->options, 'h'))
		print_row('h', "help", NULL, "print this help and exit");
	if (command->remote) {
		printf("\non another machine (man duet-remote):\n");
		print_rows(remote_rows + (command->remote->kind != REMOTE_RECORD));
	}
	if (command->print_more_help)
		command->print_more_help();
	printf("\nMore: man duet-%s\n", command->name);
}

int options_parse(const struct cli_command *command, int argc, char **argv, bool stop_at_operand,
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

/* ---- values by themselves -------------------------------------------------------------------- */

const struct option_row *option_find(const struct option_row *rows, const char *name)
{
	return find_name(rows, name, strlen(name));
}

void option_clear(const struct option_row *row, void *values)
{
	void *place = (char *)values + row->offset;

	if (row->type == OPTION_FLAG)
		*(bool *)place = false;
	else if (row->type == OPTION_SWITCH)
		*(enum option_switch *)place = SWITCH_UNSET;
	else if (row->type == OPTION_TEXTS)
		((struct option_texts *)place)->count = 0;
	else if (is_text(row->type))
		*(const char **)place = NULL;
	else
		*(uint64_t *)place = OPTION_UNSET;
}

void options_clear(const struct option_row *rows, void *values)
{
	for (const struct option_row *row = rows; row && row->name; row++)
		option_clear(row, values);
}

bool option_is_set(const struct option_row *row, const void *values)
{
	const void *place = (const char *)values + row->offset;

	if (row->type == OPTION_FLAG)
		return *(const bool *)place;
	if (row->type == OPTION_SWITCH)
		return *(const enum option_switch *)place != SWITCH_UNSET;
	if (row->type == OPTION_TEXTS)
		return ((const struct option_texts *)place)->count > 0;
	if (is_text(row->type))
		return *(const char *const *)place;
	return *(const uint64_t *)place != OPTION_UNSET;
}

static void format_texts(const struct option_texts *texts, struct string_builder *text)
{
	for (size_t i = 0; i < texts->count; i++)
		string_builder_appendf(text, "%s%s", i ? "," : "", texts->texts[i]);
}

/* In the largest unit of which it is a whole number. */
static void format_scaled(uint64_t value, const struct unit *units, struct string_builder *text)
{
	const struct unit *best = NULL;

	for (const struct unit *unit = units; value && unit->suffix; unit++)
		if (value % unit->factor == 0 && (!best || unit->factor >= best->factor))
			best = unit;
	string_builder_appendf(text, "%llu%s",
			       (unsigned long long)(best ? value / best->factor : value),
			       best ? best->suffix : "");
}

void option_format(const struct option_row *row, const void *values, struct string_builder *text)
{
	const void *place = (const char *)values + row->offset;

	if (row->type == OPTION_FLAG)
		string_builder_append(text, *(const bool *)place ? "true" : "false");
	else if (row->type == OPTION_SWITCH)
		string_builder_append(
			text, *(const enum option_switch *)place == SWITCH_ON ? "true" : "false");
	else if (row->type == OPTION_TEXTS)
		format_texts(place, text);
	else if (is_text(row->type))
		string_builder_append(text, *(const char *const *)place);
	else if (row->type == OPTION_NUMBER)
		string_builder_appendf(text, "%llu", (unsigned long long)*(const uint64_t *)place);
	else
		format_scaled(*(const uint64_t *)place,
			      row->type == OPTION_SIZE ? size_units : duration_units, text);
}
