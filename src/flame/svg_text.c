/* SPDX-License-Identifier: MIT
 *
 * flame/svg_text.c - the texts of a flame graph in SVG: values, lines of the head, the legend
 *
 * Runs in:  our own process
 * Gets:     texts from the trace, any bytes
 * Gives:    escaped texts in the picture's builder
 * Owns:     nothing
 * Fails:    the builder keeps -ENOMEM
 * Why apart from svg.c: the list of changes (diff/picture.c) has the same texts
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flame/escape.h"
#include "flame/svg_private.h"

void svg_flush(struct svg *svg)
{
	flame_output_bytes(&svg->output, svg->text.text, svg->text.length);
	string_builder_clear(&svg->text);
}

void svg_append_text(struct svg *svg, const char *text)
{
	struct string_builder shown = {0};

	if (*text)
		flame_escape_shown(&shown, (struct flame_text){text, strlen(text)});
	flame_escape_xml(&svg->text, string_builder_text(&shown), shown.length);
	if (shown.error)
		svg->text.error = shown.error;
	string_builder_fini(&shown);
}

void svg_append_cut(struct svg *svg, const char *text, size_t size, size_t cells)
{
	size_t fit = flame_fit(text, size, cells);
	char *start = strndup(text, fit < size ? flame_fit(text, size, cells - 1) : size);

	if (!start) {
		svg->text.error = -ENOMEM;
		return;
	}
	svg_append_text(svg, start);
	if (fit < size)
		string_builder_append(&svg->text, "\342\200\246");
	free(start);
}

void svg_append_value(struct svg *svg, uint64_t value)
{
	const char *unit = svg->options.unit;
	struct string_builder text = {0};

	flame_format_human(&text, value, unit);
	if ((strcmp(unit, "ns") == 0 && value >= 1000) || value >= 1024) {
		string_builder_append(&text, " (");
		flame_format_exact(&text, value, unit);
		string_builder_append_char(&text, ')');
	}
	svg_append_text(svg, string_builder_text(&text));
	svg->text.error = text.error ? text.error : svg->text.error;
	string_builder_fini(&text);
}

void svg_append_attribute(struct svg *svg, const char *name, const char *value)
{
	string_builder_appendf(&svg->text, " %s=\"", name);
	svg_append_text(svg, value);
	string_builder_append_char(&svg->text, '"');
}

void svg_write_line(struct svg *svg, const char *style_class, const char *text, uint32_t *y)
{
	size_t cells = (size_t)((svg->options.width_px - 2 * SVG_PAD) / SVG_CELL);

	while (text && *text) {
		size_t length = strcspn(text, "\n");

		*y += SVG_LINE;
		string_builder_appendf(&svg->text, "<text class=\"%s\" x=\"%u\" y=\"%u\">",
				       style_class, SVG_PAD, *y);
		svg_append_cut(svg, text, length, cells);
		string_builder_append(&svg->text, "</text>\n");
		text += length + (text[length] == '\n');
	}
}

void svg_write_legend_entry(struct svg *svg, const char *style_class, const char *before,
			    const char *word, uint32_t *x, uint32_t *y)
{
	uint32_t width = 34 + (uint32_t)(strlen(before) + strlen(word)) * 7;

	if (*x > SVG_PAD && *x + width > svg->options.width_px - SVG_PAD) {
		*x = SVG_PAD;
		*y += SVG_LINE;
	}
	string_builder_appendf(&svg->text,
			       "<g transform=\"translate(%u,%u)\"><rect class=\"%s\" "
			       "width=\"13\" height=\"13\"/><text x=\"18\" "
			       "y=\"11\">%s%s</text></g>\n",
			       *x, *y, style_class, before, word);
	*x += width;
}
