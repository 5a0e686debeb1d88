/* SPDX-License-Identifier: MIT
 *
 * cli/options.h - options as rows of a table
 *
 *	struct values { bool json; const char *output; uint64_t duration_ns; };
 *	static const struct option_row rows[] = {
 *		{"json", 0, OPTION_FLAG, NULL, "print one JSON document", offsetof(struct values,
 *		    json)},
 *		{"output", 'o', OPTION_TEXT, "FILE", "write to FILE", offsetof(struct values,
 *		    output)},
 *		{NULL}};
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_type {
	OPTION_FLAG,     /* bool: set to true */
	OPTION_SWITCH,   /* enum option_switch: on, or off by --no-NAME, which overrides a
			    configuration file */
	OPTION_TEXT,     /* const char *, points into argv; the last one counts */
	OPTION_TEXTS,    /* struct option_texts: may be repeated, every one counts */
	OPTION_LIST,     /* one text; words separated by commas */
	OPTION_NUMBER,   /* uint64_t */
	OPTION_SIZE,     /* uint64_t bytes: 10, 4K, 64M, 2G, 1T (powers of 1024) */
	OPTION_DURATION, /* uint64_t ns: 5, 2.5, 5s, 100ms, 3us, 20ns, 2m, 1h; a bare number: s */
	OPTION_SPAN,     /* a duration above 0 */
	OPTION_OUTPUT,   /* const char *: a file to write; "" and "-" are refused */
	OPTION_PATTERN   /* an output whose name may contain %p, %h, %q{VAR} and %% */
};

enum option_switch { SWITCH_UNSET, SWITCH_ON, SWITCH_OFF };

enum { MAX_OPTION_TEXTS = 64 };

/* The texts of an option in their order; they point into argv. */
struct option_texts {
	const char *texts[MAX_OPTION_TEXTS];
	size_t count;
};

/* A number, size or time that is not set. */
#define OPTION_UNSET UINT64_MAX

struct option_row {
	const char *name; /* long name without --; NULL ends the table */
	char letter;      /* 0: none */
	enum option_type type;
	const char *argument; /* its name in the help; NULL for flags */
	const char *help;     /* NULL: not in the help */
	size_t offset;        /* offset of the value in the caller's struct */
};

/* The rows of the members from_ns and to_ns. */
#define OPTION_WINDOW(values)                                                             \
	{"from",                                                                          \
	 0,                                                                               \
	 OPTION_DURATION,                                                                 \
	 "T",                                                                             \
	 "start of the time window, relative to the start of the recording",              \
	 offsetof(values, from_ns)},                                                      \
	{                                                                                 \
		"to", 0, OPTION_DURATION, "T",                                            \
			"end of the time window, relative to the start of the recording", \
			offsetof(values, to_ns)                                           \
	}

struct cli_command;
struct string_builder;

/* Fills *values and returns the index in argv of the first operand ("--" skipped); -1 after
 * -h/--help (help printed on stdout, exit status 0), -2 after wrong usage (message printed, exit
 * status 2). --name=value, --name value, -n value and -nvalue are understood; options may follow
 * operands unless stop_at_operand is set, which record needs for its program's own options.
 * Operands are moved after the options in argv. */
int options_parse(const struct cli_command *command, int argc, char **argv, bool stop_at_operand,
		  void *values);

/* Unsets one value, or all: NULL, OPTION_UNSET, SWITCH_UNSET, false. */
void option_clear(const struct option_row *row, void *values);
void options_clear(const struct option_row *rows, void *values);

const struct option_row *option_find(const struct option_row *rows, const char *name);
bool option_is_set(const struct option_row *row, const void *values);

/* Parses the text and sets the value; flags and switches take "true" or "false". Texts are not
 * copied.
 * Errors: -EINVAL with "takes …, not '…'" in the error chain, nothing is set. */
int option_set(const struct option_row *row, const char *text, void *values);

/* Appends the value as text that option_set can parse. */
void option_format(const struct option_row *row, const void *values, struct string_builder *text);
