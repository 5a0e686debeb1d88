/* SPDX-License-Identifier: MIT
 *
 * cli/top/explain.h - sentences for the user of duet top
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct top_missing {
	const char *pids;    /* the value of -p; NULL: every process that we may read */
	const char *collect; /* names of collectors; NULL: the default ones */
	pid_t own;           /* the recorder; not looked at without pids */
};

/* Why a process has no recorded device: its reason for the first runtime. "": no reason is known.
 */
void top_explain_missing(const struct top_missing *missing, char *ret_text, size_t size);

/* A message of the recorder, for a screen that shows the present: ret_text is that message unless
 * it is about calls that another recorder has first. Returns whether it is. */
bool top_explain_message(const char *message, char *ret_text, size_t size);
