/* SPDX-License-Identifier: MIT
 *
 * analyze/layers.h - to which layer of the software a stack belongs: Python, own code, libraries, runtime, driver
 *
 * A layer is a word ("python", "own", "framework", "runtime", "driver", "duet", "system", "kernel", "unknown", or one
 * that the user made up). A stack belongs to that of its innermost frame that has one; docs/design/findings.md says how
 * frames get theirs.
 */
#ifndef ANALYZE_LAYERS_H
#define ANALYZE_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct analysis;
struct layers;
struct model;

/* model must outlive it. -ENOMEM. */
int layers_new(const struct model *model, struct layers **ret_layers);
void layers_free(struct layers *layers); /* NULL-safe */

/* Adds the rules of a file, which come before duet's own: lines "LAYER GLOB", a glob for paths of modules as fnmatch(3)
 * takes it; '#' begins a comment. Errors with a text in the error chain: what the system says, -EINVAL for a line that
 * is none, with its number. */
int layers_read(struct layers *layers, const char *path);

/* "unknown" where no frame has a layer. NULL: out of memory. Lives as long as the layers. */
const char *layers_of_stack(struct layers *layers, uint32_t stack);

/* The stack that called into a runtime: what lies further out than all frames of runtimes, drivers and duet's guests.
 * *ret_caller is 0 where there is no such frame, or nothing outside of it. -ENOMEM. */
int layers_caller_of_runtime(struct layers *layers, uint32_t stack, uint32_t *ret_caller);

/* "Python", "own code", … for people; the word itself of one that the user made up. */
const char *layers_text(const char *layer);

/* What threads of a process were found running in. */
struct layers_row {
	size_t process;    /* index into the analysis */
	bool is_launching; /* threads that launched a command, else the others */
	const char
		*source; /* the event as perf names it; only those that come where the time goes */
	const char *layer;
	uint64_t samples;
	uint64_t weight; /* in analysis_source_unit(source) */
	uint64_t all;    /* of the same process, threads and source */
};

/* The samples of an analysis by layer, in the order of process, threads, source, and then the most first; freed by the
 * caller. -ENOMEM. */
int layers_divide(struct layers *layers, const struct analysis *analysis,
		  struct layers_row **ret_rows, size_t *ret_count);

#endif
