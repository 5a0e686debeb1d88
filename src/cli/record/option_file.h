/* SPDX-License-Identifier: MIT
 *
 * cli/record/option_file.h - options of a configuration file that the command line leaves unset
 *
 *	struct option_file file;
 *	option_file_init(&file, rows);
 *	if (path && option_file_open(&file, "record", path))
 *		return RECORD_FAILED;
 *	if (option_file_apply(&file, "record", &values))
 *		...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/format.h"
#include "cli/options.h"
#include "config/config.h"

enum { MAX_OPTION_FILE_ROWS = 64 };

/* A field of the file has the name of its option row, with _ instead of -. */
struct option_file {
	const struct option_row *rows;
	const char *path; /* NULL: there is no file */
	struct config *config;
	/* first value of each row that the file sets; NULL: the file does not set it */
	const struct config_value *said[MAX_OPTION_FILE_ROWS];
	char *lists[MAX_OPTION_FILE_ROWS]; /* joined texts of list options; owned */
};

void option_file_init(struct option_file *file, const struct option_row *rows);
void option_file_fini(struct option_file *file); /* frees the texts that values point to */

/* Opens and parses the file. Prints at most 16 mistakes, each on a line: "duet VERB:
 * FILE:LINE:COLUMN: TEXT".
 * Errors: -errno. */
int option_file_open(struct option_file *file, const char *verb, const char *path);

/* Sets the values that are still unset from the file, if one is open. Prints each mistake. Errors:
 * -EINVAL. */
int option_file_apply(struct option_file *file, const char *verb, void *values);

/* As config_next and config_forget; without a file they find nothing. */
const struct config_value *option_file_next(const struct option_file *file, const char *field,
					    const struct config_value *after);
void option_file_forget(struct option_file *file, const char *field);

/* Adds the value of a row, which must be set, to a config. Errors: -errno with the error chain. */
int option_to_config(const struct option_row *row, const void *values, struct config *config);

/* The option's name for messages: "FILE:LINE:COLUMN: NAME" if its value comes from the file,
 * otherwise "--NAME" or "-N". */
struct shown option_file_name(const struct option_file *file, const char *name);
bool option_file_sets(const struct option_file *file, const char *name);

/* "FILE:LINE:COLUMN", the prefix of messages about this value. */
struct shown option_file_place(const struct option_file *file, const struct config_value *value);
