/* SPDX-License-Identifier: MIT
 *
 * cli/option_file.h - a configuration file beneath the options of a command line
 *
 *	struct option_file file;
 *	option_file_init(&file, rows);
 *	if (path && option_file_open(&file, "record", path))
 *		return RECORD_FAILED;
 *	if (option_file_apply(&file, "record", &values))
 *		...
 */
#ifndef CLI_OPTION_FILE_H
#define CLI_OPTION_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/format.h"
#include "cli/options.h"
#include "config/config.h"

enum { OPTION_FILE_ROWS_MOST = 64 };

/* A field of the file is called as its row is, with _ for -. */
struct option_file {
	const struct option_row *rows;
	const char *path; /* NULL: there is no file */
	struct config *config;
	const struct config_value
		*said[OPTION_FILE_ROWS_MOST]; /* by the file: the first value of each row */
	char *lists[OPTION_FILE_ROWS_MOST];   /* texts made of several values */
};

void option_file_init(struct option_file *file, const struct option_row *rows);
void option_file_fini(struct option_file *file); /* values that point into it end with it */

/* Prints what is wrong, each problem in a line of its own: "duet VERB: FILE:LINE:COLUMN: what". -errno. */
int option_file_open(struct option_file *file, const char *verb, const char *path);

/* Fills the values that are not said yet with the file's; there may be none. Prints what is wrong; -EINVAL. */
int option_file_apply(struct option_file *file, const char *verb, void *values);

/* config_next and config_forget, also where there is no file. */
const struct config_value *option_file_next(const struct option_file *file, const char *field,
					    const struct config_value *after);
void option_file_forget(struct option_file *file, const char *field);

/* The value of a row, which is said, as a field of the message. Errors: -errno with the error chain. */
int option_to_config(const struct option_row *row, const void *values, ProtobufCMessage *message);

/* "FILE:LINE:COLUMN: NAME" where the file says the option and the command line does not, else "--NAME" or "-N". */
struct shown option_file_name(const struct option_file *file, const char *name);
bool option_file_says(const struct option_file *file, const char *name);

/* What a message begins with that is about this value. */
struct shown option_file_place(const struct option_file *file, const struct config_value *value);

#endif
