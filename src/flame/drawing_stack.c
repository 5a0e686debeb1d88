/* SPDX-License-Identifier: MIT
 *
 * flame/drawing_stack.c - the frames of one stack of a flame graph, and which rows are drawn
 *
 * Runs in:  our own process
 * Gets:     names of frames, stacks of the trace
 * Gives:    frames on the drawing's stack, values of stacks to the graph or to on_stack
 * Owns:     nothing; the stack belongs to the drawing
 * Fails:    with the error chain
 * Why apart from drawing.c: all views push frames in the same way; drawing.c and
 *           drawing_instructions.c decide which rows are drawn
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "flame/drawing_private.h"
#include "flame/flame.h"

bool drawing_shows(const struct drawing *drawing, size_t device)
{
	return drawing->device == DRAWING_ALL_DEVICES || drawing->device == device;
}

bool drawing_is_of_process(const struct drawing *drawing, const struct event_process *process)
{
	return !drawing->pid || (process && process->pid == drawing->pid);
}

int drawing_out_of_memory(void)
{
	return error_set(-ENOMEM, "flame graph: out of memory");
}

/* frame UINT32_MAX: out of memory. */
static int push_frame(struct drawing *drawing, uint32_t frame)
{
	if (frame == UINT32_MAX ||
	    array_grow(drawing->stack, drawing->capacity, drawing->count + 1))
		return drawing_out_of_memory();
	drawing->stack[drawing->count++] = frame;
	return 0;
}

int drawing_push(struct drawing *drawing, const char *name, enum flame_class class)
{
	return push_frame(drawing, flame_frame(drawing->flame, name, class));
}

static int push_root(struct drawing *drawing, const char *name, enum flame_class class)
{
	int error = drawing_push(drawing, name, class);
	uint32_t root;

	if (error)
		return error;
	root = drawing->stack[drawing->count - 1];
	memmove(drawing->stack + 1, drawing->stack, (drawing->count - 1) * sizeof(root));
	drawing->stack[0] = root;
	return 0;
}

int drawing_push_root(struct drawing *drawing, const char *name)
{
	return push_root(drawing, name, FLAME_IDLE);
}

static enum flame_class class_of(const struct frame_name *name)
{
	static const enum flame_class classes[] = {
		[FRAME_CLASS_HOST] = FLAME_HOST,
		[FRAME_CLASS_PYTHON] = FLAME_PYTHON,
		[FRAME_CLASS_JIT] = FLAME_JIT,
		[FRAME_CLASS_INLINED] = FLAME_INLINED,
		[FRAME_CLASS_TRUNCATED] = FLAME_TRUNCATED,
		[FRAME_CLASS_KERNEL] = FLAME_KERNEL,
	};

	return classes[name->class];
}

/* "[libfoo.so]+0x12ab" is "[libfoo.so]", "[code at 0x12ab]" is "[code]". */
const char *drawing_compared_name(const char *name, char *room, size_t size)
{
	const char *module = *name == '[' ? strstr(name, "]+0x") : NULL;
	size_t length = module ? (size_t)(module + 1 - name) : 0;

	if (module && strspn(module + 4, "0123456789abcdefABCDEF") == strlen(module + 4) &&
	    length < size)
		snprintf(room, size, "%.*s", (int)length, name);
	else if (strncmp(name, "[code at 0x", 11) == 0)
		snprintf(room, size, "[code]");
	else
		return name;
	return room;
}

/* The frame of a function without a place. */
static uint32_t make_nameless(const struct drawing *drawing, const struct frame_name *name)
{
	char room[1024];
	const char *text = drawing->is_compared
				   ? drawing_compared_name(name->function, room, sizeof(room))
				   : name->function;

	return flame_frame(drawing->flame, text, class_of(name));
}

/* The frame of a Python function includes its file and first line, because its name alone is
 * ambiguous. All lines of a function share one box. */
static uint32_t make_frame(const struct drawing *drawing, const struct frame_name *name)
{
	bool is_python = name->class == FRAME_CLASS_PYTHON;
	bool has_first = is_python && !drawing->is_compared;
	uint32_t line = drawing->has_lines ? name->line : has_first ? name->first_line : 0;
	const char *file = name->file ? path_base(name->file) : NULL;
	char text[4096];

	if (!file || (!line && !is_python))
		return make_nameless(drawing, name);
	if (line)
		snprintf(text, sizeof(text), "%s (%s:%u)", name->function, file, line);
	else
		snprintf(text, sizeof(text), "%s (%s)", name->function, file);
	return flame_frame(drawing->flame, text, class_of(name));
}

static int push_number(struct drawing *drawing, uint32_t number)
{
	const size_t index = 2 * (size_t)number + drawing->has_lines;

	if (array_grow(drawing->drawn, drawing->drawn_capacity, index + 1))
		return drawing_out_of_memory();
	if (!drawing->drawn[index])
		drawing->drawn[index] =
			make_frame(drawing, frames_name(drawing->frames, number)) + 1;
	return push_frame(drawing, drawing->drawn[index] - 1);
}

static int push_host(struct drawing *drawing, const struct frame_name *name)
{
	return name->number ? push_number(drawing, name->number)
			    : push_frame(drawing, make_frame(drawing, name));
}

/* Pushes the reason why a stack is empty. */
static int push_none(struct drawing *drawing)
{
	return drawing_push(drawing, frames_none(drawing->frames), FLAME_HOST);
}

/* Pushes frames, the outermost first. An empty stack gets one frame with the reason. */
static int add_names(struct drawing *drawing, const struct frame_name *names, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = push_host(drawing, &names[i]);
	return count ? error : push_none(drawing);
}

int drawing_push_names(struct drawing *drawing, const struct frame_name *names, size_t count)
{
	drawing->count = 0;
	return add_names(drawing, names, count);
}

int drawing_push_stack(struct drawing *drawing, uint32_t stack)
{
	const uint32_t *numbers;
	size_t count;
	int error = 0;

	if (frames_numbers_of_stack(drawing->frames, stack, &numbers, &count))
		return drawing_out_of_memory();
	drawing->count = 0;
	for (size_t i = 0; i < count && !error; i++)
		error = push_number(drawing, numbers[i]);
	return count ? error : push_none(drawing);
}

/* Pushes the process of the current row, with its rank, and puts it below all frames. */
static int push_process_root(struct drawing *drawing)
{
	const struct event_process *process =
		drawing->process == DRAWING_UNKNOWN_PROCESS
			? NULL
			: model_entity(drawing->model, EVENT_PROCESS, drawing->process);
	char text[256] = "[unknown process]", rank[48] = "", pid[16];

	if (process) {
		analysis_rank_text(process, rank, sizeof(rank));
		snprintf(pid, sizeof(pid), " %u", process->pid);
		snprintf(text, sizeof(text), "%.128s%s%s%s",
			 model_text(drawing->model, process->name_string, "[unknown process]"),
			 drawing->is_compared ? "" : pid, *rank ? ", " : "", rank);
	}
	return push_root(drawing, text, FLAME_HOST);
}

int drawing_add(struct drawing *drawing, uint64_t value)
{
	int error;

	if (drawing->on_stack)
		return drawing->on_stack(drawing->context, drawing, value);
	if (!drawing->has_processes || drawing->process == DRAWING_NO_PROCESS)
		return flame_add(drawing->flame, drawing->stack, drawing->count, value);
	error = push_process_root(drawing);
	if (error)
		return error;
	error = flame_add(drawing->flame, drawing->stack, drawing->count, value);
	drawing->count--;
	memmove(drawing->stack, drawing->stack + 1, drawing->count * sizeof(*drawing->stack));
	return error;
}

/* Adds a device box `name`, and a box `above` it if that is not NULL, on top of the host code on
 * the stack. */
int drawing_add_beyond(struct drawing *drawing, const char *name, enum flame_class class,
		       const char *above, uint64_t value)
{
	size_t below = drawing->count;
	int error;

	if (!value)
		return 0;
	error = drawing_push(drawing, "-", FLAME_SEPARATOR);
	if (!error)
		error = drawing_push(drawing, name, class);
	if (!error && above)
		error = drawing_push(drawing, above, FLAME_IDLE);
	if (!error)
		error = drawing_add(drawing, value);
	drawing->count = below;
	return error;
}

/* Pushes the runtime's function and the frames of the kernel (operating system) that it called. */
int drawing_push_call(struct drawing *drawing, uint32_t stack, const char *function)
{
	const struct frame_name *names;
	size_t count, callers;
	int error;

	if (frames_of_call(drawing->frames, stack, function, &names, &count, &callers))
		return drawing_out_of_memory();
	for (error = 0; callers < count && !error; callers++)
		error = push_host(drawing, &names[callers]);
	return error;
}

/* Pushes the program's frames that called the runtime. */
int drawing_push_callers(struct drawing *drawing, uint32_t stack)
{
	const struct frame_name *names;
	size_t count, callers;

	if (frames_of_call(drawing->frames, stack, "", &names, &count, &callers))
		return drawing_out_of_memory();
	/* without callers the stack has only frames of the operating system */
	return callers || !count ? add_names(drawing, names, callers) : 0;
}
