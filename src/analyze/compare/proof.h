/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/proof.h - measures the noise of each row while its values per run are known
 */
#pragma once

#include "analyze/compare/comparison.h"
#include "analyze/compare/gather.h"

/* The members of a row on both sides. */
struct proof_rows {
	const struct gathered *base, *changed;
	const struct match_row *match;
};

/* Fills the row's noise, all but p_adjusted and proof. -ENOMEM. */
int proof_measure_row(const struct comparison *comparison, enum compare_table table,
		      const struct proof_rows *rows, struct comparison_row *row);
