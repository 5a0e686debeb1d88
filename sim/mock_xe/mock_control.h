/* SPDX-License-Identifier: MIT
 *
 * sim/mock_xe/mock_control.h - what the GPUs of sim/mock_xe do: written into /dev/mock_xe
 */
#ifndef MOCK_CONTROL_H
#define MOCK_CONTROL_H

#include <linux/types.h>

enum {
	MOCK_REASONS = 10, /* in a row, lowest byte first, as its layout has them */
	MOCK_ROWS_MOST = 256
};

enum mock_what {
	MOCK_SCRIPT = 1, /* what a kernel does each time that it runs */
	MOCK_RESET = 2,  /* the GPU is reset: its stream ends */
	MOCK_DROP = 3,   /* the hardware loses rows: the stream says so once */
	MOCK_ROWS = 4,   /* rows at once, of no launch */
	MOCK_WAIT =
		5, /* until somebody has read all that the stream has; ETIMEDOUT after 15 seconds */
	MOCK_OA_STEPS = 6, /* reports of its OA unit: rows are struct mock_oa_step */
	MOCK_OA_LOSE = 7,  /* the unit loses reports: its stream says so once */
	MOCK_OA_END = 8,   /* its stream ends */
	MOCK_ATTENTION =
		9 /* the threads of what runs stand still, until the debugger of who says this lets them go on */
};

/* Rows of one instruction. */
struct mock_rows {
	__u32 offset; /* from the kernel's address, bytes */
	__u32 count;  /* of rows, all the same */
	__u8 counts[MOCK_REASONS];
	__u8 pad[2];
};

/* What comes from one report of the OA unit to the next. */
struct mock_oa_step {
	__u32 time;  /* stamps, 19.2 million a second */
	__u32 ticks; /* of the GPU's clock */
	__u32 busy, active, stalled;
};

struct mock_control {
	__u32 what; /* enum mock_what */
	__u32 gpu;
	__u64 address; /* of the kernel, or of what the rows are of */
	__u32 duration_us;
	__u32 rows_count;
	struct mock_rows rows[];
};

#endif
