/* SPDX-License-Identifier: MIT
 *
 * import/nsys/commands.h - kernels, copies, fills and graphs of a file of Nsight Systems
 */
#pragma once

#include "event/event.h"
#include "import/nsys/import.h"

/* The tables whose rows are joined by (process, correlationId). All have their start, end,
 * correlationId and process in the same columns. */
enum nsys_table {
	NSYS_TABLE_CALLS,
	NSYS_TABLE_SYNCS,
	NSYS_TABLE_KERNELS, /* this and those below are commands */
	NSYS_TABLE_COPIES,
	NSYS_TABLE_FILLS,
	NSYS_TABLE_GRAPHS,
	NSYS_TABLES_COUNT
};

/* Columns of the calls from the fifth on. */
enum { NSYS_CALL_CLASS = 4, NSYS_CALL_NAME, NSYS_CALL_RESULT, NSYS_CALL_CHAIN };

struct nsys_table_row {
	const char *name;
	struct sqlite_columns columns;
};
extern const struct nsys_table_row nsys_tables[NSYS_TABLES_COUNT];

/* Reads the row of a command. */
int nsys_commands_read(struct nsys *nsys, enum nsys_table table, const struct sqlite_cursor *cursor,
		       struct import_cuda_command *ret_command);
