/* SPDX-License-Identifier: MIT
 *
 * import/rocm/side.h - read a table beside another one, both in the order of the same ids
 */
#pragma once

#include "import/sqlite_file.h"

/* All zero: no such table. */
struct rocm_side {
	struct sqlite_cursor cursor;
	int status; /* result of the last sqlite_cursor_next; 0: the end, or no such table */
};

/* The first column is the id, by which the query sorts. Errors: those of the cursor. */
int rocm_side_open(struct rocm_side *side, struct sqlite_file *file,
		   const struct sqlite_query *query);
void rocm_side_close(struct rocm_side *side);

/* Moves to the first row whose id is at least `id`. Returns 1 if that row has this id, 0 if not,
 * errors of the cursor. */
int rocm_side_move(struct rocm_side *side, int64_t id);

/* Moves to the next row. Returns as rocm_side_move. */
int rocm_side_next(struct rocm_side *side, int64_t id);
