/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/power.h - the shift that samples of a size can prove
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The shift that is proved with probability 0.8. The spread is the standard deviation of the
 * values. For pairs it is the one of their differences, and other_count is not used. NAN: these
 * counts cannot reach the confidence, or the spread is NAN. */
double power_find_shift(double confidence, bool is_paired, double spread, size_t count,
			size_t other_count);

/* The smallest number of values per side whose exact test can reach the confidence; 0: none. */
size_t power_find_min_count(double confidence, bool is_paired);

/* The smallest number of values per side that proves this shift with probability 0.8; 0: unknown,
 * or above a million. */
size_t power_find_count(double confidence, bool is_paired, double spread, double shift);
