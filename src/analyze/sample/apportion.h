/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/apportion.h - divides a whole number into whole parts in proportion to weights
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct portion {
	uint64_t weight;
	int64_t debt;   /* accumulated rounding error in units of 2^-32; 0 at first */
	uint64_t part;  /* result: its part of the amount */
	uint64_t until; /* set by portions_line_up: sum of the weights up to this share */
};

/* Divides amount; the parts add up to it. The remainder after rounding down goes to the shares with
 * the largest debt, one each. Debts carry over to the next call, so over many small amounts each
 * share is off by a few at most. The sum of the weights must be above 0. If debts are equal, the
 * first share wins. */
void portions_divide(struct portion *shares, size_t count, uint64_t amount);

/* For many shares: rounds all parts down and returns the remainder, which is less than the number
 * of shares. Does not use debts. */
uint64_t portions_round_down(struct portion *shares, size_t count, uint64_t amount);
/* Prepares portions_turn: computes share.until. The sum of the weights must be above 0. */
void portions_line_up(struct portion *shares, size_t count);
/* Returns the share that gets the next single unit; turn: 0, 1, 2 … . In N turns a share of weight
 * w gets about N * w / (sum of weights). The deviation grows with log N. */
size_t portions_turn(const struct portion *shares, size_t count, uint64_t turn);
