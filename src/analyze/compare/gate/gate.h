/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/gate/gate.h - whether a comparison stays within limits
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/compare/comparison.h"
#include "analyze/compare/gate/limit.h"

/* A regression that is none is reported in at most 2 % of the gates without a change: this is 1 %
 * on each side of the interval. */
#define GATE_CONFIDENCE 0.98
/* A match below this confidence is more likely wrong than right. */
#define GATE_MIN_MATCH  0.5

enum gate_outcome {
	GATE_PASS,        /* the whole interval is within the limit */
	GATE_REGRESSION,  /* proved */
	GATE_INCONCLUSIVE /* neither is proved */
};

/* Why a check is inconclusive. */
enum gate_doubt {
	GATE_CERTAIN,
	GATE_NO_NOISE,   /* the values of the runs are not known: one run a side */
	GATE_FEW_VALUES, /* too few values for the confidence */
	GATE_STRADDLES,  /* the interval contains the limit, or 0 */
	GATE_MANY_TESTS, /* not proved after the correction for many checks */
	GATE_ROW_IS_NEW, /* BASE has no such row */
	GATE_WEAK_MATCH, /* the rows of both sides are hardly the same kernel */
	GATE_ROW_IS_GONE /* NEW has no such row: no mean, no count */
};

/* A limit applied to a total, to a group of rows, or to one row. */
struct gate_check {
	const struct gate_limit *limit;
	const char *name; /* label of the row or group, or the word of the quantity */
	const struct comparison_row *row; /* NULL: a total or a group */
	struct compare_noise noise;       /* p_adjusted: over all checks of the gate */
	double allowed;                   /* in the unit of the values */
	bool is_iteration;                /* the values are those of iterations, one run a side */
	enum gate_outcome outcome;
	enum gate_doubt doubt;
	size_t needed; /* values a side that would probably decide it; 0: not known */
};

struct gate {
	const struct comparison *comparison; /* borrowed */
	bool is_refused;                     /* not comparable: there are no checks */
	bool is_same;              /* both sides are the same recordings: nothing is decided */
	struct gate_check *checks; /* owned; in the order of the limits */
	size_t count, capacity;
	enum gate_outcome outcome;      /* the worst of the checks */
	size_t more_base, more_changed; /* runs to add for the inconclusive checks; 0: none */
};

/* Bits 1 << enum compare_table that the limits need beside BUSY and IDLE. */
uint32_t gate_tables(const struct gate_limit *limits, size_t count);

/* Checks all limits. comparison: made with min_effect 0 and the tables of gate_tables; it and the
 * limits must outlive the gate. is_forced: also if the comparison is refused, or both sides are the
 * same recordings. Errors: -EINVAL with the error chain if a limit names nothing on either side;
 * -ENOMEM. */
int gate_new(const struct comparison *comparison, const struct gate_limit *limits, size_t count,
	     bool is_forced, struct gate **ret_gate);
void gate_free(struct gate *gate); /* NULL-safe */

/* "pass", "regression", "inconclusive" */
const char *gate_outcome_name(enum gate_outcome outcome);

/* ---- private to gate/ ---- */

/* decision.c: fills outcome and doubt from limit, noise and allowed. */
void gate_decide(struct gate_check *check, double confidence);
/* The values a side that would probably decide the check; 0: not known. */
size_t gate_values_needed(const struct gate_check *check, const struct comparison *comparison);

/* values.c: the noise of the sum of all rows of a table, or of those of a group (NULL: all). The
 * source is NOISE_UNKNOWN if the values are not known. -ENOMEM. */
int gate_measure_sum(const struct comparison *comparison, enum compare_table table,
		     const char *group, struct compare_noise *ret_noise);
