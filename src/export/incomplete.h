/* SPDX-License-Identifier: MIT
 *
 * export/incomplete.h - what is missing in a trace, in one line
 */
#ifndef EXPORT_INCOMPLETE_H
#define EXPORT_INCOMPLETE_H

#include <stddef.h>

struct analysis;
struct analysis_device;
struct model;

struct incomplete {
	char text[512]; /* "" where nothing is missing */
};

/* "3 commands in flight at exit; 131 rows lost; 1 chunk left out; the file ends early" */
struct incomplete incomplete_analysis(const struct analysis *analysis);

/* The same as far as the rows that were read so far tell: for exporters, which count no commands. */
struct incomplete incomplete_model(const struct model *model);

/* Why a device that got commands has no account. */
const char *incomplete_unmeasured(const struct analysis *analysis,
				  const struct analysis_device *device);

#endif
