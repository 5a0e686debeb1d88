/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/tracks.h - the rows of a Perfetto timeline, and the entities of the trace that
 * they stand for
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "import/perfetto/wire.h"

struct import_target;
struct perfetto_sequences;

enum perfetto_track_type { TRACK_PLAIN, TRACK_PROCESS, TRACK_THREAD, TRACK_COUNTER };

struct perfetto_track {
	uint64_t uuid, parent; /* 0: none */
	enum perfetto_track_type type;
	uint32_t name, description; /* texts */
	uint32_t pid, tid;
	uint32_t process;   /* TRACK_THREAD: index + 1 of the track of its process */
	int64_t rank;       /* order among its siblings */
	uint32_t unit;      /* TRACK_COUNTER: PF_UNIT_… */
	uint32_t unit_name; /* text */
	int64_t multiplier;
	bool is_incremental;
	uint32_t thread, owner; /* ids in the trace: thread and process; 0: not asked yet */
	uint32_t series;        /* id in the trace; 0: no value yet */
	uint64_t value_ns;      /* time of the last value */
	int64_t value;
	uint32_t open;     /* its stack of perfetto_import.open */
	uint32_t left_out; /* open slices inside of it that had no place */
};

/* A thread of the machine's list. */
struct perfetto_member {
	uint32_t pid, name;
};

struct perfetto_tracks {
	struct perfetto_sequences *sequences; /* borrowed, like target */
	struct import_target *target;
	struct perfetto_track *rows;
	size_t count, capacity;
	struct hash_map by_uuid;   /* uuid -> index + 1 */
	struct hash_map processes; /* pid -> index + 1 of the track described last */
	struct hash_map members;   /* tid -> pid | name << 32, from the machine's list */
	bool is_own;               /* duet wrote the file */
};

void perfetto_tracks_init(struct perfetto_tracks *tracks, struct perfetto_sequences *sequences,
			  struct import_target *target);
void perfetto_tracks_fini(struct perfetto_tracks *tracks);

/* Take a TrackDescriptor and a ProcessTree. Errors: -ENOMEM, -EFBIG with a text. */
int perfetto_tracks_describe(struct perfetto_tracks *tracks, struct wire descriptor);
int perfetto_tracks_add_members(struct perfetto_tracks *tracks, struct wire tree);

/* The track with a uuid; one that is not described is new. NULL on errors. */
struct perfetto_track *perfetto_tracks_find(struct perfetto_tracks *tracks, uint64_t uuid);
const char *perfetto_tracks_name(const struct perfetto_tracks *tracks,
				 const struct perfetto_track *track);
/* The track around it; NULL: none. */
struct perfetto_track *perfetto_tracks_parent(struct perfetto_tracks *tracks,
					      const struct perfetto_track *track);
/* The outermost track around it. */
struct perfetto_track *perfetto_tracks_root(struct perfetto_tracks *tracks,
					    struct perfetto_track *track);

/* The pid of the thread that a track belongs to; 0: none. */
uint32_t perfetto_tracks_pid(struct perfetto_tracks *tracks, struct perfetto_track *track);

/* The track of the queue of a command of duet: its own one, or that around its lane. */
const struct perfetto_track *perfetto_tracks_queue(struct perfetto_tracks *tracks,
						   struct perfetto_track *track);
/* The pid in the name of that track: "queue 3 of process 4711"; 0: none. */
uint32_t perfetto_tracks_queue_pid(struct perfetto_tracks *tracks, struct perfetto_track *track);

/* Ids of the entities in the trace. A track without a thread gets a thread of its own name. Errors:
 * those of the target. */
int perfetto_tracks_thread(struct perfetto_tracks *tracks, struct perfetto_track *track,
			   uint32_t *ret_thread, uint32_t *ret_process);
/* The process that a track is in; 0: none. */
int perfetto_tracks_owner(struct perfetto_tracks *tracks, struct perfetto_track *track,
			  uint32_t *ret_process);
int perfetto_tracks_process(struct perfetto_tracks *tracks, uint32_t pid, uint32_t *ret_process);
/* The thread with a tid; pid 0: not known. */
int perfetto_tracks_member(struct perfetto_tracks *tracks, uint32_t pid, uint32_t tid,
			   const char *name, uint32_t *ret_thread);
