/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/gate/values.c - the noise of a sum of rows, such as all idle time of one cause
 *
 * Runs in:  our own process
 * Gets:     the summaries of the runs
 * Gives:    estimate and interval of the sum's change
 * Owns:     nothing after a call
 * Fails:    -ENOMEM
 * Why from the summaries: the interval of a sum does not follow from those of its rows
 */
#include "analyze/compare/gate/gate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/stats/sample.h"

/* Which rows are added up. */
struct summed {
	enum compare_table table;
	const char *group; /* NULL: all */
};

struct value_list {
	double *values; /* owned */
	size_t count;
};

static bool is_summed(const struct summed *summed, const struct side_row *row)
{
	return !summed->group || strcmp(row->group, summed->group) == 0;
}

static double sum_of_run(const struct compare_side *side, const struct summed *summed)
{
	const struct side_table *table = &side->tables[summed->table];
	double sum = 0;

	for (size_t i = 0; i < table->count; i++)
		if (is_summed(summed, &table->rows[i]))
			sum += (double)table->rows[i].value;
	return sum;
}

static int list_runs(const struct comparison_sides *sides, const struct summed *summed,
		     struct value_list *list)
{
	*list = (struct value_list){calloc(sides->count + 1, sizeof(*list->values)), sides->count};
	if (!list->values)
		return -ENOMEM;
	for (size_t i = 0; i < sides->count; i++)
		list->values[i] = sum_of_run(sides->runs[i], summed);
	return 0;
}

static bool is_constant(const struct value_list *list)
{
	for (size_t i = 1; i < list->count; i++)
		if (list->values[i] != list->values[0])
			return false;
	return true;
}

static int measure(const struct comparison *comparison, const struct value_list *base,
		   const struct value_list *changed, struct compare_noise *ret_noise)
{
	const struct stats_options options = {.confidence = comparison->options.confidence,
					      .is_paired = comparison->is_paired};
	struct stats_result result;
	int error = stats_compare((struct stats_sample){base->values, base->count},
				  (struct stats_sample){changed->values, changed->count}, &options,
				  &result);

	if (error)
		return error;
	*ret_noise =
		(struct compare_noise){.source = NOISE_RUNS,
				       .is_constant = is_constant(base) && is_constant(changed),
				       .base_values = base->count,
				       .changed_values = changed->count,
				       .has_interval = result.has_interval,
				       .base = result.base,
				       .changed = result.changed,
				       .estimate = result.estimate,
				       .low = result.low,
				       .high = result.high,
				       .p = result.p_two_sided,
				       .p_adjusted = NAN,
				       .superiority = result.superiority,
				       .detectable = result.detectable};
	return 0;
}

static double mean_of(const struct value_list *list)
{
	double sum = 0;

	for (size_t i = 0; i < list->count; i++)
		sum += list->values[i];
	return list->count ? sum / (double)list->count : 0;
}

int gate_measure_sum(const struct comparison *comparison, enum compare_table table,
		     const char *group, struct compare_noise *ret_noise)
{
	const struct summed summed = {table, group};
	const bool is_known = comparison->base.count > 1 && comparison->changed.count > 1;
	struct value_list lists[2] = {{0}};
	int error = list_runs(&comparison->base, &summed, &lists[0]);

	if (!error)
		error = list_runs(&comparison->changed, &summed, &lists[1]);
	if (!error && !is_known)
		*ret_noise = (struct compare_noise){.p = NAN,
						    .p_adjusted = NAN,
						    .detectable = NAN,
						    .base = mean_of(&lists[0]),
						    .changed = mean_of(&lists[1])};
	else if (!error)
		error = measure(comparison, &lists[0], &lists[1], ret_noise);
	free(lists[0].values);
	free(lists[1].values);
	return error;
}
