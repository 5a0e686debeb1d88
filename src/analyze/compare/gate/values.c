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

#include "analyze/compare/proof.h"

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
		error = proof_measure(comparison, NOISE_RUNS,
				      (struct stats_sample){lists[0].values, lists[0].count},
				      (struct stats_sample){lists[1].values, lists[1].count},
				      ret_noise);
	free(lists[0].values);
	free(lists[1].values);
	return error;
}
