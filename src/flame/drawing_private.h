/* SPDX-License-Identifier: MIT
 *
 * flame/drawing_private.h - functions that the files of drawing share: drawing.c, drawing_stack.c
 * and drawing_instructions.c
 *
 * All that return int set a text in the error chain on failure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flame/drawing.h"
#include "flame/flame.h"

struct analysis_instruction;
struct event_process;
struct frame_name;

/* ---- drawing_stack.c ---- */

/* Whether rows of a process are drawn; process NULL: not known. */
bool drawing_is_of_process(const struct drawing *drawing, const struct event_process *process);

int drawing_out_of_memory(void); /* returns -ENOMEM */

/* The name of a frame that is compared with another recording's: code without a name is its file.
 * Returns name, or the text in `room`. */
const char *drawing_compared_name(const char *name, char *room, size_t size);

/* Pushes one frame on the stack. */
int drawing_push(struct drawing *drawing, const char *name, enum flame_class class);

/* Puts an idle frame below all frames of the stack. */
int drawing_push_root(struct drawing *drawing, const char *name);

/* Replace the stack by frames, root first. An empty stack gets one frame with the reason. */
int drawing_push_names(struct drawing *drawing, const struct frame_name *names, size_t count);
int drawing_push_stack(struct drawing *drawing, uint32_t stack);

/* Pushes the program's frames that called the runtime. */
int drawing_push_callers(struct drawing *drawing, uint32_t stack);

/* Pushes the runtime's function and the frames of the kernel (operating system) that it called. */
int drawing_push_call(struct drawing *drawing, uint32_t stack, const char *function);

/* Adds a value to the stack: to the graph, below the process if wanted, or to on_stack if that is
 * set. */
int drawing_add(struct drawing *drawing, uint64_t value);

/* Adds a device box `name`, and a box `above` it if that is not NULL, on top of the host code on
 * the stack. Leaves the stack as it was. */
int drawing_add_beyond(struct drawing *drawing, const char *name, enum flame_class class,
		       const char *above, uint64_t value);

/* ---- drawing_instructions.c ---- */

/* Whether a kernel's time can be apportioned to its instructions: not if all weights are 0. */
bool drawing_has_weight(const struct analysis_instruction *rows, size_t count);

/* Passes instructions to on_stack, with their weights. */
int drawing_pass_instructions(struct drawing *drawing, const struct analysis_instruction *rows,
			      size_t count);

/* Apportions a kernel's time to its instructions by the weights of their samples. */
int drawing_add_instructions(struct drawing *drawing, const struct analysis_instruction *rows,
			     size_t count, uint64_t value);

/* Draws the view "stall". */
int drawing_draw_stalls(struct drawing *drawing);

/* Adds the meaning of each stall reason as a tooltip. */
int drawing_note_stalls(struct drawing *drawing);
