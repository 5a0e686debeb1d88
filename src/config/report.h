/* SPDX-License-Identifier: MIT
 *
 * config/report.h - a list of problems in a configuration file, with their places
 */
#pragma once

#include <stddef.h>

enum { MAX_CONFIG_PROBLEMS = 16 };

/* Line and column, counted from 1; every character is one column, also a tab. Line 0: no place in
 * the text. */
struct config_place {
	unsigned line, column;
};

struct config_problem {
	struct config_place place;
	char text[512];
};

struct config_report {
	struct config_problem problems[MAX_CONFIG_PROBLEMS];
	size_t count; /* all problems, including those beyond the room for texts */
};

/* Adds a problem; returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int
config_report_add(struct config_report *report, struct config_place place, const char *format, ...);

/* Number of entries in report->problems. */
size_t config_report_kept(const struct config_report *report);
