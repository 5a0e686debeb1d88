/* SPDX-License-Identifier: MIT
 *
 * flame/drawing_instructions.c - sampled device instructions in a flame graph
 *
 * Runs in:  our own process
 * Gets:     rows of instructions, their code
 * Gives:    boxes above their kernel, or the view "stall": stacks down to the stall reason
 * Owns:     nothing
 * Fails:    with the error chain
 * Why two forms: boxes above a kernel divide the kernel's time in proportion to its samples. In the
 *           view "stall" the samples are the unit, so this view also works without device times
 */
#include <errno.h>
#include <stdio.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "analyze/sample/device_code.h"
#include "analyze/sample/stalls.h"
#include "base/string.h"
#include "flame/drawing_private.h"
#include "flame/flame.h"

/* Pushes the frames above the kernel: the source line, if known, the instruction, and its stall
 * reason. */
static int push_instruction(struct drawing *drawing, const struct analysis_instruction *row)
{
	struct device_place place;
	char text[1024];
	int error = device_code_find(drawing->code, row->code, row->offset, &place);

	if (error)
		return drawing_out_of_memory();
	if (place.line) {
		if (place.source && drawing->is_compared && !drawing->has_lines)
			snprintf(text, sizeof(text), "line: %s", place.source);
		else if (place.source)
			snprintf(text, sizeof(text), "line %u: %s", place.line, place.source);
		else
			snprintf(text, sizeof(text), "%s:%u", path_base(place.file), place.line);
		error = drawing_push(drawing, text, FLAME_DEVICE);
	}
	if (*place.text && drawing->is_compared)
		snprintf(text, sizeof(text), "%s", place.text);
	else
		snprintf(text, sizeof(text), "0x%llx%s%s", (unsigned long long)place.address,
			 *place.text ? " " : "", place.text);
	if (!error)
		error = drawing_push(drawing, text, FLAME_INSTRUCTION);
	if (!error && *row->stall)
		error = drawing_push(drawing, row->stall, FLAME_STALL);
	return error;
}

static int draw_instruction(struct drawing *drawing, const struct analysis_instruction *row,
			    uint64_t value)
{
	size_t below = drawing->count;
	int error = push_instruction(drawing, row);

	if (!error)
		error = drawing_add(drawing, value);
	drawing->count = below;
	return error;
}

/* Passes instructions to on_stack, with their weights. */
int drawing_pass_instructions(struct drawing *drawing, const struct analysis_instruction *rows,
			      size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		drawing->row = (struct drawing_row){
			.kind = DRAWN_INSTRUCTION,
			.index = (uint32_t)(rows + i - drawing->analysis->instructions)};
		error = draw_instruction(drawing, &rows[i], rows[i].weight);
	}
	return error;
}

/* Apportions a kernel's time to its instructions by the weights of their samples; the first one
 * gets the rounding error. */
int drawing_add_instructions(struct drawing *drawing, const struct analysis_instruction *rows,
			     size_t count, uint64_t value)
{
	unsigned __int128 all = 0;
	uint64_t left = value;
	int error = 0;

	for (size_t i = 0; i < count; i++)
		all += rows[i].weight;
	for (size_t i = count; i-- > 0 && !error;) {
		uint64_t part =
			i ? (uint64_t)((unsigned __int128)value * rows[i].weight / all) : left;

		left -= part;
		if (part)
			error = draw_instruction(drawing, &rows[i], part);
	}
	return error;
}

/* A kernel's time cannot be apportioned if all weights are 0. */
bool drawing_has_weight(const struct analysis_instruction *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].weight)
			return true;
	return false;
}

/* ---- samples of instructions ----------------------------------------------------------------- */

/* The process of the code or, if the code has none, of the launch. */
static const struct event_process *process_of(const struct drawing *drawing,
					      const struct analysis_instruction *row)
{
	const struct event_code *code = model_entity(drawing->model, EVENT_CODE, row->code);
	uint32_t process = code ? code->process : 0;

	if (!process && row->path != ANALYSIS_NO_PATH)
		process = drawing->analysis->paths[row->path].whom.process;
	return model_entity(drawing->model, EVENT_PROCESS, process);
}

static int push_process(struct drawing *drawing, const struct event_process *process)
{
	char pid[16];
	int error;

	drawing->count = 0;
	if (!process)
		return drawing_push(drawing, "[unknown process]", FLAME_HOST);
	error = drawing_push(drawing,
			     model_text(drawing->model, process->name_string, "[unknown process]"),
			     FLAME_HOST);
	snprintf(pid, sizeof(pid), "%u", process->pid);
	return error || drawing->is_compared ? error : drawing_push(drawing, pid, FLAME_HOST);
}

/* Pushes the source file, from debug information or the code's row, and the kernel. */
static int push_code(struct drawing *drawing, const struct analysis_instruction *row,
		     const struct device_place *place)
{
	const struct event_code *code = model_entity(drawing->model, EVENT_CODE, row->code);
	const char *file = model_source_file(drawing->model, code);
	int error = 0;

	if (place->file)
		file = place->file;
	if (*file)
		error = drawing_push(drawing, file, FLAME_DEVICE);
	return error ? error
		     : drawing_push(drawing, *row->kernel ? row->kernel : "[unknown code]",
				    FLAME_DEVICE);
}

/* Pushes instruction, stall reason and address. So instructions with the same text share a box,
 * which is divided by address. */
static int push_stall(struct drawing *drawing, const struct analysis_instruction *row)
{
	struct device_place place;
	const char *text;
	char offset[24];
	int error = device_code_find(drawing->code, row->code, row->offset, &place);

	if (error)
		return drawing_out_of_memory();
	error = drawing_push(drawing, "-", FLAME_SEPARATOR);
	if (!error)
		error = push_code(drawing, row, &place);
	text = *place.text ? place.text : row->text;
	if (!error)
		error = drawing_push(drawing, *text ? text : "[unknown instruction]",
				     FLAME_INSTRUCTION);
	if (!error && *row->stall)
		error = drawing_push(drawing, row->stall, FLAME_STALL);
	snprintf(offset, sizeof(offset), "0x%llx", (unsigned long long)place.address);
	return error || drawing->is_compared ? error
					     : drawing_push(drawing, offset, FLAME_INSTRUCTION);
}

static int draw_stall(struct drawing *drawing, const struct analysis_instruction *row)
{
	const char *function =
		row->path == ANALYSIS_NO_PATH ? "" : drawing->analysis->paths[row->path].function;
	int error = push_process(drawing, process_of(drawing, row));

	if (!error)
		error = drawing_push_callers(drawing, row->stack);
	if (!error)
		error = drawing_push_call(drawing, row->stack, function);
	if (!error)
		error = push_stall(drawing, row);
	return error ? error : drawing_add(drawing, row->samples);
}

static bool is_stall_shown(const struct drawing *drawing, const struct analysis_instruction *row)
{
	return drawing_shows(drawing, analysis_instruction_device(drawing->analysis, row)) &&
	       drawing_is_of_process(drawing, process_of(drawing, row));
}

/* Gives the flame graph's frame of each stall reason a tooltip: its meaning and usual remedy. */
int drawing_note_stalls(struct drawing *drawing)
{
	int error = 0;

	for (size_t i = 0; i < stall_reasons_count && !error; i++) {
		const struct stall_reason *reason = &stall_reasons[i];
		uint32_t frame = flame_frame(drawing->flame, reason->name, FLAME_STALL);
		char text[512];

		snprintf(text, sizeof(text), "%s. Usual remedy: %s.", reason->meaning,
			 reason->remedy);
		error = frame == UINT32_MAX ? -ENOMEM : flame_note(drawing->flame, frame, text);
	}
	return error ? drawing_out_of_memory() : 0;
}

int drawing_draw_stalls(struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis->instructions_count && !error; i++) {
		const struct analysis_instruction *row = &analysis->instructions[i];

		drawing->row = (struct drawing_row){.kind = DRAWN_STALL, .index = (uint32_t)i};
		if (row->samples && is_stall_shown(drawing, row))
			error = draw_stall(drawing, row);
	}
	return error;
}
