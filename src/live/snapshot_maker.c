/* SPDX-License-Identifier: MIT
 *
 * live/snapshot_maker.c - functions that the parts of a snapshot share
 *
 * Runs in:  our own process, in the viewer of a running recording
 * Gets:     ids and texts of an analysis
 * Gives:    indices into the snapshot, texts of its own, names of frames
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why frames are made late: most snapshots need no names of stacks, and opening a symbolizer costs
 *           more than the rest of a small snapshot
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "base/string.h"
#include "live/snapshot_private.h"

enum { MIN_PRINTABLE = 8 };

void snapshot_copy_text(const char *text, char *ret_text, size_t size)
{
	string_make_printable(text ? text : "", ret_text, size);
}

char *snapshot_keep_text(const char *text)
{
	const size_t size = strlen(text) + 1;
	char *kept = malloc(size < MIN_PRINTABLE ? MIN_PRINTABLE : size);

	return kept ? string_make_printable(text, kept, size < MIN_PRINTABLE ? MIN_PRINTABLE : size)
		    : NULL;
}

uint32_t maker_process(const struct snapshot_maker *maker, uint32_t id)
{
	return (uint32_t)hash_map_get(&maker->processes, id, LIVE_NO_INDEX);
}

uint32_t maker_device(const struct snapshot_maker *maker, size_t index)
{
	return index < maker->snapshot->devices_count ? (uint32_t)index : LIVE_NO_INDEX;
}

int maker_frames(struct snapshot_maker *maker, struct frames **ret_frames)
{
	const struct frames_options options = {.is_short = true};
	int error = 0;

	if (!maker->frames)
		error = frames_new(maker->analysis->model, &options, &maker->frames);
	if (!error)
		*ret_frames = maker->frames;
	return error;
}
