/* SPDX-License-Identifier: MIT
 *
 * import/nvvp/import.h - the state of an import of nvprof, shared by the files of this folder
 *
 * All functions return 0, -EBADMSG with a text for an invalid row, or another error that ends the
 * import.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/pair_map.h"
#include "import/common/cuda_join.h"
#include "import/common/strings.h"
#include "import/faults.h"
#include "import/sqlite_file.h"

struct import_target;

/* Processes, threads, devices and streams of the trace by the ids of the file. */
struct nvvp_machine {
	struct pair_map names;              /* (third id and kind of an object, its ids) -> text */
	struct hash_map processes, devices; /* number -> id */
	struct pair_map threads;            /* (pid, thread) -> id */
	struct hash_map contexts;           /* context -> number of the device */
	struct string_table queue_keys;     /* process, device, context, stream */
	uint32_t *queues;                   /* by id of a key - 1 */
	size_t queues_capacity;
	uint32_t pid;      /* the process of rows that name none */
	bool has_pthreads; /* ids of threads are not those of the kernel */
	uint64_t names_left_out, contexts_left_out;
};

/* A function of a module. */
struct nvvp_function {
	int64_t name;                /* id of the text */
	uint64_t offset, size_bytes; /* in the code object */
	uint32_t code;               /* its module's code object; 0: the file has none */
	uint32_t kernel;             /* 0: not used yet */
	uint32_t next;               /* the next one of its module, + 1 */
};

/* A place in the source: the id of the file's name, the number of the line. */
struct nvvp_line {
	int64_t file, line;
};

struct nvvp_code {
	struct nvvp_function *functions;
	size_t functions_count, functions_capacity;
	struct nvvp_line *lines;
	size_t lines_count, lines_capacity;
	struct hash_map by_id, line_by_id; /* index */
	struct hash_map by_name;           /* id of a text -> code object */
	struct pair_map modules;           /* (context, module) -> its last function, + 1 */
	uint64_t too_large, invalid;       /* modules */
	uint64_t functions_left_out, lines_left_out;
};

struct nvvp {
	struct import_target *target;
	struct sqlite_file file;
	struct import_faults faults;
	struct import_strings strings;
	struct nvvp_machine machine;
	struct nvvp_code code;
	struct pair_map kernels;               /* (process, id of the name) -> kernel */
	struct import_cuda_function *calls[2]; /* by number: driver, runtime */
	struct import_cuda_join join;
	uint32_t cycles, samples, instructions; /* units of samples */
	uint64_t first_ns;                      /* start of the first command */
	uint64_t rows;                          /* usable */
};

/* Calls on_row for each row of a table that may be absent. */
static inline int nvvp_each_row(struct nvvp *nvvp, const struct sqlite_query *query,
				int (*on_row)(void *context, const struct sqlite_cursor *row),
				void *context)
{
	return sqlite_file_each_row_if_any(&nvvp->file, query, &nvvp->faults, on_row, context);
}

/* ---- machine.c ---- */

/* Kinds of objects (CUpti_ActivityObjectKind). */
enum nvvp_object_kind { NVVP_PROCESS = 1, NVVP_THREAD, NVVP_DEVICE, NVVP_CONTEXT, NVVP_STREAM };

/* The owner of a row, with the ids of the file. */
struct nvvp_object {
	enum nvvp_object_kind kind;
	uint32_t first, second, third; /* pid, thread; device, context, stream */
};

/* Reads the object of a row. Returns false if the column is invalid. */
bool nvvp_read_object(const struct sqlite_cursor *row, size_t kind_column, size_t id_column,
		      struct nvvp_object *ret_object);

/* Reads names, contexts and the process. Before the first row. */
int nvvp_machine_open(struct nvvp *nvvp);
void nvvp_machine_close(struct nvvp *nvvp);
int nvvp_machine_process(struct nvvp *nvvp, uint32_t pid, uint32_t *ret_process);
int nvvp_machine_thread(struct nvvp *nvvp, uint32_t pid, uint32_t thread, uint32_t *ret_thread);
int nvvp_machine_device(struct nvvp *nvvp, int64_t device, uint32_t *ret_device);
/* The device of a context; 0: not known. */
int nvvp_machine_device_of(struct nvvp *nvvp, int64_t context, uint32_t *ret_device);

struct nvvp_stream {
	uint32_t process, device; /* ids in the trace */
	int64_t context, stream;
};
int nvvp_machine_queue(struct nvvp *nvvp, const struct nvvp_stream *stream, uint32_t *ret_queue);
/* The queue of a stream that had a command, on the device of its context; 0: none. */
uint32_t nvvp_machine_find_queue(struct nvvp *nvvp, const struct nvvp_stream *stream);

/* ---- code.c ---- */

/* Reads functions, modules and places in the source. */
int nvvp_code_read(struct nvvp *nvvp);
void nvvp_code_close(struct nvvp *nvvp);
/* NULL: not in the file. */
struct nvvp_function *nvvp_code_function(struct nvvp *nvvp, int64_t id);
/* The code object that contains the function of this name; 0: none. */
uint32_t nvvp_code_of_kernel(const struct nvvp *nvvp, int64_t name);
/* NULL: not in the file. */
const struct nvvp_line *nvvp_code_line(const struct nvvp *nvvp, int64_t id);

/* ---- the tables ---- */

/* functions.c: the function that CUPTI gives this number. */
int nvvp_function_of(struct nvvp *nvvp, bool is_runtime, int64_t number,
		     struct import_cuda_function *ret_function);

int nvvp_read_calls(struct nvvp *nvvp);    /* calls.c: calls, commands, samples */
int nvvp_read_memory(struct nvvp *nvvp);   /* memory.c: unified memory */
int nvvp_read_counters(struct nvvp *nvvp); /* counters.c: clocks, power, temperature */
int nvvp_read_ranges(struct nvvp *nvvp);   /* ranges.c: NVTX, overheads */
