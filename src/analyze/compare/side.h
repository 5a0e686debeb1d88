/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/side.h - the summary of one recording that comparisons use
 *
 * It outlives the analysis, so a comparison of many recordings has only one analysis in memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/account/account.h"
#include "analyze/compare/batches.h"
#include "analyze/compare/facts.h"
#include "analyze/compare/match/match.h"
#include "base/arena.h"
#include "base/hash.h"

struct analysis;
struct frames;
struct model;
struct short_names;

/* The tables of a side. The times of BUSY and IDLE add up to the wall time of each device; the
 * others show the same recording in another way. */
enum compare_table {
	COMPARE_BUSY,
	COMPARE_IDLE,
	COMPARE_STACK,
	COMPARE_LINE,
	COMPARE_QUEUE,
	COMPARE_RANGE,
	COMPARE_API,
	COMPARE_INSTRUCTION,
	COMPARE_STALL,
	COMPARE_METRIC,
	COMPARE_TABLES
};

#define SIDE_NO_DEVICE UINT32_MAX

struct side_row {
	const char *name;  /* the same in every run of one program; for matching */
	const char *label; /* for display: with file and line */
	const char *group; /* cause of idle time, command of busy time; for sub-sums */
	uint32_t device;   /* index of devices; SIDE_NO_DEVICE: no device */
	uint32_t scope;    /* BUSY: the command; IDLE: enum account_cause; otherwise 0 */
	bool is_kernel;
	uint64_t count, value; /* value: ns; METRIC: thousandths of the mean in its unit; STALL and
				  INSTRUCTION: weight */
	struct match_stack *stacks; /* sorted by hash */
	size_t stacks_count;
	uint32_t position;              /* order of the first execution, from 1; 0: not known */
	double *batches, *batch_counts; /* value and count per iteration of each batch; NULL: not
					   known */
	double batched_ns;              /* part of the value that is in the batches */
};

/* The row for matching; scope: see struct match_item. */
static inline struct match_item side_row_item(const struct side_row *row, uint32_t scope)
{
	return (struct match_item){.name = row->name,
				   .scope = scope,
				   .is_kernel = row->is_kernel,
				   .stacks = row->stacks,
				   .stacks_count = row->stacks_count,
				   .position = row->position,
				   .count = row->count,
				   .time_ns = row->value};
}

struct side_table {
	struct side_row *rows; /* owned */
	size_t count, capacity;
	struct string_table keys; /* an id is an index + 1 */
};

struct side_device {
	const char *name, *vendor, *driver, *key;
	uint32_t compute_units;
	uint64_t wall_ns, busy_ns, idle_ns, commands;
};

/* The iterations of the program's main loop in the window. */
struct side_iterations {
	uint64_t count;
	uint64_t median_ns;
	const char *name;            /* "": found by launches */
	size_t batches;              /* 0: too few iterations */
	double wall_ns[BATCHES_MAX]; /* mean wall time of an iteration of each batch */
};

struct compare_side {
	const char *path;
	struct side_facts facts;
	struct side_device *devices; /* owned; measured ones with time */
	size_t devices_count;
	uint64_t wall_ns; /* the window */
	struct side_iterations iterations;
	struct side_table tables[COMPARE_TABLES];
	struct arena arena; /* texts */
};

#define SIDE_ALL_DEVICES SIZE_MAX

struct side_options {
	uint32_t tables;                       /* bits 1 << enum compare_table */
	const struct batches *batches;         /* NULL: none were observed */
	const struct short_names *short_names; /* labels of kernels; NULL: full names */
	size_t device;                         /* index of the analysis; SIDE_ALL_DEVICES */
	bool is_busy_only;                     /* only devices and busy rows */
};

/* Summarises an analysis. path is copied. -ENOMEM. */
int side_new(const char *path, const struct analysis *analysis, struct frames *frames,
	     const struct side_options *options, struct compare_side **ret_side);
void side_free(struct compare_side *side); /* NULL-safe */

/* ---- private to compare/ ---- */

/* The row with this key; a new one is empty but for `name`, `device` and `scope`. -ENOMEM. */
int side_find_row(struct compare_side *side, enum compare_table table, const struct side_row *key,
		  struct side_row **ret_row);
/* A copy that lives as long as the side; NULL: no memory. */
const char *side_text(struct compare_side *side, const char *text);

/* ---- side_busy.c, side_idle.c, side_tables.c ---- */
struct side_maker {
	struct compare_side *side;
	const struct analysis *analysis;
	struct frames *frames;
	const struct side_options *options;
	uint32_t *devices; /* by index of the analysis: index of the side, or SIDE_NO_DEVICE */
};
int side_add_busy(struct side_maker *maker);
int side_add_idle(struct side_maker *maker);
int side_add_tables(struct side_maker *maker);
