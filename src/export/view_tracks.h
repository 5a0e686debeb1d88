/* SPDX-License-Identifier: MIT
 *
 * export/view_tracks.h - the tracks of a view, and what goes into them while an analysis sweeps
 */
#ifndef EXPORT_VIEW_TRACKS_H
#define EXPORT_VIEW_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "analyze/observer.h"
#include "analyze/things.h"
#include "analyze/units.h"
#include "export/lanes.h"
#include "export/view_code.h"
#include "export/view_metrics.h"
#include "export/view_pyramid.h"
#include "export/view_store.h"

enum view_kind {
	VIEW_CALLS,
	VIEW_OFF,
	VIEW_SAMPLES,
	VIEW_DEVICE,
	VIEW_CONTEXT,
	VIEW_QUEUE,
	VIEW_WAITING,
	VIEW_REJECTED,
	VIEW_METRIC,
	VIEW_CLOCK,
	VIEW_RANGES,
	VIEW_COUNTER,
	VIEW_KIND_COUNT
};

/* Of a thread, device, context, queue or series: its index in the trace's list. */
struct view_track {
	enum view_kind kind;
	size_t thing;
	uint32_t source;                   /* SAMPLES: string of the trace */
	const struct clocks_domain *clock; /* CLOCK */
	struct pyramid pyramid;
	struct lanes lanes;
};

/* A thread off its processor, since then. */
struct view_away {
	uint64_t since_ns; /* UINT64_MAX: it is not */
	struct event_switch row;
};

/* A device's state that may go on. */
struct view_state {
	bool has_span;
	struct account_span span;
};

/* Lists of things have one item more, for what is not described. */
struct view_tracks {
	const struct model *model; /* borrowed, as the store and the code */
	const struct analysis *analysis;
	struct view_store *store;
	struct view_code *code;
	struct view_track **all; /* in the order in which they were needed */
	size_t count, capacity;
	struct view_track **calls, **off; /* by thread */
	struct view_track **ranges;       /* by thread */
	struct view_track **devices;      /* by device */
	struct pair_map contexts;         /* (device, context) -> index of all */
	bool *shares_context;             /* by queue: with another of its device */
	struct view_track **queues, **waiting, **rejected; /* by queue */
	bool *has_samples, *has_threads;                   /* by thread; by process: with a track */
	uint32_t *process_of;                              /* by thread: index of its process */
	struct pair_map samples;                           /* (thread, source) -> index of all */
	struct things threads, processes, event_queues;
	size_t devices_count, contexts_count, processes_count;
	struct view_away *away;    /* by thread */
	struct view_state *states; /* by device */
	/* Values: */
	bool has_flights;            /* every launch that is not over is in flight */
	struct view_track **flights; /* by device: commands in flight */
	struct view_level *levels;   /* … from which it is made */
	struct view_track **used;    /* by process: processors in use */
	struct view_use *uses;       /* … from which it is made */
	/* What was counted: */
	struct things series;
	struct view_track **counters; /* by series */
	struct unit_shown *units;     /* by series */
};

int view_tracks_init(struct view_tracks *tracks, const struct analysis *analysis,
		     struct view_store *store, struct view_code *code);
void view_tracks_fini(struct view_tracks *tracks); /* NULL-safe */

/* As of an analysis_observer. */
int view_tracks_row(struct view_tracks *tracks, const struct order_item *item, uint64_t launches);
int view_tracks_command(struct view_tracks *tracks, const struct observed_command *command);
int view_tracks_span(struct view_tracks *tracks, size_t device, const struct account_span *span);

/* Once the analysis is complete: what is open ends, and all pyramids are finished. */
int view_tracks_finish(struct view_tracks *tracks);

/* NULL: it has none. */
const struct view_track *view_tracks_context(const struct view_tracks *tracks, size_t device,
					     size_t context);

/* Whether something is in what is shown: as the report's tables have it. */
bool view_tracks_is_shown(const struct view_tracks *tracks, uint64_t begin, uint64_t end);

/* Nanoseconds from the begin of the recording, which a double holds. */
int64_t view_tracks_time(const struct view_tracks *tracks, uint64_t host_ns);

int view_tracks_new(struct view_tracks *tracks, enum view_kind kind, size_t thing,
		    struct view_track **ret_track);

/* ---- view_values.c ---- */

int view_values_init(struct view_tracks *tracks); /* -ENOMEM */
void view_values_fini(struct view_tracks *tracks);
int view_values_flight(struct view_tracks *tracks, size_t device, uint64_t time_ns, int by);
int view_values_sampled(struct view_tracks *tracks, size_t thread,
			const struct event_cpu_sample *row);
int view_values_finish(struct view_tracks *tracks);

/* ---- view_counters.c ---- */

int view_counters_init(struct view_tracks *tracks); /* -ENOMEM */
void view_counters_fini(struct view_tracks *tracks);
int view_counters_row(struct view_tracks *tracks, const struct event_counter *row);

#endif
