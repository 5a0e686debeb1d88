/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/normal.h - the normal distribution
 */
#pragma once

/* The probability of a value of at least z. */
double normal_upper_tail(double z);

/* The z that is exceeded with this probability, 0 < tail < 1. */
double normal_quantile_upper(double tail);

/* The same for Student's t with this number of degrees of freedom, above 0. A series in
 * 1 / freedom: Abramowitz and Stegun, 26.7.5. */
double student_quantile_upper(double tail, double freedom);
