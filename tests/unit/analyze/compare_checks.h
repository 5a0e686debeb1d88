/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/compare_checks.h - checks that tests of comparisons share
 */
#pragma once

#include <math.h>

#include "analyze/compare/stats/sample.h"
#include "base/array.h"
#include "harness.h"

#define CHECK_NEAR(got, want, error)                                           \
	do {                                                                   \
		double got_ = (got), want_ = (want);                           \
		if (!(fabs(got_ - want_) <= (error))) {                        \
			harness_fail(__FILE__, __LINE__, #got " near " #want); \
			printf("#   got %.10g, want %.10g\n", got_, want_);    \
		}                                                              \
	} while (0)

#define SAMPLE(values) ((struct stats_sample){(values), ARRAY_COUNT(values)})

static inline struct stats_result compare(struct stats_sample base, struct stats_sample changed,
					  double confidence, bool is_paired)
{
	struct stats_options options = {.confidence = confidence, .is_paired = is_paired};
	struct stats_result result = {0};

	CHECK_EQUAL(stats_compare(base, changed, &options, &result), 0);
	return result;
}
