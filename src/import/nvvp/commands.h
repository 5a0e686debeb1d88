/* SPDX-License-Identifier: MIT
 *
 * import/nvvp/commands.h - kernels, copies and fills of a file of nvprof
 */
#pragma once

#include "import/common/cuda_join.h"
#include "import/nvvp/import.h"

/* The tables whose rows are joined by correlationId. */
enum nvvp_table {
	NVVP_DRIVER,
	NVVP_RUNTIME,
	NVVP_SYNCS,
	NVVP_KERNELS, /* this and those below are commands */
	NVVP_CONCURRENT_KERNELS,
	NVVP_DEVICE_KERNELS,
	NVVP_COPIES,
	NVVP_PEER_COPIES,
	NVVP_FILLS,
	NVVP_SAMPLE_INFO, /* this and those below belong to a kernel */
	NVVP_SAMPLES,
	NVVP_INSTRUCTIONS,
	NVVP_TABLES_COUNT
};

/* All tables begin with these columns. */
enum { NVVP_CORRELATION, NVVP_RUNTIME_CORRELATION, NVVP_START, NVVP_END };
enum { NVVP_CALL_FUNCTION = NVVP_END + 1, NVVP_CALL_PROCESS, NVVP_CALL_THREAD, NVVP_CALL_RESULT };
enum { NVVP_SYNC_CONTEXT = NVVP_END + 1, NVVP_SYNC_STREAM };
enum { NVVP_INFO_PERIOD = NVVP_END + 1, NVVP_INFO_DROPPED };
enum {
	NVVP_SAMPLE_FUNCTION = NVVP_END + 1,
	NVVP_SAMPLE_OFFSET,
	NVVP_SAMPLE_LOCATOR,
	NVVP_SAMPLE_COUNT,
	NVVP_SAMPLE_LATENCY,
	NVVP_SAMPLE_STALL
};

struct nvvp_table_row {
	const char *name;
	struct sqlite_columns columns;
};
extern const struct nvvp_table_row nvvp_tables[NVVP_TABLES_COUNT];

/* Reads the row of a command of this process. */
int nvvp_commands_read(struct nvvp *nvvp, enum nvvp_table table, const struct sqlite_cursor *row,
		       uint32_t process, struct import_cuda_command *ret_command);

/* ---- samples.c ---- */

/* The kernel to which samples belong, and how they were taken. */
struct nvvp_sampled {
	struct event_execution kernel; /* correlation 0: not in the file */
	uint32_t process, device;
	uint32_t code, binary; /* the kernel, its code object; 0: not known */
	uint64_t period;       /* cycles; 0: not known */
};

int nvvp_samples_info(struct nvvp *nvvp, const struct sqlite_cursor *row,
		      struct nvvp_sampled *sampled);
/* table: NVVP_SAMPLES or NVVP_INSTRUCTIONS. */
int nvvp_samples_read(struct nvvp *nvvp, enum nvvp_table table, const struct sqlite_cursor *row,
		      const struct nvvp_sampled *sampled);
