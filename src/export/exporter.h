/* SPDX-License-Identifier: MIT
 *
 * export/exporter.h - a writer of a foreign format: one file, one row in the registry
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct model;
struct output_options;
struct output_folder;

struct exporter {
	const char *name;
	const char *help; /* one line */
	/* The words that --kind accepts, as the user reads them: "api (begin, end), loss". Words in
	 * parentheses are accepted too. */
	const char *kinds;
	bool is_binary;           /* refused for a terminal */
	bool needs_file;          /* seeks in the output: a regular file, not a pipe */
	bool has_no_instructions; /* without --kind, samples of device instructions are left out */
	bool can_choose_event;    /* --event */
	bool can_omit_times;      /* --no-times */
	/* Returns -EINVAL with a text if options exclude each other or do not fit the format. NULL:
	 * all options fit. */
	int (*check)(const struct output_options *options);
	/* Writes the whole export; *ret_rows receives the number of exported events. Errors: -errno
	 * with a text in the error chain; -EPIPE if the reader of a pipe closed it, which is not a
	 * failure. */
	int (*write)(const struct model *model, const struct output_options *options, FILE *file,
		     uint64_t *ret_rows);
	/* Replaces `write` for an export of several files: writes into an existing, empty
	 * folder. */
	int (*write_folder)(const struct model *model, const struct output_options *options,
			    struct output_folder *folder, uint64_t *ret_rows);
};

/* In the order of `duet list formats`; ends with NULL. */
extern const struct exporter *const exporters[];

/* NULL if there is none of that name. */
const struct exporter *exporter_find(const char *name);

/* Returns -EINVAL if a word of `list` is not one of the exporter's kinds; the text lists them. */
int exporter_check_kinds(const struct exporter *exporter, const char *list);
