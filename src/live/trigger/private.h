/* SPDX-License-Identifier: MIT
 *
 * live/trigger/private.h - declarations for the files of a trigger set
 *
 * Each file calls only files above it in this list: firings.c, loop.c, loops.c, ranges.c,
 * commands.c, readings.c, trigger.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/iterations/iterations.h"
#include "base/hash.h"
#include "event/event.h"
#include "live/trigger/baseline.h"
#include "live/trigger/trigger.h"

struct clocks_domain;

enum {
	MAX_TRIGGERS = 64,
	MAX_FIRINGS = 64, /* not yet taken; later ones are dropped */
	MAX_PROBLEMS = 16,
	MAX_BASELINES = 256,  /* ranges and kernels: 4 MB */
	MAX_LOOPS = 32,       /* threads with launches */
	LOOP_HISTORY = 32768, /* launches of a thread from which its loop is found: 1.25 MB */
	MAX_IN_FLIGHT = 65536 /* launches that wait for their execution: 2 MB */
};

/* ---- firings.c ------------------------------------------------------------------------------- */

struct firings {
	struct trigger_firing all[MAX_FIRINGS]; /* a ring */
	size_t first, count;
	uint64_t dropped;    /* were not kept */
	uint64_t statistics; /* bit of each expression whose statistic had enough durations */
	char problem[256], shown_problem[256]; /* the next one, and the one that was handed out */
	uint64_t problems[MAX_PROBLEMS];       /* hashes: each problem is reported once */
	size_t problems_count;
	uint64_t newest_ns, max_age_ns;
};

uint64_t text_hash(const char *text);
/* A name with '#' for each number. */
void name_without_numbers(const char *name, char *ret_name, size_t size);

/* A measured duration or reading. */
struct trigger_finding {
	uint64_t begin_ns, end_ns;
	uint32_t process; /* id; 0: none alone */
	const char *what; /* "iteration 4711" */
};

__attribute__((format(printf, 4, 5))) void firings_add(struct firings *firings, uint32_t expr,
						       const struct trigger_finding *finding,
						       const char *format, ...);
__attribute__((format(printf, 2, 3))) void firings_add_problem(struct firings *firings,
							       const char *format, ...);
/* Fires if the finding's duration is beyond the limit of the expression. baseline: the durations
 * before it. */
void firings_judge(struct firings *firings, const struct trigger_expr *exprs, uint32_t index,
		   struct trigger_baseline *baseline, const struct trigger_finding *finding);

/* ---- loop.c ---------------------------------------------------------------------------------- */

enum loop_method {
	LOOP_UNKNOWN,
	LOOP_BY_ANCHOR, /* each iteration has one launch with the key `anchor` */
	LOOP_BY_SEARCH, /* no key occurs once; the newest launches are searched again and again */
	LOOP_BY_RANGES  /* the program named its iterations */
};

struct loop_iteration {
	uint64_t begin_ns, end_ns, number;
};

/* The main loop of one thread. */
struct loop {
	uint32_t thread, process;
	uint64_t launches, first_ns;       /* the thread's launches so far; time of the first */
	struct iterations_launch *history; /* owned; the newest launches, sorted by enter */
	size_t history_count, history_capacity;
	size_t fresh;         /* launches at the end of history that no detection has seen */
	uint64_t next_search; /* number of launches at which the loop is searched next */
	enum loop_method method;
	uint32_t anchor;
	uint64_t begin_ns; /* LOOP_BY_ANCHOR: begin of the present iteration; 0: none */
	uint64_t done_ns;  /* end of the last iteration */
	uint64_t period;   /* launches of an iteration */
	uint64_t iterations;
	char *range; /* owned; LOOP_BY_RANGES: name with # for each number */
	struct trigger_baseline baseline;
};

typedef void (*loop_callback)(void *context, struct loop *loop,
			      const struct loop_iteration *iteration);

void loop_fini(struct loop *loop);
/* Launches of a thread in any order; call loop_sort after the last one of a feed. Errors:
 * -ENOMEM. */
int loop_add(struct loop *loop, const struct iterations_launch *launch);
void loop_sort(struct loop *loop);
/* Whether enough launches have been added for a search. */
bool loop_is_due(const struct loop *loop, bool is_last);
/* Looks for the loop in the history. A new loop begins with the history's first launch. -ENOMEM. */
int loop_search(struct loop *loop);
/* The program's ranges are the iterations. -ENOMEM. */
int loop_use_ranges(struct loop *loop, const char *name);
/* Calls back for each iteration that the fresh launches complete. -ENOMEM. */
int loop_advance(struct loop *loop, loop_callback callback, void *context);
/* Calls back for an iteration that is a range. */
void loop_add_range(struct loop *loop, uint64_t begin_ns, uint64_t end_ns, loop_callback callback,
		    void *context);

/* ---- loops.c --------------------------------------------------------------------------------- */

struct loops {
	struct loop all[MAX_LOOPS];
	size_t count;
	struct hash_map keys; /* by kernel, or by kind and function of other commands */
	bool is_full;
};

void loops_fini(struct loops *loops);
/* Call it before the rows of another model: ids of texts differ. */
void loops_begin(struct loops *loops);
int loops_add(struct loops *loops, const struct model *model, const struct event_launch *row,
	      uint64_t enter_ns, uint64_t exit_ns);
void loops_add_range(struct trigger_set *set, const struct model *model,
		     const struct event_range *row, uint64_t begin_ns, uint64_t end_ns);
int loops_evaluate(struct trigger_set *set, const struct model *model, bool is_last);

/* ---- ranges.c -------------------------------------------------------------------------------- */

/* Baselines of ranges and kernels. */
struct baselines {
	struct trigger_baseline all[MAX_BASELINES];
	size_t count;
	struct hash_map places;
};

void baselines_fini(struct baselines *baselines);
/* NULL: there are too many, or memory has run out. */
struct trigger_baseline *baselines_find(struct baselines *baselines, uint32_t expr, uint64_t key);

void ranges_add(struct trigger_set *set, const struct model *model, const struct event_range *row,
		uint64_t begin_ns, uint64_t end_ns);

/* ---- commands.c ------------------------------------------------------------------------------ */

struct in_flight {
	uint64_t enter_ns, correlation;
	uint32_t process, kernel, queue, device; /* process 0: the place is free */
};

struct trigger_interval {
	uint64_t begin_ns, end_ns;
};

/* Time of a device with commands. */
struct timeline {
	uint32_t device;
	struct trigger_interval *waiting; /* owned; intervals that may still get an earlier one */
	size_t count, capacity;
	uint64_t busy_until_ns; /* 0: no command yet */
};

/* An execution without a known launch. */
struct orphan {
	uint64_t correlation, begin_ns, end_ns;
	uint32_t process, feeds;
};

enum { MAX_TIMELINES = 64, MAX_WAITING = 65536, MAX_ORPHANS = 1024 };

struct commands {
	struct in_flight *launches; /* owned; a ring of MAX_IN_FLIGHT in the order of arrival */
	size_t next;
	struct hash_map places;  /* launches, by process and correlation */
	struct hash_map kernels; /* kernel -> bits of the expressions that it matches */
	struct hash_map queues;  /* in-order queue -> enter of its last launch that was executed */
	struct orphan orphans[MAX_ORPHANS];
	size_t orphans_count;
	struct timeline timelines[MAX_TIMELINES];
	size_t timelines_count;
	uint64_t hold_ns;
};

void commands_fini(struct commands *commands);
int commands_add_launch(struct trigger_set *set, const struct model *model,
			const struct event_launch *row, uint64_t enter_ns);
int commands_add_execution(struct trigger_set *set, const struct model *model,
			   const struct event_execution *row, const struct trigger_interval *times,
			   bool is_placed);
int commands_evaluate(struct trigger_set *set, const struct model *model, uint64_t newest_ns);

/* ---- readings.c ------------------------------------------------------------------------------ */

struct readings {
	struct hash_map states; /* by expression and series; at most MAX_STATES */
};

void readings_fini(struct readings *readings);
int readings_add(struct trigger_set *set, const struct model *model,
		 const struct event_counter *row, uint64_t begin_ns, uint64_t end_ns);

/* ---- trigger.c ------------------------------------------------------------------------------- */

/* Chunks whose rows were evaluated. */
struct seen_chunks {
	uint64_t *hashes; /* owned; a ring */
	size_t next;
	struct hash_map present;
};

struct trigger_set {
	const struct trigger_expr *exprs; /* borrowed */
	uint32_t count;
	bool uses[TRIGGER_SUBJECTS];
	uint64_t matched; /* bits of the expressions for which the recording has values */
	bool is_last;     /* no rows will follow */
	struct seen_chunks seen;
	struct firings firings;
	struct baselines baselines;
	struct loops loops;
	struct commands commands;
	struct readings readings;
};
