/* SPDX-License-Identifier: MIT
 *
 * export/view_code.h - names, frames and stacks of a view, each once
 */
#ifndef EXPORT_VIEW_CODE_H
#define EXPORT_VIEW_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/pair_map.h"
#include "base/hash.h"

struct frame_name;
struct frames;
struct json_writer;
struct model;

struct view_code {
	const struct model *model; /* borrowed, as frames */
	struct frames *frames;
	struct string_table names; /* of items, paths and tracks */
	struct string_table texts; /* of frames; they come behind the names */
	struct hash_map by_string; /* string of the trace -> name */
	struct pair_map
		frame_rows; /* (function << 32 | file, line << 8 | class) -> index of rows */
	struct view_frame {
		uint32_t function, file, line, class;
	} * frames_list;
	size_t frames_count, frames_capacity;
	struct pair_map stack_rows; /* (caller, frame) -> index */
	struct view_stack {
		uint32_t caller, frame;
	} * stacks; /* the first is none */
	size_t stacks_count, stacks_capacity;
	struct hash_map by_stack; /* stack of the trace -> index */
};

int view_code_init(struct view_code *code, const struct model *model, struct frames *frames);
void view_code_fini(struct view_code *code); /* NULL-safe */

/* Number of a text; of a string of the trace; of a stack of the trace. -ENOMEM. */
int view_code_name(struct view_code *code, const char *text, uint32_t *ret_name);
/* Of a stack with a function that was called from it: *ret_function is its name, or 0 where the function stands in the stack, as
 * what it led to in the kernel lies on it. -ENOMEM. */
int view_code_call(struct view_code *code, uint32_t stack, const char *function,
		   uint32_t *ret_function, uint32_t *ret_stack);
int view_code_string(struct view_code *code, uint32_t string, uint32_t *ret_name);
int view_code_stack(struct view_code *code, uint32_t stack, uint32_t *ret_stack);

/* About how many bytes of JSON all of it takes. */
size_t view_code_size(const struct view_code *code);
/* The key "names", of items alone. */
void view_code_write_names(const struct view_code *code, struct json_writer *json);
/* The keys "names", "frames" and "stacks". */
void view_code_write(const struct view_code *code, struct json_writer *json);

#endif
