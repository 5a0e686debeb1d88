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
};

/* All parts add up to amount. What is left after rounding down goes to the largest remainders, one to each; what a share got too
 * much or too little is made good the next time, so that of many small amounts no share is off by more than a few. The sum of the weights is above 0;
 * of equal remainders the first comes first. */
void shares_divide(struct share *shares, size_t count, uint64_t amount);

#endif
