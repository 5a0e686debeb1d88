/* SPDX-License-Identifier: MIT
 *
 * cli/command.h - a verb of the command line: one row in main.c's table
 */
#pragma once

#include <stdbool.h>

#include "cli/options.h"

/* Exit statuses of all verbs but record (docs/design/cli.md). */
enum {
	STATUS_DONE = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
	STATUS_INCONCLUSIVE = 3, /* diff, gate */
	STATUS_INCOMPLETE = 4
};
/* Exit statuses of record if duet failed or the program did not run; otherwise record returns the
 * program's status. */
enum { RECORD_FAILED = 125, RECORD_NOT_EXECUTABLE = 126, RECORD_NOT_FOUND = 127 };

/* How a verb with --host runs on another machine. */
enum remote_kind {
	REMOTE_PRINT, /* its stdout is ours */
	REMOTE_WRITE, /* it writes one file, which is written here */
	REMOTE_RECORD /* the recording is copied here */
};

struct remote_way {
	enum remote_kind kind;
	const char *output; /* REMOTE_WRITE: the default name; from ".", an ending beside FILE */
	const char *printing_option; /* REMOTE_WRITE: with it, and without -o, the verb prints */
	bool stops_at_operand;       /* options after the first operand are not duet's */
};

struct cli_command {
	const char *name;
	const char *arguments; /* "[options] [FILE]" */
	const char *summary;   /* one line */
	bool writes_files;     /* a signal must remove its unfinished output files */
	bool reads_trace;      /* it may take long: shows its progress on a terminal */
	/* argv[0] is the verb. Returns the exit status; messages are printed by print_error. */
	int (*run)(const struct cli_command *command, int argc, char **argv);
	const struct option_row *options; /* ends with a row without name; may be NULL */
	void (*print_more_help)(void);    /* printed after the options; may be NULL */
	const struct remote_way *remote;  /* NULL: the verb has no --host */
};

extern const struct cli_command command_record, command_report, command_export, command_info,
	command_list, command_doctor, command_install, command_flame, command_flamescope,
	command_view, command_archive, command_import, command_diff, command_gate, command_top,
	command_agent;

/* Runs `duet record`. *ret_recorded: whether a trace was written. The status alone does not show
 * this, because the program itself may exit with 125. */
int record_program(const struct cli_command *command, int argc, char **argv, bool *ret_recorded);

/* Prints "duet VERB: TEXT" on stderr, or "duet: TEXT" if verb is NULL. text NULL: prints the error
 * chain and clears it. */
void print_error(const char *verb, const char *text);

/* Prints the error chain; returns STATUS_FAILED. */
int print_failure(const struct cli_command *command);
/* Prints a usage error and how to get help; returns STATUS_USAGE. */
__attribute__((format(printf, 2, 3))) int usage_error(const struct cli_command *command,
						      const char *format, ...);

/* Flushes stdout and checks that all output was written; a closed pipe is not an error. Returns
 * `status`, or STATUS_FAILED with a message. */
int finish_output(const char *verb, int status);
