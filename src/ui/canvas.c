/* SPDX-License-Identifier: MIT
 *
 * ui/canvas.c - draw texts and bars into a rectangle of characters
 *
 * Runs in:  our own process, in duet top
 * Gets:     texts, shares
 * Gives:    cells, or lines of text
 * Owns:     the cells
 * Fails:    -ENOMEM; what lies outside of the rectangle is not drawn
 * Why not in the terminal at once: tests compare what is drawn in 80 columns and in 200 without a
 *           terminal, and --batch prints the same lines
 */
#include "ui/canvas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/array.h"
#include "base/string.h"

enum { ELLIPSIS = 0x2026 };

#define LEAST_SHARE 0.005

int canvas_init(struct canvas *canvas, int rows, int columns, bool is_ascii)
{
	const size_t count = (size_t)rows * (size_t)columns;

	*canvas = (struct canvas){.rows = rows, .columns = columns, .is_ascii = is_ascii};
	canvas->cells = calloc(count + 1, sizeof(*canvas->cells));
	if (!canvas->cells)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		canvas->cells[i].character = ' ';
	return 0;
}

void canvas_fini(struct canvas *canvas)
{
	if (!canvas)
		return;
	free(canvas->cells);
	canvas->cells = NULL;
}

/* ---- characters ------------------------------------------------------------------------------ */

static const struct replacement {
	uint32_t character;
	char ascii;
} replacements[] = {{ELLIPSIS, '~'}, {0x2588, '#'}, {0x2593, '='}, {0x2592, '-'},
		    {0x00b7, '.'},   {0x2500, '-'}, {0x25bc, 'v'}, {0x25b2, '^'},
		    {0x2502, '|'},   {0x203a, '>'}, {0x2191, '^'}, {0x2193, 'v'},
		    {0x2190, '<'},   {0x2192, '>'}, {0x00b5, 'u'}, {0x2514, '`'}};

static uint32_t replace(const struct canvas *canvas, uint32_t character)
{
	if (!canvas->is_ascii || character < 0x80)
		return character;
	for (size_t i = 0; i < ARRAY_COUNT(replacements); i++)
		if (replacements[i].character == character)
			return (uint32_t)(unsigned char)replacements[i].ascii;
	return '?';
}

/* Columns of a character: 2 for wide ones, 0 for marks that stand above another. */
static int width_of(uint32_t character)
{
	const int width = character < 0x80 ? 1 : wcwidth((wchar_t)character);

	return width < 0 ? 1 : width;
}

/* The next character; malformed bytes and control characters are '?'. */
static uint32_t next_character(const char **at)
{
	const size_t left = strlen(*at);
	uint32_t character = '?';
	const int length = utf8_printable(*at, left);

	if (length > 0)
		utf8_decode(*at, left, &character);
	*at += length < 0 ? -length : length ? length : 1;
	return character;
}

int canvas_text_width(const char *text)
{
	int width = 0;

	while (*text)
		width += width_of(next_character(&text));
	return width;
}

static void set_cell(struct canvas *canvas, int row, int column, enum canvas_style style,
		     uint32_t character)
{
	if (row < 0 || row >= canvas->rows || column < 0 || column >= canvas->columns)
		return;
	canvas->cells[row * canvas->columns + column] =
		(struct canvas_cell){character ? replace(canvas, character) : 0, (uint8_t)style};
}

/* ---- texts ----------------------------------------------------------------------------------- */

int canvas_put(struct canvas *canvas, int row, int column, int width, enum canvas_style style,
	       const char *text)
{
	const bool is_cut = canvas_text_width(text) > width;
	int used = 0;

	if (width <= 0)
		return 0;
	while (*text) {
		const uint32_t character = next_character(&text);
		const int columns = width_of(character);

		if (used + columns > width - is_cut)
			break;
		if (!columns)
			continue;
		set_cell(canvas, row, column + used, style, character);
		if (columns == 2)
			set_cell(canvas, row, column + used + 1, style, 0);
		used += columns;
	}
	if (is_cut)
		set_cell(canvas, row, column + used++, style, ELLIPSIS);
	return used;
}

void canvas_put_right(struct canvas *canvas, int row, int column, int width,
		      enum canvas_style style, const char *text)
{
	const int needed = canvas_text_width(text), left = needed < width ? width - needed : 0;

	canvas_put(canvas, row, column + left, width - left, style, text);
}

void canvas_paint(struct canvas *canvas, int row, int column, int width, enum canvas_style style)
{
	for (int i = 0; i < width; i++)
		if (row >= 0 && row < canvas->rows && column + i >= 0 &&
		    column + i < canvas->columns)
			canvas->cells[row * canvas->columns + column + i].style = (uint8_t)style;
}

/* ---- bars ------------------------------------------------------------------------------------ */

static uint32_t bar_character(enum canvas_style style)
{
	return style == STYLE_KERNEL ? 0x2588 : style == STYLE_COPY ? 0x2593 : 0x2592;
}

/* Rounded, but half a percent is seen. */
static int columns_of(double share, int width, int used)
{
	int columns = (int)(share * width + 0.5);

	if (share >= LEAST_SHARE && columns == 0)
		columns = 1;
	return columns > width - used ? width - used : columns;
}

void canvas_put_bar(struct canvas *canvas, int row, int column, int width,
		    const struct canvas_part *parts, size_t count)
{
	int used = 0;

	for (size_t i = 0; i < count; i++) {
		const int columns = columns_of(parts[i].share, width, used);

		for (int j = 0; j < columns; j++)
			set_cell(canvas, row, column + used + j, parts[i].style,
				 bar_character(parts[i].style));
		used += columns;
	}
	for (; used < width; used++)
		set_cell(canvas, row, column + used, STYLE_EMPTY, 0x00b7);
}

/* ---- a file ---------------------------------------------------------------------------------- */

static void print_row(const struct canvas *canvas, int row, FILE *file)
{
	const struct canvas_cell *cells = &canvas->cells[row * canvas->columns];
	struct string_builder text = {0};
	int used = canvas->columns;

	while (used && cells[used - 1].character == ' ')
		used--;
	for (int i = 0; i < used; i++)
		if (cells[i].character)
			string_builder_append_character(&text, cells[i].character);
	fprintf(file, "%s\n", string_builder_text(&text));
	string_builder_fini(&text);
}

void canvas_print(const struct canvas *canvas, FILE *file)
{
	for (int row = 0; row < canvas->rows; row++)
		print_row(canvas, row, file);
}
