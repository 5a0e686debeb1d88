/* SPDX-License-Identifier: MIT
 *
 * import/chrome/frames.c - frames of the names of slices
 *
 * Runs in:  our own process
 * Gets:     names: "torch/nn/modules/module.py(1532): _call_impl", "aten::mm"
 * Gives:    stacks in the trace
 * Owns:     the stacks of texts with callers
 * Fails:    -ENOMEM
 */
#include "import/chrome/frames.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"
#include "event/event.h"
#include "import/chrome/names.h"
#include "import/target.h"

enum { MAX_CALLERS = 512 };

/* The parts of "file(line): function". */
struct place {
	const char *file, *function;
	size_t file_length, function_length;
	uint32_t line;
};

void chrome_frames_init(struct chrome_frames *frames, struct import_target *target,
			const struct chrome_names *names)
{
	*frames = (struct chrome_frames){.target = target, .names = names};
}

void chrome_frames_fini(struct chrome_frames *frames)
{
	free(frames->stacks);
}

/* The digits and the bracket of "(1532): " before `end`. */
static bool take_line(const char *text, const char *end, struct place *place)
{
	const char *digits = end;
	unsigned long line;

	while (digits > text && isdigit((unsigned char)digits[-1]))
		digits--;
	if (digits == end || digits == text || digits[-1] != '(')
		return false;
	line = strtoul(digits, NULL, 10);
	place->line = line < UINT32_MAX ? (uint32_t)line : 0;
	place->file_length = (size_t)(digits - 1 - text);
	return place->file_length != 0;
}

static bool parse_place(const char *text, size_t length, struct place *place)
{
	static const char mark[] = "): ";
	const char *at = text, *found;

	while ((found = memmem(at, length - (size_t)(at - text), mark, strlen(mark)))) {
		if (take_line(text, found, place)) {
			if (found + strlen(mark) == text + length)
				return false;
			place->file = text;
			place->function = found + strlen(mark);
			place->function_length = length - (size_t)(place->function - text);
			return true;
		}
		at = found + 1;
	}
	return false;
}

/* The name without the address, which differs in each process: "<built-in method apply of
 * FunctionMeta object at 0x55d0>". */
static int add_name(struct chrome_frames *frames, const char *text, size_t length,
		    uint32_t *ret_string)
{
	const char *found = memmem(text, length, " at 0x", 6), *rest = found ? found + 6 : NULL;
	struct string_builder name = {0};
	int error;

	if (!found)
		return import_target_bytes(frames->target, text, length, ret_string);
	while (rest < text + length && isxdigit((unsigned char)*rest))
		rest++;
	string_builder_append_bytes(&name, text, (size_t)(found - text));
	string_builder_append_bytes(&name, rest, (size_t)(text + length - rest));
	error = name.error ? name.error
			   : import_target_bytes(frames->target, string_builder_text(&name),
						 name.length, ret_string);
	string_builder_fini(&name);
	return error;
}

static int push_python(struct chrome_frames *frames, const char *text, size_t length,
		       uint32_t *stack)
{
	struct event_frame frame = {.type = FRAME_PYTHON};
	struct place place = {.function = text, .function_length = length};
	int error = 0;

	if (parse_place(text, length, &place)) {
		frame.first_line = place.line;
		error = import_target_bytes(frames->target, place.file, place.file_length,
					    &frame.file_string);
	}
	if (!error)
		error = add_name(frames, place.function, place.function_length, &frame.name_string);
	return error ? error : import_target_push_frame(frames->target, &frame, stack);
}

int chrome_frames_push(struct chrome_frames *frames, uint32_t type, uint32_t name, uint32_t *stack)
{
	const char *text = chrome_names_text(frames->names, name);

	return type == API_TYPE_FUNCTION
		       ? push_python(frames, text, strlen(text), stack)
		       : import_target_push(frames->target, FRAME_NATIVE, 0, text, "", stack);
}

static int push_callers(struct chrome_frames *frames, const char *text, uint32_t *stack)
{
	const char *callers[MAX_CALLERS];
	size_t count = 0;
	int error = 0;

	for (const char *at = text; *at && count < MAX_CALLERS; at += *at == ';') {
		callers[count++] = at;
		at += strcspn(at, ";");
	}
	while (count-- > 0 && !error)
		error = push_python(frames, callers[count], strcspn(callers[count], ";"), stack);
	return error;
}

int chrome_frames_text(struct chrome_frames *frames, uint32_t call_stack, uint32_t *ret_stack)
{
	uint32_t stack = 0;
	int error;

	if (array_grow(frames->stacks, frames->stacks_capacity, call_stack))
		return -ENOMEM;
	if (!frames->stacks[call_stack - 1]) {
		error = push_callers(frames, chrome_names_text(frames->names, call_stack), &stack);
		if (error)
			return error;
		frames->stacks[call_stack - 1] = stack + 1;
	}
	*ret_stack = frames->stacks[call_stack - 1] - 1;
	return 0;
}
