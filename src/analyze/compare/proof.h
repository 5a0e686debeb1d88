/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/proof.h - measures the noise of each row while its values per run are known
 */
#pragma once

#include "analyze/compare/comparison.h"
#include "analyze/compare/gather.h"
#include "analyze/compare/stats/sample.h"

/* The members of a row on both sides. */
struct proof_rows {
	const struct gathered *base, *changed;
	const struct match_row *match;
};

/* Fills the row's noise, all but p_adjusted and proof. -ENOMEM. */
int proof_measure_row(const struct comparison *comparison, enum compare_table table,
		      const struct proof_rows *rows, struct comparison_row *row);

/* Fills the noise of one quantity: runs of NOISE_RUNS are paired if those of the comparison are and
 * each has a value. NOISE_UNKNOWN: nothing is known. -ENOMEM. */
int proof_measure(const struct comparison *comparison, enum compare_source source,
		  struct stats_sample base, struct stats_sample changed,
		  struct compare_noise *ret_noise);
