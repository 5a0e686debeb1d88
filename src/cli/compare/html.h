/* SPDX-License-Identifier: MIT
 *
 * cli/compare/html.h - the pages of duet diff
 */
#pragma once

struct cli_command;
struct diff_report;
struct series_report;

/* Both write a page into a file. Return a status; messages are printed. */
int diff_html_write(const struct cli_command *command, const struct diff_report *report,
		    const char *path);
int series_html_write(const struct cli_command *command, const struct series_report *report,
		      const char *path);
