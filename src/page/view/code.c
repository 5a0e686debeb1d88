/* SPDX-License-Identifier: MIT
 *
 * page/view/code.c - tables of the names, frames and stacks of a view, without duplicates
 *
 * Runs in:  our own process
 * Gets:     strings and stacks of a trace
 * Gives:    small numbers for them, and their tables as JSON
 * Owns:     the tables
 * Fails:    -ENOMEM
 * Why names of frames are separate: the page needs 10^5 function names only when the user selects a
 *           stack, but the few hundred names of calls and kernels for the first picture.
 */
#include "page/view/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/frames.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/json.h"

int view_code_init(struct view_code *code, const struct model *model, struct frames *frames)
{
	*code = (struct view_code){.model = model, .frames = frames};
	if (array_grow(code->stacks, code->stacks_capacity, 1))
		return -ENOMEM;
	code->stacks_count = 1;
	return 0;
}

void view_code_fini(struct view_code *code)
{
	if (!code)
		return;
	string_table_fini(&code->names);
	string_table_fini(&code->texts);
	hash_map_fini(&code->by_string);
	hash_map_fini(&code->by_stack);
	pair_map_fini(&code->frame_rows);
	pair_map_fini(&code->stack_rows);
	free(code->frames_list);
	free(code->stacks);
	*code = (struct view_code){0};
}

static int add_text(struct string_table *table, const char *text, uint32_t *ret_id)
{
	uint32_t id = *text ? string_table_add(table, text, strlen(text)) : 0;

	if (*text && !id)
		return -ENOMEM;
	*ret_id = id;
	return 0;
}

int view_code_name(struct view_code *code, const char *text, uint32_t *ret_name)
{
	return add_text(&code->names, text, ret_name);
}

int view_code_string(struct view_code *code, uint32_t string, uint32_t *ret_name)
{
	const uint64_t *known = hash_map_find(&code->by_string, string);
	int error;

	if (known) {
		*ret_name = (uint32_t)*known;
		return 0;
	}
	error = add_text(&code->names, model_text(code->model, string, ""), ret_name);
	return error ? error : hash_map_put(&code->by_string, string, *ret_name);
}

/* ---- stacks ---- */

static uint32_t class_of(const struct frame_name *name)
{
	static const uint32_t classes[] = {
		[FRAME_CLASS_HOST] = 0,    [FRAME_CLASS_KERNEL] = 1, [FRAME_CLASS_JIT] = 2,
		[FRAME_CLASS_INLINED] = 3, [FRAME_CLASS_PYTHON] = 4, [FRAME_CLASS_TRUNCATED] = 6,
	};

	return classes[name->class];
}

static int find_frame(struct view_code *code, const struct frame_name *name, uint32_t *ret_frame)
{
	struct view_frame row = {.line = name->line,
				 .class = class_of(name),
				 .is_own = frames_is_own(code->frames, name)};
	uint64_t first, second;

	if (add_text(&code->texts, name->function, &row.function) ||
	    add_text(&code->texts, name->file ? name->file : "", &row.file))
		return -ENOMEM;
	first = (uint64_t)row.function << 32 | row.file;
	second = (uint64_t)row.line << 8 | row.class;
	*ret_frame = pair_map_add(&code->frame_rows, first, second, code->frames_list,
				  code->frames_capacity, code->frames_count, row);
	return *ret_frame == PAIR_MAP_NONE ? -ENOMEM : 0;
}

static int find_node(struct view_code *code, uint32_t caller, uint32_t frame, uint32_t *ret_stack)
{
	*ret_stack =
		pair_map_add(&code->stack_rows, caller, frame, code->stacks, code->stacks_capacity,
			     code->stacks_count, (struct view_stack){caller, frame});
	return *ret_stack == PAIR_MAP_NONE ? -ENOMEM : 0;
}

static int put_names(struct view_code *code, const struct frame_name *names, size_t count,
		     uint32_t *ret_stack)
{
	uint32_t node = 0, frame;
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		error = find_frame(code, &names[i], &frame);
		if (!error)
			error = find_node(code, node, frame, &node);
	}
	*ret_stack = node;
	return error;
}

static int make_stack(struct view_code *code, uint32_t stack, uint32_t *ret_stack)
{
	const struct frame_name *names;
	size_t count;
	int error = frames_of_stack(code->frames, stack, &names, &count);

	return error ? error : put_names(code, names, count, ret_stack);
}

int view_code_call(struct view_code *code, uint32_t stack, const char *function,
		   uint32_t *ret_function, uint32_t *ret_stack)
{
	const struct frame_name *names;
	size_t count, callers;
	int error = frames_of_call(code->frames, stack, function, &names, &count, &callers);

	if (error)
		return error;
	*ret_function = 0;
	if (*function &&
	    (count > callers + 1 || (count && names[count - 1].class == FRAME_CLASS_KERNEL)))
		return put_names(code, names, count, ret_stack);
	error = view_code_name(code, function, ret_function);
	return error ? error : view_code_stack(code, stack, ret_stack);
}

int view_code_stack(struct view_code *code, uint32_t stack, uint32_t *ret_stack)
{
	const uint64_t *known = hash_map_find(&code->by_stack, stack);
	int error;

	*ret_stack = known ? (uint32_t)*known : 0;
	if (known || !stack)
		return 0;
	error = make_stack(code, stack, ret_stack);
	return error ? error : hash_map_put(&code->by_stack, stack, *ret_stack);
}

/* ---- JSON ---- */

size_t view_code_size(const struct view_code *code)
{
	size_t size = 16 * code->frames_count + 12 * code->stacks_count;

	for (uint32_t i = 1; i <= code->texts.count; i++)
		size += code->texts.entries[i - 1].length + 3;
	return size;
}

void view_code_write_texts(const struct string_table *table, uint32_t first,
			   struct json_writer *json)
{
	for (uint32_t i = first; i <= table->count; i++) {
		size_t length;
		const char *text = string_table_text(table, i, &length);

		json_bytes(json, text, length);
	}
}

void view_code_write_names(const struct view_code *code, struct json_writer *json)
{
	json_pair_array(json, "names");
	view_code_write_texts(&code->names, 0, json);
	json_array_end(json);
}

static uint64_t text_of(const struct view_code *code, uint32_t text)
{
	return text ? (uint64_t)code->names.count + text : 0;
}

void view_code_write(const struct view_code *code, struct json_writer *json)
{
	json_pair_array(json, "names");
	view_code_write_texts(&code->names, 0, json);
	view_code_write_texts(&code->texts, 1, json);
	json_array_end(json);
	json_pair_array(json, "frames");
	for (size_t i = 0; i < code->frames_count; i++) {
		json_u64(json, text_of(code, code->frames_list[i].function));
		json_u64(json, text_of(code, code->frames_list[i].file));
		json_u64(json, code->frames_list[i].line);
		json_u64(json, code->frames_list[i].class);
	}
	json_array_end(json);
	json_pair_array(json, "own");
	for (size_t i = 0; i < code->frames_count; i++)
		if (code->frames_list[i].is_own)
			json_u64(json, i);
	json_array_end(json);
	json_pair_array(json, "stacks");
	for (size_t i = 0; i < code->stacks_count; i++) {
		json_u64(json, code->stacks[i].caller);
		json_u64(json, code->stacks[i].frame);
	}
	json_array_end(json);
}
