/* SPDX-License-Identifier: MIT
 *
 * cli/view/run.h - one run of a page: its trace, analysis and tracks
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/text/incomplete.h"
#include "flame/drawing.h"

struct analysis;
struct cli_command;
struct model;
struct view;
struct view_about;

struct view_run {
	const char *path;   /* the trace */
	const char *output; /* NULL: stdout */
	uint64_t from_ns, to_ns;
	bool full_names;
	struct model *model;
	struct analysis *analysis;
	struct drawing drawing; /* has the names of frames and the runtimes' layers */
	struct view *view;
	struct incomplete incomplete;
};

/* Reads the trace into the tracks. The caller frees the run after a failure too. Errors: -errno
 * with the error chain. */
int view_run_analyze(struct view_run *run);
void view_run_fini(struct view_run *run);

/* Describes an analyzed run, which must stay where it is. title NULL: the command. */
void view_run_describe(struct view_run *run, const char *title, uint64_t max_bytes,
		       struct view_about *ret_about);
/* Prints what is missing in the trace and in its names. */
void view_run_print_notes(const struct cli_command *command, const struct view_run *run);
