/* SPDX-License-Identifier: MIT
 *
 * page/view/code.h - tables of the names, frames and stacks of a view, without duplicates
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/pair_map.h"

struct frame_name;
struct frames;
struct json_writer;
struct model;

struct view_code {
	const struct model *model; /* borrowed, like frames */
	struct frames *frames;
	struct string_table names; /* names of items, paths and tracks */
	struct string_table texts; /* texts of frames; written after the names */
	struct hash_map by_string; /* string id of the trace -> name */
	/* (function << 32 | file, line << 8 | class) -> index of rows */
	struct pair_map frame_rows;
	struct view_frame {
		uint32_t function, file, line, class;
		bool is_own; /* the user's own function, see frames_is_own */
	} * frames_list;
	size_t frames_count, frames_capacity;
	struct pair_map stack_rows; /* (caller, frame) -> index */
	struct view_stack {
		uint32_t caller, frame;
	} * stacks; /* [0]: no stack */
	size_t stacks_count, stacks_capacity;
	struct hash_map by_stack; /* stack of the trace -> index */
};

int view_code_init(struct view_code *code, const struct model *model, struct frames *frames);
void view_code_fini(struct view_code *code); /* NULL-safe */

/* Numbers of a text (name), a string of the trace (string) and a stack of the trace (stack).
 * Errors: -ENOMEM. */
int view_code_name(struct view_code *code, const char *text, uint32_t *ret_name);
/* Numbers of a stack and of the function that its innermost frame called. *ret_function is 0 if the
 * function is part of the stack, because kernel frames follow it. Errors: -ENOMEM. */
int view_code_call(struct view_code *code, uint32_t stack, const char *function,
		   uint32_t *ret_function, uint32_t *ret_stack);
int view_code_string(struct view_code *code, uint32_t string, uint32_t *ret_name);
int view_code_stack(struct view_code *code, uint32_t stack, uint32_t *ret_stack);

/* Approximate size of all tables as JSON, in bytes. */
size_t view_code_size(const struct view_code *code);
/* Writes the texts of a table as items of an array, from id `first` on; id 0 is "". */
void view_code_write_texts(const struct string_table *table, uint32_t first,
			   struct json_writer *json);
/* Writes the key "names", with the names of items only. */
void view_code_write_names(const struct view_code *code, struct json_writer *json);
/* Writes the keys "names", "frames" and "stacks". */
void view_code_write(const struct view_code *code, struct json_writer *json);
