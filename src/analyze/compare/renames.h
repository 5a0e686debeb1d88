/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/renames.h - the new name of each kernel that has another one in the base
 */
#pragma once

struct compare_side;
struct renames;

/* Matches the kernels of two sides. The changed side must outlive the result. -ENOMEM. */
int renames_find(const struct compare_side *base, const struct compare_side *changed,
		 struct renames **ret_renames);
void renames_free(struct renames *renames); /* NULL-safe */

/* The name on the changed side of a kernel of the base; the name itself if it has no other one. */
const char *renames_get(const struct renames *renames, const char *name);
