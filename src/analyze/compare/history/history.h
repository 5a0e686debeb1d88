/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/history/history.h - the history of a program: its quantities over many recordings
 *
 *	history_new(&options, &history);
 *	for each recording, in the order of time:
 *		history_add(history, side, realtime_ns);
 *	history_finish(history);
 *	history_free(history);
 *
 * A side can be freed after history_add. Values of several devices are added up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/account/account.h"
#include "analyze/compare/match/match.h"
#include "analyze/compare/stats/change_points.h"
#include "base/arena.h"

struct compare_side;
struct match_map;

struct history_options {
	const struct match_map *map; /* NULL: none */
	double alpha;                /* share of false changes among the reported ones */
	bool is_per_iteration;       /* values of the sides are divided by their iterations */
};
#define HISTORY_ALPHA 0.01

/* A kernel that is missing in more recordings in a row continues only under its old name. */
enum { HISTORY_MAX_GAP = 20 };

struct history_record {
	const char *path, *command;
	uint64_t realtime_ns; /* 0: not known */
	bool is_complete;
};

struct history_value {
	uint32_t recording;
	double value;
};

/* The values of one quantity; recordings without the quantity have none. */
struct history_line {
	struct history_value *values; /* owned; in the order of recordings */
	size_t count, capacity;
	/* Owned. `index` is an index of values; p is at most the series' threshold. */
	struct change_point *changes;
	size_t changes_count;
	bool is_tested; /* it has enough values, and not all are equal */
};

/* A kernel gets another name, or a line begins where other kernels end. */
struct history_naming {
	uint32_t recording;
	enum match_reason reason; /* SPLIT, FUSED, REGROUPED: the line begins here */
	double confidence;
	const char *name, *was;
};

/* A kernel, another command or a cause of idle time. */
struct history_item {
	const char *name, *label; /* the latest */
	const char *group;        /* command of a kernel */
	uint32_t scope;           /* the same number for the same command or cause */
	bool is_kernel;
	uint64_t total_ns;              /* in all recordings */
	struct history_line value;      /* ns per execution; of a cause: ns */
	struct history_line executions; /* kernels and commands only */
	struct history_naming *namings; /* owned */
	size_t namings_count, namings_capacity;
	/* The state in the latest recording that has it, for the match with the next one. */
	uint32_t recording, position;
	uint64_t count, time_ns;
	struct match_stack *stacks; /* owned */
	size_t stacks_count;
};

struct history {
	struct history_options options;
	struct history_record *records; /* owned */
	size_t count, capacity;
	struct history_line wall, iteration, busy, idle; /* iteration: the median */
	struct history_item *kernels; /* owned; largest total first after history_finish */
	size_t kernels_count, kernels_capacity;
	struct history_item causes[CAUSE_COUNT]; /* those without time are last */
	size_t causes_count;                     /* those with time, after history_finish */
	size_t tests;                            /* lines whose changes were searched */
	double threshold;                        /* p of a change that is reported */
	struct arena arena;
};

int history_new(const struct history_options *options, struct history **ret_history); /* -ENOMEM */
void history_free(struct history *history); /* NULL-safe */

/* Appends a recording. realtime_ns: its date, 0 if it has none. -ENOMEM. */
int history_add(struct history *history, const struct compare_side *side, uint64_t realtime_ns);
/* Finds the changes and sorts the lines. -ENOMEM. */
int history_finish(struct history *history);

/* ---- private to history/ ---- */

/* kernels.c: continues the lines of the kernels. The recording is the last of history->records. */
int history_add_kernels(struct history *history, const struct compare_side *side, double divisor);
/* changes.c */
int history_find_changes(struct history *history);
int history_line_add(struct history_line *line, size_t recording, double value); /* -ENOMEM */
const char *history_text(struct history *history, const char *text); /* NULL: no memory */
