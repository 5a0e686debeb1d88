/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/import.h - the state of an import, for the files of this folder
 *
 * The file is read three times: tracks, clocks and the keys of commands; calls, ranges, counters,
 * samples and switches; commands, each with the call that launched it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pair_map.h"
#include "event/event.h"
#include "import/faults.h"
#include "import/perfetto/clocks.h"
#include "import/perfetto/event.h"
#include "import/perfetto/sequences.h"
#include "import/perfetto/tracks.h"
#include "import/common/open_slices.h"

/* Later times are damage: the sum of two of them does not overflow. */
#define PERFETTO_MAX_TIME_NS ((uint64_t)INT64_MAX / 2)

enum perfetto_pass { PASS_TRACKS, PASS_CALLS, PASS_COMMANDS, PASS_COUNT };

enum perfetto_slice_type { SLICE_NONE, SLICE_CALL, SLICE_RANGE, SLICE_AWAY, SLICE_COMMAND };

/* Identifies a command and its call: the flow's number and 0, or the correlation and the pid or
 * process's track plus 1. */
struct perfetto_key {
	uint64_t first, second;
	bool is_known;
};

/* The call of a command that is read later. */
struct perfetto_call {
	uint64_t enter, exit;
	uint32_t thread, process, function, flags;
	int32_t result;
	bool is_known, is_used;
};

struct perfetto_slice {
	enum perfetto_slice_type type;
	uint32_t api_type, process;
	uint32_t call; /* index + 1 of the call that a command waits for; 0: none */
	bool is_launch, has_launch;
	uint64_t argument;
	struct event_launch launch; /* a call's or a command's */
	struct event_execution execution;
	struct event_range range;
	uint32_t device, kernel_name; /* a command's: id; text */
	uint32_t queue_key;           /* text */
};

/* Numbers in the notes. */
struct perfetto_counts {
	uint64_t instants, unbalanced, too_deep, made_up, unplaced, values, rounded, losses;
	uint64_t packets, other_packets;
};

struct perfetto_import {
	struct import_target *target;       /* borrowed */
	const struct import_source *source; /* borrowed */
	struct import_faults faults;
	enum perfetto_pass pass;
	struct perfetto_sequences sequences;
	struct perfetto_clocks clocks;
	struct perfetto_tracks tracks;
	struct perfetto_roles roles;
	struct pair_map keys; /* key of a command -> index of its call */
	struct perfetto_call *calls;
	uint32_t calls_count;
	struct open_slices open; /* struct perfetto_slice */
	uint32_t absent;         /* string: function of launches that are not in the file */
	uint64_t last_ns;        /* time of the last event */
	uint64_t inflated;       /* bytes of compressed packets in this pass */
	struct perfetto_counts counts;
};

/* Categories of an event that duet knows: those of duet's own files and of rocprofv3. */
uint32_t perfetto_import_categories(const struct perfetto_import *import,
				    const struct perfetto_event *event);
const char *perfetto_import_text(const struct perfetto_import *import, uint32_t text);
/* Text of an argument; "" if it is absent or a number. */
const char *perfetto_import_argument(const struct perfetto_import *import,
				     const struct perfetto_event *event,
				     enum perfetto_argument argument);
struct perfetto_key perfetto_import_key(struct perfetto_import *import,
					const struct perfetto_event *event);
/* The place of the call of an event with this key: index + 1; 0: no command has the key. */
uint32_t perfetto_import_call(struct perfetto_import *import, const struct perfetto_event *event);

/* Slices: begin, end, whole ones and instants. Errors: -ENOMEM, those of the target. */
int perfetto_slices_take(struct perfetto_import *import, const struct perfetto_event *event);
/* Ends all open slices. To be called at the end of each pass. */
int perfetto_slices_end(struct perfetto_import *import);

/* Fill a command at its begin, and write it at its end. */
int perfetto_commands_begin(struct perfetto_import *import, const struct perfetto_event *event,
			    struct perfetto_slice *slice);
int perfetto_commands_write(struct perfetto_import *import, struct perfetto_slice *slice);
/* Writes calls whose command could not be read. */
int perfetto_commands_end(struct perfetto_import *import);
/* Takes the sizes of a command from the arguments. */
void perfetto_commands_take_sizes(const struct perfetto_import *import,
				  const struct perfetto_event *event, struct event_launch *launch);
/* Id of the device of an agent of rocprofv3: "Agent-4". */
int perfetto_commands_agent(struct perfetto_import *import, const char *agent,
			    enum event_device_type type, uint32_t *ret_device);

/* A value of a counter, and the last value of each. */
int perfetto_counters_take(struct perfetto_import *import, const struct perfetto_event *event,
			   struct perfetto_sequence *sequence);
int perfetto_counters_end(struct perfetto_import *import);

/* PerfSample and FtraceEventBundle. */
int perfetto_machine_take_sample(struct perfetto_import *import, uint64_t time_ns,
				 struct perfetto_sequence *sequence, struct wire message);
int perfetto_machine_take_ftrace(struct perfetto_import *import, struct wire message);
