/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/history/changes.c - where the lines of a series change their level
 *
 * Runs in:  our own process
 * Gets:     the lines
 * Gives:    their change points, corrected for the number of lines
 * Owns:     nothing afterwards
 * Fails:    -ENOMEM
 * Why Benjamini and Hochberg and not alpha divided by the number of lines: a permutation p value is
 *           at least 1/4001. With 50 lines, 0.01 / 50 is below that, and no short series could show
 *           any change. A slower kernel changes several lines, which help each other here.
 */
#include "analyze/compare/history/history.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

enum { MIN_VALUES = 6 }; /* a level has at least 3 */

struct search {
	struct history_line **lines;
	size_t count, capacity;
	bool *has_changes; /* by line */
};

/* ---- one line -------------------------------------------------------------------------------- */

/* A line of equal values cannot change in any order, so it is not tested. */
static bool is_testable(const struct history_line *line)
{
	for (size_t i = 1; i < line->count; i++)
		if (line->values[i].value != line->values[0].value)
			return line->count >= MIN_VALUES;
	return false;
}

static int find_changes(struct history_line *line, double alpha)
{
	auto_free double *values = malloc((line->count + 1) * sizeof(*values));

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < line->count; i++)
		values[i] = line->values[i].value;
	free(take_ptr(line->changes));
	line->changes_count = 0;
	return change_points_find(values, line->count, alpha, &line->changes, &line->changes_count);
}

/* ---- all lines ------------------------------------------------------------------------------- */

static int add_line(struct search *search, struct history_line *line)
{
	return array_append(search->lines, search->capacity, search->count, line);
}

static int collect_lines(struct history *history, struct search *search)
{
	int error = add_line(search, &history->wall) || add_line(search, &history->iteration) ||
				    add_line(search, &history->busy) ||
				    add_line(search, &history->idle)
			    ? -ENOMEM
			    : 0;

	for (size_t i = 0; i < history->kernels_count && !error; i++) {
		error = add_line(search, &history->kernels[i].value);
		if (!error)
			error = add_line(search, &history->kernels[i].executions);
	}
	for (size_t i = 0; i < CAUSE_COUNT && !error; i++)
		error = add_line(search, &history->causes[i].value);
	return error;
}

/* Searches those lines that had changes with a larger p. */
static int search_lines(struct search *search, double alpha, size_t *ret_found)
{
	int error = 0;

	*ret_found = 0;
	for (size_t i = 0; i < search->count && !error; i++) {
		struct history_line *line = search->lines[i];

		if (!search->has_changes[i])
			continue;
		error = find_changes(line, alpha);
		search->has_changes[i] = line->changes_count > 0;
		*ret_found += search->has_changes[i];
	}
	return error;
}

static int begin_search(struct history *history, struct search *search)
{
	search->has_changes = calloc(search->count + 1, sizeof(*search->has_changes));
	if (!search->has_changes)
		return -ENOMEM;
	for (size_t i = 0; i < search->count; i++) {
		search->lines[i]->is_tested = is_testable(search->lines[i]);
		search->has_changes[i] = search->lines[i]->is_tested;
		history->tests += search->lines[i]->is_tested;
	}
	return 0;
}

/* The largest k for which k lines have changes at alpha * k / tests. The p value of a change is
 * only an upper limit that depends on alpha, so each k is searched anew. */
static int correct_lines(struct history *history, struct search *search)
{
	size_t allowed = history->tests, found = 0;
	int error = 0;

	while (allowed && !error) {
		history->threshold =
			history->options.alpha * (double)allowed / (double)history->tests;
		error = search_lines(search, history->threshold, &found);
		if (found == allowed)
			break;
		allowed = found;
	}
	return error;
}

int history_find_changes(struct history *history)
{
	struct search search = {0};
	int error = collect_lines(history, &search);

	if (!error)
		error = begin_search(history, &search);
	if (!error)
		error = correct_lines(history, &search);
	free(search.lines);
	free(search.has_changes);
	return error;
}
