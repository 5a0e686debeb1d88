/* SPDX-License-Identifier: MIT
 *
 * config/report.c - what is wrong with a configuration, and where
 *
 * Runs in:  our own process
 * Gets:     places and texts   Gives: a list of them
 * Owns:     nothing
 * Fails:    never; beyond 16 problems it only counts
 * Why:      a list and not the error chain: who mends a file wants to know all that is wrong with it at once, and the
 *           chain is one line
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

	if (report->count++ >= CONFIG_PROBLEMS_MOST)
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
	return report->count < CONFIG_PROBLEMS_MOST ? report->count : CONFIG_PROBLEMS_MOST;
}
