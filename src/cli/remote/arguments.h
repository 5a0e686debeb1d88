/* SPDX-License-Identifier: MIT
 *
 * cli/remote/arguments.h - a command line with --host, split into its two sides
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"
#include "cli/remote/options.h"

struct remote_arguments {
	struct remote_values values;
	const char *output;   /* argument of -o, a file of this side; NULL: not given */
	const char *config;   /* argument of record -c, a file of this side */
	bool has_archive;     /* --archive or --no-archive is given */
	bool has_target;      /* record: a program, -p, -a or -c is given */
	bool prints;          /* an option is given with which the verb prints instead */
	char **words;         /* for the verb there, without its name; owned */
	size_t options_count; /* words before the first operand or "--" */
	size_t count, capacity;
	const char *trace;  /* the first operand; NULL: none */
	bool has_separator; /* "--" precedes the operands */
};

/* True: *arguments is to be used, and to be freed by remote_arguments_fini. False: *ret_status is
 * the exit status after a mistake was printed. ret_refused: the word that the verb itself must
 * explain (--help, an unknown option); NULL: none. */
bool remote_arguments_read(struct remote_arguments *arguments, const struct cli_command *command,
			   int argc, char **argv, char **ret_refused, int *ret_status);
void remote_arguments_fini(struct remote_arguments *arguments);
