/* SPDX-License-Identifier: MIT
 *
 * export/exporter.h - a writer of a foreign format: one file, one row in the registry
 */
#ifndef EXPORT_EXPORTER_H
#define EXPORT_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct model;

struct export_options {
	bool has_from, has_to;
	uint64_t from_ns, to_ns; /* relative to the begin of the recording; [from, to) */
	const char *kinds;       /* "api,started": see export_check_kinds; NULL: all */
	uint64_t pid;            /* 0: all */
	const char *archive;     /* folder of symbol files kept with the trace; NULL: none */
	const char *version;     /* of this program */
	bool may_download;       /* ask debuginfod, where DEBUGINFOD_URLS is set */
	bool is_absolute; /* times in CLOCK_MONOTONIC ns, not from the begin of the recording */
	/* What the format cannot say of this trace, in a line each; NULL: nobody asks. */
	void (*on_note)(const char *line);
};

struct exporter {
	const char *name;
	const char *help; /* one line */
	/* What can be filtered by, for people: "api (begin, end), loss". Each word is one, also
	 * those in parentheses. */
	const char *kinds;
	bool is_binary;  /* not for a terminal */
	bool needs_file; /* goes back in what it wrote: a regular file, no pipe */
	bool has_no_instructions; /* of samples of device instructions it says nothing, where no kind is chosen */
	/* -EINVAL with a text where options do not go with each other or with this format; NULL: all do. */
	int (*check)(const struct export_options *options);
	/* Writes the whole export; *ret_rows is how much of what happened is in it. Errors: -errno
	 * with a text in the error chain; -EPIPE where the reader of a pipe went away, which is no
	 * failure. */
	int (*write)(const struct model *model, const struct export_options *options, FILE *file,
		     uint64_t *ret_rows);
	/* Instead, where the export is more than one file: into a folder that is there and empty. */
	int (*write_folder)(const struct model *model, const struct export_options *options,
			    const char *folder, uint64_t *ret_rows);
};

/* In the order in which they are listed; ends with NULL. */
extern const struct exporter *const exporters[];

/* The one after `previous`, the first after NULL; NULL at the end. */
const struct exporter *exporter_next(const struct exporter *previous);

/* NULL where there is none of that name. */
const struct exporter *exporter_find(const char *name);

/* Whether `kind` or `group` is in the comma-separated list; everything is in NULL. */
bool export_is_wanted(const char *list, const char *kind, const char *group);

/* 0, or -EINVAL with a text that lists the exporter's kinds where one of `list` is none of them. */
int export_check_kinds(const struct exporter *exporter, const char *list);

/* 0 where everything written so far arrived in `file`, else -errno of the write with a text. */
int export_flush(FILE *file);

#endif
