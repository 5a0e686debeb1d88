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
 */
#pragma once

struct match_map;

/* Errors: -errno with path, line and remedy in the error chain; -EINVAL for a bad line. */
int match_map_read(const char *path, struct match_map **ret_map);
void match_map_free(struct match_map *map); /* NULL-safe */
