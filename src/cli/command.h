/* SPDX-License-Identifier: MIT
 *
 * cli/command.h - a verb of the command line: one row in main.c's table
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>

#include "cli/options.h"

/* Exit statuses of design cli: all verbs but record use these. */
enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_INCOMPLETE = 4 };
/* record's own, where it does not return its program's: duet failed, or the program did not run. */
enum { RECORD_FAILED = 125, RECORD_NOT_EXECUTABLE = 126, RECORD_NOT_FOUND = 127 };

struct command {
	const char *name;
	const char *arguments; /* "[options] [FILE]" */
	const char *summary;   /* one line */
	bool writes_files;     /* which a signal must not leave unfinished */
	/* argv[0] is the verb. Returns the exit status; messages are printed by print_error. */
	int (*run)(const struct command *command, int argc, char **argv);
	const struct option_row *options; /* ends with a row without name; may be NULL */
};

extern const struct command command_record, command_report, command_export, command_info,
	command_list, command_doctor, command_install, command_flame, command_flamescope,
	command_view, command_archive, command_import;

/* What `duet record` does; *ret_recorded: whether there is a recording, which the status alone does not
 * tell, because a program may end with 125 itself. */
int record_program(const struct command *command, int argc, char **argv, bool *ret_recorded);

/* Prints "duet VERB: TEXT" (or "duet: TEXT" where verb is NULL) on stderr; with text NULL the error
 * chain, which is cleared. */
void print_error(const char *verb, const char *text);

/* Prints a wrong use and how to get help; returns STATUS_USAGE. */
__attribute__((format(printf, 2, 3))) int usage_error(const struct command *command,
						      const char *format, ...);

/* Flushes stdout and checks that all of it was written; a closed pipe is a quiet end. Returns
 * `status`, or STATUS_FAILED with a message. */
int finish_output(const char *verb, int status);

#endif
