/* SPDX-License-Identifier: MIT
 *
 * import/rocm/side.c - read a table beside another one, both in the order of the same ids
 *
 * Runs in:  our own process
 * Gets:     a database
 * Gives:    rows
 * Owns:     a cursor
 * Fails:    errors of the cursor
 * Why not a search for each row: two tables in the order of ids are read in a third of the time
 */
#include "import/rocm/side.h"

int rocm_side_open(struct rocm_side *side, struct sqlite_file *file,
		   const struct sqlite_query *query)
{
	int error = sqlite_cursor_open(&side->cursor, file, query);

	if (error)
		return error;
	side->status = sqlite_cursor_next(&side->cursor);
	return side->status < 0 ? side->status : 0;
}

void rocm_side_close(struct rocm_side *side)
{
	sqlite_cursor_close(&side->cursor);
	side->status = 0;
}

static int is_at(const struct rocm_side *side, int64_t id)
{
	if (side->status < 0)
		return side->status;
	return side->status > 0 && sqlite_cursor_number(&side->cursor, 0) == id;
}

int rocm_side_move(struct rocm_side *side, int64_t id)
{
	while (side->status > 0 && sqlite_cursor_number(&side->cursor, 0) < id)
		side->status = sqlite_cursor_next(&side->cursor);
	return is_at(side, id);
}

int rocm_side_next(struct rocm_side *side, int64_t id)
{
	side->status = sqlite_cursor_next(&side->cursor);
	return is_at(side, id);
}
