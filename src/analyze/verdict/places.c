/* SPDX-License-Identifier: MIT
 *
 * analyze/verdict/places.c - the function of a stack that a cause names
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     frames of a stack
 * Gives:    the innermost function of the user, otherwise the innermost one
 * Owns:     nothing
 * Fails:    -ENOMEM
 */
#include <errno.h>

#include "analyze/frames.h"
#include "analyze/verdict/verdict.h"

void verdict_name_place(const struct frames *frames, const struct frame_name *names, size_t count,
			struct verdict_place *place)
{
	const struct frame_name *best = frames_own(frames, names, count);

	if (!best || best->class == FRAME_CLASS_TRUNCATED)
		return;
	place->function = best->place;
	place->file = best->file;
	place->line = best->line;
	place->is_own = frames_is_own(frames, best);
}

int verdict_find_place(struct frames *frames, uint32_t stack, struct verdict_place *ret_place)
{
	const struct frame_name *names;
	size_t count;

	*ret_place = (struct verdict_place){.stack = stack};
	if (!stack)
		return 0;
	if (frames_of_stack(frames, stack, &names, &count))
		return -ENOMEM;
	verdict_name_place(frames, names, count, ret_place);
	return 0;
}
