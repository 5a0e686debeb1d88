/* SPDX-License-Identifier: MIT
 *
 * export/folded.c - export folded stacks, like duet flame --folded
 *
 * Runs in:  our own process
 * Gets:     a model and a view
 * Gives:    a line for each stack
 * Owns:     nothing
 * Fails:    like picture_open and the writer
 * Why also an exporter: a script that exports to several formats in a loop then needs no second
 *           command of duet
 */
#include "analyze/output_options.h"
#include "export/formats.h"
#include "flame/flame.h"
#include "flame/picture.h"

static int write_stacks(const struct model *model, const struct output_options *options, FILE *file,
			uint64_t *ret_rows)
{
	struct picture picture;
	int error = picture_open(model, options, &picture);

	if (!error) {
		*ret_rows = flame_total(picture.drawing.flame);
		error = flame_write_folded(picture.drawing.flame, file);
	}
	picture_close(&picture);
	return error;
}

const struct exporter export_folded = {
	.name = "folded",
	.help = "folded stacks: one stack and its value per line, for flamegraph.pl and similar "
		"tools",
	.kinds = PICTURE_KINDS,
	.can_choose_event = true,
	.check = picture_check,
	.write = write_stacks,
};
