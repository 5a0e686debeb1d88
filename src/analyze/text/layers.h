/* SPDX-License-Identifier: MIT
 *
 * analyze/text/layers.h - determines the software layer of a stack: Python, own code, libraries,
 * runtime, driver
 *
 * A layer is a word: "python", "own", "framework", "runtime", "driver", "duet", "system", "kernel",
 * "unknown", or one that the user defines. The layer of a stack is that of its innermost frame with
 * a layer. docs/design/findings.md defines the layers of frames.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct analysis;
struct layers;
struct model;

/* model must outlive it. -ENOMEM. */
int layers_new(const struct model *model, struct layers **ret_layers);
void layers_free(struct layers *layers); /* NULL-safe */

/* Reads rules from a file; they precede duet's own rules. Each line is "LAYER GLOB", where GLOB is
 * an fnmatch(3) pattern for module paths. '#' starts a comment. Errors have a text in the error
 * chain: those of the system, and -EINVAL with the number of an invalid line. */
int layers_read(struct layers *layers, const char *path);

/* Finds the part of a stack that called into a runtime: the frames outside all frames of runtimes,
 * drivers and duet's guests. *ret_caller is 0 if there are no such frames, or none outside them.
 * Errors: -ENOMEM. */
int layers_caller_of_runtime(struct layers *layers, uint32_t stack, uint32_t *ret_caller);

/* The layer's text for users: "Python", "own code", …; for a user's layer the word itself. */
const char *layers_text(const char *layer);

/* Samples of a process's threads in one layer. */
struct layers_row {
	size_t process;    /* index into the analysis */
	bool is_launching; /* true: threads that launched a command; false: all others */
	/* name of the perf event; only sources that measure time */
	const char *source;
	const char *layer;
	uint64_t samples;
	uint64_t weight; /* in analysis_source_unit(source) */
	uint64_t all;    /* total weight of the same process, is_launching and source */
};

/* Sums the samples of an analysis by layer. Sorted by process, launching threads first, source,
 * then falling weight. The caller frees *ret_rows. Errors: -ENOMEM. */
int layers_divide(struct layers *layers, const struct analysis *analysis,
		  struct layers_row **ret_rows, size_t *ret_count);
