/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/gate/limit.h - a limit of a change: 'wall +2 %', 'kernel:gemm* mean +5 %'
 *
 *	LIMIT    = QUANTITY [PART] AMOUNT
 *	QUANTITY = wall | busy | idle | iteration
 *	         | kernel:NAME | copy:NAME | idle:NAME | api:NAME | range:NAME
 *	PART     = total | mean | count
 *	AMOUNT   = +NUMBER % | -NUMBER % | the same with ns, us, ms, s; counts without a unit
 */
#pragma once

#include <stdbool.h>

enum gate_quantity {
	GATE_WALL,
	GATE_BUSY,
	GATE_IDLE,
	GATE_ITERATION,
	/* From here on with a name. */
	GATE_KERNEL,
	GATE_COPY,
	GATE_CAUSE,
	GATE_API,
	GATE_RANGE,
	GATE_QUANTITIES
};

enum gate_part { GATE_TOTAL, GATE_MEAN, GATE_COUNT };

enum gate_unit { GATE_PERCENT, GATE_NS, GATE_TIMES };

struct gate_limit {
	enum gate_quantity quantity;
	enum gate_part part;
	enum gate_unit unit;
	double amount; /* percent of the base, ns or a count; below 0: NEW must be better */
	char *name;    /* owned; * stands for any text; NULL: the quantity has no name */
	char *text;    /* owned; as written */
};

/* Errors: -EINVAL with the expression and an example in the error chain; -ENOMEM. */
int gate_limit_parse(const char *text, struct gate_limit *ret_limit);
void gate_limit_fini(struct gate_limit *limit);

/* "wall", "kernel", …: the word of the grammar. */
const char *gate_quantity_name(enum gate_quantity quantity);
const char *gate_part_name(enum gate_part part); /* "total", "mean", "count" */

/* Whether the text matches the pattern, in which * stands for any text. */
bool gate_name_matches(const char *pattern, const char *text);

/* The same for names that are joined by " + ", as those of fused kernels: one of them or all. */
bool gate_names_match(const char *pattern, const char *names);
