/* SPDX-License-Identifier: MIT
 *
 * base/order/quantile.h - sum, count and quantiles of durations in bounded memory
 *
 * A quantile q is the value of nearest rank: the ceil(q * count)-th smallest. It is exact up to
 * QUANTILE_EXACT values; with more values it is the middle of a class whose width is 1/128 of the
 * value, so it is within 0.4 % of the true value. Values below 256 ns are always exact.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define QUANTILE_EXACT 1024

struct quantile {
	uint64_t count, sum, min, max;
	uint64_t *values; /* up to QUANTILE_EXACT of them, before there are classes */
	size_t capacity;
	uint64_t *classes; /* number of values in each, NULL while exact */
};

void quantile_init(struct quantile *quantile);
void quantile_fini(struct quantile *quantile); /* NULL-safe */

int quantile_add(struct quantile *quantile, uint64_t value); /* -ENOMEM */

/* Adds all values of another one. Errors: -ENOMEM; part of them may then be added. */
int quantile_merge(struct quantile *quantile, const struct quantile *other);

/* numerator / denominator is q; 0 if no value was added. */
uint64_t quantile_get(struct quantile *quantile, unsigned int numerator, unsigned int denominator);
