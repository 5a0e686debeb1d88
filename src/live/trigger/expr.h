/* SPDX-License-Identifier: MIT
 *
 * live/trigger/expr.h - expressions of `duet record --trigger`, such as "iteration > 3 x p99"
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trigger_subject {
	TRIGGER_ITERATION,   /* an iteration of a program's main loop */
	TRIGGER_RANGE,       /* a range that the program named */
	TRIGGER_IDLE,        /* time of a device between two commands */
	TRIGGER_KERNEL,      /* an execution of a kernel */
	TRIGGER_THROTTLED,   /* a GPU's clocks are held low */
	TRIGGER_METRIC,      /* a reading of a metric */
	TRIGGER_EXIT_STATUS, /* the program ended */
	TRIGGER_SIGNAL,      /* the recorder got a signal */
	TRIGGER_SUBJECTS
};

enum trigger_comparison {
	TRIGGER_GREATER,
	TRIGGER_AT_LEAST,
	TRIGGER_LESS,
	TRIGGER_AT_MOST,
	TRIGGER_EQUAL,
	TRIGGER_NOT_EQUAL,
	TRIGGER_COMPARISONS
};

enum trigger_limit {
	TRIGGER_LIMIT_NONE,     /* the subject stands alone */
	TRIGGER_LIMIT_TIME,     /* number is ns */
	TRIGGER_LIMIT_MULTIPLE, /* number times a statistic of the durations before */
	TRIGGER_LIMIT_NUMBER    /* in unit */
};

enum { TRIGGER_TEXT = 256, TRIGGER_NAME = 192, TRIGGER_UNIT = 16 };

/* A plain value; "" and 0 if the subject has no such part. */
struct trigger_expr {
	enum trigger_subject subject;
	enum trigger_comparison comparison;
	enum trigger_limit limit;
	double number;
	bool is_mean;    /* TRIGGER_LIMIT_MULTIPLE: the mean, otherwise a quantile */
	double quantile; /* 0 to 1 */
	int signal;
	char statistic[TRIGGER_UNIT]; /* "p99", "median", "mean" */
	char unit[TRIGGER_UNIT];      /* TRIGGER_LIMIT_NUMBER; "": the unit of the report */
	char name[TRIGGER_NAME];      /* pattern for ranges, kernels or metrics; * is any text */
	char text[TRIGGER_TEXT];      /* the expression as it was written */
};

/* Errors: -EINVAL with the mistake, its column and the remedy in the error chain. */
int trigger_expr_parse(const char *text, struct trigger_expr *ret_expr);

/* Whether a value is beyond the limit. */
bool trigger_compares(enum trigger_comparison comparison, double value, double limit);

/* Base units of a unit of a metric: "MiB" is 1048576 "bytes". False: not known. */
struct trigger_unit {
	const char *name, *base;
	double factor;
	bool is_rate; /* per second */
};
bool trigger_unit_find(const char *name, struct trigger_unit *ret_unit);
