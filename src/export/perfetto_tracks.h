/* SPDX-License-Identifier: MIT
 *
 * export/perfetto_tracks.h - the rows of the timeline: who has one, and which slice goes where
 */
#ifndef EXPORT_PERFETTO_TRACKS_H
#define EXPORT_PERFETTO_TRACKS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "analyze/things.h"
#include "export/lanes.h"

struct model;
struct packets;

#define TRACKS_NO_COUNTER UINT32_MAX

/* A thread's or a queue's. Lane 0 is the track itself. */
struct tracks_row {
	uint64_t uuid; /* 0: not described yet */
	struct lanes lanes;
	uint64_t *uuids; /* by lane */
	size_t uuids_count, uuids_capacity;
	uint32_t depth;   /* queues: counter of commands in flight */
	uint64_t off_cpu; /* threads: the track below; 0: not described yet */
};

struct tracks_device {
	uint64_t uuid;
	uint32_t busy;                          /* counter of commands that run */
	uint32_t rates[ANALYSIS_COMMAND_COUNT]; /* counters of bytes per second */
};

/* What a counter that was recorded says of itself. */
struct tracks_counter_about {
	unsigned int unit; /* PF_UNIT_…; unspecified: unit_name is */
	const char *unit_name, *description;
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
	struct tracks_row *started; /* by thread: its ranges that were started and stopped */
	struct tracks_device *devices;
	uint64_t *processes; /* their tracks, in the order of the trace; 0: not described */
	struct tracks_counter *counters;
	struct things all_processes, all_threads, all_queues,
		all_devices; /* as the trace describes them */
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
/* A range that may overlap others of its thread. */
int tracks_place_started(struct tracks *tracks, uint32_t thread, uint64_t begin, uint64_t end,
			 uint64_t *ret_uuid);
int tracks_place_command(struct tracks *tracks, uint32_t queue, uint64_t begin, uint64_t end,
			 uint64_t *ret_uuid);

/* The track of when a thread was on no processor. */
int tracks_off_cpu(struct tracks *tracks, uint32_t thread, uint64_t *ret_uuid);

/* The tracks of a process and of a device, by ids; 0: there is none. */
uint64_t tracks_process(const struct tracks *tracks, uint32_t process);
uint64_t tracks_device(const struct tracks *tracks, uint32_t device);

/* A track with a name alone, and one of a counter that was recorded; parent 0: none. Errors of writing. */
int tracks_describe(struct tracks *tracks, uint64_t parent, const char *name, uint64_t *ret_uuid);
int tracks_describe_counter(struct tracks *tracks, uint64_t parent, const char *name,
			    const struct tracks_counter_about *about, uint64_t *ret_uuid);

/* Indices of counters: commands in flight in the queue, commands that run on its device, bytes per
 * second of one kind of command on its device. */
int tracks_depth(struct tracks *tracks, uint32_t queue, uint32_t *ret_counter);
int tracks_busy(struct tracks *tracks, uint32_t queue, uint32_t *ret_counter);
int tracks_rate(struct tracks *tracks, uint32_t queue, uint32_t command, uint32_t *ret_counter);

#endif
