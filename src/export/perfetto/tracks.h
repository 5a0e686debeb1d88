/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/tracks.h - create the tracks of the timeline, and place slices on them
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "analyze/entity_index.h"
#include "base/lane_assign.h"

struct model;
struct packets;

#define TRACKS_NO_COUNTER UINT32_MAX

/* The track of a thread or of a queue. Lane 0 is the track itself. */
struct tracks_row {
	uint64_t uuid; /* 0: not described yet */
	struct lanes lanes;
	uint64_t *uuids; /* by lane */
	size_t uuids_count, uuids_capacity;
	uint32_t depth;   /* queues: index of the counter of commands in flight */
	uint64_t off_cpu; /* threads: track of the times off the processor; 0: not described yet */
};

struct tracks_device {
	uint64_t uuid;
	uint32_t busy;                          /* index of the counter of running commands */
	uint32_t rates[ANALYSIS_COMMAND_COUNT]; /* indices of counters of bytes per second */
};

/* The description of a recorded counter. */
struct tracks_counter_about {
	unsigned int unit; /* PF_UNIT_…; if unspecified, unit_name is used */
	const char *unit_name, *description;
};

struct tracks_counter {
	uint64_t uuid;
	int64_t value;
};

/* Each list of entities has one additional item for entities that the trace does not describe. */
struct tracks {
	const struct model *model;
	struct packets *packets;
	uint64_t pid;   /* only this process; 0: all */
	uint64_t uuids; /* number of assigned uuids */
	uint64_t duet;  /* the track for events about the trace itself */
	struct tracks_row *threads, *queues;
	struct tracks_row *started; /* by thread: tracks of its started ranges */
	struct tracks_device *devices;
	uint64_t *processes; /* uuids in the order of the trace; 0: not described */
	struct tracks_counter *counters;
	/* lists of the trace */
	struct entity_index all_processes, all_threads, all_queues, all_devices;
	size_t counters_count, counters_capacity;
};

/* Describes all entities of the trace. model and packets are borrowed. Errors: -ENOMEM, errors of
 * writing. */
int tracks_init(struct tracks *tracks, const struct model *model, struct packets *packets,
		uint64_t pid);
void tracks_fini(struct tracks *tracks); /* NULL-safe, half-built-safe */

/* Place a call of a thread, or a command of a queue. To be called in the order of start times. */
int tracks_place_call(struct tracks *tracks, uint32_t thread, uint64_t begin, uint64_t end,
		      uint64_t *ret_uuid);
/* Places a started range, which may overlap others of its thread. */
int tracks_place_started(struct tracks *tracks, uint32_t thread, uint64_t begin, uint64_t end,
			 uint64_t *ret_uuid);
int tracks_place_command(struct tracks *tracks, uint32_t queue, uint64_t begin, uint64_t end,
			 uint64_t *ret_uuid);

/* The track of the times at which a thread was off the processor. */
int tracks_off_cpu(struct tracks *tracks, uint32_t thread, uint64_t *ret_uuid);

/* The tracks of a process and of a device by id; 0: none. */
uint64_t tracks_process(const struct tracks *tracks, uint32_t process);
uint64_t tracks_device(const struct tracks *tracks, uint32_t device);

/* Describe a track with only a name, or a recorded counter; parent 0: none. Errors: those of
 * writing. */
int tracks_describe(struct tracks *tracks, uint64_t parent, const char *name, uint64_t *ret_uuid);
int tracks_describe_counter(struct tracks *tracks, uint64_t parent, const char *name,
			    const struct tracks_counter_about *about, uint64_t *ret_uuid);

/* Indices of counters: commands in flight in the queue; running commands on its device; bytes per
 * second of one kind of command on its device. */
int tracks_depth(struct tracks *tracks, uint32_t queue, uint32_t *ret_counter);
int tracks_busy(struct tracks *tracks, uint32_t queue, uint32_t *ret_counter);
int tracks_rate(struct tracks *tracks, uint32_t queue, uint32_t command, uint32_t *ret_counter);
