/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/ranks.h - ranks of values, and sums of chosen ranks
 *
 * A rank here is twice the usual one, so that the middle rank of equal values is an integer: the
 * smallest of different values has rank 2.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Probabilities of a rank sum that is at least, or at most, the observed one. */
struct rank_tails {
	double greater, less;
};

/* Ranks of all values. Equal values share the middle one. Errors: -ENOMEM. */
int ranks_find(const double *values, size_t count, uint32_t *ret_ranks);

/* The sum of the first `chosen` ranks among all sums of `chosen` of the ranks: the rank sum test of
 * Wilcoxon, Mann and Whitney. Errors: -ENOMEM. */
int rank_sum_find_tails(const uint32_t *ranks, size_t count, size_t chosen,
			struct rank_tails *ret_tails);

/* The largest k for which the number of pairs (a < b) is below k with a probability of at most
 * `tail`, for samples of these sizes without equal values; 0: none. Errors: -ENOMEM. */
int rank_sum_find_limit(size_t count, size_t other_count, double tail, size_t *ret_k);

/* The sum of the positive ranks among all choices of signs: Wilcoxon's signed rank test. Errors:
 * -ENOMEM. */
int signed_rank_find_tails(const uint32_t *ranks, const bool *is_positive, size_t count,
			   struct rank_tails *ret_tails);

/* The largest k for which the usual signed rank sum of `count` different values is below k with a
 * probability of at most `tail`; 0: none. Errors: -ENOMEM. */
int signed_rank_find_limit(size_t count, double tail, size_t *ret_k);
