/* SPDX-License-Identifier: MIT
 *
 * export/chrome_rows.h - pids and tids of a Chrome trace: who has which, and which slice goes where
 *
 * Threads and processes keep their own numbers. Devices are processes too and queues their threads, with numbers no
 * process of Linux can have; so has whoever's own number is another's already, because viewers know a thread by
 * its tid alone. What overlaps on a row gets another row.
 */
#ifndef EXPORT_CHROME_ROWS_H
#define EXPORT_CHROME_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "event/event.h"
#include "export/lanes.h"

struct filter;
struct json_writer;
struct model;

struct chrome_place {
	uint64_t pid, tid;
};

/* A thread's or a queue's. */
struct chrome_row {
	bool is_described;
	uint64_t pid;
	struct lanes lanes;
	uint64_t *tids; /* by lane; the first is the row's own */
	size_t tids_count, tids_capacity;
};

/* Each list of things has one item more, for what is not described. */
struct chrome_rows {
	const struct model *model;   /* borrowed */
	const struct filter *filter; /* borrowed */
	struct json_writer *json;    /* borrowed: in the array of events */
	struct hash_map pids, tids;  /* that are given out */
	uint64_t made;               /* numbers of our own */
	uint64_t *processes, *devices;
	struct chrome_row *threads, *queues;
	size_t processes_count, devices_count, threads_count, queues_count;
	uint64_t duet;   /* pid of what is said about the trace; 0: nothing so far */
	uint64_t system; /* … of what was counted of the machine */
};

/* Names what the trace describes. -ENOMEM. */
int chrome_rows_init(struct chrome_rows *rows, const struct model *model,
		     const struct filter *filter, struct json_writer *json);
void chrome_rows_fini(struct chrome_rows *rows); /* NULL-safe, half-built-safe */

/* Where a call of a thread, or a command of a queue, goes. They come in the order of begin. -ENOMEM. */
int chrome_rows_call(struct chrome_rows *rows, uint32_t thread, uint64_t begin, uint64_t end,
		     struct chrome_place *ret_place);
int chrome_rows_command(struct chrome_rows *rows, uint32_t queue, uint64_t begin, uint64_t end,
			struct chrome_place *ret_place);

/* The first row of a thread. -ENOMEM. */
int chrome_rows_thread(struct chrome_rows *rows, uint32_t thread, struct chrome_place *ret_place);

/* The tid of a thread; 0: nobody described it. */
uint64_t chrome_rows_tid(const struct chrome_rows *rows, uint32_t thread);

/* The first row of a queue, and that of what is said about the trace. -ENOMEM. */
int chrome_rows_queue(struct chrome_rows *rows, uint32_t queue, struct chrome_place *ret_place);
int chrome_rows_duet(struct chrome_rows *rows, struct chrome_place *ret_place);

/* The process or device that a series is of; else the machine, which is a process of its own. -ENOMEM. */
int chrome_rows_series(struct chrome_rows *rows, const struct event_series *series,
		       struct chrome_place *ret_place);

/* The place of a queue among all; the last for what is not described. */
size_t chrome_rows_queue_index(const struct chrome_rows *rows, uint32_t queue);

#endif
