/* SPDX-License-Identifier: MIT
 *
 * export/chrome/rows.h - assign pids and tids of a Chrome trace, and place slices on rows
 *
 * Threads and processes keep their own numbers. Devices are written as processes and queues as
 * their threads, as PyTorch does: pid is the number of the device, tid that of the stream. A number
 * in use is replaced by one that no process of Linux can have, because viewers identify a thread by
 * its tid alone. Spans that overlap on a row are placed on further rows (lanes).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/entity_index.h"
#include "base/hash.h"
#include "base/lane_assign.h"
#include "base/pair_map.h"
#include "event/event.h"

struct filter;
struct json_writer;
struct model;

struct chrome_place {
	uint64_t pid, tid;
	uint64_t device, stream; /* a command's */
};

/* The row of a thread or of a queue. */
struct chrome_row {
	bool is_described;
	uint64_t pid;
	uint64_t device, stream; /* a queue's; unique in the file, unlike its tid */
	struct lanes lanes;
	uint64_t *tids; /* by lane; the first is the row's own */
	size_t tids_count, tids_capacity;
};

/* Each list of entities has one additional item for entities that the trace does not describe. */
struct chrome_rows {
	const struct model *model;   /* borrowed */
	const struct filter *filter; /* borrowed */
	struct json_writer *json;    /* borrowed; it is inside the array of events */
	struct hash_map pids, tids;  /* assigned numbers */
	struct pair_map streams;     /* assigned (device, stream) */
	uint64_t made;               /* number of numbers of our own */
	uint64_t *processes, *devices;
	struct chrome_row *threads, *queues;
	struct entity_index all_processes, all_devices, all_threads, all_queues; /* the trace's */
	uint64_t duet;   /* pid of the rows about the trace itself; 0: none yet */
	uint64_t system; /* pid of the machine's counters; 0: none yet */
};

/* Writes the names of all entities. Errors: -ENOMEM. */
int chrome_rows_init(struct chrome_rows *rows, const struct model *model,
		     const struct filter *filter, struct json_writer *json);
void chrome_rows_fini(struct chrome_rows *rows); /* NULL-safe, half-built-safe */

/* Place a call of a thread, or a command of a queue. To be called in the order of start times.
 * Errors: -ENOMEM. */
int chrome_rows_call(struct chrome_rows *rows, uint32_t thread, uint64_t begin, uint64_t end,
		     struct chrome_place *ret_place);
int chrome_rows_command(struct chrome_rows *rows, uint32_t queue, uint64_t begin, uint64_t end,
			struct chrome_place *ret_place);

/* The first row of a thread. Errors: -ENOMEM. */
int chrome_rows_thread(struct chrome_rows *rows, uint32_t thread, struct chrome_place *ret_place);

/* The tid of a thread; 0: the trace does not describe it. */
uint64_t chrome_rows_tid(const struct chrome_rows *rows, uint32_t thread);

/* The first row of a queue; the row for events about the trace itself. Errors: -ENOMEM. */
int chrome_rows_queue(struct chrome_rows *rows, uint32_t queue, struct chrome_place *ret_place);
int chrome_rows_duet(struct chrome_rows *rows, struct chrome_place *ret_place);

/* The process or device of a series; otherwise the process "system" for the machine. Errors:
 * -ENOMEM. */
int chrome_rows_series(struct chrome_rows *rows, const struct event_series *series,
		       struct chrome_place *ret_place);

/* The index of a queue; the last index for a queue that the trace does not describe. */
size_t chrome_rows_queue_index(const struct chrome_rows *rows, uint32_t queue);
