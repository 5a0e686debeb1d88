/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture.h - files that keep what a real GPU's libraries said
 *
 * A file is a header and chunks, little endian, each chunk a multiple of 8 bytes. capture_agent.c
 * and the programs beside it write them on a machine with a GPU; read_capture.py reads them, and a
 * stand-in for the libraries can serve their contents again. Append-only: a chunk of an unknown
 * type is to be skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_MAGIC "DUETCAP1"

struct capture_header {
	char magic[8];
	uint32_t header_bytes, pid;
	/* As cuptiGetVersion and cuDriverGetVersion say; 0: not asked. The layout of raw records is
	 * of this CUPTI. */
	uint32_t cupti_version, driver_version;
	uint64_t monotonic_ns, realtime_ns; /* when the file was begun */
	char what[64];                      /* the workload and how it was captured */
};

enum capture_type {
	CAPTURE_FACTS = 1,    /* text: lines of KEY=VALUE */
	CAPTURE_ACTIVITY = 2, /* the valid part of one activity buffer, as it came */
	CAPTURE_NAMES = 3, /* struct capture_name …: what pointers in the activity buffer before it
			      showed */
	CAPTURE_CALLBACKS = 4,     /* struct capture_callback … */
	CAPTURE_CUBIN = 5,         /* struct capture_cubin, then its bytes; own kernels only */
	CAPTURE_STALL_REASONS = 6, /* struct capture_stall_reason … */
	CAPTURE_PC_SAMPLES = 7,    /* struct capture_pc_block, then its samples */
	CAPTURE_CLOCKS = 8,        /* struct capture_clocks … */
	CAPTURE_PM_IMAGE =
		9, /* raw: counter data, config or availability image; number says which */
	CAPTURE_PM_METRICS = 10, /* text: one metric a line, in the order of the values */
	CAPTURE_PM_SAMPLES =
		11, /* struct capture_pm_block, then count x (start, end, values) of 8 bytes each */
	CAPTURE_SERIES_KEYS = 12, /* text: one key a line */
	CAPTURE_SERIES = 13, /* rows of doubles: CLOCK_MONOTONIC in s, then one value a key; NAN:
				not there */
};

enum capture_image { CAPTURE_IMAGE_AVAILABILITY, CAPTURE_IMAGE_CONFIG, CAPTURE_IMAGE_COUNTERS };

struct capture_chunk {
	uint32_t type, number; /* number: counted from 0 within a type, or as the type says */
	/* of the contents, without the zeros that fill them up to a multiple of 8 */
	uint64_t bytes;
	uint64_t monotonic_ns; /* when it was written */
};

/* Then `length` bytes and zeros up to a multiple of 8. */
struct capture_name {
	uint64_t pointer;
	uint32_t length, reserved;
};

struct capture_callback {
	uint64_t monotonic_ns;
	uint32_t domain, callback_id;
	uint32_t site; /* 0 enter, 1 exit; resource callbacks: 2 */
	uint32_t tid;
	uint32_t correlation_id, context_uid;
	uint64_t data[2]; /* API: frames of the stack and the cost of taking it in ns; resources:
			     handle, size */
	char name[24];    /* what the library calls it, cut */
};

struct capture_cubin {
	uint64_t crc; /* as cuptiGetCubinCrc says */
	uint32_t module_id, reserved;
	uint64_t bytes;
};

struct capture_stall_reason {
	uint32_t index;
	char name[124];
};

struct capture_pc_block {
	uint64_t total_count, collected_count, remaining_count;
	uint64_t total_samples, dropped_samples, other_samples;
	uint32_t hardware_buffer_full, status; /* of the call that gave them */
	uint32_t period_log2, range_id;
};

/* In a chunk's number: the samples are of the configuration's buffer, after Disable or as they were
 * not given. */
#define CAPTURE_PC_CONFIGURED UINT32_C(0x80000000)

/* Then reason_count pairs (index, samples) of 4 bytes each, then the function's name, zeros up to a
 * multiple of 8. */
struct capture_pc {
	uint64_t crc, pc_offset;
	uint32_t function_index, correlation_id;
	uint32_t reason_count, name_length;
};

struct capture_clocks {
	/* read one after the other: the first and the last tell how far apart the others can be */
	uint64_t monotonic_before, cupti, monotonic_after, realtime, boottime, monotonic_last;
};

struct capture_pm_block {
	uint32_t count, value_count;
	uint32_t is_overflow, stop_reason;
};

/* One file being written. All calls may come from any thread. */
struct capture_file;

int capture_open(const char *path, const char *what, uint32_t cupti_version,
		 uint32_t driver_version, struct capture_file **ret_file);
void capture_close(struct capture_file *file);
/* Parts are written one after the other as one chunk. A disk that is full ends the file at the
 * chunk before. */
struct capture_part {
	const void *data;
	size_t bytes;
};
void capture_write(struct capture_file *file, enum capture_type type, uint32_t number,
		   const struct capture_part *parts, uint32_t count);
/* One line KEY=VALUE. */
__attribute__((format(printf, 3, 4))) void capture_fact(struct capture_file *file, const char *key,
							const char *format, ...);
uint64_t capture_now_ns(void);
