/* SPDX-License-Identifier: MIT
 *
 * flame/flame.h - stacks with values, written as folded text or as a flame graph in SVG
 *
 *	struct flame *flame = flame_new();
 *	uint32_t stack[] = {flame_frame(flame, "main", FLAME_HOST),
 *			    flame_frame(flame, "heat", FLAME_DEVICE)};
 *	flame_add(flame, stack, 2, 1250); // root first
 *	flame_write_svg(flame, &(struct flame_options){.title = "heat", .unit = "ns"}, file);
 *	flame_free(flame);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The class of a frame: its colour, its word in the legend and its suffix in folded text. */
enum flame_class {
	FLAME_HOST,
	FLAME_KERNEL,  /* _[k] */
	FLAME_JIT,     /* _[j] */
	FLAME_INLINED, /* _[i] */
	FLAME_PYTHON,
	FLAME_DEVICE,      /* _[G] */
	FLAME_INSTRUCTION, /* _[g] */
	FLAME_STALL,       /* _[g]; an instruction's stall reason */
	FLAME_SEPARATOR,   /* its name is always "-" */
	FLAME_IDLE,
	FLAME_TRUNCATED, /* its name is always "[truncated]" */
	FLAME_CLASS_COUNT
};

struct flame_diff;

/* All members may be 0: each has a default, given here. */
struct flame_options {
	const char *title;    /* "Flame graph" */
	const char *subtitle; /* none; lines separated by '\n', here and in the warning */
	const char *warning;  /* none; a warning above the picture, for example about losses */
	const char *unit;     /* "samples"; "ns" and "bytes" are also written as ms and MiB */
	uint32_t width_px;    /* 1200; 320 to 100000 */
	double min_width_px;  /* 0.1; narrower frames are counted in their parent, not drawn */
	bool is_icicle;       /* the root is at the top */
	bool has_lines;       /* boxes of Python functions are single lines */
	/* The label of a frame; the tooltip has the name. NULL: the name. */
	const char *(*shorten)(void *context, const char *name, enum flame_class frame_class);
	void *shorten_context;
	const struct flame_diff *diff; /* NULL; draws the changes of a graph of two recordings */
};

/* The name of FLAME_SEPARATOR in pictures and pages; folded text has "-". */
#define FLAME_SEPARATOR_LABEL "host | device"

struct flame;

struct flame *flame_new(void);        /* NULL: no memory */
void flame_free(struct flame *flame); /* NULL-safe */

/* The id of a frame, the same for the same name and class. The name is any bytes but NUL, without
 * the suffix of its class. UINT32_MAX: out of memory. */
uint32_t flame_frame(struct flame *flame, const char *name, enum flame_class frame_class);

/* Sets the text in the tooltip of a frame; copied. Only the first call for a frame has an effect.
 * Errors: -ENOMEM. */
int flame_note(struct flame *flame, uint32_t frame, const char *note);

/* Adds value to a stack of `count` frames, root first; values of equal stacks add up, and value 0
 * adds nothing. On failure nothing is added: -EINVAL without frames or with an unknown one,
 * -EOVERFLOW if the total would exceed 2^64 - 1, -ENOMEM. */
int flame_add(struct flame *flame, const uint32_t *frames_root_first, size_t count, uint64_t value);

/* The sum of all values added. */
uint64_t flame_total(const struct flame *flame);

/* Bytes of memory of the stacks and names; writing takes at most the same amount in addition. */
size_t flame_memory_bytes(const struct flame *flame);

/* Writes one line per stack: frames with ';' between, root first, a space, the value. Lines are
 * sorted by the frames' text; a stack comes before its extensions. In names, control bytes, ';',
 * '\' and invalid UTF-8 become \xNN; an empty name is a lone '\'. Errors: -errno with a message in
 * the error chain; flushed. */
int flame_write_folded(const struct flame *flame, FILE *out);

/* One self-contained SVG; options may be NULL. Equal stacks and options give equal bytes; the order
 * in which they were added does not matter. Errors: as above, and -EINVAL for options out of range.
 * */
int flame_write_svg(const struct flame *flame, const struct flame_options *options, FILE *out);
