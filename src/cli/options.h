/* SPDX-License-Identifier: MIT
 *
 * cli/options.h - options as rows of a table
 *
 *	struct values { bool json; const char *output; uint64_t duration_ns; };
 *	static const struct option_row rows[] = {
 *		{"json", 0, OPTION_FLAG, NULL, "print one JSON document", offsetof(struct values, json)},
 *		{"output", 'o', OPTION_TEXT, "FILE", "write to FILE", offsetof(struct values, output)},
 *		{NULL}};
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_type {
	OPTION_FLAG, /* bool: set to true */
	OPTION_SWITCH, /* enum option_switch: on, or off by --no-NAME, which takes back what a file says */
	OPTION_TEXT,     /* const char *, points into argv; a later one wins */
	OPTION_LIST,     /* the same: words with commas between */
	OPTION_NUMBER,   /* uint64_t */
	OPTION_SIZE,     /* uint64_t bytes: 10, 4K, 64M, 2G, 1T (powers of 1024) */
	OPTION_DURATION, /* uint64_t ns: 5, 2.5, 5s, 100ms, 3us, 20ns, 2m, 1h; a bare number: s */
	OPTION_SPAN,     /* a duration that is not 0 */
	OPTION_OUTPUT,   /* const char *: a file to write, so neither "" nor "-" */
	OPTION_PATTERN   /* an output in whose name %p, %h, %q{VAR} and %% stand for something */
};

enum option_switch { SWITCH_UNSAID, SWITCH_ON, SWITCH_OFF };

/* A number, size or time that was not said. */
#define OPTION_UNSAID UINT64_MAX

struct option_row {
	const char *name; /* long name without --; NULL ends the table */
	char letter;      /* 0: none */
	enum option_type type;
	const char *argument; /* its name in the help; NULL for flags */
	const char *help;
	size_t offset; /* of the value in the caller's struct */
};

struct command;
struct string_builder;

/* Fills *values and returns the index in argv of the first operand ("--" skipped); -1 after -h/--help
 * (help printed on stdout, exit status 0), -2 after wrong usage (message printed, exit status 2).
 * --name=value, --name value, -n value and -nvalue are understood; options may follow operands unless
 * stop_at_operand is set, which record needs for its program's own options. Operands are moved behind
 * the options in argv. */
int options_parse(const struct command *command, int argc, char **argv, bool stop_at_operand,
		  void *values);

/* Makes a value, or all, unsaid: NULL, OPTION_UNSAID, SWITCH_UNSAID, false. */
void option_clear(const struct option_row *row, void *values);
void options_clear(const struct option_row *rows, void *values);

const struct option_row *option_find(const struct option_row *rows, const char *name);
bool option_is_said(const struct option_row *row, const void *values);

/* The value that the text stands for, "true" or "false" of a flag or switch; texts are not copied. Errors: -EINVAL with
 * "takes …, not '…'" in the error chain, nothing is set. */
int option_set(const struct option_row *row, const char *text, void *values);

/* Appends a text of which option_set makes the same value. */
void option_format(const struct option_row *row, const void *values, struct string_builder *text);

#endif
