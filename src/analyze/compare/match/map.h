/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/map.h - matches that the user writes down in a file
 *
 *	# comment
 *	old_kernel => new_kernel
 *	gemm_bias => gemm + bias
 *	scale + add => scale_add
 *	triton_poi_fused_* => triton_pointwise_*
 *	debug_* => -
 *	- => check_*
 *	"a + b" => sum
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct match_map;

enum { MAP_SIDES = 2, MAP_NAMES = 16 };

/* A name, in which "*" stands for any text unless it was quoted. */
struct map_name {
	const char *text;
	bool is_quoted;
};

/* count 0 on a side: the items of the other side get no partner. */
struct map_line {
	struct map_name names[MAP_SIDES][MAP_NAMES];
	size_t counts[MAP_SIDES];
};

/* Errors: -errno with path, line and remedy in the error chain; -EINVAL for a bad line. */
int match_map_read(const char *path, struct match_map **ret_map);
void match_map_free(struct match_map *map); /* NULL-safe */

size_t match_map_lines(const struct match_map *map, const struct map_line **ret_lines);
