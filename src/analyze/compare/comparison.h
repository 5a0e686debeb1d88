/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/comparison.h - what changed between two groups of recordings, as an account
 *
 * docs/design/compare.md defines all values. The changes of all rows of BUSY and IDLE add up to the
 * change of the devices' wall time, to the nanosecond.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/compare/match/match.h"
#include "analyze/compare/noise.h"
#include "analyze/compare/side.h"

struct match_map;

struct comparison_sides {
	const struct compare_side *const *runs; /* borrowed; in the order of time */
	size_t count;
	/* Divisor of sums: the number of runs, or of all their iterations. comparison_new sets it.
	 */
	uint64_t units;
};

struct comparison_options {
	const struct match_map *map; /* NULL: none */
	double confidence;           /* two-sided, such as 0.99 */
	double min_effect; /* a proved change below this part of the base's wall time is small */
	bool is_per_iteration; /* means are per iteration; the sides contain iterations only */
	uint32_t tables;       /* bits 1 << enum compare_table, beside BUSY and IDLE */
};
#define COMPARISON_CONFIDENCE 0.99
#define COMPARISON_MIN_EFFECT 0.005

/* Sums over the runs of one side. */
struct comparison_amount {
	uint64_t count, value;
	size_t runs; /* that have the row */
};

/* Differences of the means per run or iteration: changed - base. */
struct comparison_change {
	int64_t value;
	/* The parts of `value`: (nB - nA) * meanA, and the rest. A row of one side alone is all
	 * more_often. */
	int64_t more_often, each_slower;
};

struct comparison_row {
	enum match_reason reason;
	double confidence;   /* that it is a match */
	const char *pattern; /* family of names; NULL: none */
	/* Names are those of the changed side, or of the base if the row is gone. The label is
	 * shorter, or has a line.
	 */
	const char *name, *label;
	const char *base_name, *base_label; /* NULL: as the name or label, or no partner */
	const char *group;
	uint32_t device; /* index of devices; SIDE_NO_DEVICE */
	uint32_t scope;
	bool is_kernel;
	struct comparison_amount base, changed;
	struct comparison_change change;
	struct compare_noise value_noise, count_noise, mean_noise;
};

struct comparison_table {
	struct comparison_row *rows; /* owned; largest absolute change first */
	size_t count;
};

/* A device of both sides, or of one. Values are sums over the runs. */
struct comparison_device {
	const char *name, *base_name; /* NULL: not on that side */
	uint64_t base_wall_ns, base_busy_ns, base_idle_ns;
	uint64_t changed_wall_ns, changed_busy_ns, changed_idle_ns;
	int64_t wall_change_ns, busy_change_ns, idle_change_ns;
};

enum comparison_weight { NOTE_INFO, NOTE_WARNING, NOTE_REFUSAL };

/* A difference of the conditions, or a reason why the comparison cannot be made. */
struct comparison_note {
	enum comparison_weight weight;
	char *text; /* owned */
};

/* A quantity of the whole run, or of its iterations. */
struct comparison_total {
	double base, changed; /* means per run, ns */
	struct compare_noise noise;
};

struct comparison {
	struct comparison_sides base, changed;
	struct comparison_options options;
	bool is_paired; /* the runs alternate and the machine drifts: run i of both sides belongs
			   together */
	bool is_same;   /* both sides are the same recordings */
	bool is_refused;
	struct comparison_note *notes; /* refusals first */
	size_t notes_count, notes_capacity;
	struct comparison_device *devices;
	size_t devices_count;
	struct comparison_table tables[COMPARE_TABLES];
	struct comparison_total wall, busy, idle, iteration; /* busy, idle: sums over devices */
	const struct comparison_row **reasons;               /* owned: see comparison_reasons */
	size_t reasons_count;
	int64_t change_ns; /* sum of wall_change_ns; the rows add up to it */
	bool is_exact;     /* they do: checked */
	struct compare_noise_need need;
	struct arena arena;
};

/* Compares. The sides must outlive the comparison. -ENOMEM. A comparison that cannot be made
 * succeeds, with is_refused and a note. */
int comparison_new(const struct comparison_sides *base, const struct comparison_sides *changed,
		   const struct comparison_options *options, struct comparison **ret_comparison);
void comparison_free(struct comparison *comparison); /* NULL-safe */

/* Number of runs or iterations that one run contributes to the means. */
static inline uint64_t comparison_units(const struct comparison *comparison,
					const struct compare_side *side)
{
	return comparison->options.is_per_iteration && side->iterations.count
		       ? side->iterations.count
		       : 1;
}

/* "kernel", "idle", "stack", …: a value of --by and a JSON key. */
const char *compare_table_name(enum compare_table table);
/* The table of a name; COMPARE_TABLES: there is none. */
enum compare_table compare_table_find(const char *name);

/* The rows of BUSY and IDLE whose changes explain most: proved ones first, by the change that is
 * certain, then the others by their change. Returns their number. */
size_t comparison_reasons(const struct comparison *comparison,
			  const struct comparison_row **ret_rows, size_t max);

/* ---- private to compare/ ---- */

/* comparable.c: fills notes, is_same and is_refused. */
int comparison_check(struct comparison *comparison);
__attribute__((format(printf, 3, 4))) int comparison_add_note(struct comparison *comparison,
							      enum comparison_weight weight,
							      const char *format, ...);
/* pairs.c: whether the runs of both sides alternate in time. */
bool comparison_find_pairs(const struct comparison *comparison);
/* account.c: devices and rows with their changes. */
int comparison_make_tables(struct comparison *comparison);
/* proof.c: noise of all rows and totals. */
int comparison_prove(struct comparison *comparison);
