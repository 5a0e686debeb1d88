/* SPDX-License-Identifier: MIT
 *
 * flame/svg.c - a flame graph as one SVG file that a browser opens
 *
 * Runs in:  our own process
 * Gets:     a flame and options
 * Gives:    SVG with its style and its script (flame.js) inside
 * Owns:     during a call, the boxes and the text of each drawn frame
 * Fails:    -EINVAL (options), -ENOMEM, the file's errors
 * Why the script reads values and not positions: after a zoom by 1000 a position rounded to 0.01
 *           pixels is wrong by 10 pixels. So the script computes positions from data-v, which is
 *           exact. The attributes x and width are for viewers without scripts.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "flame/colour.h"
#include "flame/diff/diff.h"
#include "flame/diff/picture.h"
#include "flame/escape.h"
#include "flame/layout.h"
#include "flame/output.h"
#include "flame/script.h"
#include "flame/svg_private.h"
#include "flame/tree.h"

#define MIN_LABEL_CELLS 3      /* a shorter label is useless */
#define TITLE_BYTES     256u   /* max name in a box's title; longer names are stored once */
#define NAME_BYTES      16384u /* max name */

static void svg_fini(struct svg *svg)
{
	for (uint32_t i = 0; svg->looks && i < svg->flame->frames_count; i++) {
		free(svg->looks[i].text);
		free(svg->looks[i].xml);
		free(svg->looks[i].label);
	}
	free(svg->looks);
	free(svg->long_frames);
	free(svg->notes);
	free(svg->changes);
	flame_layout_fini(&svg->layout);
	string_builder_fini(&svg->text);
	flame_output_fini(&svg->output);
}

/* Appends escaped text, cut between characters if it is longer than limit bytes. */
static char *bounded_xml(const char *text, size_t limit)
{
	struct string_builder xml = {0};
	size_t size = strlen(text), fit = size <= limit ? size : limit;

	while (fit < size && fit && ((unsigned char)text[fit] & 0xc0) == 0x80)
		fit--;
	flame_escape_xml(&xml, text, fit);
	if (fit < size)
		string_builder_append(&xml, "\342\200\246");
	return string_builder_take(&xml);
}

static int look_at_note(struct svg *svg, uint32_t frame)
{
	const struct flame_note *note = flame_find_note(svg->flame, frame);

	if (!note)
		return 0;
	if (array_append(svg->notes, svg->notes_capacity, svg->notes_count, note))
		return -ENOMEM;
	svg->looks[frame].note_index = svg->notes_count;
	return 0;
}

static int look_at_label(struct svg *svg, uint32_t frame, const char *name)
{
	const struct flame_options *options = &svg->options;
	const enum flame_class class = svg->flame->frames[frame].frame_class;
	const char *label =
		options->shorten ? options->shorten(options->shorten_context, name, class) : name;
	struct string_builder shown = {0};

	if (strcmp(label, name) == 0)
		return 0;
	flame_escape_shown(&shown, (struct flame_text){label, strlen(label)});
	svg->looks[frame].label = string_builder_take(&shown);
	return svg->looks[frame].label ? 0 : -ENOMEM;
}

static int look_at(struct svg *svg, uint32_t frame)
{
	struct svg_look *look = &svg->looks[frame];
	const enum flame_class frame_class = svg->flame->frames[frame].frame_class;
	struct flame_text name = flame_frame_name(svg->flame, frame);
	struct string_builder shown = {0};

	look->shade = flame_shade(frame_class, name);
	svg->is_used[frame_class][look->shade] = true;
	if (frame_class == FLAME_SEPARATOR)
		name = (struct flame_text){FLAME_SEPARATOR_LABEL, strlen(FLAME_SEPARATOR_LABEL)};
	flame_escape_shown(&shown, name);
	look->text = string_builder_take(&shown);
	look->xml = look->text ? bounded_xml(look->text, TITLE_BYTES) : NULL;
	if (!look->xml || look_at_note(svg, frame) || look_at_label(svg, frame, name.bytes))
		return -ENOMEM;
	if (strlen(look->text) <= TITLE_BYTES)
		return 0;
	if (array_append(svg->long_frames, svg->long_capacity, svg->long_count, frame))
		return -ENOMEM;
	look->long_index = svg->long_count;
	return 0;
}

static int look_at_frames(struct svg *svg)
{
	const struct flame_layout *layout = &svg->layout;
	int error = 0;

	svg->looks = calloc(svg->flame->frames_count + (size_t)1, sizeof(*svg->looks));
	if (!svg->looks)
		return -ENOMEM;
	for (uint32_t i = 1; i < layout->boxes_count && !error; i++) {
		if (!svg->looks[layout->boxes[i].frame].text)
			error = look_at(svg, layout->boxes[i].frame);
	}
	return error;
}

static const char style_head[] =
	"<style>\n"
	"svg{color-scheme:light dark}\n"
	"text{font:12px system-ui,-apple-system,\"Segoe UI\",\"DejaVu Sans\",sans-serif;"
	"fill:#161616}\n"
	"#frames text{font-family:ui-monospace,\"DejaVu Sans Mono\",\"Liberation Mono\",Menlo,"
	"Consolas,monospace;pointer-events:none}\n"
	".page{fill:#fff}\n"
	"text.title{font-size:17px;font-weight:600}\n"
	"text.dim{fill:#555}\n"
	"text.warning{fill:#a11212;font-weight:600}\n"
	".r{fill:#d4d4d4}\n";

static const char style_dark[] = "@media (prefers-color-scheme:dark){\n"
				 "text{fill:#f4f4f4}\n"
				 ".page{fill:#141414}\n"
				 "text.dim{fill:#b4b4b4}\n"
				 "text.warning{fill:#ff9c92}\n"
				 ".r{fill:#484848}\n";

static void write_colours(struct svg *svg, bool is_dark)
{
	if (svg->options.diff) {
		svg_write_change_style(svg, is_dark);
		return;
	}
	for (uint32_t i = 0; i < FLAME_CLASS_COUNT; i++) {
		for (uint32_t j = 0; j < flame_shades(i); j++) {
			if (svg->is_used[i][j])
				string_builder_appendf(&svg->text, ".%c%u{fill:#%06x}\n",
						       flame_class_letter(i), j,
						       flame_colour(i, j, is_dark));
		}
	}
}

static void write_style(struct svg *svg)
{
	string_builder_append(&svg->text, style_head);
	write_colours(svg, false);
	string_builder_append(&svg->text, style_dark);
	write_colours(svg, true);
	string_builder_append(&svg->text, "}\n</style>\n");
}

static void write_class_entry(struct svg *svg, enum flame_class frame_class, uint32_t shade,
			      uint32_t *x, uint32_t *y)
{
	char style_class[16];

	snprintf(style_class, sizeof(style_class), "%c%u", flame_class_letter(frame_class), shade);
	svg_write_legend_entry(svg, style_class,
			       flame_shade_has_cause(frame_class, shade) ? "idle: " : "",
			       flame_shade_word(frame_class, shade), x, y);
}

/* Writes the legend: the classes that are drawn, each in the first shade used; of idle time each
 * cause. */
static void write_legend(struct svg *svg, uint32_t *y)
{
	uint32_t x = SVG_PAD, top = *y + 6;

	string_builder_append(&svg->text, "<g id=\"legend\">\n");
	if (svg->options.diff)
		svg_write_change_legend(svg, &x, &top);
	for (uint32_t i = 0; i < FLAME_CLASS_COUNT && !svg->options.diff; i++) {
		for (uint32_t shade = 0; shade < flame_shades(i); shade++) {
			if (!svg->is_used[i][shade])
				continue;
			write_class_entry(svg, i, shade, &x, &top);
			if (!flame_has_shade_words(i))
				break;
		}
	}
	string_builder_append(&svg->text, "</g>\n");
	*y = top + 13;
}

/* Writes the lines above the boxes; their number gives the start of the boxes. The script shows the
 * path to a zoomed frame in the last line. */
static void write_head(struct svg *svg)
{
	uint32_t y = 26;

	string_builder_append(&svg->text, "<g id=\"head\">\n");
	string_builder_appendf(&svg->text, "<text class=\"title\" x=\"%u\" y=\"%u\">", SVG_PAD, y);
	svg_append_text(svg, svg->options.title);
	string_builder_append(&svg->text, "</text>\n");
	svg_write_line(svg, "dim", svg->options.subtitle, &y);
	svg_write_line(svg, "warning", svg->options.warning, &y);
	write_legend(svg, &y);
	y += SVG_LINE + 2;
	string_builder_appendf(&svg->text, "<g id=\"trail\"><text x=\"%u\" y=\"%u\">all: ", SVG_PAD,
			       y);
	svg_append_value(svg, svg->flame->total);
	string_builder_append(&svg->text, "</text></g>\n</g>\n");
	svg->head_px = y + 8;
}

/* The y at which the lists of changes start. */
static uint32_t changes_y(const struct svg *svg)
{
	return svg->head_px + (svg->layout.depth + 1) * SVG_ROW + SVG_PAD;
}

static void write_begin(struct svg *svg)
{
	const struct flame_options *options = &svg->options;
	uint32_t height = changes_y(svg) + svg_changes_height(svg);

	string_builder_appendf(
		&svg->text,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%u\" "
		"height=\"%u\" viewBox=\"0 0 %u %u\" role=\"img\"",
		options->width_px, height, options->width_px, height);
	svg_append_attribute(svg, "aria-label", options->title);
	svg_append_attribute(svg, "data-unit", options->unit);
	string_builder_appendf(&svg->text,
			       " data-schema=\"duet.flame/1\" data-total=\"%llu\" data-rows=\"%u\" "
			       "data-head=\"%u\" data-min=\"%g\"%s%s%s>\n<title>",
			       (unsigned long long)svg->flame->total, svg->layout.depth + 1,
			       svg->head_px, options->min_width_px,
			       options->is_icicle ? " data-icicle=\"1\"" : "",
			       options->has_lines ? " data-lines=\"1\"" : "",
			       !options->diff              ? ""
			       : options->diff->is_of_base ? " data-diff=\"base\""
							   : " data-diff=\"new\"");
	svg_append_text(svg, options->title);
	string_builder_append(&svg->text, "</title>\n");
}

static uint64_t hundredths(const struct svg *svg, uint64_t value)
{
	double plot = svg->options.width_px - 2.0 * SVG_PAD;

	return (uint64_t)llround(100.0 * plot * (double)value / (double)svg->flame->total);
}

static uint32_t row_y(const struct svg *svg, uint32_t depth)
{
	uint32_t row = svg->options.is_icicle ? depth : svg->layout.depth - depth;

	return svg->head_px + row * SVG_ROW;
}

static void write_attribute(struct flame_output *output, const char *name, uint64_t value)
{
	flame_output_text(output, name);
	flame_output_hundredths(output, value);
	flame_output_bytes(output, "\"", 1);
}

/* The script, and viewers without scripts, use all lines but the last one as the name. */
static void write_title(struct svg *svg, uint32_t index)
{
	const struct flame_box *box = &svg->layout.boxes[index];
	bool is_cut = box->depth && svg->flame->frames[box->frame].frame_class == FLAME_TRUNCATED;
	struct string_builder share = {0};

	string_builder_append_char(&svg->text, '\n');
	svg_append_value(svg, box->value);
	string_builder_append(&svg->text, ", ");
	flame_format_share(&share, box->value, svg->flame->total);
	svg_append_text(svg, string_builder_text(&share));
	svg->text.error = share.error ? share.error : svg->text.error;
	string_builder_fini(&share);
	string_builder_append(&svg->text, " of the total");
	if (svg->options.diff) {
		string_builder_append(&svg->text, "; ");
		svg_append_change(svg, index);
	}
	if (is_cut)
		string_builder_append(&svg->text, "; stands for frames that are not known, or were "
						  "left out of a very deep stack");
	string_builder_append(&svg->text, "</title>");
	svg_flush(svg);
}

/* Cuts a label to its box for viewers without scripts; the script cuts it again. */
static void write_label(struct svg *svg, const char *text, uint64_t x, uint64_t width, uint32_t y)
{
	size_t size = strlen(text), cells = 0, fit;

	if (width > 600)
		cells = (size_t)(((double)width / 100 - 6) / SVG_CELL);
	if (cells < MIN_LABEL_CELLS)
		return;
	fit = flame_fit(text, size, cells);
	if (fit < size)
		fit = flame_fit(text, size, cells - 1);
	write_attribute(&svg->output, "<text x=\"", x + 300);
	write_attribute(&svg->output, " y=\"", (y + 12) * (uint64_t)100);
	flame_output_bytes(&svg->output, ">", 1);
	flame_escape_xml(&svg->text, text, fit);
	if (fit < size)
		string_builder_append(&svg->text, "\342\200\246");
	string_builder_append(&svg->text, "</text>");
	svg_flush(svg);
}

/* A gap of at most 0.6 px, and of at most a quarter of the box, separates neighbours of the same
 * colour. */
static uint64_t gap(uint64_t width)
{
	return width / 4 < 60 ? width / 4 : 60;
}

static void write_rect(struct svg *svg, uint32_t index, const struct svg_look *look, uint64_t x,
		       uint64_t width)
{
	const struct flame_box *box = &svg->layout.boxes[index];
	struct flame_output *output = &svg->output;
	char letter = 'r';

	if (look)
		letter = flame_class_letter(svg->flame->frames[box->frame].frame_class);
	flame_output_text(output, "<rect class=\"");
	flame_output_bytes(output, &letter, 1);
	if (svg->options.diff) {
		flame_output_text(output, " c");
		flame_output_u64(output, svg_change_class(svg, index));
	} else if (look) {
		flame_output_u64(output, look->shade);
	}
	write_attribute(output, "\" x=\"", x);
	write_attribute(output, " y=\"", row_y(svg, box->depth) * (uint64_t)100);
	write_attribute(output, " width=\"", width - gap(width));
	write_attribute(output, " height=\"", SVG_BOX * 100);
	flame_output_text(output, "/>");
}

static void write_box(struct svg *svg, uint32_t index)
{
	const struct flame_box *box = &svg->layout.boxes[index];
	const struct svg_look *look = index ? &svg->looks[box->frame] : NULL;
	struct flame_output *output = &svg->output;
	uint64_t left = hundredths(svg, box->start);
	uint64_t width = hundredths(svg, box->start + box->value) - left;

	flame_output_text(output, "<g data-v=\"");
	flame_output_u64(output, box->value);
	if (svg->options.diff) {
		flame_output_text(output, "\" data-o=\"");
		flame_output_u64(output, svg->layout.others[index]);
	}
	if (box->hidden_count) {
		flame_output_text(output, "\" data-u=\"");
		flame_output_u64(output, box->hidden_count);
		flame_output_text(output, " ");
		flame_output_u64(output, box->hidden_value);
	}
	if (look && look->long_index) {
		flame_output_text(output, "\" data-l=\"");
		flame_output_u64(output, look->long_index - 1);
	}
	if (look && look->note_index) {
		flame_output_text(output, "\" data-n=\"");
		flame_output_u64(output, look->note_index - 1);
	}
	if (look && look->label) {
		flame_output_text(output, "\" data-s=\"");
		flame_escape_xml(&svg->text, look->label, strlen(look->label));
		svg_flush(svg);
	}
	flame_output_text(output, "\"><title>");
	flame_output_text(output, look ? look->xml : "all");
	write_title(svg, index);
	write_rect(svg, index, look, left + SVG_PAD * 100, width);
	write_label(svg,
		    !look         ? "all"
		    : look->label ? look->label
				  : look->text,
		    left + SVG_PAD * 100, width, row_y(svg, box->depth));
	flame_output_text(output, "</g>\n");
}

static void write_boxes(struct svg *svg)
{
	string_builder_append(&svg->text, "<g id=\"frames\">\n");
	if (!svg->flame->total) {
		string_builder_appendf(&svg->text,
				       "<text x=\"%u\" y=\"%u\">Nothing was recorded.</text>\n",
				       SVG_PAD, svg->head_px + 12);
		svg_flush(svg);
	} else {
		svg_flush(svg);
		for (uint32_t i = 0; i < svg->layout.boxes_count; i++)
			write_box(svg, i);
	}
	flame_output_text(&svg->output, "</g>\n");
}

static int write_desc(struct svg *svg, const char *text)
{
	auto_free char *xml = bounded_xml(text, NAME_BYTES);

	if (!xml)
		return -ENOMEM;
	flame_output_text(&svg->output, "<desc>");
	flame_output_text(&svg->output, xml);
	flame_output_text(&svg->output, "</desc>\n");
	return 0;
}

/* Writes the texts to which boxes refer by number: long names and notes. */
static int write_texts(struct svg *svg)
{
	int error = 0;

	if (svg->long_count)
		flame_output_text(&svg->output, "<defs id=\"names\">\n");
	for (uint32_t i = 0; i < svg->long_count && !error; i++)
		error = write_desc(svg, svg->looks[svg->long_frames[i]].text);
	if (svg->long_count)
		flame_output_text(&svg->output, "</defs>\n");
	if (svg->notes_count)
		flame_output_text(&svg->output, "<defs id=\"notes\">\n");
	for (uint32_t i = 0; i < svg->notes_count && !error; i++)
		error = write_desc(svg, svg->notes[i]->text);
	if (svg->notes_count)
		flame_output_text(&svg->output, "</defs>\n");
	return error;
}

static int write_all_parts(struct svg *svg)
{
	auto_free char *head = NULL;

	write_head(svg);
	head = string_builder_take(&svg->text);
	if (!head)
		return -ENOMEM;
	write_begin(svg);
	write_style(svg);
	string_builder_append(&svg->text,
			      "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
	string_builder_append(&svg->text, head);
	write_boxes(svg);
	svg_write_changes(svg, changes_y(svg));
	if (write_texts(svg) || svg->text.error)
		return -ENOMEM;
	flame_output_text(&svg->output, "<script><![CDATA[\n");
	flame_output_bytes(&svg->output, flame_script, flame_script_size);
	flame_output_text(&svg->output, "]]></script>\n</svg>\n");
	return flame_output_end(&svg->output);
}

static int fill_options(const struct flame_options *given, struct flame_options *ret_options)
{
	struct flame_options options = given ? *given : (struct flame_options){0};

	options.title = options.title && *options.title ? options.title : "Flame graph";
	options.unit = options.unit && *options.unit ? options.unit : "samples";
	options.width_px = options.width_px ? options.width_px : 1200;
	options.min_width_px = options.min_width_px != 0 ? options.min_width_px : 0.1;
	if (options.width_px < 320 || options.width_px > 100000)
		return error_set(-EINVAL,
				 "flame graph: a width of %u pixels; it may be 320 to 100000",
				 options.width_px);
	if (!(options.min_width_px > 0 && options.min_width_px <= 1000))
		return error_set(
			-EINVAL,
			"flame graph: a least width of %g pixels; it may be above 0 to 1000",
			options.min_width_px);
	*ret_options = options;
	return 0;
}

int flame_write_svg(const struct flame *flame, const struct flame_options *options, FILE *out)
{
	struct svg svg = {.flame = flame};
	int error = fill_options(options, &svg.options);

	if (error)
		return error;
	error = flame_output_init(&svg.output, out);
	if (!error)
		error = flame_layout_init(
			&svg.layout, flame, svg.options.diff ? svg.options.diff->others : NULL,
			svg.options.width_px - 2.0 * SVG_PAD, svg.options.min_width_px);
	if (!error)
		error = look_at_frames(&svg);
	if (!error)
		error = svg_find_changes(&svg);
	if (!error)
		error = write_all_parts(&svg);
	svg_fini(&svg);
	if (error == -ENOMEM)
		return error_set(error, "flame graph: out of memory");
	return error;
}
