/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/comparison.c - compares two groups of recordings
 *
 * Runs in:  our own process
 * Gets:     the sides
 * Gives:    the account of the difference, its noise, and notes on comparability
 * Owns:     all of the comparison but the sides
 * Fails:    -ENOMEM
 * Why the tables are made even if the comparison is refused: the user may ask for it with --force,
 *           and the reason of the refusal may be that no work is common
 */
#include "analyze/compare/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const char *const table_names[COMPARE_TABLES] = {
	[COMPARE_BUSY] = "kernel", [COMPARE_IDLE] = "idle",
	[COMPARE_STACK] = "stack", [COMPARE_LINE] = "line",
	[COMPARE_QUEUE] = "queue", [COMPARE_RANGE] = "range",
	[COMPARE_API] = "api",     [COMPARE_INSTRUCTION] = "instruction",
	[COMPARE_STALL] = "stall", [COMPARE_METRIC] = "metric",
};

const char *compare_table_name(enum compare_table table)
{
	return array_text(table_names, COMPARE_TABLES, table, "unknown");
}

enum compare_table compare_table_find(const char *name)
{
	for (unsigned int i = 0; i < COMPARE_TABLES; i++)
		if (strcmp(table_names[i], name) == 0)
			return (enum compare_table)i;
	return COMPARE_TABLES;
}

/* ---- reasons --------------------------------------------------------------------------------- */

/* CLEAR: its interval excludes 0, but not after the correction for many tests. */
enum reason_class { REASON_CERTAIN, REASON_CLEAR, REASON_UNPROVED, REASON_NO_CHANGE };

static bool is_certain(const struct compare_noise *noise)
{
	return noise->proof == PROOF_PROVED || noise->proof == PROOF_SMALL ||
	       noise->proof == PROOF_WITHIN;
}

static enum reason_class class_of(const struct comparison_row *row)
{
	if (is_certain(&row->value_noise) || is_certain(&row->count_noise) ||
	    is_certain(&row->mean_noise))
		return REASON_CERTAIN;
	if (row->value_noise.has_interval &&
	    (row->value_noise.low > 0 || row->value_noise.high < 0))
		return REASON_CLEAR;
	return row->value_noise.proof == PROOF_NO_CHANGE ? REASON_NO_CHANGE : REASON_UNPROVED;
}

static double part_of(const struct compare_noise *noise, int64_t part)
{
	return is_certain(noise) ? fabs((double)part) : 0;
}

/* The size of a reason. A certain time has at least the end of its interval that is closer to 0; a
 * certain count or mean has its part of the change. */
static double size_of(const struct comparison_row *row)
{
	const double parts = part_of(&row->count_noise, row->change.more_often) +
			     part_of(&row->mean_noise, row->change.each_slower);

	if (is_certain(&row->value_noise))
		return fmin(fabs(row->value_noise.low), fabs(row->value_noise.high));
	return class_of(row) == REASON_CERTAIN ? parts : fabs((double)row->change.value);
}

static int compare_reasons(const void *left, const void *right)
{
	const struct comparison_row *a = *(const struct comparison_row *const *)left;
	const struct comparison_row *b = *(const struct comparison_row *const *)right;
	const double first = size_of(a), second = size_of(b);

	if (class_of(a) != class_of(b))
		return class_of(a) < class_of(b) ? -1 : 1;
	if (first != second)
		return first < second ? 1 : -1;
	return strcmp(a->label, b->label);
}

/* Proved changes come first, because a larger one may be noise. */
static int rank_reasons(struct comparison *comparison)
{
	const struct comparison_table *tables = comparison->tables;
	const size_t all = tables[COMPARE_BUSY].count + tables[COMPARE_IDLE].count;

	comparison->reasons = calloc(all + 1, sizeof(*comparison->reasons));
	if (!comparison->reasons)
		return -ENOMEM;
	for (unsigned int table = COMPARE_BUSY; table <= COMPARE_IDLE; table++)
		for (size_t i = 0; i < tables[table].count; i++)
			if (tables[table].rows[i].change.value)
				comparison->reasons[comparison->reasons_count++] =
					&tables[table].rows[i];
	qsort(comparison->reasons, comparison->reasons_count, sizeof(*comparison->reasons),
	      compare_reasons);
	return 0;
}

static void count_units(const struct comparison *comparison, struct comparison_sides *sides)
{
	sides->units = 0;
	for (size_t i = 0; i < sides->count; i++)
		sides->units += comparison_units(comparison, sides->runs[i]);
}

int comparison_new(const struct comparison_sides *base, const struct comparison_sides *changed,
		   const struct comparison_options *options, struct comparison **ret_comparison)
{
	struct comparison *comparison = calloc(1, sizeof(*comparison));
	int error;

	if (!comparison)
		return -ENOMEM;
	comparison->base = *base;
	comparison->changed = *changed;
	comparison->options = *options;
	count_units(comparison, &comparison->base);
	count_units(comparison, &comparison->changed);
	comparison->is_paired = comparison_find_pairs(comparison);
	error = comparison_make_tables(comparison);
	if (!error)
		error = comparison_prove(comparison);
	if (!error)
		error = rank_reasons(comparison);
	if (!error)
		error = comparison_check(comparison);
	if (error) {
		comparison_free(comparison);
		return error;
	}
	*ret_comparison = comparison;
	return 0;
}

void comparison_free(struct comparison *comparison)
{
	if (!comparison)
		return;
	for (size_t i = 0; i < COMPARE_TABLES; i++)
		free(comparison->tables[i].rows);
	for (size_t i = 0; i < comparison->notes_count; i++)
		free(comparison->notes[i].text);
	free(comparison->notes);
	free(comparison->reasons);
	free(comparison->devices);
	arena_fini(&comparison->arena);
	free(comparison);
}

size_t comparison_reasons(const struct comparison *comparison,
			  const struct comparison_row **ret_rows, size_t max)
{
	size_t count = 0;

	while (count < max && count < comparison->reasons_count) {
		ret_rows[count] = comparison->reasons[count];
		count++;
	}
	return count;
}
