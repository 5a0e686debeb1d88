/* SPDX-License-Identifier: MIT
 *
 * import/chrome/private.h - the second pass over a Chrome trace, which writes the rows
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "event/event.h"
#include "import/chrome/join/captures.h"
#include "import/chrome/categories.h"
#include "import/chrome/file.h"
#include "import/chrome/join/launches.h"
#include "import/chrome/overheads.h"
#include "import/chrome/scan.h"
#include "import/chrome/join/unmatched.h"
#include "import/common/open_slices.h"
#include "import/faults.h"

/* Tids that are not numbers get ids from here on; no thread of Linux has such an id. */
#define TEXT_TID 0x80000000u

struct chrome_thread {
	uint32_t process, thread; /* ids */
	uint32_t open;            /* stack of chrome.open */
	bool is_known;
};

struct import_sequences;

struct chrome {
	struct import_target *target;
	struct chrome_scan scan;
	struct chrome_thread *rows; /* by id of a thread in scan.rows - 1 */
	size_t rows_capacity;
	struct hash_map tids; /* tid -> index of a row + 1, for samples, which have no pid */
	uint32_t *strings;    /* by id of a text of scan.names: its string in the trace */
	size_t strings_capacity;
	struct chrome_captures captures;
	struct chrome_unmatched *unmatched;
	struct import_sequences *sequences;
	struct open_slices open; /* struct event_api of B events without their E events */
	uint32_t absent;         /* function name of launches that are not in the file */
	struct chrome_overheads overheads;
	uint32_t number; /* number of the current event */
	uint64_t commands, made_up, unbalanced, left_out, captured, without_event;
	struct import_faults faults;
	uint64_t with_phase, usable;
};

static inline uint64_t chrome_time(const struct chrome *chrome, int64_t ts_ns)
{
	return (uint64_t)(ts_ns - chrome->scan.first_ns);
}

/* rows.c: the processes, threads, devices and texts of events. Errors: -ENOMEM, -errno of a
 * write. */
int chrome_find_process(struct chrome *chrome, const char *pid, uint32_t *ret_process);
int chrome_find_row(struct chrome *chrome, const struct chrome_event *event,
		    struct chrome_thread **ret_row);
int chrome_row_of(struct chrome *chrome, uint32_t id, const struct chrome_thread **ret_row);
int chrome_find_device(struct chrome *chrome, const struct chrome_event *event,
		       uint32_t *ret_device);
int chrome_device_of_pid(struct chrome *chrome, const char *pid, const struct json_integer *number,
			 uint32_t *ret_device);
/* The string in the trace of a text of scan.names. */
int chrome_string(struct chrome *chrome, uint32_t text, uint32_t *ret_string);

/* executions.c */
int chrome_on_command(struct chrome *chrome, const struct chrome_event *event);

/* calls.c */
int chrome_on_slice(struct chrome *chrome, const struct chrome_event *event);
int chrome_on_begin(struct chrome *chrome, const struct chrome_event *event);
int chrome_on_end(struct chrome *chrome, const struct chrome_event *event);
/* Ends all slices without an end. */
int chrome_end_slices(struct chrome *chrome);

/* memory.c: the size of an allocator's memory, as a counter. */
int chrome_on_memory(struct chrome *chrome, const struct chrome_event *event);
