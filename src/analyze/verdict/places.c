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
#include <string.h>

#include "analyze/frames.h"
#include "analyze/verdict/verdict.h"
#include "base/array.h"

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

/* PyTorch's way from a module to its forward(), which is the same for all modules. */
static bool is_wrapper(const char *function)
{
	static const char *const wrappers[] = {
		"_call_impl", "_wrapped_call_impl", "decorate_context", "wrapper", "inner",
		"__call__"};

	for (size_t i = 0; i < ARRAY_COUNT(wrappers); i++)
		if (strcmp(function, wrappers[i]) == 0)
			return true;
	return false;
}

const char *verdict_called_function(const struct frames *frames, const struct frame_name *names,
				    size_t count)
{
	const struct frame_name *own = frames_own(frames, names, count);

	if (!own || !frames_is_own(frames, own))
		return "";
	for (size_t i = (size_t)(own - names) + 1; i < count; i++)
		if (!is_wrapper(names[i].function))
			return names[i].function;
	return "";
}

const char *verdict_data_loader(const struct frame_name *names, size_t count)
{
	static const char mark[] = "enumerate(DataLoader)";
	const char *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (strncmp(names[i].function, mark, strlen(mark)) == 0)
			return names[i].function;
		if (!found && names[i].file && strstr(names[i].file, "torch/utils/data/"))
			found = names[i].function;
	}
	return found;
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
