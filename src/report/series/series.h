/* SPDX-License-Identifier: MIT
 *
 * report/series/series.h - print the history of a program
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_writer;
struct history;
struct history_line;

struct series_report {
	const struct history *history;
	const char *const *skipped; /* paths that could not be read */
	size_t skipped_count;
	const char *range; /* --range; NULL: the whole runs */
	uint64_t top;      /* kernels in the text; 0: all */
	size_t columns;    /* width of the text; 0: 100 */
	bool is_ascii;     /* the terminal has no UTF-8 */
};

void series_print_text(const struct series_report *report); /* stdout */
/* Writes one document of schema duet.series/1. */
void series_write_json(const struct series_report *report, struct json_writer *json);

/* ---- shared ---- */

/* A line as a row of characters, one for each recording; if there are more than `width`, one for
 * the mean of neighbours. Gaps are blanks. */
enum { SPARK_MAX = 60, SPARK_BYTES = SPARK_MAX * 3 + 1 };
void spark_format(const struct history_line *line, size_t recordings, size_t width, bool is_ascii,
		  char ret_text[SPARK_BYTES]);
