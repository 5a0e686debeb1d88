/* SPDX-License-Identifier: MIT
 *
 * config/report.h - what is wrong with a configuration, and where
 */
#ifndef CONFIG_REPORT_H
#define CONFIG_REPORT_H

#include <stddef.h>

enum { CONFIG_PROBLEMS_MOST = 16 };

/* Both from 1; a column is a character, a tab too. Line 0: nowhere in the text. */
struct config_place {
	unsigned line, column;
};

struct config_problem {
	struct config_place place;
	char text[512];
};

struct config_report {
	struct config_problem problems[CONFIG_PROBLEMS_MOST];
	size_t count; /* of all, also of those for which there is no room */
};

/* Returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int
config_report_add(struct config_report *report, struct config_place place, const char *format, ...);

/* How many of report->problems there are. */
size_t config_report_kept(const struct config_report *report);

#endif
