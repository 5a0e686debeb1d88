/* SPDX-License-Identifier: MIT
 *
 * import/rocm/rocpd_tables.h - the tables of one recording in a database of rocprofv3
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "import/faults.h"
#include "import/rocm/process.h"
#include "import/rocm/side.h"
#include "import/common/strings.h"
#include "import/sqlite_file.h"

struct import_target;

/* A database has its tables once for each recording that was merged into it; their names end with
 * its uuid. */
struct rocpd_import {
	struct import_target *target;
	struct sqlite_file *file;
	const char *uuid; /* end of the names of tables */
	struct rocm_join *join;
	struct import_strings strings;
	struct rocm_process process; /* that of the last row; its id changes */
	struct hash_map processes;   /* by the file's id: id */
	struct hash_map threads;     /* by the file's id: tid */
	struct hash_map counters;    /* by the file's id: name in texts */
	struct hash_map agents;      /* agents of counters, by the counter's id */
	struct string_table texts;
	struct rocm_side events;
	uint64_t usable, samples; /* samples: those left out */
	struct import_faults *faults;
};

/* Columns and clauses of a query; the table's name is without the uuid. */
struct rocpd_query {
	const char *table;
	struct sqlite_columns columns;
	const char *where, *order;
};

/* Calls on_row for each row of a table, if the database has it. Errors: those of the cursor. */
int rocpd_each_row(struct rocpd_import *rocpd, const struct rocpd_query *query,
		   int (*on_row)(void *context, const struct sqlite_cursor *row));

/* The same with another context for on_row. */
int rocpd_each_row_with(struct rocpd_import *rocpd, const struct rocpd_query *query, void *context,
			int (*on_row)(void *context, const struct sqlite_cursor *row));

/* Opens a cursor. *ret_exists: the database has the table. table: a buffer for the whole name. */
int rocpd_cursor_open(struct rocpd_import *rocpd, const struct rocpd_query *query,
		      struct sqlite_cursor *cursor, char table[128], bool *ret_exists);

/* Opens a side cursor; an absent table has no rows. */
int rocpd_side_open(struct rocpd_import *rocpd, const struct rocpd_query *query,
		    struct rocm_side *side, char table[128]);

/* Reads processes, threads, agents, queues, streams, code and counters. */
int rocpd_read_descriptions(struct rocpd_import *rocpd);

/* Sets the process of a row. An unknown id is a process of its own. */
int rocpd_set_process(struct rocpd_import *rocpd, int64_t id);

/* The tid of a thread's id. */
uint32_t rocpd_tid(const struct rocpd_import *rocpd, int64_t thread);

/* Reads regions, dispatches, copies, allocations, samples and counter values. */
int rocpd_read_rows(struct rocpd_import *rocpd);
