/* SPDX-License-Identifier: MIT
 *
 * export/common/stack_texts.c - a cache of the texts of stacks
 *
 * Runs in:  our own process
 * Gets:     ids of stacks, a function that formats one
 * Gives:    texts
 * Owns:     a text for each stack that was requested
 * Fails:    NULL if memory has run out
 * Why a cache: a million commands are launched from some hundred stacks of thirty frames
 */
#include "export/common/stack_texts.h"

#include <string.h>

#include "analyze/model.h"
#include "export/common/profile.h"

void stack_texts_init(struct stack_texts *texts, struct profile *profile, stack_format *format)
{
	*texts = (struct stack_texts){.profile = profile, .format = format};
}

void stack_texts_fini(struct stack_texts *texts)
{
	if (!texts)
		return;
	hash_map_fini(&texts->texts);
	arena_fini(&texts->arena);
	string_builder_fini(&texts->builder);
}

const char *stack_texts_get(struct stack_texts *texts, uint32_t stack)
{
	return stack_texts_get_call(texts, stack, 0);
}

const char *stack_texts_get_call(struct stack_texts *texts, uint32_t stack,
				 uint32_t function_string)
{
	const uint64_t key = (uint64_t)function_string << 32 | stack;
	const char *known = hash_map_find_pointer(&texts->texts, key);
	const char *function = model_text(texts->profile->model, function_string, "");
	const struct profile_frame *frames;
	size_t count;

	if (known)
		return known;
	if (profile_frames(texts->profile, stack, function, &frames, &count))
		return NULL;
	string_builder_clear(&texts->builder);
	texts->format(&texts->builder, frames, count);
	if (texts->builder.error)
		return NULL;
	known = string_builder_text(&texts->builder);
	known = arena_copy(&texts->arena, known, strlen(known));
	if (!known || hash_map_put_pointer(&texts->texts, key, known))
		return NULL;
	return known;
}
