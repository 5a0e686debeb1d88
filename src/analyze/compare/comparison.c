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
	return table_names[table];
}

enum compare_table compare_table_find(const char *name)
{
	for (unsigned int i = 0; i < COMPARE_TABLES; i++)
		if (strcmp(table_names[i], name) == 0)
			return (enum compare_table)i;
	return COMPARE_TABLES;
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
	free(comparison->devices);
	arena_fini(&comparison->arena);
	free(comparison);
}

static uint64_t magnitude_of(const struct comparison_row *row)
{
	const int64_t value = row->change.value;

	return value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value;
}

/* Both tables are sorted: merges their heads. */
size_t comparison_reasons(const struct comparison *comparison,
			  const struct comparison_row **ret_rows, size_t max)
{
	const struct comparison_table *busy = &comparison->tables[COMPARE_BUSY];
	const struct comparison_table *idle = &comparison->tables[COMPARE_IDLE];
	size_t count = 0, b = 0, i = 0;

	while (count < max && (b < busy->count || i < idle->count)) {
		const bool is_busy = i == idle->count ||
				     (b < busy->count &&
				      magnitude_of(&busy->rows[b]) >= magnitude_of(&idle->rows[i]));
		const struct comparison_row *row = is_busy ? &busy->rows[b++] : &idle->rows[i++];

		if (!row->change.value)
			break;
		ret_rows[count++] = row;
	}
	return count;
}
