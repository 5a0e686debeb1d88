/* SPDX-License-Identifier: MIT
 *
 * import/chrome/frames.h - frames of the names of slices
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct chrome_names;
struct import_target;

struct chrome_frames {
	struct import_target *target;
	const struct chrome_names *names;
	uint32_t *stacks; /* by id of a text with callers: its stack + 1; 0: not made yet */
	size_t stacks_capacity;
};

void chrome_frames_init(struct chrome_frames *frames, struct import_target *target,
			const struct chrome_names *names);
void chrome_frames_fini(struct chrome_frames *frames);

/* Sets *stack to the stack of caller *stack and a slice of this type (enum event_api_type) and
 * name, a string in the trace. Errors: -ENOMEM. */
int chrome_frames_push(struct chrome_frames *frames, uint32_t type, uint32_t name, uint32_t *stack);

/* The stack of a text "file(line): function;…", the innermost function first. */
int chrome_frames_text(struct chrome_frames *frames, uint32_t call_stack, uint32_t *ret_stack);
