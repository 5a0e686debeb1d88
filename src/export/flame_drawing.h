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

#include "analyze/account.h"

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
	bool busy, idle, count, cpu, offcpu, stall;
};

/* "total", "gpu", "idle", "launch", "cpu", "offcpu", "stall"; NULL: there is no such view. */
const struct flame_view *drawing_find_view(const char *name);

/* … name NULL: the devices' whole time; where no device was used what its instructions waited for, else what threads
 * did. */
const struct flame_view *drawing_view(const char *name, const struct analysis *analysis);

/* Whether idle time of that cause is divided by what threads were seen to do in it. */
bool drawing_has_states(enum account_cause cause);

/* What of an analysis a stack of the graph stands for. */
enum drawing_kind {
	DRAWN_PATH,   /* of paths; part: the cause of idle time, DRAWN_BUSY */
	DRAWN_BEFORE, /* a device's idle time that no command owns; part: its cause */
	DRAWN_AFTER,
	DRAWN_STATE, /* of states; DRAWN_NOBODY: what is divided among them and was seen by nobody */
	DRAWN_INSTRUCTION, /* of instructions */
	DRAWN_LAUNCHES,    /* of launches; part: enum drawing_outcome */
	DRAWN_LOST,        /* launches that were lost */
	DRAWN_SAMPLE,      /* of samples */
	DRAWN_AWAY,        /* of aways */
	DRAWN_STALL,       /* of instructions, by their samples */
	DRAWN_KINDS
};
enum drawing_outcome { DRAWN_MATCHED, DRAWN_REJECTED, DRAWN_OPEN };
#define DRAWN_BUSY   CAUSE_COUNT
#define DRAWN_NOBODY UINT32_MAX

struct drawing_row {
	enum drawing_kind kind;
	uint32_t index, part;
	uint32_t device; /* of DRAWN_NOBODY, and then part is the cause */
};

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
	struct drawing_row row; /* what the stack is of */
	/* NULL: stacks go to the graph. Else each row is told with its stack, also rows that of the whole window have
	 * nothing; a kernel's time is told as its own, and its instructions with their weights. */
	int (*on_stack)(void *context, const struct drawing *drawing, uint64_t value);
	void *context;
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
