/* SPDX-License-Identifier: MIT
 *
 * ui/canvas.h - a rectangle of characters with styles, which a terminal or a file shows
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum canvas_style {
	STYLE_PLAIN,
	STYLE_TITLE,    /* the line at the top, the chosen tab */
	STYLE_HEADING,  /* heads of tables */
	STYLE_FAINT,    /* explanations */
	STYLE_KEY,      /* a key in a hint */
	STYLE_SELECTED, /* the chosen row */
	STYLE_KERNEL,   /* parts of bars */
	STYLE_COPY,
	STYLE_OTHER,
	STYLE_EMPTY,
	STYLE_CAUSE,   /* a cause of idle time */
	STYLE_WARNING, /* lost rows, messages */
	STYLE_COUNT
};

struct canvas_cell {
	uint32_t character; /* 0: the right half of a wide character */
	uint8_t style;      /* enum canvas_style */
};

struct canvas {
	struct canvas_cell *cells; /* owned; row by row */
	int rows, columns;
	bool is_ascii; /* the terminal has no UTF-8: other characters are replaced */
};

int canvas_init(struct canvas *canvas, int rows, int columns, bool is_ascii); /* -ENOMEM */
void canvas_fini(struct canvas *canvas);                                      /* NULL-safe */

/* Writes a text of UTF-8 into `width` columns from (row, column); a longer one is cut and ends with
 * "…". Parts outside of the canvas are not drawn. Returns the columns that it took. */
int canvas_put(struct canvas *canvas, int row, int column, int width, enum canvas_style style,
	       const char *text);
/* The same, at the right end of the width. A longer text loses its end. */
void canvas_put_right(struct canvas *canvas, int row, int column, int width,
		      enum canvas_style style, const char *text);
/* Gives the columns a style, and keeps their characters. */
void canvas_paint(struct canvas *canvas, int row, int column, int width, enum canvas_style style);

/* Part of a bar: a share of its width, from 0 to 1. */
struct canvas_part {
	double share;
	enum canvas_style style; /* STYLE_KERNEL, STYLE_COPY or STYLE_OTHER */
};
/* A part of half a percent is at least one column wide. */
void canvas_put_bar(struct canvas *canvas, int row, int column, int width,
		    const struct canvas_part *parts, size_t count);

/* Number of columns of a text. */
int canvas_text_width(const char *text);

/* Prints the rows without styles, and without blanks at their ends, as UTF-8. */
void canvas_print(const struct canvas *canvas, FILE *file);
