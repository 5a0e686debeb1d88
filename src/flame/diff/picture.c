/* SPDX-License-Identifier: MIT
 *
 * flame/diff/picture.c - the parts of a flame graph in SVG that show changes
 *
 * Runs in:  our own process
 * Gets:     the picture and the graph of both recordings
 * Gives:    colours, legend, values of boxes, and the lists below the graph
 * Owns:     the path of a row during a call
 * Fails:    -ENOMEM; the picture's builder keeps it
 * Why lists: frames that only BASE has take no width, so no box shows them. Stacks of the same
 *           function lie in many places, and a list of ten is read faster than 2000 boxes.
 */
#include "flame/diff/picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flame/diff/change.h"
#include "flame/diff/diff.h"
#include "flame/escape.h"
#include "flame/tree.h"

#define TWO_COLUMNS  1000u /* px of the picture from which lists lie side by side */
#define GAP          20u   /* px between lists; flame.js has the same numbers */
#define WIDE         480u  /* px of a list from which a row has both values */
#define CHANGE_END   84u   /* px: end of a row's change */
#define VALUES       94u   /* px: start of a row's values */
#define PATH         236u  /* px: start of a row's path behind the values */
#define FRAMES_SHOWN 5u
#define TITLE_FRAMES 64u /* max frames in the tooltip of a row; the innermost ones */

int svg_find_changes(struct svg *svg)
{
	if (!svg->options.diff)
		return 0;
	svg->changes = calloc(FLAME_CHANGE_KINDS, sizeof(*svg->changes));
	return svg->changes ? flame_diff_list(svg->options.diff, svg->changes) : -ENOMEM;
}

/* ---- colours and values of boxes ------------------------------------------------------------- */

void svg_write_change_style(struct svg *svg, bool is_dark)
{
	for (int level = -FLAME_LEVELS; level <= FLAME_LEVELS; level++)
		string_builder_appendf(&svg->text, ".c%d{fill:#%06x}\n", level + FLAME_LEVELS,
				       flame_level_colour(level, is_dark));
	string_builder_appendf(&svg->text, "text.more{fill:%s}\ntext.less{fill:%s}\n",
			       is_dark ? "#ff9c92" : "#a11212", is_dark ? "#8ab6ff" : "#0b4fa8");
}

void svg_write_change_legend(struct svg *svg, uint32_t *x, uint32_t *y)
{
	static const struct {
		int level;
		const char *word;
	} entries[] = {{-FLAME_LEVELS, "halved or gone"},
		       {-FLAME_LEVELS / 2, "shrank"},
		       {0, "changed by less than 3 %"},
		       {FLAME_LEVELS / 2, "grew"},
		       {FLAME_LEVELS, "doubled or new"}};

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		char style_class[16];

		snprintf(style_class, sizeof(style_class), "c%d", entries[i].level + FLAME_LEVELS);
		svg_write_legend_entry(svg, style_class, "", entries[i].word, x, y);
	}
}

static struct flame_values values_of(const struct svg *svg, uint32_t box)
{
	return flame_diff_values(svg->options.diff, svg->layout.boxes[box].value,
				 svg->layout.others[box]);
}

uint32_t svg_change_class(const struct svg *svg, uint32_t box)
{
	const struct flame_values values = values_of(svg, box);

	return (uint32_t)(flame_values_level(&values) + FLAME_LEVELS);
}

/* Moves a text without markup characters of its own to the picture. */
static void append_built(struct svg *svg, struct string_builder *text)
{
	svg_append_text(svg, string_builder_text(text));
	svg->text.error = text->error ? text->error : svg->text.error;
	string_builder_fini(text);
}

void svg_append_change(struct svg *svg, uint32_t box)
{
	const struct flame_values values = values_of(svg, box);
	struct string_builder text = {0};

	flame_values_format(&values, svg->options.unit, &text);
	append_built(svg, &text);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Lists have a number in each row, and units of counts are long. */
static const char *short_unit(const struct svg *svg)
{
	const char *unit = svg->options.unit;

	return strcmp(unit, "ns") == 0 || strcmp(unit, "bytes") == 0 ? unit : "";
}

static const char *frame_label(const struct svg *svg, uint32_t frame)
{
	const struct flame_options *options = &svg->options;
	const enum flame_class class = svg->flame->frames[frame].frame_class;
	const char *name = flame_frame_name(svg->flame, frame).bytes;

	return options->shorten ? options->shorten(options->shorten_context, name, class) : name;
}

static bool is_separator(const struct svg *svg, uint32_t frame)
{
	return svg->flame->frames[frame].frame_class == FLAME_SEPARATOR;
}

/* The label of the last frame and of those below it, as "kernel ‹ launch ‹ main". missing: the
 * first frame that only one recording has, which is always named; or the path's count. */
static void append_short_path(const struct svg *svg, const struct flame_path *path, size_t missing,
			      struct string_builder *text)
{
	size_t i = path->count;

	for (size_t shown = 0; i > 0 && shown < FRAMES_SHOWN; i--) {
		if (is_separator(svg, path->frames[i - 1]))
			continue;
		string_builder_append(text, shown++ ? " \342\200\271 " : "");
		string_builder_append(text, frame_label(svg, path->frames[i - 1]));
	}
	if (missing < i && !is_separator(svg, path->frames[missing]))
		string_builder_appendf(text, "%s%s",
				       missing + 1 < i ? " \342\200\271 \342\200\246 \342\200\271 "
						       : " \342\200\271 ",
				       frame_label(svg, path->frames[missing]));
}

static void append_whole_path(const struct svg *svg, const struct flame_path *path,
			      struct string_builder *text)
{
	const size_t first = path->count > TITLE_FRAMES ? path->count - TITLE_FRAMES : 0;

	for (size_t i = path->count; i > first; i--) {
		const uint32_t frame = path->frames[i - 1];

		if (is_separator(svg, frame))
			continue;
		string_builder_appendf(text, "\n%.1024s",
				       flame_frame_name(svg->flame, frame).bytes);
	}
	if (first)
		string_builder_append(text, "\n\342\200\246");
}

/* The tooltip: both values, and all frames. Each line is made visible on its own. */
static void write_row_title(struct svg *svg, const struct flame_change *change, bool is_in_both,
			    const struct flame_path *path)
{
	const struct flame_values values = {change->now, change->base};
	struct string_builder text = {0};
	const char *line;

	string_builder_append(&text, is_in_both ? "without callees: " : "");
	flame_values_format(&values, svg->options.unit, &text);
	append_whole_path(svg, path, &text);
	string_builder_append(&svg->text, "<title>");
	line = string_builder_text(&text);
	for (size_t length; *line; line += length + (line[length] == '\n')) {
		length = strcspn(line, "\n");
		svg_append_cut(svg, line, length, SIZE_MAX);
		if (line[length])
			string_builder_append_char(&svg->text, '\n');
	}
	string_builder_append(&svg->text, "</title>");
	svg->text.error = text.error ? text.error : svg->text.error;
	string_builder_fini(&text);
}

/* Hidden in a narrow picture; the script shows them on a wide page. */
static void write_row_values(struct svg *svg, const struct flame_change *change, uint32_t y,
			     bool is_shown)
{
	struct string_builder text = {0};

	flame_format_human(&text, change->base, short_unit(svg));
	string_builder_append(&text, " \342\206\222 ");
	flame_format_human(&text, change->now, short_unit(svg));
	string_builder_appendf(&svg->text, "<text class=\"dim\" x=\"%u\" y=\"%u\"%s>", VALUES, y,
			       is_shown ? "" : " visibility=\"hidden\"");
	append_built(svg, &text);
	string_builder_append(&svg->text, "</text>");
}

static void write_row_path(struct svg *svg, const char *path, uint32_t x, uint32_t y,
			   uint32_t width)
{
	const size_t size = strlen(path), cells = (size_t)((width - x) / SVG_CELL);

	string_builder_appendf(&svg->text, "<text class=\"path\" x=\"%u\" y=\"%u\"", x, y);
	if (flame_fit(path, size, cells) < size)
		svg_append_attribute(svg, "data-f", path);
	string_builder_append_char(&svg->text, '>');
	svg_append_cut(svg, path, size, cells);
	string_builder_append(&svg->text, "</text></g>\n");
}

/* The box of a listed frame; FLAME_NONE if it is not drawn. */
static uint32_t box_of(const struct svg *svg, const struct flame_change *change)
{
	uint32_t box = svg->layout.last_boxes[change->node];

	for (uint32_t i = svg->flame->nodes[change->node].length;
	     box != FLAME_NONE && i > change->length; i--)
		box = svg->layout.boxes[box].parent;
	return box;
}

/* is_in_both: both recordings have the frame, though one of its own values may be 0. */
static void write_row(struct svg *svg, const struct flame_change *change, bool is_in_both,
		      const struct flame_path *path, uint32_t y, uint32_t width)
{
	const struct flame_values values = {change->now, change->base};
	const bool has_values = is_in_both && width >= WIDE;
	const size_t missing = is_in_both ? path->count : path->count - change->length;
	const uint32_t box = box_of(svg, change);
	struct string_builder text = {0};

	string_builder_append(&svg->text, "<g class=\"row\"");
	if (box != FLAME_NONE)
		string_builder_appendf(&svg->text, " data-i=\"%u\"", box);
	string_builder_append_char(&svg->text, '>');
	write_row_title(svg, change, is_in_both, path);
	string_builder_appendf(&svg->text,
			       "<text class=\"%s\" text-anchor=\"end\" x=\"%u\" y=\"%u\">",
			       values.now > values.base ? "more" : "less", CHANGE_END, y);
	flame_values_format_change(&values, short_unit(svg), &text);
	append_built(svg, &text);
	string_builder_append(&svg->text, "</text>");
	if (is_in_both)
		write_row_values(svg, change, y, has_values);
	append_short_path(svg, path, missing, &text);
	write_row_path(svg, string_builder_text(&text), has_values ? PATH : VALUES, y, width);
	svg->text.error = text.error ? text.error : svg->text.error;
	string_builder_fini(&text);
}

static void write_heading(struct svg *svg, enum flame_change_kind kind)
{
	static const char *const words[FLAME_CHANGE_KINDS] = {
		[FLAME_GREW] = "Grew, without callees",
		[FLAME_SHRANK] = "Shrank, without callees",
		[FLAME_ADDED] = "Only in NEW, with callees",
		[FLAME_GONE] = "Only in BASE, with callees",
	};
	const struct flame_change_list *list = &svg->changes[kind];
	const bool is_more = kind == FLAME_GREW || kind == FLAME_ADDED;
	const struct flame_values sum = {is_more ? list->sum : 0, is_more ? 0 : list->sum};
	struct string_builder text = {0};

	string_builder_appendf(&text, "%s: %llu, ", words[kind], (unsigned long long)list->count);
	flame_values_format_change(&sum, svg->options.unit, &text);
	if (list->count > list->listed)
		string_builder_appendf(&text, "; the largest %u:", list->listed);
	string_builder_appendf(&svg->text, "<text class=\"heading\" x=\"0\" y=\"%u\">",
			       SVG_LINE - 4);
	append_built(svg, &text);
	string_builder_append(&svg->text, "</text>\n");
}

static void write_list(struct svg *svg, enum flame_change_kind kind, uint32_t width)
{
	const struct flame_change_list *list = &svg->changes[kind];
	struct flame_path path = {0};

	write_heading(svg, kind);
	for (uint32_t i = 0; i < list->listed; i++) {
		const struct flame_change *change = &list->changes[i];

		if (flame_path_to(svg->flame, change->node, &path)) {
			svg->text.error = -ENOMEM;
			break;
		}
		path.count -= svg->flame->nodes[change->node].length - change->length;
		write_row(svg, change, kind == FLAME_GREW || kind == FLAME_SHRANK, &path,
			  (i + 2) * SVG_LINE - 4, width);
	}
	free(path.frames);
}

static uint32_t list_height(const struct flame_change_list *list)
{
	return (1 + list->listed) * SVG_LINE + GAP;
}

/* Writes the lists, or only finds their height; returns it. */
static uint32_t place_lists(struct svg *svg, const struct flame_change_list *lists,
			    uint32_t width_px)
{
	const uint32_t columns = width_px >= TWO_COLUMNS ? 2 : 1;
	const uint32_t width = (width_px - 2 * SVG_PAD - (columns - 1) * GAP) / columns;
	uint32_t y = 0, below = 0, column = 0;

	for (int kind = 0; kind < FLAME_CHANGE_KINDS; kind++) {
		const uint32_t height = list_height(&lists[kind]);

		if (!lists[kind].count)
			continue;
		if (svg) {
			string_builder_appendf(&svg->text,
					       "<g class=\"list\" transform=\"translate(%u,%u)\" "
					       "data-height=\"%u\">\n",
					       SVG_PAD + column * (width + GAP), y, height);
			write_list(svg, (enum flame_change_kind)kind, width);
			string_builder_append(&svg->text, "</g>\n");
		}
		below = y + height > below ? y + height : below;
		column = (column + 1) % columns;
		y = column ? y : below;
	}
	return below;
}

uint32_t svg_changes_height(const struct svg *svg)
{
	return svg->changes ? place_lists(NULL, svg->changes, svg->options.width_px) : 0;
}

void svg_write_changes(struct svg *svg, uint32_t y)
{
	if (!svg->changes)
		return;
	string_builder_appendf(&svg->text, "<g id=\"changes\" transform=\"translate(0,%u)\">\n", y);
	place_lists(svg, svg->changes, svg->options.width_px);
	string_builder_append(&svg->text, "</g>\n");
	svg_flush(svg);
}
