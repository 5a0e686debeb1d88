/* SPDX-License-Identifier: MIT
 *
 * export/svg.c - export a flame graph, like duet flame
 *
 * Runs in:  our own process
 * Gets:     a model and a view
 * Gives:    one SVG with its script
 * Owns:     nothing
 * Fails:    like picture_open and the writer
 * Why also an exporter: see export/folded.c. Options of the picture itself (width, one device)
 *           exist only in duet flame.
 */
#include "analyze/output_options.h"
#include "base/string.h"
#include "export/formats.h"
#include "flame/flame.h"
#include "flame/picture.h"

static int write_graph(const struct drawing *drawing, FILE *file)
{
	struct string_builder subtitle, warning;
	struct flame_options options = {.title = drawing->view->title,
					.unit = drawing_unit(drawing)};
	int error;

	string_builder_init(&subtitle);
	string_builder_init(&warning);
	drawing_describe(drawing, &subtitle);
	drawing_warn(drawing, &warning);
	options.subtitle = string_builder_text(&subtitle);
	options.warning = warning.length ? string_builder_text(&warning) : NULL;
	error = flame_write_svg(drawing->flame, &options, file);
	string_builder_fini(&subtitle);
	string_builder_fini(&warning);
	return error;
}

static int write_picture(const struct model *model, const struct output_options *options,
			 FILE *file, uint64_t *ret_rows)
{
	struct picture picture;
	int error = picture_open(model, options, &picture);

	if (!error) {
		*ret_rows = flame_total(picture.drawing.flame);
		error = write_graph(&picture.drawing, file);
	}
	picture_close(&picture);
	return error;
}

const struct exporter export_svg = {
	.name = "svg",
	.help = "a flame graph of device time as an SVG image, for a browser",
	.kinds = PICTURE_KINDS,
	.can_choose_event = true,
	.check = picture_check,
	.write = write_picture,
};
