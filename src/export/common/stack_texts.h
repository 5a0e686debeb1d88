/* SPDX-License-Identifier: MIT
 *
 * export/common/stack_texts.h - a cache of the texts of stacks
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/string.h"

struct profile;
struct profile_frame;

/* frames: root first, at least one. */
typedef void stack_format(struct string_builder *text, const struct profile_frame *frames,
			  size_t count);

struct stack_texts {
	struct profile *profile; /* borrowed */
	stack_format *format;
	struct hash_map texts; /* function's string << 32 | stack id -> text */
	struct arena arena;
	struct string_builder builder;
};

void stack_texts_init(struct stack_texts *texts, struct profile *profile, stack_format *format);
void stack_texts_fini(struct stack_texts *texts); /* NULL-safe */

/* The text of a stack, valid until stack_texts_fini; NULL: no memory. */
const char *stack_texts_get(struct stack_texts *texts, uint32_t stack);
/* The same with the function that its innermost frame called; 0: none. */
const char *stack_texts_get_call(struct stack_texts *texts, uint32_t stack,
				 uint32_t function_string);
