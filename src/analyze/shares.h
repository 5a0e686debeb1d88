/* SPDX-License-Identifier: MIT
 *
 * analyze/shares.h - whole things, divided in proportion to weights
 */
#ifndef ANALYZE_SHARES_H
#define ANALYZE_SHARES_H

#include <stddef.h>
#include <stdint.h>

struct share {
	uint64_t weight;
	int64_t debt;  /* what it should have had so far and has not, in 2^-32 things; 0 at first */
	uint64_t part; /* what it gets */
	uint64_t until; /* shares_line_up: the weights up to it */
};

/* All parts add up to amount. What is left after rounding down goes to the largest remainders, one to each; what a share got too
 * much or too little is made good the next time, so that of many small amounts no share is off by more than a few. The sum of the weights is above 0;
 * of equal remainders the first comes first. */
void shares_divide(struct share *shares, size_t count, uint64_t amount);

/* Where there are too many shares to look at all of them for a few things. Parts without what is left over, which it returns:
 * less than there are shares. No debts. */
uint64_t shares_round_down(struct share *shares, size_t count, uint64_t amount);
/* Before any turn; all are looked at. The sum of the weights is above 0. */
void shares_line_up(struct share *shares, size_t count);
/* Whose the next single thing is; turn: 0, 1, 2 … . Of N turns a share of weight w has N * w / all, give or take some, which grows with the
 * logarithm of N. */
size_t shares_turn(const struct share *shares, size_t count, uint64_t turn);

#endif
