/* SPDX-License-Identifier: MIT
 *
 * export/folded.c - folded stacks, as duet flame --folded writes them
 *
 * Runs in:  our own process
 * Gets:     a model and a view   Gives: a line for each stack
 * Owns:     nothing
 * Fails:    as picture_open and the writer do
 * Why here too: a script that exports in a loop over formats needs no second verb
 */
#include "export/flame.h"
#include "export/flame_picture.h"
#include "export/formats.h"

static int write_stacks(const struct model *model, const struct export_options *options, FILE *file,
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
	.help = "stacks with values, a line each, for flamegraph.pl and its kin",
	.kinds = PICTURE_KINDS,
	.check = picture_check,
	.write = write_stacks,
};
