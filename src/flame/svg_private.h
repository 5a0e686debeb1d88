/* SPDX-License-Identifier: MIT
 *
 * flame/svg_private.h - the picture that the files of flame_write_svg share: svg.c, svg_text.c and
 * diff/picture.c
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"
#include "flame/colour.h"
#include "flame/flame.h"
#include "flame/layout.h"
#include "flame/output.h"

struct flame_change_list;

#define SVG_PAD  10u  /* px beside the boxes; flame.js has the same numbers */
#define SVG_ROW  17u  /* px from row to row */
#define SVG_BOX  16u  /* px of a box */
#define SVG_LINE 18u  /* px from line to line above the boxes */
#define SVG_CELL 7.23 /* px of a character in 12 px of most fixed-width fonts, rounded up */

/* The appearance of a frame in all its boxes. text has only visible characters and is not escaped
 * for XML. */
struct svg_look {
	char *text, *xml;
	char *label; /* NULL: the text */
	uint32_t shade;
	uint32_t long_index; /* 1 + its index of long names; 0: short name */
	uint32_t note_index; /* 1 + its index of notes; 0: no note */
};

struct svg {
	const struct flame *flame;
	struct flame_options options; /* with defaults filled in */
	struct flame_layout layout;
	struct svg_look *looks; /* by frame; text NULL: not drawn */
	uint32_t *long_frames;
	size_t long_capacity;
	uint32_t long_count;
	const struct flame_note **notes; /* of drawn frames; borrowed */
	size_t notes_capacity;
	uint32_t notes_count;
	bool is_used[FLAME_CLASS_COUNT][FLAME_MAX_SHADES];
	uint32_t head_px;                  /* height above the boxes */
	struct flame_change_list *changes; /* by kind; NULL: one recording */
	struct string_builder text;
	struct flame_output output;
};

/* ---- flame/svg_text.c ---- */

/* Writes the built text and empties the builder. */
void svg_flush(struct svg *svg);

/* Appends text with its characters made visible and escaped for XML. */
void svg_append_text(struct svg *svg, const char *text);
/* Appends the start of a text, with an ellipsis if it does not fit into `cells` columns. */
void svg_append_cut(struct svg *svg, const char *text, size_t size, size_t cells);
/* Appends "1.235 ms (1,234,567 ns)". */
void svg_append_value(struct svg *svg, uint64_t value);
void svg_append_attribute(struct svg *svg, const char *name, const char *value);

/* Writes a line of the head for each line of the text, cut to the picture's width. */
void svg_write_line(struct svg *svg, const char *style_class, const char *text, uint32_t *y);

/* Writes an entry of the legend at *x, *y, or in a new line if it does not fit. */
void svg_write_legend_entry(struct svg *svg, const char *style_class, const char *before,
			    const char *word, uint32_t *x, uint32_t *y);
