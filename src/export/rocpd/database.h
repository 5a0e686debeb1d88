/* SPDX-License-Identifier: MIT
 *
 * export/rocpd/database.h - the state of an export to rocprofv3's SQLite format: rows are inserted
 * into its tables by name
 */
#pragma once

#include <stdint.h>

#include "analyze/entity_index.h"
#include "analyze/filter.h"
#include "base/hash.h"
#include "base/pair_map.h"
#include "base/string.h"
#include "export/common/sqlite_writer.h"
#include "export/common/thread_nesting.h"

struct frames;
struct model;
struct output_options;

enum rocpd_table {
	ROCPD_METADATA,
	ROCPD_STRING,
	ROCPD_NODE,
	ROCPD_PROCESS,
	ROCPD_THREAD,
	ROCPD_AGENT,
	ROCPD_QUEUE,
	ROCPD_STREAM,
	ROCPD_PMC,
	ROCPD_CODE_OBJECT,
	ROCPD_KERNEL_SYMBOL,
	ROCPD_TRACK,
	ROCPD_EVENT,
	ROCPD_PMC_EVENT,
	ROCPD_REGION,
	ROCPD_SAMPLE,
	ROCPD_DISPATCH,
	ROCPD_COPY,
	ROCPD_TABLES
};

/* A call that may have launched. */
struct rocpd_call {
	uint64_t region, enter, exit;
};

struct rocpd {
	const struct model *model; /* borrowed */
	struct filter filter;
	struct frames *frames; /* owned */
	struct sqlite_writer writer;
	sqlite3_stmt *inserts[ROCPD_TABLES]; /* prepared at first use */
	char guid[37];                       /* the file's; the suffix of its tables */
	char suffix[40];
	struct string_table strings; /* id + 1 in the table rocpd_string; 1: "" */
	struct entity_index processes;
	uint64_t *process_ids, *thread_ids; /* in the tables, by index */
	struct pair_map queues;             /* hardware queues and streams with a row -> index */
	struct hash_map tracks;             /* (name, thread) -> id */
	struct pair_map dispatches;    /* (process, correlation) -> event, if counters need it */
	struct thread_nesting nesting; /* open regions */
	struct rocpd_call *calls;      /* the latest call of each thread */
	struct string_builder text, extdata; /* for a row of an info table; for the next event */
	uint64_t events, regions, dispatched, copies, samples, values, rows;
};

/* Opens the file and makes its tables. Errors: those of the writer, -ENOMEM. */
int rocpd_open(struct rocpd *rocpd, const struct model *model, const struct output_options *options,
	       FILE *file);
/* Writes the strings and makes the views. */
int rocpd_finish(struct rocpd *rocpd);
void rocpd_close(struct rocpd *rocpd); /* half-built-safe */

/* Begins a row; its columns follow in the order of the table in database.c. */
int rocpd_begin(struct rocpd *rocpd, enum rocpd_table table);

/* The id of a text in rocpd_string; 0: out of memory. */
uint64_t rocpd_string(struct rocpd *rocpd, const char *text);

/* The ids of a process and a thread in their tables, by the trace's id; 0: not described. */
uint64_t rocpd_process(const struct rocpd *rocpd, uint32_t process);
uint64_t rocpd_thread(const struct rocpd *rocpd, uint32_t thread);
uint64_t rocpd_node(const struct rocpd *rocpd, uint32_t process);
