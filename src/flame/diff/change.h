/* SPDX-License-Identifier: MIT
 *
 * flame/diff/change.h - a pair of values as text and as colour
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "flame/diff/diff.h"
#include "flame/escape.h"

/* Levels of a change are -FLAME_LEVELS to FLAME_LEVELS: halved to doubled. */
#define FLAME_LEVELS 8

struct flame_values {
	uint64_t now, base; /* in NEW and in BASE */
};

/* The pair of a node or box: its value in the graph and the other one. */
static inline struct flame_values flame_diff_values(const struct flame_diff *diff, uint64_t value,
						    uint64_t other)
{
	return diff->is_of_base ? (struct flame_values){other, value}
				: (struct flame_values){value, other};
}

/* The change relative to the larger value; above a half, the level is the highest. */
int flame_values_level(const struct flame_values *values);

/* The colour of a level, as 0xRRGGBB; FLAME_INK and FLAME_INK_ON_DARK are readable on it. */
uint32_t flame_level_colour(int level, bool is_dark);

/* "+1.5 ms", "−1.5 ms" or "0 ns", without a percentage */
void flame_values_format_change(const struct flame_values *values, const char *unit,
				struct string_builder *ret_text);
/* "3 ms in NEW, 2 ms in BASE, +1 ms (+50.00 %)" */
void flame_values_format(const struct flame_values *values, const char *unit,
			 struct string_builder *ret_text);
