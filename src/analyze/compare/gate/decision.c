/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/gate/decision.c - whether one change is within its limit
 *
 * Runs in:  our own process
 * Gets:     the estimate and interval of a change, and what is allowed
 * Gives:    pass, regression or inconclusive, and the number of values that would decide
 * Owns:     nothing
 * Fails:    never
 * Why a regression need not prove that the limit is exceeded: a change of 2.5 % under a limit of
 *           2 % would need hundreds of runs for that. It is a regression if a slow-down is proved
 *           and the best estimate is above the limit. A pass is stricter: the whole interval must
 *           be within the limit.
 */
#include "analyze/compare/gate/gate.h"

#include <math.h>

#include "analyze/compare/stats/power.h"
#include "analyze/compare/stats/sample.h"

static void conclude(struct gate_check *check, enum gate_outcome outcome, enum gate_doubt doubt)
{
	check->outcome = outcome;
	check->doubt = doubt;
}

/* Something of nothing in BASE has no percentage: a limit in percent can pass, and cannot fail. */
static bool lacks_base(const struct gate_check *check)
{
	return check->limit->unit == GATE_PERCENT && !(check->noise.base > 0);
}

void gate_decide(struct gate_check *check, double confidence)
{
	const struct compare_noise *noise = &check->noise;
	const double bound = fmin(check->allowed, 0); /* the slow-down that must be proved */

	if (noise->source != NOISE_RUNS) /* iterations do not show how runs differ */
		conclude(check, GATE_INCONCLUSIVE, GATE_NO_NOISE);
	else if (!noise->has_interval || isnan(noise->estimate))
		conclude(check, GATE_INCONCLUSIVE, GATE_FEW_VALUES);
	else if (noise->high <= check->allowed)
		conclude(check, GATE_PASS, GATE_CERTAIN);
	else if (lacks_base(check))
		conclude(check, GATE_INCONCLUSIVE, GATE_ROW_IS_NEW);
	else if (!(noise->low > bound && noise->estimate > check->allowed))
		conclude(check, GATE_INCONCLUSIVE, GATE_STRADDLES);
	else if (check->allowed >= 0 && !(noise->p_adjusted <= 1 - confidence))
		conclude(check, GATE_INCONCLUSIVE, GATE_MANY_TESTS);
	else
		conclude(check, GATE_REGRESSION, GATE_CERTAIN);
}

/* The distance between estimate and limit must be proved. It is at least half of the limit, because
 * an estimate that is close to the limit now is hardly there after more runs. */
static double effect_of(const struct gate_check *check)
{
	return fmax(fabs(check->allowed - check->noise.estimate), fabs(check->allowed) / 2);
}

size_t gate_values_needed(const struct gate_check *check, const struct comparison *comparison)
{
	const struct compare_noise *noise = &check->noise;
	const struct stats_options options = {.confidence = comparison->options.confidence,
					      .is_paired = comparison->is_paired};
	double unit;

	if (noise->source == NOISE_UNKNOWN || check->is_iteration || !noise->has_interval ||
	    isnan(noise->detectable))
		return stats_values_min(&options);
	unit = power_find_shift(options.confidence, options.is_paired, 1, noise->base_values,
				noise->changed_values);
	if (!(unit > 0))
		return 0;
	return power_find_count(options.confidence, options.is_paired, noise->detectable / unit,
				effect_of(check));
}
