/* SPDX-License-Identifier: MIT
 *
 * sim/mock_xe/mock_control.h - commands for the GPUs of sim/mock_xe, written into /dev/mock_xe
 */
#pragma once

#include <linux/types.h>

enum {
	MOCK_REASONS = 10, /* in a row, lowest byte first, as its layout has them */
	MAX_MOCK_ROWS = 256
};

enum mock_what {
	MOCK_SCRIPT = 1, /* effects of a kernel, each time that it runs */
	MOCK_RESET = 2,  /* the GPU is reset: its stream ends */
	MOCK_DROP = 3,   /* the hardware loses rows; the stream reports it once */
	MOCK_ROWS = 4,   /* rows at once, of no launch */
	MOCK_WAIT = 5, /* waits until all data of the stream was read; ETIMEDOUT after 15 seconds */
	MOCK_OA_STEPS = 6, /* reports of its OA unit: rows are struct mock_oa_step */
	MOCK_OA_LOSE = 7,  /* the unit loses reports; its stream reports it once */
	MOCK_OA_END = 8,   /* its stream ends */
	MOCK_ATTENTION = 9 /* halts the running threads, until the caller's debugger resumes them */
};

/* Rows of one instruction. */
struct mock_rows {
	__u32 offset; /* from the kernel's address, bytes */
	__u32 count;  /* of rows, all the same */
	__u8 counts[MOCK_REASONS];
	__u8 pad[2];
};

/* Increments from one report of the OA unit to the next. */
struct mock_oa_step {
	__u32 time;  /* stamps, 19.2 million a second */
	__u32 ticks; /* of the GPU's clock */
	__u32 busy, active, stalled;
};

struct mock_control {
	__u32 what; /* enum mock_what */
	__u32 gpu;
	__u64 address; /* address of the kernel, or of the rows' instruction */
	__u32 duration_us;
	__u32 rows_count;
	struct mock_rows rows[];
};
