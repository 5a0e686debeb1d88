/* SPDX-License-Identifier: MIT
 *
 * page/view/tracks.h - the tracks of a view, filled during the sweep of an analysis
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "analyze/entity_index.h"
#include "analyze/observer.h"
#include "analyze/text/units.h"
#include "base/arena.h"
#include "base/lane_assign.h"
#include "page/view/code.h"
#include "page/view/metrics.h"
#include "page/view/pyramid.h"
#include "page/view/store.h"

enum view_kind {
	VIEW_CALLS,
	VIEW_OFF,
	VIEW_SAMPLES,
	VIEW_DEVICE,
	VIEW_CONTEXT,
	VIEW_QUEUE,
	VIEW_TRANSFERS,
	VIEW_WAITING,
	VIEW_REJECTED,
	VIEW_METRIC,
	VIEW_CLOCK,
	VIEW_RANGES,
	VIEW_COUNTER,
	VIEW_PROCESSOR,
	VIEW_ITERATIONS,
	VIEW_KIND_COUNT
};

/* A track. thing: index of its thread, device, context, queue or series in the trace's list. */
struct view_track {
	enum view_kind kind;
	size_t entity;
	uint32_t source;                   /* SAMPLES: string id of the source */
	const struct clocks_domain *clock; /* CLOCK */
	struct pyramid pyramid;
	struct lanes lanes;
};

/* A thread that is off the processor. */
struct view_away {
	uint64_t since_ns; /* UINT64_MAX: on a processor */
	struct event_switch row;
};

struct view_waits {
	struct view_away *away; /* by thread */
	struct pair_map locks;  /* (string of a wait, stack) -> whether it is for a lock */
};

/* The values from which the columns of a span are computed, see docs/design/view.md. */
struct view_span {
	uint64_t begin, end; /* host ns */
	uint64_t what, stack, link, extra;
	uint64_t argument; /* only calls have that column */
	bool is_uncovered;
};

/* The latest state of a device, which the next span may extend. */
struct view_state {
	bool has_span;
	struct account_span span;
};

/* The thread that runs on a processor; thread SIZE_MAX: none that is recorded. */
struct view_running {
	size_t thread;
	uint64_t since_ns;
	struct view_track *track; /* NULL: no thread ran on it yet */
};

/* The processors of which switches are recorded. */
struct view_processors {
	struct view_running *list; /* by number of the processor; owned */
	size_t count, capacity;
	uint32_t *names; /* by thread: its name in view_code; 0: none yet; in the arena */
	uint32_t *cpus;  /* by thread: its last processor, + 1; 0: none yet; in the arena */
};

/* Lists of entities are in the arena, and have one additional item for entities that the trace does
 * not describe. */
struct view_tracks {
	const struct model *model; /* borrowed, like store and code */
	const struct analysis *analysis;
	struct view_store *store;
	struct view_code *code;
	struct view_track **all; /* in the order of creation */
	size_t count, capacity;
	struct arena lists;
	struct view_track **calls, **off; /* by thread */
	struct view_track **ranges;       /* by thread */
	struct view_track **devices;      /* by device */
	struct pair_map contexts;         /* (device, context) -> index of all */
	bool *shares_context;             /* by queue: its context has other queues on the device */
	/* by queue; transfers: copies; queues: all other commands */
	struct view_track **queues, **transfers, **waiting, **rejected;
	bool *has_samples, *has_threads; /* by thread; by process: one has a track */
	uint32_t *process_of;            /* by thread: index of its process */
	struct pair_map samples;         /* (thread, source) -> index of all */
	struct entity_index threads, processes, event_queues;
	size_t devices_count, contexts_count, processes_count;
	struct view_processors processors;
	struct view_track *iterations; /* the main loop; NULL: none was found */
	struct view_waits waits;
	struct view_state *states; /* by device */
	/* Values: */
	bool has_flights;            /* no execution was lost, so flights are shown */
	struct view_track **flights; /* by device: commands in flight */
	struct view_level *levels;   /* by device: state of flights */
	struct view_track **used;    /* by process: processors in use */
	struct view_use *uses;       /* by process: state of used */
	/* Counters: */
	struct entity_index series;
	struct view_track **counters; /* by series */
	struct unit_shown *units;     /* by series */
};

/* Makes tracks during an analysis with this observer, anew in each of its passes. */
void view_tracks_observe(struct view_tracks *tracks, struct view_store *store,
			 struct view_code *code, struct analysis_observer *ret_observer);
void view_tracks_fini(struct view_tracks *tracks); /* NULL-safe */

/* To be called when the analysis is complete: ends open spans and finishes all pyramids. */
int view_tracks_finish(struct view_tracks *tracks);

/* The track of a context on a device; NULL: none. */
const struct view_track *view_tracks_context(const struct view_tracks *tracks, size_t device,
					     size_t context);

/* ---- view/track.c ---- */

/* Nanoseconds since the start of the recording, limited to the exact range of a double. */
int64_t view_tracks_time(const struct view_tracks *tracks, uint64_t host_ns);
/* Difference of two such times. */
uint64_t view_tracks_length(const struct view_tracks *tracks, uint64_t begin, uint64_t end);

int view_tracks_new(struct view_tracks *tracks, enum view_kind kind, size_t entity,
		    struct view_track **ret_track);

/* A list of `count` items of `size` bytes that are zero, valid until view_tracks_fini. NULL: no
 * memory. */
void *view_tracks_list(struct view_tracks *tracks, size_t count, size_t size);

/* Adds a span in the first free lane of the track. Errors: -ENOMEM, errors of the store. */
int view_tracks_add_span(struct view_tracks *tracks, struct view_track *track,
			 const struct view_span *span);

/* ---- view/processors.c ---- */

int view_processors_init(struct view_tracks *tracks); /* -ENOMEM */
void view_processors_fini(struct view_tracks *tracks);
int view_processors_switch(struct view_tracks *tracks, const struct event_switch *row);
int view_processors_finish(struct view_tracks *tracks);

/* ---- view/iterations.c ---- */

/* Adds the track of iterations; the analysis is complete. Errors: -ENOMEM, errors of the store. */
int view_iterations_add(struct view_tracks *tracks);

/* ---- view/values.c ---- */

int view_values_init(struct view_tracks *tracks); /* -ENOMEM */
void view_values_fini(struct view_tracks *tracks);
int view_values_flight(void *tracks, size_t device, uint64_t time_ns, int by); /* on_flight */
int view_values_sampled(struct view_tracks *tracks, size_t thread,
			const struct event_cpu_sample *row);
int view_values_finish(struct view_tracks *tracks);

/* ---- view/counters.c ---- */

int view_counters_init(struct view_tracks *tracks); /* -ENOMEM */
int view_counters_row(struct view_tracks *tracks, const struct event_counter *row);
