/* SPDX-License-Identifier: MIT
 *
 * flame/drawing.h - shared by the parts of duet flame: drawing.c makes the graph of an analysis,
 * about.c its description
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/account/account.h"
#include "flame/flame.h"

struct analysis;
struct device_code;
struct flame;
struct frames;
struct frames_options;
struct layers;
struct model;
struct short_names;
struct string_builder;

#define DRAWING_ALL_DEVICES     SIZE_MAX
#define DRAWING_NO_PROCESS      0          /* the time belongs to no process */
#define DRAWING_UNKNOWN_PROCESS UINT32_MAX /* its process is not known */

struct flame_view {
	const char *name, *unit, *title;
	bool busy, idle, count, cpu, offcpu, stall;
};

/* "total", "gpu", "idle", "launch", "cpu", "offcpu", "stall"; NULL: there is no such view. */
const struct flame_view *drawing_find_view(const char *name);

/* name NULL: the devices' whole time; if no device was used, the stalls of its instructions,
 * otherwise the threads' activity. */
const struct flame_view *drawing_view(const char *name, const struct analysis *analysis);

/* The part of an analysis that a stack of the graph represents. */
enum drawing_kind {
	DRAWN_PATH,   /* index of paths; part: the cause of idle time, or DRAWN_BUSY */
	DRAWN_BEFORE, /* a device's idle time outside all commands; part: its cause */
	DRAWN_AFTER,
	DRAWN_STATE, /* index of states, or DRAWN_UNSAMPLED: time without samples, divided among the
			states */
	DRAWN_INSTRUCTION, /* index of instructions */
	DRAWN_LAUNCHES,    /* index of launches; part: enum drawing_outcome */
	DRAWN_LOST,        /* launches that were lost */
	DRAWN_SAMPLE,      /* index of samples */
	DRAWN_AWAY,        /* index of aways */
	DRAWN_STALL,       /* index of instructions, by number of samples */
	DRAWN_KINDS
};
enum drawing_outcome { DRAWN_MATCHED, DRAWN_REJECTED, DRAWN_OPEN };
#define DRAWN_BUSY      CAUSE_COUNT
#define DRAWN_UNSAMPLED UINT32_MAX

struct drawing_row {
	enum drawing_kind kind;
	uint32_t index, part;
	uint32_t device; /* for DRAWN_UNSAMPLED, with analysis_state_group in part */
};

struct drawing {
	const struct flame_view *view;
	const struct model *model;
	const struct analysis *analysis;
	struct frames *frames;
	struct device_code *code;
	struct layers *layers;
	/* labels of kernels and functions; NULL until drawing_shorten */
	struct short_names *short_kernels, *short_functions;
	struct flame *flame;
	/* only launches and threads of this process (the analysis needs by_thread); 0: all */
	uint64_t pid;
	const char *event; /* the view cpu draws the samples of this event; NULL: source_of */
	bool has_lines;    /* a frame for each line, not for each function */
	/* Frames have no pids, addresses and, without has_lines, no lines, so that the same code
	 * has the same frames in another recording. */
	bool is_compared;
	/* The first frame of a stack is its process; the analysis needs by_thread. Not for views
	 * that have process frames anyway (stall). */
	bool has_processes;
	uint32_t process; /* id of the current row's process, or one of the following */
	size_t device;    /* DRAWING_ALL_DEVICES, or the index of one */
	uint32_t *stack;  /* frames of the graph, root first */
	size_t capacity, count;
	uint32_t *drawn; /* by 2 * number of a name + has_lines: 1 + its frame of the graph; 0: not
			    known yet */
	size_t drawn_capacity;
	struct drawing_row row; /* the item that the stack represents */
	/* NULL: stacks are added to the graph. Otherwise it is called for each row with its stack,
	 *       even if the row has no time in the window. A kernel then gets its own time, and its
	 *       instructions get their weights. */
	int (*on_stack)(void *context, const struct drawing *drawing, uint64_t value);
	void *context;
};

/* Opens the names of its model. -ENOMEM in the error chain. */
int drawing_open(struct drawing *drawing, const struct frames_options *options);
/* Frees everything except model and analysis; accepts a half-built drawing. */
void drawing_fini(struct drawing *drawing);

/* Fills the graph. Errors: -ENOMEM, and what flame_add fails with, in the error chain. */
int drawing_draw(struct drawing *drawing);

/* Makes the labels of the graph that was drawn. Errors: -ENOMEM in the error chain. */
int drawing_shorten(struct drawing *drawing);
/* The label of a frame, for flame_options. context: the drawing. */
const char *drawing_label(void *context, const char *name, enum flame_class frame_class);

/* The unit of the values: "ns", "launches", or a perf event. */
const char *drawing_unit(const struct drawing *drawing);

bool drawing_shows(const struct drawing *drawing, size_t device);

/* ---- flame/about.c ---- */

/* The reason why nothing can be drawn, as text for an error; NULL if something can. */
const char *drawing_refusal(const struct drawing *drawing);

/* Draws samples of this event only; NULL: the default. Errors: -ENODATA with the existing events in
 * the text, -EINVAL if the view draws no CPU samples. */
int drawing_choose_event(struct drawing *drawing, const char *event);

/* The command line, and in a second line host, time, window, devices and total. */
void drawing_describe(const struct drawing *drawing, struct string_builder *subtitle);

/* A warning about incomplete data; nothing if the data is complete. */
void drawing_warn(const struct drawing *drawing, struct string_builder *warning);
