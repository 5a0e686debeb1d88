/* SPDX-License-Identifier: MIT
 *
 * export/perfetto_tracks.h - the rows of the timeline: who has one, and which slice goes where
 *
 * Slices of one track must nest, and those of a queue must not even do that: what overlaps gets
 * another lane, the first that is free, so that the same trace always gives the same picture.
 */
#ifndef EXPORT_PERFETTO_TRACKS_H
#define EXPORT_PERFETTO_TRACKS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"

struct model;
struct packets;

#define TRACKS_NO_COUNTER UINT32_MAX

struct tracks_span {
	uint64_t begin, end;
};

struct tracks_lane {
	uint64_t uuid;
	struct tracks_span
		*open; /* calls that are not over, the longest first; commands: the last */
	size_t count, capacity;
};

/* A tree of minima over when the last command of each lane ends: the first free lane in O(log lanes). */
struct tracks_ends {
	uint64_t *ends; /* ends[1] is the root, ends[leaves + i] of lane i */
	size_t leaves;  /* a power of two, or 0 */
};

/* A thread's or a queue's. Lane 0 is the track itself. */
struct tracks_row {
	uint64_t uuid; /* 0: not described yet */
	struct tracks_lane *lanes;
	size_t count, capacity;
	struct tracks_ends ends; /* queues */
	uint32_t depth;          /* queues: counter of commands in flight */
};

struct tracks_device {
	uint64_t uuid;
	uint32_t busy;                          /* counter of commands that run */
	uint32_t rates[ANALYSIS_COMMAND_COUNT]; /* counters of bytes per second */
};

struct tracks_counter {
	uint64_t uuid;
	int64_t value;
};

/* Each list of things has one item more, for what is not described. */
struct tracks {
	const struct model *model;
	struct packets *packets;
	uint64_t pid;   /* only this process; 0: all */
	uint64_t uuids; /* given out */
	uint64_t duet;  /* the track of what is said about the trace */
	struct tracks_row *threads, *queues;
	struct tracks_device *devices;
	struct tracks_counter *counters;
	size_t processes_count, threads_count, queues_count, devices_count;
	size_t counters_count, counters_capacity;
};

/* Describes what the trace describes; model and packets are borrowed. -ENOMEM, errors of writing. */
int tracks_init(struct tracks *tracks, const struct model *model, struct packets *packets,
		uint64_t pid);
void tracks_fini(struct tracks *tracks); /* NULL-safe, half-built-safe */

/* Where a call of a thread, or a command of a queue, goes. They come in the order of begin. */
int tracks_place_call(struct tracks *tracks, uint32_t thread, uint64_t begin, uint64_t end,
		      uint64_t *ret_uuid);
int tracks_place_command(struct tracks *tracks, uint32_t queue, uint64_t begin, uint64_t end,
			 uint64_t *ret_uuid);

/* Indices of counters: commands in flight in the queue, commands that run on its device, bytes per
 * second of one kind of command on its device. */
int tracks_depth(struct tracks *tracks, uint32_t queue, uint32_t *ret_counter);
int tracks_busy(struct tracks *tracks, uint32_t queue, uint32_t *ret_counter);
int tracks_rate(struct tracks *tracks, uint32_t queue, uint32_t command, uint32_t *ret_counter);

#endif
