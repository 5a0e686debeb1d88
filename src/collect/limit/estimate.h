/* SPDX-License-Identifier: MIT
 *
 * collect/limit/estimate.h - a mean of noisy measurements, and its confidence interval
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ESTIMATE_VALUES = 64, ESTIMATE_LEAST = 8 };

/* The newest values. Zeroed: none. */
struct estimate {
	double values[ESTIMATE_VALUES];
	uint32_t count; /* at most ESTIMATE_VALUES */
	uint32_t next;
};

struct estimate_interval {
	double mean, half_width; /* 95 % interval */
};

void estimate_add(struct estimate *estimate, double value);

/* False: less than ESTIMATE_LEAST values. */
bool estimate_get(const struct estimate *estimate, struct estimate_interval *ret_interval);
