/* SPDX-License-Identifier: MIT
 *
 * config/report.c - a list of problems in a configuration file, with their places
 *
 * Runs in:  our own process
 * Gets:     places and texts
 * Gives:    the list
 * Owns:     nothing
 * Fails:    never; beyond 16 problems it only counts
 * Why:      the error chain is one line, but a user who corrects a file needs all problems at once
 */
#include "config/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int config_report_add(struct config_report *report, struct config_place place, const char *format,
		      ...)
{
	struct config_problem *problem;
	va_list arguments;

	if (report->count++ >= MAX_CONFIG_PROBLEMS)
		return -EINVAL;
	problem = &report->problems[report->count - 1];
	problem->place = place;
	va_start(arguments, format);
	vsnprintf(problem->text, sizeof(problem->text), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

size_t config_report_kept(const struct config_report *report)
{
	return report->count < MAX_CONFIG_PROBLEMS ? report->count : MAX_CONFIG_PROBLEMS;
}
