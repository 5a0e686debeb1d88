/* SPDX-License-Identifier: MIT
 *
 * export/flame_drawing.h - what the parts of duet flame share: flame_drawing.c makes the graph of an analysis,
 * flame_about.c says what it is of
 */
#ifndef EXPORT_FLAME_DRAWING_H
#define EXPORT_FLAME_DRAWING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct analysis;
struct device_code;
struct flame;
struct frames;
struct frames_options;
struct layers;
struct model;
struct string_builder;

#define DRAWING_ALL_DEVICES SIZE_MAX

struct flame_view {
	const char *name, *unit, *title;
	bool busy, idle, count, cpu, offcpu;
};

/* "total", "gpu", "idle", "launch", "cpu", "offcpu" */
bool drawing_is_view(const char *name);

/* One of them; NULL: the devices' whole time, or where no device was used what threads did. */
const struct flame_view *drawing_view(const char *name, const struct analysis *analysis);

struct drawing {
	const struct flame_view *view;
	const struct model *model;
	const struct analysis *analysis;
	struct frames *frames;
	struct device_code *code;
	struct layers *layers;
	struct flame *flame;
	uint64_t pid; /* only what this process launched or ran, of an analysis by_thread; 0: all */
	bool has_lines;  /* a frame for each line, not for each function */
	size_t device;   /* DRAWING_ALL_DEVICES, or the index of one */
	uint32_t *stack; /* frames of the graph, root first */
	size_t capacity, count;
};

/* Opens the names of its model. -ENOMEM in the error chain. */
int drawing_open(struct drawing *drawing, const struct frames_options *options);
/* Frees what it has but model and analysis; half-built-safe. */
void drawing_fini(struct drawing *drawing);

/* Fills the graph. Errors: -ENOMEM, and what flame_add fails with, in the error chain. */
int drawing_draw(struct drawing *drawing);

/* Of the values: "ns", "launches", or a perf event. */
const char *drawing_unit(const struct drawing *drawing);

bool drawing_shows(const struct drawing *drawing, size_t device);

/* ---- flame_about.c ---- */

/* Why nothing can be drawn: text for an error; NULL where something can. */
const char *drawing_refusal(const struct drawing *drawing);

/* The command line, and in a second line where, when, which window, which devices, how much. */
void drawing_describe(const struct drawing *drawing, struct string_builder *subtitle);

/* What somebody must know before reading the picture; nothing where all is there. */
void drawing_warn(const struct drawing *drawing, struct string_builder *warning);

#endif
