/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/noise.h - whether a change is more than the noise of the runs
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum compare_source {
	NOISE_UNKNOWN,   /* too few values: nothing can be proved */
	NOISE_RUNS,      /* one value per run */
	NOISE_ITERATIONS /* one value per batch of iterations of one run a side */
};

enum compare_proof {
	PROOF_UNPROVED,  /* too few values, or the interval contains 0 */
	PROOF_PROVED,    /* also after the correction for many tests, and large enough */
	PROOF_SMALL,     /* proved, but smaller than the minimum effect */
	PROOF_NO_CHANGE, /* the interval is inside of the minimum effect on both sides */
	PROOF_WITHIN /* more than the noise within one run a side; that between runs is not known */
};
/* "unproved", "proved", …: text and JSON. */
const char *compare_proof_name(enum compare_proof proof);
/* "runs", "iterations", "none" */
const char *compare_source_name(enum compare_source source);

/* Values are in the unit of the row, per run or per iteration. */
struct compare_noise {
	enum compare_source source;
	enum compare_proof proof;
	size_t base_values, changed_values;
	bool has_interval;
	bool is_constant;     /* no value of a side differs from another one of that side */
	double base, changed; /* locations */
	double estimate, low, high;
	double p, p_adjusted; /* NAN: no test */
	double superiority, detectable;
};

/* Runs that would prove a change of the wall time. */
struct compare_noise_need {
	size_t runs; /* a side; 0: not known */
};
