/* SPDX-License-Identifier: MIT
 *
 * import/nsys/import.h - the state of an import of Nsight Systems, shared by the files of this
 * folder
 *
 * All functions return 0, -EBADMSG with a text for an invalid row, or another error that ends the
 * import.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "import/common/cuda_join.h"
#include "import/faults.h"
#include "import/nsys/collectives.h"
#include "import/sqlite_file.h"

struct import_target;

/* Ids of StringIds are dense; texts with larger ids are looked up at each use. */
#define NSYS_CACHED_MAX (UINT32_C(1) << 21)

/* Texts of StringIds by their id. */
struct nsys_texts {
	struct sqlite_cursor cursor;
	uint32_t *strings; /* ids of the trace, + 1; 0: not looked up */
	size_t strings_capacity;
	struct import_cuda_function *functions;
	size_t functions_capacity;
};

/* Processes, threads, devices and queues of the trace by the ids of the file. */
struct nsys_machine {
	struct hash_map process_names; /* globalPid -> id in names */
	struct hash_map thread_names;  /* globalTid -> id of StringIds */
	struct string_table names;
	struct hash_map processes, threads; /* globalPid, globalTid -> id */
	struct string_table device_keys, queue_keys;
	uint32_t *devices, *queues; /* by id of a key - 1 */
	size_t devices_capacity, queues_capacity;
	struct hash_map kernels; /* process << 32 | id of StringIds -> id */
};

struct nsys {
	struct import_target *target;
	struct sqlite_file file;
	struct import_faults faults;
	struct nsys_texts texts;
	struct nsys_machine machine;
	struct hash_map frames;  /* symbol, module, mode -> frame */
	uint64_t default_global; /* process of rows in tables without a column for it */
	struct import_cuda_join join;
	bool has_start;
	struct nsys_collectives collectives;
	uint64_t rows; /* usable */
};

/* The sum of two numbers of a file, which may overflow. */
static inline int64_t nsys_add(int64_t left, int64_t right)
{
	return (int64_t)((uint64_t)left + (uint64_t)right);
}

/* ---- rows.c ---- */

/* Whether the table exists and is plain. */
int nsys_has_table(struct nsys *nsys, const char *table, bool *ret_has);
/* The same, with the needed columns. A table that lacks one is a fault. */
int nsys_can_read(struct nsys *nsys, const struct sqlite_query *query, bool *ret_can);
/* Calls on_row for each row of a table that may be absent. */
int nsys_each_row(struct nsys *nsys, const struct sqlite_query *query,
		  int (*on_row)(void *context, const struct sqlite_cursor *row), void *context);

/* All tables of calls and commands begin with these columns. */
enum {
	NSYS_START,
	NSYS_END,
	NSYS_CORRELATION,
	NSYS_GLOBAL, /* globalPid or globalTid */
	NSYS_DEVICE,
	NSYS_CONTEXT,
	NSYS_STREAM,
	NSYS_GREEN /* green context */
};
/* The process or thread of a row of these tables. */
uint64_t nsys_global(const struct nsys *nsys, const struct sqlite_cursor *row);

/* ---- texts.c ---- */

int nsys_texts_open(struct nsys *nsys);
void nsys_texts_close(struct nsys *nsys);
/* The text of an id; "" if there is none; valid until the next call. */
int nsys_texts_get(struct nsys *nsys, int64_t id, const char **ret_text);
/* The same as a string of the trace. */
int nsys_texts_string(struct nsys *nsys, int64_t id, uint32_t *ret_string);
/* A function of CUDA's API, without the version at the end of its name. */
int nsys_texts_function(struct nsys *nsys, int64_t id, struct import_cuda_function *ret_function);

/* ---- machine.c ---- */

int nsys_machine_open(struct nsys *nsys);
void nsys_machine_close(struct nsys *nsys);
/* global: globalPid or globalTid. */
int nsys_machine_process(struct nsys *nsys, uint64_t global, uint32_t *ret_process);
int nsys_machine_thread(struct nsys *nsys, uint64_t global, uint32_t *ret_thread);
/* devices.c; device: its number in the process. */
int nsys_machine_device(struct nsys *nsys, uint64_t global, int64_t device, uint32_t *ret_device);

/* A stream of a process, with the ids of the file. */
struct nsys_stream {
	uint64_t global; /* globalPid or globalTid */
	int64_t device, context, stream;
	uint32_t green; /* number of the green context, + 1; 0: none */
};
int nsys_machine_queue(struct nsys *nsys, const struct nsys_stream *stream, uint32_t *ret_queue);
/* The queue of a stream that had a command, whatever the device; 0: none. */
uint32_t nsys_machine_find_queue(struct nsys *nsys, const struct nsys_stream *stream);

/* ---- the tables ---- */

int nsys_read_start(struct nsys *nsys);    /* notes.c: the clock; before the first row */
int nsys_read_calls(struct nsys *nsys);    /* calls.c: runtime, driver, commands */
int nsys_read_ranges(struct nsys *nsys);   /* ranges.c: NVTX, overheads */
int nsys_read_cpu(struct nsys *nsys);      /* cpu.c: OS calls, samples, switches */
int nsys_read_counters(struct nsys *nsys); /* counters.c: memory, metrics */
int nsys_read_notes(struct nsys *nsys);    /* notes.c: start time, ranks, messages */
